"""What may take a site's place so that somebody accepts it: the smallest chain of equivalences, or other operators."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

from resizefix.diagnostics import Diagnostic, RefusedError
from resizefix.dialects.dialect import NO_NUMBERS, RESIZES, Dialect, Operands
from resizefix.dialects.write import write
from resizefix.document.document import Document
from resizefix.document.edits import Replacement, add_initializer, remove_unread, replace_nodes
from resizefix.document.structure import why_invalid
from resizefix.document.values import numbers_in
from resizefix.document.view import View
from resizefix.equivalences.kernel_arithmetic import spelling_bound
from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.equivalences.table import AxisEquivalence, AxisStep, smallest_chain
from resizefix.interpolation import CoordinateTransformationMode, ExtentKind, Interpolation, Mode
from resizefix.lowerings.lowering import Lowering
from resizefix.lowerings.matmul import OPERATORS as CROP_OPERATORS
from resizefix.lowerings.matmul import crops, lower_crop
from resizefix.lowerings.table import in_words, lower, lowerings_for
from resizefix.operations.site import Site
from resizefix.origins.classify import OriginKind
from resizefix.outcome import UNBOUNDED, ErrorBound
from resizefix.scope_path import Key, ScopePath
from resizefix.shapes.stored_shapes import rederive
from resizefix.targets.facts import SiteFacts
from resizefix.targets.onnxruntime_target import ONNXRUNTIME, as_proven
from resizefix.targets.target import Effect, Target, judge

Fresh = Callable[[str], str]

# Every sample of an axis is looked at; no picture, volume or recording that is resized is longer.
LONGEST_AXIS = 1 << 19
# An axis of unknown length is looked at as if it were long (lowerings/copies.py), times its scale.
LARGEST_SCALE = 256
LARGEST_REPEAT = 1 << 12  # where samples are repeated, no position is looked at
FIRST_BFLOAT16 = 13  # the opset whose Cast and Resize take the type
_BFLOAT16_ROUNDING = 2.0**-8  # half a unit in the last of eight bits, as a part of the value


@dataclass(frozen=True)
class Allowance:
    """What the user lets happen: `inexact` equivalences, and other operators in place of a node (`lowered`)."""

    inexact: bool = False
    lowered: bool = True


def subject_of(site: Site, largest_scale: float = LARGEST_SCALE) -> ResizeSpec:
    """The site as equivalences see it; `largest_scale` limits that of an axis of unknown length.

    Raises RefusedError where its extent is not constant or it cannot be read.
    """
    site = site.read
    if site.extent.values is None and site.origin.kind is OriginKind.GRAPH_INPUT:
        why = Diagnostic("operations.fed-at-run-time", extent=site.extent.kind.value, name=repr(site.origin.name))
        raise RefusedError("operations.make-constant-first", why=why)
    values = site.values
    shape = None if site.input_dims is None else numbers_in(site.input_dims)
    try:
        subject = ResizeSpec(site.interpolation, site.extent.kind, values, shape, site.elem_type)
    except ValueError as error:
        raise RefusedError("operations.not-valid", error=error) from error
    lengths = [length for axis in subject.listed for length in (axis.out, axis.scale) if length is not None]
    longest = max([1, *lengths, *(size for size in shape or () if size is not None)])
    if longest > LONGEST_AXIS:
        raise RefusedError("operations.axis-too-long", longest=longest)
    largest = max([1.0, *(axis.scale for axis in subject.listed if axis.size is None and axis.scale is not None)])
    if largest > largest_scale:
        raise RefusedError("operations.scale-too-large", largest=largest)
    return subject


def rewritten(
    subject: ResizeSpec, accepts: Callable[[ResizeSpec], bool], allowance: Allowance
) -> tuple[ResizeSpec, tuple[AxisStep, ...]] | None:
    """The subject at the end of the smallest chain that `accepts` takes, with the chain; None if there is none."""
    chain = smallest_chain(subject, accepts, allow_inexact=allowance.inexact)
    if chain is None:
        return None
    return (chain[-1].subject if chain else subject), chain


def chain_replacement(
    node: NodeProto, initializers: Sequence[TensorProto], subject: ResizeSpec, chain: Sequence[AxisStep]
) -> Replacement:
    """The replacement of `subject` that a chain of equivalences ends in, spelled as `node`."""
    befores = [subject, *(step.subject for step in chain)]
    inexact = [(before, step.subject) for before, step in zip(befores, chain, strict=False) if not step.exact]
    apart = [spelling_bound(*pair) or UNBOUNDED for pair in inexact]
    bound = sum(each.bound for each in apart)
    stated = [condition for each in apart for condition in each.conditions]
    names = [equivalence.name for step in chain for equivalence in step.equivalences]
    how = Diagnostic("operations.written-otherwise")
    if names:
        how = Diagnostic("operations.written-otherwise-by", names=", ".join(names))
    conditions = tuple(dict.fromkeys([*lengths(chain), *stated]))
    note = Diagnostic("operations.no-bound") if math.isinf(bound) else ""
    error = ErrorBound(not inexact, bound, note, conditions, drift=sum(each.drift for each in apart))
    return Replacement((node,), tuple(initializers), error, how)


def operands_of(subject: ResizeSpec, site: Site, dialect: Dialect, extent: str, roi: str, empty: str) -> Operands:
    """Named as the targets want them: nothing trailing; a roi where the meaning reads it, an empty one where
    the dialect alone wants one, since some converters take numbers there for a crop."""
    if dialect.scales_input is None:
        values = tuple(value for value in subject.values if value is not None)
        return Operands(site.input, scales_attribute=values)
    crop = subject.interpolation.coordinate_transformation_mode is CoordinateTransformationMode.TF_CROP_AND_RESIZE
    named_roi = None
    if crop:
        named_roi = site.read.reading.operands.roi
    elif dialect.roi_input is not None and not dialect.inputs[dialect.roi_input].optional:
        named_roi = roi
    scales = extent if subject.extent is ExtentKind.SCALES else None
    sizes = extent if subject.extent is ExtentKind.SIZES else None
    if sizes is not None and not dialect.inputs[dialect.scales_input].optional:
        scales = empty  # Resize-11 wants a tensor there
    return Operands(site.input, roi=named_roi, scales=scales, sizes=sizes)


def spelled(
    start: ResizeSpec, end: tuple[ResizeSpec, tuple[AxisStep, ...]], site: Site, dialect: Dialect, fresh: Fresh
) -> Replacement:
    """The node that takes the place of a site that computes `start`, and the constants that it reads: what `rewritten`
    found, in its own dialect. Raises RefusedError where the dialect cannot say it."""
    subject, chain = end
    extent_name = fresh(f"{site.output}_{subject.extent.value}")
    roi_name = fresh(f"{site.output}_roi")
    empty_name = fresh(f"{site.output}_no_scales")
    operands = operands_of(subject, site, dialect, extent_name, roi_name, empty_name)
    node = write(subject.interpolation, operands, dialect, name=site.node.name, output=site.output)
    initializers: list[TensorProto] = []
    if operands.roi == roi_name:
        initializers.append(numpy_helper.from_array(NO_NUMBERS, roi_name))
    if extent_name in node.input:
        dtype = np.float32 if subject.extent is ExtentKind.SCALES else np.int64
        initializers.append(numpy_helper.from_array(np.array(subject.values, dtype), extent_name))
    if operands.scales == empty_name:
        initializers.append(numpy_helper.from_array(NO_NUMBERS, empty_name))
    return chain_replacement(node, initializers, start, chain)


def lengths(chain: Sequence[AxisStep]) -> tuple[str, ...]:
    """How long an axis of unknown length may be to be sampled alike."""
    used = [equivalence for step in chain for equivalence in step.equivalences]
    longest = [row.longest for row in used if isinstance(row, AxisEquivalence) and row.longest is not None]
    open_axes = any(axis.size is None and axis.scale != 1 for step in chain for axis in step.subject.listed)
    return (Diagnostic("lowerings.for-axes-up-to", longest=min(longest)),) if longest and open_axes else ()


def why_unverifiable(facts: SiteFacts) -> tuple[str, ...]:
    """The condition where onnxruntime does not run the node that `facts` describe: nothing can be compared."""
    failing = [
        violation.rule for violation in judge(ONNXRUNTIME, as_proven(facts)) if violation.effect is Effect.REJECTED
    ]
    return (Diagnostic("operations.not-verifiable", rule_name=failing[0]),) if failing else ()


def lowered(
    subject: ResizeSpec,
    site: Site,
    *,
    fresh: Fresh,
    target: Target | None = None,
    accepts: Callable[[ResizeSpec], bool] = lambda subject: True,
    roi: Sequence[float] | None = None,
    opset: int | None = None,
) -> Iterator[Replacement]:
    """All replacements by other operators that the target (None: anybody) takes, the preferred first; in the model's
    opset, or in `opset`. Raises RefusedError with each lowering's reason where there is none.

    `roi` is that of a node that crops, where it is constant. A simpler resize node that a lowering keeps must be one
    that `accepts` takes.
    """
    if subject.shape is None or subject.element_type is None:
        raise RefusedError("operations.tensor-unknown", what="rank" if subject.shape is None else "type")
    opset, among = opset or site.scope.opset, lowerings_for(target.name if target else None)
    if crops(subject):
        why = None if target is None else target.why_not(CROP_OPERATORS, subject.element_type, len(subject.axes))
        if why is not None:
            raise RefusedError("lowerings.crop-refused", why=why)
        yield _in_words(lower_crop(subject, roi, x=site.input, y=site.output, opset=opset, fresh=fresh))
        return
    why_not = _why_not(subject, target, accepts)
    yield from map(
        _in_words, lower(subject, x=site.input, y=site.output, opset=opset, fresh=fresh, among=among, why_not=why_not)
    )


def _why_not(
    subject: ResizeSpec, target: Target | None, accepts: Callable[[ResizeSpec], bool]
) -> Callable[[Lowering], str | None]:
    """What says of a lowering why the target does not take its operators; None: it does."""

    def why_not(lowering: Lowering) -> str | None:
        if lowering.operators & RESIZES and not accepts(_simpler(subject)):
            return Diagnostic("operations.simpler-node-refused")
        elem_type = TensorProto.FLOAT if lowering.computes else subject.element_type
        if target is None:
            return None
        rank = len(subject.axes)
        if lowering.computes and subject.element_type == TensorProto.FLOAT16:  # it stands between casts then
            casts = target.why_not({"Cast"}, TensorProto.FLOAT16, rank)
            if casts is not None:
                return casts
        return target.why_not(lowering.operators, elem_type or 0, rank)

    return why_not


def _in_words(form: Replacement) -> Replacement:
    """The replacement by a lowering, which its name alone says, described."""
    return replace(form, description=Diagnostic("operations.replaced-by", what=in_words(form.how)))


def between_casts(form: Replacement, site: Site, fresh: Fresh) -> Replacement:
    """`form`, which resizes floats, with a Cast before it and one back after it: exact for nearest, which copies."""
    assert site.elem_type is not None
    x, y = fresh(f"{site.output}_as_float"), fresh(f"{site.output}_float")
    nodes = [helper.make_node("Cast", [site.input], [x], name=x, to=TensorProto.FLOAT)]
    for node in form.nodes:
        inner = NodeProto()
        inner.CopyFrom(node)
        inner.input[:] = [x if name == site.input else name for name in node.input]
        inner.output[:] = [y if name == site.output else name for name in node.output]
        nodes.append(inner)
    back = fresh(f"{site.output}_cast")
    nodes.append(helper.make_node("Cast", [y], [site.output], name=back, to=site.elem_type))
    how = Diagnostic("operations.between-casts", how=form.how)
    description = Diagnostic("operations.between-casts", how=form.description or form.how)
    return replace(form, nodes=tuple(nodes), how=how, description=description)


def in_float32(form: Replacement, site: Site, fresh: Fresh) -> Replacement:
    """`form`, which resizes floats, between Casts from bfloat16 and back, which round what is interpolated once."""
    cast = between_casts(form, site, fresh)
    if site.read.interpolation.mode is Mode.NEAREST:
        return cast
    is_bounded = form.error.exact and site.read.interpolation.mode is Mode.LINEAR
    note = "; ".join(filter(None, (cast.error.note, Diagnostic("operations.rounded-to-bfloat16"))))
    bound = _BFLOAT16_ROUNDING if is_bounded else math.inf
    return replace(cast, error=replace(cast.error, exact=False, bound=bound, note=note))


def until_casts(form: Replacement, site: Site, fresh: Fresh) -> Replacement:
    """`form`, which resizes floats, between a Cast and the Casts that read the site's output, which stays a float.

    Mode linear of integers cuts the fraction off in onnxruntime, and so does a Floor.
    """
    cast = between_casts(form, site, fresh)
    back = cast.nodes[-1]
    floor = helper.make_node("Floor", [back.input[0]], [site.output], name=fresh(f"{site.output}_floor"))
    how = Diagnostic("operations.as-floats", how=form.how)
    description = Diagnostic("operations.as-floats", how=form.description or form.how)
    nodes = (*cast.nodes[:-1], floor)
    return replace(form, nodes=nodes, how=how, description=description, elem_type=TensorProto.FLOAT)


def _simpler(subject: ResizeSpec) -> ResizeSpec:
    """The node that `pad_upsample_slice` keeps."""
    meaning = Interpolation(Mode.LINEAR, CoordinateTransformationMode.ASYMMETRIC)
    scales = tuple(axis.scale or 1.0 for axis in subject.axes)
    return ResizeSpec(meaning, ExtentKind.SCALES, scales, subject.shape, subject.element_type)


def replace_sites(document: Document, plans: Sequence[tuple[Site, Replacement]]) -> None:
    """Puts each replacement in its site's place; operands that nothing reads any more go."""
    scopes = View(document.proto).scopes
    unread: list[Key] = []
    instead: dict[ScopePath, dict[str, Sequence[NodeProto]]] = {}
    for site, replacement in plans:
        operands = scopes.sources(scopes.by_path[site.scope.path], site.node, 1)
        unread.extend(definition.key for definition in operands)
        for tensor in replacement.initializers:
            add_initializer(document.proto, tensor)
        for value in scopes.by_path[site.scope.path].body.value_info:
            if replacement.elem_type is not None and value.name == site.output:
                value.type.tensor_type.elem_type = replacement.elem_type
        instead.setdefault(site.scope.path, {})[site.output] = replacement.nodes
    for path, nodes in instead.items():
        replace_nodes(scopes.by_path[path].body, nodes)
    remove_unread(document.proto, unread)


def fix_shapes(document: Document, changed: Sequence[Site], untouched: Sequence[Site] = ()) -> str | None:
    """Forget shapes that were stored wrongly before, where they hurt only now; returns what the checker still says.
    `untouched`: sites that stand as they stood, among other operators that were rewritten.

    In a loop a stored shape is that of one turn, which misleads operators that ask for it; elsewhere the checker finds
    the contradiction when inference knows more of the new nodes than of the old one.
    """
    rewritten_any = bool(changed or untouched)
    # A site's own scope counts the nodes as they were; Scan-8 is another node than Scan, and its body with it.
    there = View(document.proto).scopes.by_path
    repeated = [site.key for site in changed if site.scope.path in there and there[site.scope.path].is_repeated]
    if repeated:
        rederive(document.proto, dict.fromkeys(repeated), names_hold=True)
    invalid = why_invalid(document.proto) if rewritten_any else None
    if invalid is not None:
        fixed = document.copy()
        rederive(fixed.proto, dict.fromkeys(site.key for site in (*changed, *untouched) if site.scope.path in there))
        if why_invalid(fixed.proto) is None:
            document.proto.CopyFrom(fixed.proto)
            return None
    return invalid

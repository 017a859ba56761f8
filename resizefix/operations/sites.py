"""Every Upsample/Resize of a document: what it computes, where its scales come from, whether they can be promoted."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from onnx import NodeProto

from resizefix.diagnostics import Diagnostic, RefusedError, UsageError
from resizefix.dialects.dialect import Dialect, dialect_of
from resizefix.dialects.read import SiteReading, read
from resizefix.document.document import Document
from resizefix.document.scopes import DefinitionKind, Scope, is_operator
from resizefix.document.values import Dims, held_by
from resizefix.interpolation import Extent, ExtentKind, Interpolation
from resizefix.operations.site import ReadSite, Site
from resizefix.origins.classify import Classifier, Origin, OriginKind
from resizefix.scope_path import Key, ScopePath
from resizefix.shapes.dependents import varying
from resizefix.shapes.output_size import first_disagreement
from resizefix.shapes.stored_shapes import ModelView
from resizefix.shapes.values import Constant

if TYPE_CHECKING:
    from resizefix.origins.recover import Recoverer

_USUAL_SIZES = range(1, 1025)  # of an axis that the file leaves open
FIRST_OPSET_WITH_SCALES_INPUT = 9  # Upsample-9
_FIRST_OPSET_OF_THE_ATTRIBUTE = 7  # Upsample-7; Upsample-1 has no kernel in onnxruntime
_SCALE_ATTRIBUTES = frozenset({"scales", "height_scale", "width_scale"})


def find_sites(document: Document) -> list[Site]:
    """`sites_in` the document as it is now."""
    return sites_in(ModelView(document))


def sites_in(view: ModelView) -> list[Site]:
    """All sites, in the order in which a reader of the file meets them; `Site.index` counts them from 0."""
    if not view.resizes:
        return []
    finder = _Finder(view)
    return [finder.site(index, scope, scope.body.node[place]) for index, (scope, place) in enumerate(view.resizes)]


def select(sites: Sequence[Site], patterns: Sequence[str]) -> list[Site]:
    """The sites that the `-n` patterns name: a glob on the node's name, or `#K`, the K-th site of `inspect`.

    Without patterns, all. Raises UsageError for a pattern that names no site.
    """
    if not patterns:
        return list(sites)
    chosen: set[int] = set()
    for pattern in patterns:
        if pattern.startswith("#") and pattern[1:].isdigit():
            matches = [site.index for site in sites if site.index == int(pattern[1:])]
        else:
            matches = [site.index for site in sites if fnmatch.fnmatchcase(site.node.name, pattern)]
        if not matches:
            there = ", ".join(f"#{site.index} {site.node.name}".strip() for site in sites[:8])
            rest = f" and {len(sites) - 8} more" if len(sites) > 8 else ""
            raise UsageError("operations.no-such-node", pattern=pattern, there=there or "none", more=rest, rule="node")
        chosen.update(matches)
    return [site for site in sites if site.index in chosen]


class _Finder:
    """Reads nodes against one state of the document."""

    def __init__(self, view: ModelView) -> None:
        self._view = view
        self._scopes = view.scopes
        self._shapes = view.shapes
        self._classifier = Classifier(view, lambda: self._recoverer)
        self._alike: dict[tuple[object, ...], tuple[ReadSite, Constant]] = {}
        self._operands: dict[tuple[ScopePath, tuple[str, ...]], tuple[object, ...]] = {}

    @cached_property
    def _not_raised(self) -> str | None:
        """Why the model cannot be raised to opset 9, where the scales of Upsample are an input."""
        from resizefix.opsets.raising import why_not_raised  # most models are of a later opset

        return why_not_raised(self._view.document, FIRST_OPSET_WITH_SCALES_INPUT)

    @cached_property
    def _recoverer(self) -> Recoverer:
        from resizefix.origins.recover import Recoverer  # most models' scales are constant as they stand

        return Recoverer(self._view)

    @cached_property
    def _varying(self) -> set[Key]:
        """What may have other sizes in another round of a loop."""
        return varying(self._scopes)

    def site(self, index: int, scope: Scope, node: NodeProto) -> Site:
        """The node as a site. What is the same of all that read one value is found out of the first alone."""
        dims = self._fixed_dims(scope, node.input[0]) if node.input else None
        attributes = tuple(attribute.SerializeToString() for attribute in node.attribute)
        is_own = any(node.output[:1]) and scope.makes_alone(node.output[0])
        names = scope.path, tuple(node.input[1:])
        if names not in self._operands:  # many nodes may read the same
            self._operands[names] = tuple([self._but_its_name(scope, name) for name in names[1]])
        alike = scope.path, node.op_type, attributes, any(node.input[:1]), self._operands[names], dims, is_own
        alike_site = self._alike.get(alike)
        if alike_site is not None:
            return self._like(*alike_site, index, node, dims)
        site, constant = self._read(index, scope, node, dims)
        if not isinstance(site, ReadSite) or constant is None or site.origin.kind is OriginKind.COMPUTED:
            return site
        if site.reason is None:  # which may name the constant
            self._alike[alike] = site, constant
        return site

    def _but_its_name(self, scope: Scope, name: str) -> object:
        """What tells operands apart: the value of an initializer or Constant node, the name of any other."""
        definition = self._scopes.definition(scope, name) if name else None
        if definition is None:
            return name
        constant = definition.tensor if definition.kind is DefinitionKind.INITIALIZER else None
        if constant is None and is_operator(definition.node, "Constant"):
            held = held_by(definition.node)
        else:
            held = None if constant is None else held_by(constant)
        return name if held is None else (definition.kind, held)

    def _like(self, first: ReadSite, constant: Constant, index: int, node: NodeProto, dims: Dims | None) -> ReadSite:
        """A node whose attributes are those of another, and whose operands have the same values."""
        scope, inputs = first.scope, node.input
        operand, reads_the_same = inputs[first.slot or 0], inputs == first.node.input
        if operand != first.node.input[first.slot or 0]:
            definition = self._scopes.definition(scope, operand)
            assert definition is not None
            constant = constant._replace(definition=definition)
        return first.like(
            index=index,
            label=node.name or f"#{index}",
            node=node,
            origin=self._classifier.constant_origin(constant, operand, node),
            input_dims=dims,
            output_dims=self._fixed_dims(scope, node.output[0]),
            elem_type=self._view.elem_type(scope, node.input[0]),
            reading=first.reading if reads_the_same else read(node, first.dialect),
        )

    def _read(self, index: int, scope: Scope, node: NodeProto, dims: Dims | None) -> tuple[Site, Constant | None]:
        """The node as a site, and the constant that it reads."""
        extent, origin, constant = Extent(ExtentKind.SCALES, None), None, None
        since, read_as, reason = scope.opset, None, None
        try:
            dialect = dialect_of(node.op_type, scope.opset)
            since = dialect.since_version
            _require_own_output(scope, node)
            reading = read(node, dialect)
            _require_axes(reading, dims)
            kind, slot = self._which(scope, dialect, reading)
            operand = "" if slot is None else node.input[slot]
            origin = Origin(OriginKind.ATTRIBUTE)
            if operand:
                origin, constant = self._classifier.classify(scope, operand, node)
            extent, read_as = Extent(kind, None), (dialect, reading, slot)
            extent = Extent(kind, _values(kind, origin, reading, constant))
            if origin.kind is OriginKind.COMPUTED:
                origin, extent = self._recovered(scope, node, reading, operand, origin, extent)
            if origin.kind is OriginKind.ATTRIBUTE:
                reason = self._why_attribute_stays(scope)
            else:
                reason = _why_not(dialect, reading, extent, origin)
            if reason is None and scope.path.function is not None and scope.path.function not in self._scopes.reached:
                reason = Diagnostic("operations.function-not-called")
        except RefusedError as refusal:
            reason = str(refusal)
        common = (
            index,
            node.name or f"#{index}",
            node.op_type,
            since,
            scope,
            node,
            extent,
            origin or self._origin_as_written(scope, node),
            dims,
            self._fixed_dims(scope, node.output[0]) if node.output else None,
            self._view.elem_type(scope, node.input[0]) if node.input else None,
            reason,
        )
        if read_as is None:
            return Site(*common, None), None
        return ReadSite(*common, _rounding_warning(extent, read_as[1].interpolation, dims), *read_as), constant

    def _fixed_dims(self, scope: Scope, name: str) -> Dims | None:
        """A tensor's sizes; of a function's argument those that all calls pass; of one that a loop may give another
        size in each round the file tells the first round's, so that only the rank counts."""
        definition = self._scopes.definition(scope, name)
        definition = None if definition is None else self._view.calls.origin(definition)
        dims = None if definition is None else self._shapes.dims(definition.key)
        varies = definition is not None and definition.key in self._varying
        return (None,) * len(dims) if dims is not None and varies else dims

    def _why_attribute_stays(self, scope: Scope) -> str | None:
        """Why scales that are an attribute cannot become an input; None: the model is raised to opset 9 for it."""
        if scope.opset < _FIRST_OPSET_OF_THE_ATTRIBUTE:
            return Diagnostic("operations.attribute-before-7", opset=scope.opset)
        if scope.in_function:
            return Diagnostic("operations.attribute-in-function")
        return None if self._not_raised is None else Diagnostic("operations.attribute-stays", why=self._not_raised)

    def _origin_as_written(self, scope: Scope, node: NodeProto) -> Origin:
        """The origin in a node that may be valid in no dialect: an attribute, or the last operand that is not empty."""
        if any(attribute.name in _SCALE_ATTRIBUTES for attribute in node.attribute):
            return Origin(OriginKind.ATTRIBUTE)
        operands = [name for name in node.input[1:] if name and not self._is_empty(scope, name)]
        if not operands:
            return Origin(OriginKind.RUNTIME)
        return self._classifier.classify(scope, operands[-1], node)[0]

    def _recovered(
        self, scope: Scope, node: NodeProto, reading: SiteReading, operand: str, origin: Origin, extent: Extent
    ) -> tuple[Origin, Extent]:
        """What the chain of a computed operand follows, and the constants that stand for it."""
        recovery = self._recoverer.recover(scope, node.input[0], operand, extent.kind, reading.interpolation)
        if isinstance(recovery, str):
            reason = None
            if not extent.values:
                reason = Diagnostic("operations.computed-but", chain=_chain_text(origin.chain), why=recovery)
            return origin._replace(reason=reason), extent
        origin = origin._replace(
            recovered_scales=recovery.scales,
            right_under_every_rule=None if recovery.scales is None else recovery.right_under_every_rule,
            says=recovery.says,
            reason=recovery.reason,
        )
        return origin, Extent(recovery.kind, recovery.values) if extent.values is None else extent

    def _which(self, scope: Scope, dialect: Dialect, reading: SiteReading) -> tuple[ExtentKind, int | None]:
        """The operand that counts and its position: where both are named, one of them must be an empty tensor."""
        operands = reading.operands
        if operands.scales_attribute is not None:
            return ExtentKind.SCALES, None
        named = (
            (ExtentKind.SCALES, dialect.scales_input, operands.scales),
            (ExtentKind.SIZES, dialect.sizes_input, operands.sizes),
        )
        given = [(kind, slot) for kind, slot, name in named if name is not None and not self._is_empty(scope, name)]
        if not given:
            raise RefusedError("operations.no-extent")
        if len(given) == 2:
            raise RefusedError("operations.both-extents")
        return given[0]

    def _is_empty(self, scope: Scope, name: str) -> bool:
        value = self._view.value(scope, name)
        return self._view.dims(scope, name) == (0,) if value is None else value.size == 0


def _require_own_output(scope: Scope, node: NodeProto) -> None:
    """Raises RefusedError for a node whose output has no name, or one that something else gives its value, too."""
    name = node.output[0] if node.output else ""
    if not name:
        raise RefusedError("operations.no-output")
    if not scope.makes_alone(name):
        raise RefusedError("operations.output-defined-twice", name=name)


def _require_axes(reading: SiteReading, dims: Dims | None) -> None:
    """Raises RefusedError for `axes` that the input does not have, or of which two are one (Resize-18: from -r to
    r-1, none repeated)."""
    axes = reading.interpolation.axes
    if axes is None or dims is None:
        return
    rank = len(dims)
    if not all(-rank <= axis < rank for axis in axes) or len({axis % rank for axis in axes}) != len(axes):
        raise RefusedError("operations.axes-not-distinct", axes=list(axes), rank=rank, rank_2=-rank, rank_3=rank - 1)


def _why_not(dialect: Dialect, reading: SiteReading, extent: Extent, origin: Origin) -> str | None:
    if origin.kind is OriginKind.GRAPH_INPUT:
        return Diagnostic("operations.follows-input", extent=extent.kind.value, name=repr(origin.name))
    if extent.values is None:
        what = extent.kind.value
        if origin.kind in (OriginKind.COMPUTED, OriginKind.CONSTANT):
            return f"its {what} {origin.reason}"
        if not origin.reason:
            return Diagnostic("operations.run-time-data", extent=what)
        return Diagnostic("operations.run-time-data-since", extent=what, why=origin.reason)
    if extent.kind is ExtentKind.SCALES and min(extent.values, default=1) < dialect.min_scale:
        return Diagnostic(
            "operations.scales-below", scales=list(extent.values), dialect=dialect.name, least=f"{dialect.min_scale:g}"
        )
    policy = reading.interpolation.keep_aspect_ratio_policy
    if policy is not None and extent.kind is ExtentKind.SIZES:
        return Diagnostic("operations.policy-makes-other-size", policy=policy.value)
    return None


@lru_cache(maxsize=256)
def _rounding_warning(extent: Extent, interpolation: Interpolation, dims: Dims | None) -> str | None:
    """Whether the output's size depends on how a runtime rounds: the pixel lost in 5 → 9 (scale 1.8)."""
    if extent.kind is not ExtentKind.SCALES or extent.values is None:
        return None
    axes = interpolation.axes or range(len(extent.values))
    for axis, scale in zip(axes, extent.values, strict=False):
        size = dims[axis] if dims is not None and -len(dims) <= axis < len(dims) else None
        disagreement = first_disagreement(scale, [size] if isinstance(size, int) else _USUAL_SIZES)
        if disagreement is not None:
            return Diagnostic(
                "operations.size-depends-on-rounding",
                axis=axis,
                scale=f"{scale:g}",
                size=disagreement[0],
                kernel=disagreement[1],
                inferred=disagreement[2],
            )
    return None


def _chain_text(chain: Sequence[str]) -> str:
    text = " ← ".join(chain[:6])
    return f"{text} ← …" if len(chain) > 6 else text


def _values(
    kind: ExtentKind, origin: Origin, reading: SiteReading, constant: Constant | None
) -> tuple[float, ...] | tuple[int, ...] | None:
    if origin.kind is OriginKind.ATTRIBUTE:
        return reading.operands.scales_attribute
    if constant is None:
        return None
    value = constant.value
    wanted = np.float32 if kind is ExtentKind.SCALES else np.int64
    what = f"its {kind.value} {origin.name!r}"
    if value.dtype != wanted:
        dtype = "strings" if value.dtype == object else value.dtype
        raise RefusedError("operations.operand-type", what=what, found=dtype, name=np.dtype(wanted).name)
    if value.ndim != 1:
        raise RefusedError("operations.no-vector", what=what, shape=list(value.shape))
    if not np.all(np.isfinite(value)) or min(value.tolist(), default=1) <= 0:
        raise RefusedError("operations.not-positive", what=what, value=value.tolist())
    return tuple(value.tolist())

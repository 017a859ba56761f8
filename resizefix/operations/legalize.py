"""The smallest meaning-preserving rewrite of each site that a target accepts, in the model's own opset."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from onnx import NodeProto, TensorProto, helper, numpy_helper

from resizefix.diagnostics import Diagnostic, RefusedError
from resizefix.dialects.dialect import Dialect
from resizefix.dialects.write import write
from resizefix.document.document import Document
from resizefix.document.edits import FIRST_IR_WITH_DEFAULTS, FreshNames, Replacement
from resizefix.document.scopes import names_in
from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.interpolation import ExtentKind, Mode
from resizefix.operations.replacement import (
    FIRST_BFLOAT16,
    Allowance,
    Fresh,
    between_casts,
    fix_shapes,
    in_float32,
    lowered,
    operands_of,
    replace_sites,
    rewritten,
    spelled,
    subject_of,
    until_casts,
    why_unverifiable,
)
from resizefix.operations.rewriter import Operation, Rewritten, broken_rules, rewrite, store_scan_ranks
from resizefix.operations.site import Site
from resizefix.outcome import Outcome, Status
from resizefix.scope_path import Key
from resizefix.shapes.output_size import inference_length
from resizefix.shapes.stored_shapes import ModelView
from resizefix.targets.collect_facts import facts_in
from resizefix.targets.facts import OperandSource, Roi, SiteFacts
from resizefix.targets.onnxruntime_target import ONNXRUNTIME
from resizefix.targets.target import Effect, Target, Violation, accepted, accepts, judge

if TYPE_CHECKING:
    from resizefix.faults.fault import Fault


def legalize(
    document: Document,
    sites: Sequence[Site],
    target: Target,
    *,
    allowance: Allowance | None = None,
    view: ModelView | None = None,
    passed_over: Mapping[Key, int] | None = None,
) -> Rewritten:
    """A copy of the document whose selected sites the target accepts, where that can be; `document` stays as it is.

    A site that is accepted is left alone; one whose rules can be satisfied by no chain of equivalences is replaced by
    other operators, or refused with the rules it breaks. What is rewritten tells the sizes behind it, so the others are
    looked at again until nothing changes: a second call would find nothing to do. `view` is the document's, where
    the caller has one. `passed_over`: how many of the forms of a site, the preferred first, were tried and do not run;
    the last form is not passed over.
    """
    return rewrite(view or ModelView(document), sites, Legalize(target, allowance or Allowance(), passed_over or {}))


def rewritable(view: ModelView, sites: Sequence[Site], target: Target, *, exactly: bool = False) -> frozenset[int]:
    """The indices of the sites that `legalize` can rewrite for the target (`exactly`: bit for bit); no document is
    made."""
    plans = ((one.site.index, one.plan()) for one in legalizers(view, sites, target, Allowance()))
    return frozenset(
        index for index, plan in plans if isinstance(plan, Replacement) and (plan.error.exact or not exactly)
    )


class Legalize(Operation[Replacement]):
    """Each site becomes the smallest form that the target accepts."""

    looks_again = True

    def __init__(self, target: Target, allowance: Allowance, passed_over: Mapping[Key, int] | None = None) -> None:
        self._target = target
        self._allowance = allowance
        self._passed_over = passed_over or {}

    def plan(self, view: ModelView, sites: Sequence[Site]) -> Sequence[Replacement | Outcome]:
        """What becomes of each site, by the facts of the model as it is now."""
        broken = _stopped(view) if self._target is ONNXRUNTIME else {}
        return [
            _refused_for(one.site, self._target, broken[one.site.index])
            if one.site.index in broken
            else self.plan_of(replace(one, passed_over=self._passed_over.get(one.site.key, 0)))
            for one in legalizers(view, sites, self._target, self._allowance)
        ]

    def plan_of(self, legalizer: Legalizer) -> Replacement | Outcome:
        """What becomes of one site."""
        return legalizer.plan()

    def apply(self, document: Document, plans: Sequence[tuple[Site, Replacement]]) -> Sequence[Outcome]:
        """Writes the replacements, and what later nodes need to know of them."""
        replace_sites(document, plans)
        fix_shapes(document, [site for site, _ in plans])
        notes = store_scan_ranks(document, [site.key for site, _ in plans])
        return [site.replaced(replacement, notes.get(site.key)) for site, replacement in plans]

    def objections(self, view: ModelView, changed: Collection[Key]) -> Mapping[Key, str]:
        """What the others became can tell a type or size that was not known when a site was planned."""
        return {
            key: Diagnostic("operations.shows-later", why=_refusal(self._target, violations)[1])
            for key, violations in broken_rules(view, changed, self._target)
            if not accepted(violations)
        }

    def later(self, first: Outcome, now: Outcome) -> Outcome:
        """Says where the others had to be rewritten first."""
        if now.status is first.status:
            return first
        if first.status is Status.UNCHANGED:
            now = replace(now, reason=Diagnostic("operations.shows-later", why=now.reason))
        elif now.status is Status.UNCHANGED:
            now = replace(now, reason=Diagnostic("operations.accepted-later", target=self._target.name))
        return replace(now, index=first.index, node=first.node, before=first.before)


def _refusal(target: Target, violations: Sequence[Violation]) -> tuple[Violation, str]:
    """The first rule that stands in the way, and why the target refuses the node."""
    first = next(violation for violation in violations if violation.effect is not Effect.NOTED)
    return first, Diagnostic("operations.target-refuses", target=target.name, rule_name=first.rule, why=first.because)


def _stopped(view: ModelView) -> dict[int, Sequence[Fault]]:
    """The faults of the sites that keep onnxruntime from loading the model, by the sites' indices."""
    from resizefix.faults.table import faults_in  # other targets are asked by their rules

    by_index = enumerate(faults_in(view))
    return {index: faults for index, faults in by_index if any(fault.stops_loading for fault in faults)}


def _refused_for(site: Site, target: Target, faults: Sequence[Fault]) -> Outcome:
    """The outcome of a site with a fault that keeps the target from loading the model: `repair` comes first."""
    from resizefix.faults.table import not_loaded

    violation = next(not_loaded(target, site.label, faults))
    reason = Diagnostic("operations.not-loaded", why=_refusal(target, [violation])[1], fix=violation.fix)
    return site.outcome(Status.REFUSED, reason)


@dataclass(frozen=True, eq=False)
class Legalizer:
    """One site under one target; `passed_over`: how many of its forms are not to be taken, where there are more."""

    site: Site
    facts: SiteFacts
    target: Target
    allowance: Allowance
    fresh: Fresh
    passed_over: int = 0

    def plan(self) -> Replacement | Outcome:
        """What takes the site's place; or its outcome where nothing does."""
        site, violations = self.site, judge(self.target, self.facts)
        if accepted(violations):
            return site.outcome(Status.UNCHANGED, Diagnostic("operations.accepted", target=self.target.name))
        try:
            replacement = self._replacement(violations)
        except RefusedError as error:
            return site.outcome(Status.REFUSED, str(error))
        broken = "; ".join(f"{violation.because} [{violation.rule}]" for violation in violations)
        why = Diagnostic("operations.for-target", target=self.target.name, why=broken)
        return replace(replacement, why=why).under(why_unverifiable(self.facts))

    def _replacement(self, violations: Sequence[Violation]) -> Replacement:
        first, why = _refusal(self.target, violations)
        site = self.site
        if site.scope.in_function:
            raise RefusedError("operations.in-local-function", why=why)
        if site.elem_type in self.target.cast_types:
            return self._in_float32(why)
        try:
            subject = subject_of(site)
        except RefusedError as error:
            raise RefusedError("operations.rewrite-failed", why=why, fix=first.fix, error=error) from error
        why += self.dispute(subject)
        try:
            return self._made(subject)
        except RefusedError as error:
            name = TensorProto.DataType.Name(site.elem_type or 0).lower()
            mode = subject.interpolation.mode
            until = self.facts.casts_behind and mode in (Mode.NEAREST, Mode.LINEAR)
            if site.elem_type not in self.target.edge_types or not (until or mode is Mode.NEAREST):
                raise RefusedError(f"{why}. {error}") from error
            if not (until or self.facts.is_at_the_edges):
                edges = Diagnostic("operations.type-at-edges-only", target=self.target.name, name=name)
                raise RefusedError("operations.convert-image-first", why=why, error=error, edges=edges) from error
        allowed = replace(self.allowance, lowered=True)  # so that what is forbidden is named where it would help, alone
        as_floats = replace(self, facts=replace(self.facts, elem_type=TensorProto.FLOAT), allowance=allowed)
        try:
            replacement = as_floats._made(replace(subject, element_type=TensorProto.FLOAT))
        except RefusedError as error:
            raise RefusedError("operations.as-floats-refused", why=why, error=error) from error
        if not self.allowance.lowered:
            raise RefusedError("operations.casts-forbidden", why=why)
        if not until:
            return between_casts(replacement, site, self.fresh)
        if mode is Mode.LINEAR and not replacement.error.exact and not self.allowance.inexact:
            raise RefusedError("operations.fractions-cut", why=why)
        return until_casts(replacement, site, self.fresh)

    def _in_float32(self, why: str) -> Replacement:
        """The node, or what takes its place, as it is of floats, between Casts."""
        if self.site.scope.opset < FIRST_BFLOAT16:
            raise RefusedError("operations.bfloat16-too-early", opset=self.site.scope.opset, first=FIRST_BFLOAT16)
        if not self.allowance.lowered:
            raise RefusedError("operations.casts-forbidden", why=why)
        as_floats = replace(self, facts=replace(self.facts, elem_type=TensorProto.FLOAT))
        if accepts(self.target, as_floats.facts):
            replacement = Replacement((self.site.node,), how=Diagnostic("operations.node-itself"))
        else:
            replacement = as_floats._made(replace(subject_of(self.site), element_type=TensorProto.FLOAT))
        return in_float32(replacement, self.site, self.fresh)

    def _made(self, subject: ResizeSpec) -> Replacement:
        """The first form that is not passed over, or the last one."""
        if not self.allowance.lowered and self._spelled(subject) is None:
            next(self._lowered(subject))  # raises the reasons where other operators would not help either
            raise RefusedError("operations.no-lower")
        return list(islice(self._forms(subject), self.passed_over + 1))[-1]

    def _forms(self, subject: ResizeSpec) -> Iterator[Replacement]:
        """What the target takes, the preferred first: a chain of equivalences, then other operators; none twice."""
        as_a_node = self._spelled(subject)
        if as_a_node is not None:
            yield as_a_node
        if not self.allowance.lowered:
            return
        written: list[object] = []
        try:
            for form in self._lowered(subject):
                if (content := _without_names(form)) not in written:
                    written.append(content)
                    yield self.findable(form)
        except RefusedError:
            if as_a_node is None:
                raise

    def _spelled(self, subject: ResizeSpec) -> Replacement | None:
        site, dialect = self.site, self.site.read.dialect
        end = rewritten(subject, lambda other: not self.dispute(other) and self.accepts(other, dialect), self.allowance)
        return None if end is None else spelled(subject, end, site, dialect, self.fresh)

    def _lowered(self, subject: ResizeSpec) -> Iterator[Replacement]:
        return lowered(
            subject,
            self.site,
            fresh=self.fresh,
            target=self.target,
            accepts=lambda other: self.accepts(other, self.site.read.dialect),
            roi=self.facts.roi_values,
        )

    def dispute(self, subject: ResizeSpec) -> str:
        """What shape inference would get wrong if it read these scales, which it could not before (5 times 1.8).

        Loaders believe it, onnxruntime's own too: the neighbours no longer fit, or a buffer is too small. Where it read
        the scales already the file stays as right or wrong as it was. A chain that onnxruntime folds to scales is one
        that inference leaves unread.
        """
        was_read = self.site.extent.kind is ExtentKind.SCALES and self.site.origin.kind.is_constant
        if was_read or subject.extent is not ExtentKind.SCALES:
            return ""
        for axis in subject.listed:
            if axis.size is None or axis.scale is None:
                continue
            inferred = inference_length(axis.scale, axis.size)
            if inferred != axis.out:
                return Diagnostic("operations.inferred-otherwise", size=axis.size, inferred=inferred, out=axis.out)
        return ""

    def findable(self, form: Replacement) -> Replacement:
        """With Constant nodes instead of new initializers where the target's parser would not find these: from IR 4 on
        they are no graph inputs, and one that is none would make it refuse the nodes it takes now, too."""
        unlisted, listed = (
            judge(self.target, replace(self.facts, initializers_are_inputs=as_inputs)) for as_inputs in (False, True)
        )
        if self.facts.ir_version < FIRST_IR_WITH_DEFAULTS or len(unlisted) == len(listed):
            return form
        constants = tuple(helper.make_node("Constant", [], [tensor.name], value=tensor) for tensor in form.initializers)
        return replace(form, nodes=(*constants, *form.nodes), initializers=())

    def accepts(self, subject: ResizeSpec, dialect: Dialect) -> bool:
        """Whether the target takes the site written as `subject`."""
        operands = operands_of(subject, self.site, dialect, "extent", "roi", "empty")
        try:
            node = write(subject.interpolation, operands, dialect, name=self.site.node.name, output=self.site.output)
        except RefusedError:
            return False
        return accepts(self.target, _facts_as(self.facts, subject, node))


def _without_names(form: Replacement) -> object:
    """The operators with their attributes, and the constants: two replacements may be the same."""
    operators = [(node.op_type, [one.SerializeToString() for one in node.attribute]) for node in form.nodes]
    return operators, [(tuple(one.dims), numpy_helper.to_array(one).tobytes()) for one in form.initializers]


def legalizers(view: ModelView, sites: Sequence[Site], target: Target, allowance: Allowance) -> list[Legalizer]:
    """What knows the forms of each site."""
    facts, fresh = facts_in(view), FreshNames(names_in(view.model)).fresh
    return [Legalizer(site, facts[site.index], target, allowance, fresh) for site in sites]


def _facts_as(facts: SiteFacts, subject: ResizeSpec, node: NodeProto) -> SiteFacts:
    """The facts of the site if it were written as `node`, its extent one initializer."""
    meaning = subject.interpolation
    attributes = {attribute.name: attribute for attribute in node.attribute}
    by_sizes = subject.extent is ExtentKind.SIZES
    values = tuple(float(value) for value in subject.values if value is not None)
    attribute_form = "scales" in attributes or "height_scale" in attributes
    roi = Roi.ABSENT if len(node.input) < 2 or facts.opset < 11 else Roi.EMPTY if node.input[1] else Roi.UNNAMED
    return replace(
        facts,
        attributes=frozenset(attributes),
        mode=attributes["mode"].s.decode() if "mode" in attributes else "nearest",
        coordinate_transformation_mode=meaning.coordinate_transformation_mode.value,
        nearest_mode=facts.nearest_mode if meaning.nearest_mode is None else meaning.nearest_mode.value,
        cubic_coeff_a=-0.75 if meaning.cubic_coeff_a is None else meaning.cubic_coeff_a,
        exclude_outside=meaning.exclude_outside,
        antialias=meaning.antialias,
        keep_aspect_ratio_policy=(
            "stretch" if meaning.keep_aspect_ratio_policy is None else meaning.keep_aspect_ratio_policy.value
        ),
        axes=meaning.axes,
        n_inputs=len(node.input),
        # from IR 4 on a new initializer is not listed as an input
        initializers_are_inputs=facts.initializers_are_inputs
        and (attribute_form or facts.ir_version < FIRST_IR_WITH_DEFAULTS),
        roi=facts.roi if facts.crops and roi is Roi.EMPTY else roi,  # a crop keeps its own
        unnamed_scales=by_sizes and len(node.input) > 2 and not node.input[2],
        trailing_empty_input=False,
        reads_ahead=False,
        extent=subject.extent,
        both_extents=False,
        empty_sizes=False,
        empty_constant=False,
        unreadable=None,
        source=OperandSource.ATTRIBUTE if attribute_form else OperandSource.INITIALIZER,
        values=values if len(values) == len(subject.values) else None,
        length=len(subject.values),
        operand_rank=1,
        operand_type=TensorProto.INT64 if by_sizes else TensorProto.FLOAT,
        output_shape=_output_shape(facts, subject),
    )


def _output_shape(facts: SiteFacts, subject: ResizeSpec) -> tuple[int | None, ...] | None:
    """What the file says, and else what follows once the extent is a constant that everybody can read."""
    shape = facts.output_shape
    if subject.shape is None or (shape is not None and None not in shape):
        return shape
    out = list(subject.shape)
    axes = subject.interpolation.axes or range(len(out))
    if len(axes) != len(subject.listed) or (shape is not None and len(shape) != len(out)):
        return shape  # the file contradicts itself
    for axis, resized_axis in zip(axes, subject.listed, strict=True):
        out[axis] = resized_axis.out
    return tuple(out) if shape is None else tuple(b if a is None else a for a, b in zip(shape, out, strict=True))

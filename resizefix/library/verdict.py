"""What a target says to the resizes of a model; and which targets accept them, and no longer those of what became of
it.

A large model is not promoted for TensorRT as well just to say so: mostly one node of each kind, by itself, tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from onnx import GraphProto, ModelProto, TensorProto, helper

from resizefix.document.document import Document
from resizefix.document.edits import FreshNames
from resizefix.document.scopes import DEFAULT_DOMAINS, default_opset, names_in
from resizefix.operations.site import Site
from resizefix.operations.sites import sites_in
from resizefix.outcome import Outcome, Status
from resizefix.printable import InNotebook, summary
from resizefix.promotion import Integers, NewInputs, PromotedInput
from resizefix.scope_path import MAIN, Key
from resizefix.shapes.stored_shapes import ModelView
from resizefix.targets.collect_facts import facts_in, kinds_in
from resizefix.targets.facts import SiteFacts
from resizefix.targets.target import Target, Violation, accepted, accepts, taken
from resizefix.targets.tensorrt import TENSORRT_TARGETS

if TYPE_CHECKING:
    from resizefix.operations.rewriter import Rewritten
    from resizefix.runtimes.tensorrt import LiveVerdict


@dataclass(frozen=True, repr=False)
class Verdict(InNotebook):
    """What a target says to every Upsample/Resize of a model; `accepted` unless a rule is broken.

    `live` is what a real parser said to the whole model; None where none was asked or none could be, and then
    `live_reason` says why.
    """

    target: Target
    violations: tuple[Violation, ...]
    live: LiveVerdict | None = None
    live_reason: str | None = None
    asked: str = ""
    """The name that was asked for, where the row that judges has another: `tensorrt-8.6`."""

    def __repr__(self) -> str:
        broken = Counter(violation.rule for violation in self.violations)
        live = None if self.live is None else f"{self.live.parser}: {'accepted' if self.live.taken else 'rejected'}"
        rules = ", ".join(f"{rule} ({count})" for rule, count in broken.items())
        return summary("Verdict", f"{self.target.name} {self.word}", rules, live, self.live_reason)

    @property
    def word(self) -> str:
        """`accepted`, `rejected`, or `different`: no node is rejected, and at least one computes something else."""
        if self.accepted:
            return "accepted"
        return "different" if taken(self.violations) else "rejected"

    @property
    def accepted(self) -> bool:
        """Whether the target runs all of them and computes what ONNX says, by its rules."""
        return accepted(self.violations)

    @property
    def taken(self) -> bool:
        """Whether the rules and, where it was asked for, the real parser (and builder) have nothing against the model;
        one that gave no answer does not take it."""
        return self.accepted and self.live_reason is None and (self.live is None or self.live.taken)


class Verdicts(InNotebook, tuple[Verdict, ...]):
    """What several targets say to one model, a verdict for each."""

    __slots__ = ()

    @property
    def accepted(self) -> bool:
        """Whether every target accepts it."""
        return all(verdict.accepted for verdict in self)


class TargetsMoved(NamedTuple):
    """The targets whose rules accept every resize before a change, and those that do after it."""

    before: list[Target]
    after: list[Target]
    kinds: _Kinds | None = None

    @property
    def lost(self) -> list[Target]:
        """Those that accepted them before, and do not now."""
        return [target for target in self.before if target not in self.after]

    @property
    def gained(self) -> list[Target]:
        """Those that accept them now, and did not before."""
        return [target for target in self.after if target not in self.before]

    @property
    def kept_by_integers(self) -> list[Target] | None:
        """Of the lost ones those that accept the model where the changed sites are promoted for TensorRT instead; None
        where nothing was promoted."""
        if self.kinds is None:
            return None
        return self.kinds.accepting(self.lost, Integers()) if self.lost else []


def targets_moved(
    before: ModelView, after: ModelView, outcomes: Sequence[Outcome] = (), inputs: Sequence[PromotedInput] = ()
) -> TargetsMoved:
    """What the targets say before and after, whatever was done; of a promotion, its `inputs` are given."""
    from resizefix.targets.catalogue import TARGETS  # with the rules of all runtimes

    if inputs:
        kinds = _Kinds(before, after, outcomes, inputs)
        return TargetsMoved(_accepting(kinds.before, TARGETS), kinds.accepting(TARGETS, kinds.integers), kinds)
    was, now = (_accepting([facts for facts, _ in kinds_in(view)], TARGETS) for view in (before, after))
    return TargetsMoved(was, now)


class _Kinds:
    """The nodes of a model that differ in more than their names, one of each kind, and what a promotion makes of them.

    What becomes of one becomes of all that differ from it in their names alone.
    """

    def __init__(
        self, before: ModelView, after: ModelView, outcomes: Sequence[Outcome], inputs: Sequence[PromotedInput]
    ) -> None:
        self._before, self._after = before, after
        changed = {outcome.index for outcome in outcomes if outcome.status is Status.CHANGED}
        self._changed: set[Key] = set()
        self._keys: list[Key] = []
        self.before: list[SiteFacts] = []
        for facts, places in kinds_in(before):
            promoted = [key for place, key in places.items() if place in changed]
            others = [key for place, key in places.items() if place not in changed]
            self._changed.update(promoted)
            self._keys += [keys[0] for keys in (promoted, others) if keys]
            self.before += [facts for keys in (promoted, others) if keys]
        first = inputs[0].sites[0]
        self.integers = None if first.denominator is None else Integers(first.denominator)
        self._made = NewInputs(first.form if self.integers is None else None, keep_default=inputs[0].optional)

    def accepting(self, targets: Sequence[Target], integers: Integers | None) -> list[Target]:
        """Of the targets those that accept every node after the promotion, or after one with these `integers`.

        A node's sizes may have become open by the promotion of another: where that counts, the whole model is looked
        at.
        """
        alone = [self._alone(integers, open_sizes=opened) for opened in (False, True)]
        said = [_accepting(facts, targets) for facts in alone if facts is not None]
        if len(said) == len(alone) and said[0] == said[1]:
            return said[0]
        after = self._after
        if integers != self.integers:
            sites = [site for site in sites_in(self._before) if site.key in self._changed]
            promotion = self._promoted(self._before, sites, integers)
            if not promotion.inputs:
                return []
            after = promotion.after
        return _accepting([facts for facts, _ in kinds_in(after)], targets)

    def _promoted(self, view: ModelView, sites: Sequence[Site], integers: Integers | None) -> Rewritten:
        from resizefix.operations.promote_scales import promote_scales  # other changes have no inputs

        if integers is not None:
            wanted = NewInputs(integers=integers)
            return promote_scales(view.document, sites, wanted, target=TENSORRT_TARGETS[-1], view=view)
        return promote_scales(view.document, sites, self._made, view=view)

    def _alone(self, integers: Integers | None, *, open_sizes: bool) -> list[SiteFacts] | None:
        """The facts of one node of each kind, promoted apart from the model; None where more of the model counts."""
        model = self._after.model
        few = _apart(self._before, self._keys, open_sizes=open_sizes)
        if few is None or self._before.scopes.main.opset != default_opset(model.opset_import, fallback=1):
            return None
        view = ModelView(few)
        if not open_sizes and self._in_model(facts_in(view)) != self.before:
            return None
        chosen = zip(sites_in(view), self._keys, strict=True)
        promotion = self._promoted(view, [site for site, key in chosen if key in self._changed], integers)
        if any(outcome.status is not Status.CHANGED for outcome in promotion.outcomes):
            return None
        main = self._after.scopes.main
        listed = main.initializers.keys() <= main.inputs
        return [replace(facts, initializers_are_inputs=listed) for facts in self._in_model(facts_in(promotion.after))]

    def _in_model(self, alone: Sequence[SiteFacts]) -> list[SiteFacts]:
        """With the facts that are about the nodes around these, and about other constants."""
        fields = "node", "casts_behind", "is_at_the_edges", "initializers_are_inputs"
        pairs = zip(alone, self.before, strict=True)
        return [replace(facts, **{name: getattr(in_model, name) for name in fields}) for facts, in_model in pairs]


def _accepting(kinds: Sequence[SiteFacts], targets: Sequence[Target]) -> list[Target]:
    return [target for target in targets if all(accepts(target, facts) for facts in kinds)]


def _apart(view: ModelView, keys: Sequence[Key], *, open_sizes: bool) -> Document | None:
    """A model of these nodes in one graph, which resize an input each; None where one is not in the main graph or
    reads what other nodes compute."""
    main, proto = view.scopes.main, view.model
    model = ModelProto(ir_version=proto.ir_version, producer_name=proto.producer_name)
    model.opset_import.extend(proto.opset_import)
    graph = model.graph
    there: set[str] = set()
    for path, output in keys:
        data = view.scopes.definition(main, output) if path == MAIN and output not in main.disputed else None
        if data is None or data.node is None or not data.node.input:
            return None
        for name in data.node.input[1:]:
            if name and name not in there and not _take_operand(view, graph, name):
                return None
            there.add(name)
        graph.node.add().CopyFrom(data.node)
        graph.output.add(name=output)
    names = FreshNames(names_in(model))
    for node in graph.node:
        if node.op_type == "Constant":
            continue
        dims, elem_type = view.dims(main, node.input[0]), view.elem_type(main, node.input[0])
        dims = dims if dims is None or not open_sizes else (None,) * len(dims)
        node.input[0] = names.fresh("data")
        graph.input.append(helper.make_tensor_value_info(node.input[0], elem_type or TensorProto.UNDEFINED, dims))
    return Document.of_part(model, view.document)


def _take_operand(view: ModelView, graph: GraphProto, name: str) -> bool:
    """Let the graph have a constant or an input of the model, too; False for what is neither."""
    main = view.scopes.main
    definition = view.scopes.definition(main, name)
    if definition is None or (definition.node is not None and definition.node.op_type != "Constant"):
        return False
    if definition.node is not None:
        graph.node.add().CopyFrom(definition.node)
        return definition.node.domain in DEFAULT_DOMAINS
    if definition.tensor is not None:
        graph.initializer.add().CopyFrom(definition.tensor)
    if name in main.inputs:
        graph.input.extend(value for value in view.model.graph.input if value.name == name)
    return True

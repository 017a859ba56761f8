"""All that a report tells about a model's sites: what they are, what each target says to them, what stands around
them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from onnx import NodeProto

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.faults.fault import Fault
from resizefix.faults.table import faults_in
from resizefix.operations.site import Site
from resizefix.reports.wording import Standing, extent, meaning, operator, origin_kind, standing
from resizefix.scope_path import Key
from resizefix.shapes.stored_shapes import ModelView

if TYPE_CHECKING:  # not every report has verdicts, or pictures
    from resizefix.faults.names import ReusedName
    from resizefix.library.plans import Plans
    from resizefix.library.resolution import InputResolution
    from resizefix.library.verdict import Verdict
    from resizefix.operations.written_resizes import WrittenResize
    from resizefix.reports.surroundings import MarkOf, Neighbourhood, Surroundings
    from resizefix.targets.target import Effect, Target, Violation


_PICK_OR_MIX = frozenset({"GatherND", "MatMul", "ConvTranspose"})


def _may_resize(node: NodeProto) -> bool:
    """Whether a node may be a part of a resize that is written otherwise; a Gather of the first axis reads a shape."""
    if node.op_type == "Gather":
        return any(attribute.name == "axis" and attribute.i not in (0, 1) for attribute in node.attribute)
    is_foreign = node.domain not in ("", "ai.onnx") or node.op_type.startswith("ResizeNearest")
    return node.op_type in _PICK_OR_MIX or is_foreign


class Broken(NamedTuple):
    """A rule that some targets have, all in the same words."""

    rule: str
    effect: Effect
    because: str
    fix: str
    targets: tuple[str, ...]
    sources: tuple[str, ...]


@dataclass(eq=False)
class Surveyed:
    """One site with every target's verdict on it, and its neighbourhood, both looked for when they are asked for."""

    site: Site
    survey: Survey = field(repr=False)
    faults: tuple[Fault, ...] = ()

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What each target says to it."""
        return self.survey.verdicts[self.site.index]

    @property
    def accepted(self) -> tuple[bool, ...]:
        """Whether each target takes it."""
        return tuple(verdict.accepted for verdict in self.verdicts)

    @property
    def refusing(self) -> list[str]:
        """The names of the targets that do not take it."""
        return [verdict.target.name for verdict in self.verdicts if not verdict.accepted]

    @cached_property
    def picture(self) -> Neighbourhood | None:
        """What stands around it."""
        return self.survey.surroundings.around(self.site.key)

    @property
    def looks(self) -> Hashable:
        """What a reader sees of it but its names: operator, meaning, scales, kind of origin, standing, faults, body."""
        site = self.site
        texts = [site.reason, site.warning, *(text for fault in self.faults for text in (fault.because, fault.fix))]
        return (
            *(operator(site), meaning(site.interpolation), extent(site.extent)),
            *(origin_kind(site.origin), site.origin.says, standing(site), site.scope.path.steps),
            *(self._unnamed(text) for text in texts),
            *(fault.name for fault in self.faults),
        )

    def _unnamed(self, text: str | None) -> str | None:
        """The sentence without the names of this node and of its tensors."""
        site = self.site
        for name in filter(None, (site.origin.name, site.label, site.input, site.output) if text else ()):
            text = str(text).replace(repr(name), "")
        return text

    @property
    def broken(self) -> tuple[Broken, ...]:
        """The rules that it breaks, those that several targets share once."""
        return broken_rules(self.verdicts)


class Survey:
    """A model as a report sees it; `mark_of` says what in it differs from another model, `targets`
    whose verdicts count (None: all)."""

    def __init__(
        self, document: Document, mark_of: MarkOf | None = None, targets: Sequence[Target] | None = None
    ) -> None:
        from resizefix.library.coupling import sites_with_coupling  # others read the classes alone

        self._view = ModelView(document)
        self._mark_of = mark_of
        self._targets = targets
        self.opset = self._view.scopes.main.opset
        self.ir_version = document.proto.ir_version
        self.sites = tuple(
            Surveyed(site, self, tuple(faults))
            for site, faults in zip(sites_with_coupling(self._view), faults_in(self._view), strict=True)
        )

    @cached_property
    def verdicts(self) -> list[tuple[Verdict, ...]]:
        """Of each site, what every target says to it; sites that differ in their names alone are judged once."""
        from resizefix.faults.table import not_loaded
        from resizefix.library.verdict import Verdict
        from resizefix.targets.catalogue import TARGETS
        from resizefix.targets.collect_facts import kinds_in
        from resizefix.targets.target import judge

        verdicts: list[tuple[Verdict, ...]] = [()] * len(self.sites)
        for facts, places in kinds_in(self._view):
            judged = [(target, judge(target, facts)) for target in self._targets or TARGETS]
            for place in places:
                label, faults = self.sites[place].site.label, self.sites[place].faults
                verdicts[place] = tuple(
                    Verdict(target, (*(one._replace(node=label) for one in broken), *not_loaded(target, label, faults)))
                    for target, broken in judged
                )
        return verdicts

    @cached_property
    def resolution(self) -> InputResolution:
        """Whether the input's height and width can change."""
        from resizefix.library.resolution import resolution_of

        return resolution_of(self._view)

    @cached_property
    def reused_names(self) -> list[ReusedName]:
        """The names of dimensions that stand for several lengths: a fault of the model, not of a site."""
        from resizefix.faults.names import known_names

        return known_names(self._view.document)

    @cached_property
    def written(self) -> list[WrittenResize]:
        """Resizes that are written as other operators, or as operators of other domains."""
        if not any(_may_resize(node) for scope in self._view.scopes.all for node in scope.body.node):
            return []
        from resizefix.operations.as_resize import places  # few models have such nodes

        return places(self._view)

    @cached_property
    def other_indices(self) -> dict[Key, Diagnostic]:
        """Of those of `written` that are no resize at some sizes, at which."""
        from resizefix.operations.as_resize import not_at_every_size

        return not_at_every_size(self._view) if self.written else {}

    @cached_property
    def plans(self) -> Plans:
        """What commands would change."""
        from resizefix.library.plans import Plans

        sites = [surveyed.site for surveyed in self.sites]
        return Plans(self._view, sites, [surveyed.faults for surveyed in self.sites])

    @cached_property
    def surroundings(self) -> Surroundings:
        """What pictures are found in."""
        from resizefix.reports.surroundings import Surroundings

        return Surroundings(self._view, self._mark_of)

    @property
    def counts(self) -> str:
        """How many sites are promotable, and how many are coupled, in words."""
        standings = [standing(surveyed.site) for surveyed in self.sites]
        coupled = standings.count(Standing.COUPLED)
        text = f"{standings.count(Standing.PROMOTABLE)} promotable"
        return f"{text}, {coupled} coupled" if coupled else text

    def taken(self, number: int) -> int:
        """How many sites the target with this number takes."""
        return sum(surveyed.verdicts[number].accepted for surveyed in self.sites)

    @property
    def refusing(self) -> list[str]:
        """The targets that do not take every site."""
        columns = zip(*self.verdicts, strict=True)
        return [column[0].target.name for column in columns if not all(verdict.accepted for verdict in column)]


def broken_rules(verdicts: Sequence[Verdict]) -> tuple[Broken, ...]:
    """Violations of one site gathered by what they say, in the order of the targets."""
    groups: dict[tuple[str, Effect, str, str], list[tuple[str, Violation]]] = {}
    for verdict in verdicts:
        for violation in verdict.violations:
            key = violation.rule, violation.effect, violation.because, violation.fix
            groups.setdefault(key, []).append((verdict.target.name, violation))
    return tuple(
        Broken(
            *key,
            targets=tuple(target for target, _ in group),
            sources=tuple(dict.fromkeys(violation.source for _, violation in group)),
        )
        for key, group in groups.items()
    )

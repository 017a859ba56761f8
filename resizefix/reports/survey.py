"""All that a report tells about a model's sites: what they are, what each target says to them, what stands around
them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from resizefix.document.document import Document
from resizefix.document.scopes import Scopes
from resizefix.library.check import Verdict
from resizefix.operations.sites import Site, find_sites
from resizefix.reports.neighbourhood import Neighbourhood
from resizefix.reports.surroundings import Surroundings
from resizefix.targets.catalogue import TARGETS
from resizefix.targets.gather import facts_of
from resizefix.targets.target import Effect, Violation, judge


@dataclass(frozen=True, eq=False)
class Surveyed:
    """One site with every target's verdict on it and its neighbourhood."""

    site: Site
    verdicts: tuple[Verdict, ...]
    picture: Neighbourhood | None

    @property
    def broken(self) -> tuple[Broken, ...]:
        """The rules that it breaks, those that several targets share once."""
        return broken_rules(self.verdicts)


@dataclass(frozen=True)
class Broken:
    """A rule that some targets have, all in the same words."""

    rule: str
    effect: Effect
    because: str
    mend: str
    targets: tuple[str, ...]
    sources: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Survey:
    """A model as a report sees it."""

    opset: int
    ir_version: int
    sites: tuple[Surveyed, ...]
    surroundings: Surroundings = field(repr=False)

    @property
    def promotable(self) -> int:
        """How many sites are."""
        return sum(surveyed.site.promotable for surveyed in self.sites)


def survey(document: Document, surroundings: Surroundings | None = None) -> Survey:
    """Survey every Upsample/Resize of the document."""
    around = surroundings or Surroundings(document)
    found = tuple(
        Surveyed(site, tuple(Verdict(target, judge(target, facts)) for target in TARGETS), around.around(site.key))
        for site, facts in zip(find_sites(document), facts_of(document), strict=True)
    )
    return Survey(Scopes(document.proto).main.opset, document.proto.ir_version, found, around)


def broken_rules(verdicts: Sequence[Verdict]) -> tuple[Broken, ...]:
    """Violations of one site gathered by what they say, in the order of the targets."""
    groups: dict[tuple[str, Effect, str, str], list[tuple[str, Violation]]] = {}
    for verdict in verdicts:
        for violation in verdict.violations:
            key = violation.rule, violation.effect, violation.because, violation.mend
            groups.setdefault(key, []).append((verdict.target.name, violation))
    return tuple(
        Broken(
            *key,
            targets=tuple(target for target, _ in group),
            sources=tuple(dict.fromkeys(violation.source for _, violation in group)),
        )
        for key, group in groups.items()
    )

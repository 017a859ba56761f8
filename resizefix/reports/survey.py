"""All that a report tells about a model's sites: what they are, what each target says to them, what stands around
them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from resizefix.document.document import Document
from resizefix.document.scopes import Scopes
from resizefix.library.check import Verdict
from resizefix.operations.sites import Site, find_sites
from resizefix.reports.neighbourhood import Neighbourhood
from resizefix.reports.surroundings import MarkOf, Surroundings
from resizefix.targets.catalogue import TARGETS
from resizefix.targets.gather import facts_of
from resizefix.targets.target import Effect, Violation, judge


@dataclass(frozen=True)
class Broken:
    """A rule that some targets have, all in the same words."""

    rule: str
    effect: Effect
    because: str
    mend: str
    targets: tuple[str, ...]
    sources: tuple[str, ...]


@dataclass(eq=False)
class Surveyed:
    """One site with every target's verdict on it, and its neighbourhood, which is looked for when it is asked for."""

    site: Site
    verdicts: tuple[Verdict, ...]
    surroundings: Callable[[], Surroundings] = field(repr=False)

    @cached_property
    def picture(self) -> Neighbourhood | None:
        """What stands around it."""
        return self.surroundings().around(self.site.key)

    @property
    def broken(self) -> tuple[Broken, ...]:
        """The rules that it breaks, those that several targets share once."""
        return broken_rules(self.verdicts)


class Survey:
    """A model as a report sees it; `mark_of` says what in it differs from another model."""

    def __init__(self, document: Document, mark_of: MarkOf | None = None) -> None:
        self._document = document
        self._mark_of = mark_of
        self.opset = Scopes(document.proto).main.opset
        self.ir_version = document.proto.ir_version
        self.sites = tuple(
            Surveyed(
                site, tuple(Verdict(target, judge(target, facts)) for target in TARGETS), lambda: self.surroundings
            )
            for site, facts in zip(find_sites(document), facts_of(document), strict=True)
        )

    @cached_property
    def surroundings(self) -> Surroundings:
        """What pictures are found in."""
        return Surroundings(self._document, self._mark_of)

    @property
    def promotable(self) -> int:
        """How many sites are."""
        return sum(surveyed.site.promotable for surveyed in self.sites)

    @property
    def refusing(self) -> list[str]:
        """The targets that do not take every site."""
        return [
            target.name
            for number, target in enumerate(TARGETS)
            if not all(surveyed.verdicts[number].accepted for surveyed in self.sites)
        ]


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

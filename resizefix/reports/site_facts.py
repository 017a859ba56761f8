"""What an HTML page says of one site: a line, facts, every target's verdict, and the rules that are broken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from resizefix.document.text import counted, listed
from resizefix.library.verdict import Verdict
from resizefix.operations.site import Site
from resizefix.reports.survey import Broken, Surveyed
from resizefix.reports.wording import (
    MARKS,
    Standing,
    coupling,
    extent,
    fault_text,
    meaning,
    operator,
    origin,
    origin_kind,
    runs_of_targets,
    standing,
    tensor,
)
from resizefix.targets.target import Effect

_EFFECTS = {
    Effect.REJECTED: ("no", "rejected by"),
    Effect.DIFFERENT: ("no", "computed differently by"),
    Effect.NOTED: ("care", "taken, with a note, by"),
}


class Words(NamedTuple):
    """Some words; `tone` is their style class: yes, care, no, quiet, or none."""

    text: str
    tone: str | None = None


class Fact(NamedTuple):
    """One fact: names out of the file, then words."""

    name: str
    text: str = ""
    codes: tuple[str, ...] = ()
    tone: str | None = None


class Badge(NamedTuple):
    """A target's verdict as a mark, a word and a colour."""

    name: str
    mark: str
    word: str
    tone: str
    accepted: bool


class RuleText(NamedTuple):
    """A rule that is broken, in sentences; `by` names the targets that have it."""

    name: str
    tone: str
    by: str
    because: str
    fix: str
    sources: str


def row(surveyed: Surveyed) -> list[tuple[Words, ...]]:
    """A site in one line."""
    site = surveyed.site
    stands = standing(site)
    texts = (operator(site), meaning(site.interpolation), f"{extent(site.extent)}, {origin_kind(site.origin)}")
    tone = "care" if stands in (Standing.FIXED, Standing.COUPLED) else "yes"
    accepted = f"accepted by {sum(surveyed.accepted)} of {counted(len(surveyed.verdicts), 'target')}"
    return [*((Words(text),) for text in texts), (Words(stands.value, tone),), (Words(accepted),)]


def facts(surveyed: Surveyed, makes: str | None = None) -> list[Fact]:
    """What is to be known of a site; `makes` is the type and the sizes of its output where they are known better."""
    site = surveyed.site
    resizes_by = extent(site.extent) if site.extent.values is not None else _open(site)
    stands = standing(site)
    promotable = {
        Standing.PROMOTABLE: "yes",
        Standing.FED: "fed by an input already",
        Standing.FIXED: f"no: {site.reason}",
    }
    scales = Fact("Coupled", coupling(site)) if stands is Standing.COUPLED else Fact("Promotable", promotable[stands])
    sentences = " ".join(_sentence(fault_text(fault)) for fault in surveyed.faults)
    steps = tuple(site.scope.path.steps)
    return [
        Fact("Computes", f"{operator(site)}, {meaning(site.interpolation)}"),
        Fact("Resizes by", resizes_by),
        Fact("Comes from", origin(site.origin)),
        Fact("Reads", f" {tensor(site.input_dims, site.elem_type)}", (site.input,)),
        Fact("Makes", f" {makes or tensor(site.output_dims, site.elem_type)}", (site.output,)),
        *([Fact("Stands in", codes=steps)] if steps else []),
        scales,
        *([Fact("Warning", site.warning, tone="care")] if site.warning is not None else []),
        *([Fact("Faults", sentences, tone="care")] if surveyed.faults else []),
    ]


def badge_of(verdict: Verdict) -> Badge:
    """The verdict as a badge."""
    noted = bool(verdict.violations) and verdict.accepted
    word = {"different": "computes something else"}.get(verdict.word, verdict.word) + ", with a note" * noted
    tone = "care" if noted else "yes" if verdict.accepted else "no"
    return Badge(verdict.target.name, MARKS[verdict.word], word, tone, verdict.accepted)


def legend(verdicts: Sequence[Verdict]) -> str:
    """What the marks mean that do not explain themselves."""
    signs = []
    if any(verdict.word == "different" for verdict in verdicts):
        signs.append("≠ loads, and computes something else")
    if any(verdict.accepted and verdict.violations for verdict in verdicts):
        signs.append("yellow: accepted, with a note below")
    return "; ".join(signs)


def rule_of(broken: Broken) -> RuleText:
    """The rule in sentences."""
    tone, word = _EFFECTS[broken.effect]
    by = f"{word} {listed(runs_of_targets(broken.targets))}"
    fix = _sentence(broken.fix, raised=False)
    return RuleText(broken.rule, tone, by, _sentence(broken.because), fix, "; ".join(broken.sources))


def _sentence(text: str, *, raised: bool = True) -> str:
    stop = "" if text.endswith((".", "!", "?")) else "."
    is_name = "_" in text.partition(" ")[0]
    return (text[:1].upper() + text[1:] if raised and not is_name else text) + stop


def _open(site: Site) -> str:
    kind = site.extent.kind.value
    return f"{kind} that are not valid" if site.origin.kind.is_constant else f"{kind}, known when the model runs"

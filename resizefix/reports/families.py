"""What targets say, in a line: a runtime's releases (`TensorRT  8.5 and later accept the resizes`), and what a page
says first, in large words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from resizefix.document.text import counted, listed, number_text
from resizefix.interpolation import Extent, ExtentKind
from resizefix.origins.classify import OriginKind
from resizefix.reports.wording import Standing, runs_of_targets, standing, times
from resizefix.targets.target import accepted

if TYPE_CHECKING:
    from resizefix.library.verdict import Verdict
    from resizefix.reports.survey import Survey, Surveyed
    from resizefix.targets.target import Target


_TITLES = {
    "tensorrt": "TensorRT",
    "openvino": "OpenVINO",
    "opencv": "OpenCV",
    "mnn": "MNN",
    "tvm": "TVM",
    "coreml": "CoreML",
    "directml": "DirectML",
    "edge-tpu": "Edge TPU",
    "ethos-u": "Ethos-U",
    "horizon": "Horizon",
    "kneron": "Kneron",
    "kneron-520": "Kneron 520",
    "kneron-720": "Kneron 720",
    "migraphx": "MIGraphX",
    "nnapi": "NNAPI",
    "qnn": "QNN",
    "rknn": "RKNN",
    "tidl": "TIDL",
    "webgl": "WebGL",
}
_FIRST_SHOWN = (8, 0)
_MOST_RULES = 3
_SAYS = {
    "accepted": ("accepts the resizes", "accept the resizes"),
    "different": ("computes something else", "compute something else"),
    "rejected": ("rejects the resizes", "reject the resizes"),
}


class FamilyLine(NamedTuple):
    """One runtime; `word` is the verdict of all its releases, or partly."""

    title: str
    word: str
    said: str
    rules: str
    verdicts: tuple[Verdict, ...]


def is_old(target: Target) -> bool:
    """Whether it is a TensorRT that few people still run: before 8.0."""
    numbers = target.version.split(".")
    return target.runtime == "tensorrt" and numbers[0].isdigit() and tuple(map(int, numbers)) < _FIRST_SHOWN


def newest_first(verdicts: Sequence[Verdict]) -> tuple[list[Verdict], list[Verdict]]:
    """The verdicts as a page shows them, the newest release of each runtime first; and those of old TensorRTs, which it
    folds. Where all are old ones, none is folded."""
    order: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        order.setdefault(verdict.target.runtime, []).insert(0, verdict)
    ordered = [verdict for family in order.values() for verdict in family]
    shown = [verdict for verdict in ordered if not is_old(verdict.target)]
    return (shown, [verdict for verdict in ordered if is_old(verdict.target)]) if shown else (ordered, [])


def lines_of(verdicts: Sequence[Verdict]) -> list[FamilyLine]:
    """A line for each runtime, in the order of the verdicts."""
    families: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        families.setdefault(verdict.target.runtime, []).append(verdict)
    return [_line(family) for family in families.values()]


def of_old(verdicts: Sequence[Verdict]) -> str:
    """What releases that are not shown say, in a line."""
    accepting = [one for one in verdicts if one.accepted]
    whom = "none of them accepts"
    if accepting:
        whom = f"{listed([one.target.version for one in accepting])} accept{'' if len(accepting) > 1 else 's'}"
    if len(accepting) == len(verdicts):
        whom = "all of them accept"
    first, last = verdicts[0].target, verdicts[-1].target
    return f"TensorRT {first.version} to {last.last or last.version}: {whom} the resizes; --all shows them"


def releases(some: Sequence[Verdict], of: Sequence[Verdict]) -> str:
    """Some releases of a runtime in words: `8.5 and later`, `8.0 to 8.4`, `rtx`."""
    runs: list[list[int]] = []
    for at, verdict in enumerate(of):
        if verdict in some and runs and runs[-1][-1] == at - 1:
            runs[-1].append(at)
        elif verdict in some:
            runs.append([at])
    return listed([_run([of[at].target for at in run], ends=run[-1] == len(of) - 1) for run in runs])


def _run(targets: Sequence[Target], *, ends: bool) -> str:
    first, last = targets[0], targets[-1]
    if ends and len(targets) > 1:
        return f"{first.version} and later"
    if len(targets) > 1 or last.last:
        return f"{first.version} to {last.last or last.version}"
    return first.version


def _line(family: Sequence[Verdict]) -> FamilyLine:
    words = {verdict.word for verdict in family}
    title = _TITLES.get(family[0].target.runtime, family[0].target.runtime)
    word = words.pop() if len(words) == 1 else "partly"
    if len(family) == 1:
        said = _SAYS[word][0]
    elif word != "partly":
        said = f"{releases(family, family)} {_SAYS[word][1]}"
    else:
        parts = []
        for each in ("accepted", "different", "rejected"):
            some = [one for one in family if one.word == each]
            if some:
                parts.append(f"{releases(some, family)} {_SAYS[each][_is_plural(some)]}")
        said = "; ".join(parts)
    return FamilyLine(title, word, said, _rules(family), tuple(family))


def _is_plural(some: Sequence[Verdict]) -> bool:
    return len(some) > 1


def _rules(family: Sequence[Verdict]) -> str:
    """The rules that are broken with the number of nodes that break them, the first few."""
    nodes: dict[str, set[str]] = {}
    notes = all(accepted([violation]) for verdict in family for violation in verdict.violations)
    for verdict in family:
        for violation in verdict.violations:
            if accepted([violation]) and not notes:
                continue
            nodes.setdefault(violation.rule, set()).add(violation.node)
    rules = [f"{rule} ({counted(len(labels), 'node')})" for rule, labels in nodes.items()]
    rest = len(rules) - _MOST_RULES
    return ", ".join([*rules[:_MOST_RULES], f"{rest} more"] if rest > 1 else rules)


_MOST_SCALES = 3


class Headline(NamedTuple):
    """Parts to stand side by side; `tone` is the style class of the whole: yes, care or no."""

    parts: tuple[str, ...]
    tone: str

    @property
    def lines(self) -> tuple[str, ...]:
        """The parts as they are shown: a comma ends each but the last."""
        first, *others = self.parts
        return (first[:1].upper() + first[1:], *others)


def headline(survey: Survey) -> Headline:
    """The verdict on the resizes of one model. `survey` has at least one site."""
    sites = survey.sites
    standings = [standing(surveyed.site) for surveyed in sites]
    promotable = standings.count(Standing.PROMOTABLE)
    tone = "yes" if promotable or all(one is Standing.FED for one in standings) else "care"
    if any(surveyed.site.interpolation is None for surveyed in sites):
        tone = "no"
    broken = sum(any(not fault.is_optional for fault in surveyed.faults) for surveyed in sites)
    if broken:
        tone = "no" if "onnxruntime" in survey.refusing else "care"
    parts = (_faults(broken, len(sites)), _extents(sites), _standings(standings), accepting(survey))
    return Headline(tuple(part for part in parts if part), tone)


def scale_of(extent: Extent) -> str | None:
    """`×2`, `×2 by ×3` or `60×72`: what the extent makes of the axes that it changes; None where that is not known."""
    if extent.values is None:
        return None
    if extent.kind is ExtentKind.SIZES:
        return times(extent.values[2:] or extent.values)
    scaled = [value for value in extent.values if value != 1]
    if len(set(scaled)) <= 1:
        return f"×{number_text(scaled[0])}" if scaled else "×1"
    return " by ".join(f"×{number_text(value)}" for value in scaled)


def accepting(survey: Survey) -> str:
    """Which targets accept every resize: `TensorRT 8.5 and later accept it`."""
    from resizefix.targets.catalogue import TARGETS

    them = "it" if len(survey.sites) == 1 else "them"
    refusing = set(survey.refusing)
    if not refusing:
        return f"every runtime accepts {them}"
    taking = [target for target in TARGETS if target.name not in refusing]
    if not taking:
        return f"no runtime accepts {them}"
    numbered = [target for target in TARGETS if target.runtime == "tensorrt"]
    ours = [target for target in taking if target.runtime == "tensorrt"]
    if not ours:
        return f"no TensorRT accepts {them}"
    if ours == numbered[-len(ours) :]:
        first = f"TensorRT {ours[0].version}"
        return f"{first} and later accept {them}" if len(ours) > 1 else f"{first} accepts {them}"
    return f"accepted by {listed(runs_of_targets([target.name for target in taking]))}"


def _faults(broken: int, sites: int) -> str:
    if not broken:
        return ""
    return "the resize has a fault" if sites == 1 else f"{broken} of {sites} resizes have a fault"


def _extents(sites: Sequence[Surveyed]) -> str:
    frozen = [one for one in sites if one.site.origin.kind.is_constant]
    scales = list(dict.fromkeys(filter(None, (scale_of(one.site.extent) for one in frozen))))
    named = f"{len(scales)} scales" if len(scales) > _MOST_SCALES else listed(scales) if scales else ""
    kinds = {one.site.origin.kind for one in sites}
    if len(sites) == 1:
        if scales:
            return f"{named} is frozen"
        return {
            OriginKind.GRAPH_INPUT: "the scale is an input",
            OriginKind.RUNTIME: "the scale is computed at run time",
        }.get(next(iter(kinds)), "" if frozen else "the scale is computed")
    if len(frozen) == len(sites) and scales:
        return f"{counted(len(sites), 'resize')}, frozen at {named}"
    if kinds == {OriginKind.GRAPH_INPUT}:
        return f"{counted(len(sites), 'resize')}, driven by inputs"
    return f"{counted(len(sites), 'resize')}, {len(frozen)} of them frozen" if frozen else counted(len(sites), "resize")


def _standings(standings: Sequence[Standing]) -> str:
    promotable, coupled = standings.count(Standing.PROMOTABLE), standings.count(Standing.COUPLED)
    if all(one is Standing.FED for one in standings):
        return ""
    if promotable == len(standings):
        return "can be promoted"
    if promotable:
        return f"{promotable} of {len(standings)} can be promoted"
    if coupled:
        return "cannot change alone" if coupled == len(standings) else f"{coupled} cannot change alone"
    return "cannot be promoted"

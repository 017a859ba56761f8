"""What the releases of a runtime say, in a line: `TensorRT  8.5 and later accept the resizes`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from resizefix.document.text import counted, listed
from resizefix.targets.target import accepted

if TYPE_CHECKING:
    from resizefix.library.verdict import Verdict
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
    rules = [f"{rule} ({counted(len(found), 'node')})" for rule, found in nodes.items()]
    more = len(rules) - _MOST_RULES
    return ", ".join([*rules[:_MOST_RULES], f"{more} more"] if more > 1 else rules)

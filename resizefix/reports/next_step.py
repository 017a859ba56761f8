"""The command to type next, once the sites of a model are known."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from resizefix.library.check import Verdict
from resizefix.operations.sites import Site
from resizefix.origins.origin import OriginKind
from resizefix.reports.printable import printable

_MOST_NAMED = 3
_CHECKED = "tensorrt-10"


@dataclass(frozen=True)
class NextStep:
    """What a command is for (after "to"), and how it is typed."""

    purpose: str
    command: str


def next_step(model: str, sites: Sequence[tuple[Site, Sequence[Verdict]]]) -> NextStep | None:
    """The most useful command for the model in the file `model`; None where no site is valid."""
    promotable = [site for site, _ in sites if site.promotable]
    if promotable:
        some = len(promotable) <= _MOST_NAMED and len(promotable) < len(sites)
        return _promotion(model, promotable if some else [], len(promotable))
    for site, verdicts in sites:
        for step in steps_of(model, site, verdicts):
            return step
    if any(site.interpolation is not None for site, _ in sites):
        return NextStep("see what a runtime says", _spoken("check", model, "--target", _CHECKED))
    return None


def steps_of(model: str, site: Site, verdicts: Sequence[Verdict]) -> list[NextStep]:
    """What can be done with one site; the rewrite is for the latest target that refuses it and that one serves."""
    if site.interpolation is None:
        return []
    steps = []
    if site.promotable:
        steps.append(_promotion(model, [site], 1))
    if site.origin.kind is OriginKind.GRAPH_INPUT:
        setting = [] if site.origin.name is None else ["--set", f"{site.origin.name}=…"]
        command = _spoken("freeze-scales", model, _beside(model, "frozen"), *setting, "-n", f"#{site.index}")
        steps.append(NextStep(f"make its {site.extent.kind.value} constant again", command))
    refusing = [verdict for verdict in verdicts if not verdict.accepted and _is_legalizable(verdict)]
    if refusing:
        name = refusing[-1].target.name
        command = _spoken("legalize", model, _beside(model, name), "--target", name, "-n", f"#{site.index}")
        steps.append(NextStep(f"rewrite it for {name}, where that can be done", command))
    return steps


def _is_legalizable(verdict: Verdict) -> bool:
    return all("resizefix legalize" in violation.mend for violation in verdict.violations)


def _promotion(model: str, named: Sequence[Site], number: int) -> NextStep:
    patterns = [word for site in named for word in ("-n", f"#{site.index}")]
    purpose = "make its scales a graph input" if number == 1 else "make their scales graph inputs"
    return NextStep(purpose, _spoken("promote-scales", model, _beside(model, "promoted"), *patterns))


def _beside(model: str, word: str) -> str:
    name = PurePath(model).name
    stem = name[: -len(".onnx")] if name.endswith(".onnx") else name
    return f"{stem or 'model'}.{word}.onnx"


def _spoken(*words: str) -> str:
    return "resizefix " + " ".join(shlex.quote(printable(word)) for word in words)

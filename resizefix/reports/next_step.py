"""The command to type next, once the sites of a model are known."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from resizefix.operations.sites import Site
from resizefix.printable import printable
from resizefix.reports.wording import Standing, standing

if TYPE_CHECKING:
    from resizefix.library.check import Verdict

_MOST_NAMED = 3
_MODERN = "tensorrt-10"


class NextStep(NamedTuple):
    """What a command is for (after "to"), and how it is typed."""

    purpose: str
    words: tuple[str, ...]

    @property
    def command(self) -> str:
        """The line for a shell."""
        return " ".join(self.words)


def next_step(model: str, sites: Sequence[tuple[Site, Sequence[Verdict]]]) -> NextStep | None:
    """The most useful command for the model in the file `model`; None where no site is valid."""
    promotable = [site for site, _ in sites if site.promotable]
    if promotable:
        some = len(promotable) <= _MOST_NAMED and len(promotable) < len(sites)
        return _promotion(model, promotable if some else [], len(promotable))
    for site, _ in sites:
        if standing(site) is Standing.FED:
            return _freezing(model, site)
    valid = [(site, verdicts) for site, verdicts in sites if site.interpolation is not None]
    for site, verdicts in valid:
        for verdict in verdicts:
            if verdict.target.name == _MODERN and not verdict.accepted and _is_legalizable(verdict):
                return _rewriting(model, site, _MODERN)
    return NextStep("see what a runtime says", _spoken("check", model, "--target", _MODERN)) if valid else None


def steps_of(model: str, site: Site, verdicts: Sequence[Verdict]) -> list[NextStep]:
    """What can be done with one site; the rewrite is for the latest target that wants one."""
    if site.interpolation is None:
        return []
    steps = []
    if standing(site) is Standing.PROMOTABLE:
        steps.append(_promotion(model, [site], 1))
    if standing(site) is Standing.FED:
        steps.append(_freezing(model, site))
    refusing = [verdict for verdict in verdicts if not verdict.accepted and _is_legalizable(verdict)]
    if refusing:
        steps.append(_rewriting(model, site, refusing[-1].target.name))
    return steps


def _freezing(model: str, site: Site) -> NextStep:
    setting = [] if site.origin.name is None else ["--set", f"{site.origin.name}=…"]
    words = _spoken("freeze-scales", model, _beside(model, "frozen"), *setting, "-n", f"#{site.index}")
    return NextStep(f"make its {site.extent.kind.value} constant again", words)


def _rewriting(model: str, site: Site, target: str) -> NextStep:
    words = _spoken("legalize", model, _beside(model, target), "--target", target, "-n", f"#{site.index}")
    return NextStep(f"rewrite it for {target}, where that can be done", words)


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


def _spoken(*words: str) -> tuple[str, ...]:
    return ("resizefix", *(shlex.quote(printable(word)) for word in words))

"""What a page says first, in large words: what the resizes are, whether they can be promoted, and who accepts them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from resizefix.document.text import counted, listed, number_text
from resizefix.interpolation import ExtentKind
from resizefix.operations.site import Extent
from resizefix.origins.classify import OriginKind
from resizefix.reports.wording import Standing, runs_of_targets, standing, times

if TYPE_CHECKING:
    from resizefix.reports.survey import Survey, Surveyed

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

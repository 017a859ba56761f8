"""`set --html`: what each change of an interpolation costs, in numbers and in pictures: before, after, difference."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from resizefix.document.text import counted
from resizefix.library.result import Result
from resizefix.outcome import Outcome, Status
from resizefix.printable import printable
from resizefix.reports.headline import Headline
from resizefix.reports.html import proof_of
from resizefix.reports.page import page
from resizefix.reports.pictures import Compared, pictures
from resizefix.reports.proof import difference_text
from resizefix.verification.views import PlaneView

_MOST_NODES = 12  # with pictures; a page of more would not be read


def set_page(model: str, out: str | None, settings: Sequence[str], result: Result) -> str:
    """The page of one call; `model` and `out` are how the user named the files."""
    changed = [outcome for outcome in result.outcomes if outcome.status is Status.CHANGED]
    views = list(reversed(result.views))  # pictures before random values
    of_outputs = [view for view in views if view.node is None]
    return page(
        "set",
        _verdict(changed, result),
        f"resizefix set · {' '.join(settings)}",
        names=(PurePath(model).name, PurePath(out).name if out is not None else None),
        outputs=changed[0].output_diffs if changed else (),  # all nodes were changed together
        output_views=list(map(pictures, of_outputs)),
        nodes=[{"outcome": outcome, "views": _views_of(outcome, views)} for outcome in changed],
        left=[outcome for outcome in result.outcomes if outcome.status is not Status.CHANGED],
        verification=proof_of(result.verification, _FED),
    )


# Each run is that of one changed node, beside a model of what was asked for, or that of the model.
_FED = "to each changed node alone, or to the whole model, in onnxruntime"


def _verdict(changed: Sequence[Outcome], result: Result) -> Headline:
    what = f"{len(changed)} of {counted(len(result.outcomes), 'resize')} changed"
    outputs = [found for outcome in changed[:1] for found in outcome.output_diffs]
    if not outputs:
        return Headline((what, "the outputs were not compared"), "care")
    if all(found.max_abs_diff == 0 for found in outputs):
        return Headline((what, "the outputs are the same"), "yes")
    last = [found for found in outputs if found.feed == outputs[-1].feed]  # files come after random values
    farthest = max(last, key=lambda found: found.max_abs_diff)
    difference = f"'{printable(farthest.tensor)}' {difference_text(farthest)} ({printable(farthest.feed)})"
    return Headline((what, difference), "care")


def _views_of(outcome: Outcome, views: Sequence[PlaneView]) -> list[Compared]:
    """The pictures of a node, but of tensors that are shown as outputs of the model."""
    mine = {(found.feed, found.tensor) for found in outcome.node_diffs}
    mine -= {_key(view) for view in views if view.node is None}
    shown = [view for view in views if view.node is not None and _key(view) in mine]
    return list(map(pictures, shown)) if outcome.index < _MOST_NODES else []


def _key(view: PlaneView) -> tuple[str, str]:
    return view.difference.feed, view.difference.tensor

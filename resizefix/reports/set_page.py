"""`set --html`: what each change of an interpolation costs, in numbers and in pictures: before, after, difference."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from resizefix.document.text import counted
from resizefix.library.result import Result
from resizefix.outcome import MeasuredDifference, Outcome, Status
from resizefix.printable import printable
from resizefix.reports.headline import Headline
from resizefix.reports.html import proof_section
from resizefix.reports.markup import Markup, element
from resizefix.reports.page import header, page, wide_table
from resizefix.reports.pictures import pictures
from resizefix.reports.proof import difference_text
from resizefix.reports.wording import reason
from resizefix.verification.views import View

_MOST_NODES = 12  # with pictures; a page of more would not be read


def set_page(model: str, out: str | None, settings: Sequence[str], result: Result) -> str:
    """The page of one call; `model` and `out` are how the user named the files."""
    names = PurePath(model).name, PurePath(out).name if out is not None else None
    changed = [outcome for outcome in result.outcomes if outcome.status is Status.CHANGED]
    title = [element("bdi", names[0]), *([" → ", element("bdi", names[1])] if names[1] else [])]
    begun = header(title, _verdict(changed, result), f"resizefix set · {' '.join(settings)}")
    sections = [_node(outcome, result) for outcome in changed]
    left = [outcome for outcome in result.outcomes if outcome.status is not Status.CHANGED]
    main = element(
        "main", _outputs(changed, result), *sections, _left(left), proof_section(result.verification, _FED), id="sites"
    )
    return page(f"{names[0]} – resizefix set", begun, main)


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


def _outputs(changed: Sequence[Outcome], result: Result) -> Markup | None:
    """The outputs of the model: all nodes were changed together."""
    if not changed or not changed[0].output_diffs:
        return None
    views = [view for view in reversed(result.views) if view.node is None]  # pictures before random values
    heading = element("h2", "Outputs of the model")
    return element("section", heading, _table(changed[0].output_diffs), *map(pictures, views))


def _node(outcome: Outcome, result: Result) -> Markup:
    mine = {(found.feed, found.tensor) for found in outcome.node_diffs}
    mine -= {_key(view) for view in result.views if view.node is None}  # shown already, as an output of the model
    views = [view for view in reversed(result.views) if view.node is not None and _key(view) in mine]
    shown = views if outcome.index < _MOST_NODES else []
    lines = [element("del", f"− {outcome.before}"), *(element("ins", f"+ {after}") for after in outcome.after)]
    return element(
        "section",
        element("h2", element("bdi", outcome.node)),
        element("p", reason(outcome)),
        element("div", element("pre", element("code", *lines)), class_="changes"),
        _table(outcome.node_diffs) if outcome.node_diffs else None,
        *map(pictures, shown),
    )


def _key(view: View) -> tuple[str, str]:
    return view.difference.feed, view.difference.tensor


def _table(differences: Sequence[MeasuredDifference]) -> Markup:
    rows = (
        element("tr", element("td", element("code", found.tensor)), element("td", found.feed), element("td", text))
        for found in differences
        for text in [difference_text(found)]
    )
    return wide_table("runs", "Measured differences", ("tensor", "fed", "difference"), rows)


def _left(outcomes: Sequence[Outcome]) -> Markup | None:
    if not outcomes:
        return None
    listed = (
        element("li", element("bdi", outcome.node), f" ({outcome.status.value}): {reason(outcome)}")
        for outcome in outcomes
    )
    return element("section", element("h2", "Not changed"), element("ul", *listed))

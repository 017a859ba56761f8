"""`inspect --html`, `diff --html`, `verify --html`: every site drawn, with what each target says to it, in one file;
and `set --html`: what each change of an interpolation costs, in numbers and in pictures: before, after, difference."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from resizefix.document.text import counted, listed
from resizefix.library.result import Result
from resizefix.library.verdict import Verdict
from resizefix.outcome import Outcome, Status
from resizefix.printable import printable
from resizefix.reports import proof
from resizefix.reports.comparison import Comparison, Fate, SitePair, labelled, sizes_after
from resizefix.reports.drawing import Drawing, drawing
from resizefix.reports.families import Headline, headline, newest_first, scale_of
from resizefix.reports.next_step import next_step, steps_of
from resizefix.reports.page import page
from resizefix.reports.pictures import Compared, pictures
from resizefix.reports.proof import difference_text
from resizefix.reports.site_facts import Words, facts, row
from resizefix.reports.surroundings import Neighbourhood
from resizefix.reports.survey import Survey, Surveyed
from resizefix.reports.wording import (
    Standing,
    are_the_same,
    grouped,
    is_the_same,
    numbered,
    place,
    runs_of_targets,
    standing,
    titled,
)
from resizefix.targets.catalogue import TARGETS
from resizefix.verification.verification import Verification, VerificationStatus
from resizefix.verification.views import PlaneView

_TONES = {
    VerificationStatus.PASSED: "yes",
    VerificationStatus.UNREFUTED: "care",
    VerificationStatus.FAILED: "no",
    VerificationStatus.SKIPPED: "care",
}
_MOST_OPEN = 6  # a page with more sites begins folded
_MOST_CHANGES = 2000  # rows that a browser shows without effort


def inspect_page(model: str, survey: Survey) -> str:
    """The page of one model; `model` is how the user named the file."""
    line = f"resizefix inspect, opset {survey.opset}, IR version {survey.ir_version}"
    groups = grouped(survey.sites, lambda one: (one.looks, one.accepted)) if survey.sites else []
    return page(
        "inspect",
        headline(survey) if survey.sites else None,
        line,
        name=PurePath(model).name,
        cards=[_site(model, group, survey, is_open=len(groups) <= _MOST_OPEN) for group in groups],
        step=next_step(model, survey) if survey.sites else None,
        **_lists(_STANDINGS, {"accepts": survey}),
    )


def diff_page(before: str, after: str, comparison: Comparison, verification: Verification | None = None) -> str:
    """The page of two models, `before` and `after` as the user named the files; with what came of running both."""
    pairs, changes = comparison.pairs, comparison.changes
    command = "resizefix diff" if verification is None else "resizefix verify"
    groups = grouped(list(enumerate(pairs)), lambda numbered: _looks(numbered[1]))
    open_ones = sum(group[0][1].is_touched for group in groups) <= _MOST_OPEN
    return page(
        "diff",
        _diff_headline(comparison, verification),
        f"{command}, what is not listed below {is_the_same(comparison.meaning_only)}",
        names=(PurePath(before).name, PurePath(after).name),
        command=command,
        banners=_banners(comparison) if pairs else [],
        verification=proof_of(verification),
        cards=[_pair(group, is_open=group[0][1].is_touched and open_ones) for group in groups],
        changes=[
            {"what": one.what, "name": one.name, "scope": list(one.scope), "before": one.before, "after": one.after}
            for one in changes[:_MOST_CHANGES]
        ],
        more_changes=max(len(changes) - _MOST_CHANGES, 0),
        same=are_the_same(comparison.meaning_only),
        **_lists(_FATES, {"before": comparison.before, "after": comparison.after}),
    )


def _lists(kinds: Mapping[str, str], surveys: Mapping[str, Survey]) -> dict[str, Any]:
    """What the filter of a page offers, and the table of its targets."""
    has_sites = any(survey.sites for survey in surveys.values())
    return {"kinds": kinds, "all_targets": TARGETS, "targets": _targets(surveys) if has_sites else None}


def _diff_headline(comparison: Comparison, verification: Verification | None) -> Headline:
    changes, pairs = comparison.changes, comparison.pairs
    touched = sum(pair.is_touched for pair in pairs)
    sized = sum(pair.fate is Fate.SIZED for pair in pairs)
    if not changes:
        what = f"the models {are_the_same(comparison.meaning_only)}"
    elif touched:
        what = "the resize changed" if len(pairs) == 1 else f"{touched} of {len(pairs)} resizes changed"
    elif sized:
        what = f"no resize changed, {sized} of {len(pairs)} have other sizes"
        what = what if len(pairs) > 1 else "the resize is the same, with other sizes"
    else:
        what = "no resize changed"
    ran, tone = [], "care" if changes else "yes"
    if verification is not None:
        tone = _TONES[verification.status]
        ran = [_RAN[verification.status]]
        if verification.status is VerificationStatus.PASSED and not all(run.bitwise for run in verification.runs):
            ran[0] += ", within the allowed difference"
        if verification.runtime is not None:
            ran[0] += f" in onnxruntime and in {verification.runtime}"
    rest = [*_faults_moved(comparison), counted(len(changes), "change") + " in all"] if changes else []
    return Headline((*ran, what, *rest), tone)


def _faults_moved(comparison: Comparison) -> list[str]:
    """How many resizes with a fault there are less, or more."""
    old, new = (sum(bool(one.faults) for one in survey.sites) for survey in (comparison.before, comparison.after))
    if old == new:
        return []
    words = "without the fault" if old > new else "with a new fault"
    return [f"{counted(abs(old - new), 'resize')} {words}"]


_RAN = {
    VerificationStatus.PASSED: "both models compute the same",
    VerificationStatus.UNREFUTED: "the same in all that ran",
    VerificationStatus.FAILED: "the models do not compute the same",
    VerificationStatus.SKIPPED: "not compared by running",
}


def _banners(comparison: Comparison) -> list[dict[str, str]]:
    """The targets that the change lost, and those that it gained."""
    old, new = set(comparison.before.refusing), set(comparison.after.refusing)
    kinds = (
        (new - old, "no", "Lost", "accepted every resize before, and {} not now", ("does", "do")),
        (old - new, "yes", "Gained", "{} every resize now, and did not before", ("accepts", "accept")),
    )
    return [
        {
            "tone": tone,
            "word": word,
            "targets": listed(runs_of_targets([target.name for target in TARGETS if target.name in moved])),
            "text": f"{text.format(verbs[len(moved) > 1])}.",
        }
        for moved, tone, word, text, verbs in kinds
        if moved
    ]


def _looks(pair: SitePair) -> Hashable:
    sides = [None if side is None else (side.looks, side.accepted) for side in (pair.before, pair.after)]
    return (pair.fate, *sides)


_STANDINGS = {standing.name.lower(): standing.value for standing in Standing}
_FATES = {fate.value: fate.value for fate in Fate}


def runtime_page(model: str, verification: Verification) -> str:
    """One model in another runtime, compared with onnxruntime resize by resize."""
    compared = {
        VerificationStatus.PASSED: "the same",
        VerificationStatus.UNREFUTED: "the same in all that ran",
        VerificationStatus.FAILED: "not the same",
        VerificationStatus.SKIPPED: "not compared",
    }
    other = verification.expected or verification.runtime or "the other runtime"
    what = f"{compared[verification.status]} in onnxruntime and in {other}"
    first = next((site.node for site in verification.sites if site.first), None)
    differing = [f"{printable(first)} is the first that differs"] if first else []
    return page(
        "runtime",
        Headline((what, *differing), _TONES[verification.status]),
        "resizefix verify",
        name=PurePath(model).name,
        where=proof.where(verification),
        verification=proof_of(verification),
    )


def proof_of(verification: Verification | None, where: str | None = None) -> dict[str, Any] | None:
    """The verdict, pictures and rows of a verification; None where nothing was verified. `where`: what was fed."""
    if verification is None:
        return None
    sides, fed = ("Before", "After"), "to both models in onnxruntime"
    if verification.runtime is not None:
        sides, fed = ("onnxruntime", verification.runtime), f"to onnxruntime and to {verification.runtime}"
    if verification.expected is not None:
        sides, fed = ("Expected", "Computed"), "to the model in onnxruntime"
    runs = f"What was fed {where or fed}, and how far the outputs are apart."
    sites = f"Every resize in {verification.runtime}: parts of the largest value that onnxruntime computes."
    if verification.expected is not None:
        sites = f"Every resize against {verification.expected}: parts of the largest value that is expected."
    tensors = f"What {verification.expected} holds, and what onnxruntime computes without optimisation."
    return {
        "tone": _TONES[verification.status],
        "verdict": proof.verdict(verification),
        "basis": proof.basis(verification),
        "views": [pictures(view, sides) for view in verification.views],
        "tables": [
            ("Runs", runs, proof.HEADINGS, proof.rows(verification)),
            ("Tensors", tensors, proof.TENSOR_HEADINGS, proof.tensor_rows(verification)),
            ("Resizes", sites, proof.SITE_HEADINGS, proof.site_rows(verification)),
        ],
    }


_TARGETS_AS_SHOWN = [
    verdict.target for part in newest_first([Verdict(target, ()) for target in TARGETS]) for verdict in part
]


def _targets(surveys: Mapping[str, Survey]) -> dict[str, Any]:
    """How many sites each target takes, in one column for each model."""
    rows = []
    for target in _TARGETS_AS_SHOWN:
        number = TARGETS.index(target)
        counts = [(survey.taken(number), len(survey.sites)) for survey in surveys.values()]
        cells = [
            Words(f"✓ all {taken}", "yes") if taken == every else Words(f"✕ {taken} of {every}", "no")
            for taken, every in counts
        ]
        rows.append({"target": target, "cells": cells})
    return {"columns": list(surveys), "rows": rows, "summary": _taken_whole(surveys)}


def _taken_whole(surveys: Mapping[str, Survey]) -> str:
    """How many of the targets take every resize."""
    counts = []
    for name, survey in surveys.items():
        whole = len(TARGETS) - len(survey.refusing)
        counts.append(f"{whole} {name}" if len(surveys) > 1 else str(whole))
    return f"Of {len(TARGETS)} targets, {' and '.join(counts)} accept every resize; unfold to see which"


def _site(model: str, group: Sequence[Surveyed], survey: Survey, *, is_open: bool) -> dict[str, Any]:
    """One site, or several that are alike, of which the first is drawn."""
    surveyed = group[0]
    site = surveyed.site
    identity = f"site-{site.index}"
    first = titled(site) if site.node.name else place(site)
    title, line, names = first, row(surveyed), []
    if len(group) > 1:
        title, line = _of_many(surveyed, len(group)), [*line, (Words(numbered([one.site.index for one in group])),)]
        names = [(f"site-{one.site.index}", titled(one.site)) for one in group]
        identity = f"sites-{site.index}"
    return {
        "identity": identity,
        "heading": title,
        "row": line,
        "is_open": is_open,
        "kind": standing(site).name.lower(),  # what the filter may ask for
        "rejected": surveyed.refusing,
        "names": names,
        "first": first,
        "drawing": _drawn(surveyed.picture, f"{identity}-picture"),
        "facts": facts(surveyed),
        "steps": steps_of(model, surveyed, survey) if len(group) == 1 else [],
        "surveyed": surveyed,
    }


def _drawn(picture: Neighbourhood | None, identity: str) -> Drawing | None:
    return None if picture is None else drawing(picture, identity)


def _of_many(surveyed: Surveyed, number: int) -> str:
    """`40 × nearest ×2`."""
    site = surveyed.site
    mode = "not valid" if site.interpolation is None else site.interpolation.mode.value
    return " ".join(filter(None, (f"{number} ×", mode, scale_of(site.extent))))


def _pair(group: Sequence[tuple[int, SitePair]], *, is_open: bool) -> dict[str, Any]:
    """One pair of sites, or several that are alike, of which the first is drawn."""
    number, pair = group[0]
    identity = f"site-{number}" if len(group) == 1 else f"sites-{number}"
    surveyed = pair.after or pair.before
    assert surveyed is not None
    title, names = place(surveyed.site), []
    if len(group) > 1:
        title = _of_many(pair.before or surveyed, len(group))
        names = [(f"site-{number}", place(side.site)) for number, one in group if (side := one.after or one.before)]
    sizes = sizes_after(pair)
    old = [] if pair.before is None else facts(pair.before)
    new = [] if pair.after is None else facts(pair.after, sizes)
    before = None if pair.before is None else pair.before.picture
    after = labelled(pair.after_picture, surveyed.site.output, sizes)
    tone = {Fate.SAME: "quiet", Fate.REMOVED: "no"}.get(pair.fate, "care")
    line = [(Words(pair.fate.value, tone),), *_moved(pair)]
    return {
        "identity": identity,
        "heading": title,
        "row": line,
        "is_open": is_open,
        "kind": pair.fate.value,
        "rejected": [] if pair.after is None else pair.after.refusing,
        "names": names,
        "place": place(surveyed.site),
        # Always both, so that before and after stand in the same rows.
        "sides": [
            {
                "word": word,
                "surveyed": side,
                "drawing": _drawn(picture, f"{identity}-{word.lower()}"),
                "facts": own,
                "other": other,
            }
            for word, side, picture, own, other in (
                ("Before", pair.before, before, old, new),
                ("After", pair.after, after, new, old),
            )
        ],
    }


def _moved(pair: SitePair) -> list[tuple[Words, ...]]:
    """Operator and number of targets that take the site, before and after where they differ."""
    rows = [row(side) for side in (pair.before, pair.after) if side is not None]
    if len(rows) == 1 or rows[0] == rows[1]:
        return rows[0]
    return [old if old == new else (*old, Words(" → "), *new) for old, new in zip(*rows, strict=True)]


_MOST_NODES = 12  # with pictures; a page of more would not be read


def set_page(model: str, out: str | None, settings: Sequence[str], result: Result) -> str:
    """The page of one call; `model` and `out` are how the user named the files."""
    changed = [outcome for outcome in result.outcomes if outcome.status is Status.CHANGED]
    views = list(reversed(result.views))  # pictures before random values
    of_outputs = [view for view in views if view.node is None]
    return page(
        "set",
        _set_headline(changed, result),
        f"resizefix set · {' '.join(settings)}",
        names=(PurePath(model).name, PurePath(out).name if out is not None else None),
        outputs=changed[0].output_diffs if changed else (),  # all nodes were changed together
        output_views=list(map(pictures, of_outputs)),
        nodes=[{"outcome": outcome, "views": _views_of(outcome, views)} for outcome in changed],
        left=[outcome for outcome in result.outcomes if outcome.status is not Status.CHANGED],
        verification=proof_of(result.verification, _FED),
    )


# Each run is that of one changed node, next to a model of what was asked for, or that of the model.
_FED = "to each changed node alone, or to the whole model, in onnxruntime"


def _set_headline(changed: Sequence[Outcome], result: Result) -> Headline:
    what = f"{len(changed)} of {counted(len(result.outcomes), 'resize')} changed"
    outputs = [diff for outcome in changed[:1] for diff in outcome.output_diffs]
    if not outputs:
        return Headline((what, "the outputs were not compared"), "care")
    if all(diff.max_abs_diff == 0 for diff in outputs):
        return Headline((what, "the outputs are the same"), "yes")
    last = [diff for diff in outputs if diff.feed == outputs[-1].feed]  # files come after random values
    farthest = max(last, key=lambda diff: diff.max_abs_diff)
    difference = f"'{printable(farthest.tensor)}' {difference_text(farthest)} ({printable(farthest.feed)})"
    return Headline((what, difference), "care")


def _views_of(outcome: Outcome, views: Sequence[PlaneView]) -> list[Compared]:
    """The pictures of a node, but of tensors that are shown as outputs of the model."""
    mine = {(diff.feed, diff.tensor) for diff in outcome.node_diffs}
    mine -= {_key(view) for view in views if view.node is None}
    shown = [view for view in views if view.node is not None and _key(view) in mine]
    return list(map(pictures, shown)) if outcome.index < _MOST_NODES else []


def _key(view: PlaneView) -> tuple[str, str]:
    return view.difference.feed, view.difference.tensor

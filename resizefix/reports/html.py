"""`inspect --html`, `diff --html`, `verify --html`: every site drawn, with what each target says to it, in one file."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import PurePath

from resizefix.document.text import counted, listed
from resizefix.operations.diff import Change
from resizefix.printable import printable
from resizefix.reports import card as cards
from resizefix.reports import proof
from resizefix.reports.comparison import Comparison, Fate, Pair, labelled, sizes_after
from resizefix.reports.headline import Headline, headline, scale_of
from resizefix.reports.markup import Markup, element, join
from resizefix.reports.next_step import NextStep, next_step, steps_of
from resizefix.reports.page import NOTHING, header, page, wide_table
from resizefix.reports.pictures import pictures
from resizefix.reports.survey import Survey, Surveyed, grouped
from resizefix.reports.wording import (
    Standing,
    are_the_same,
    is_the_same,
    numbered,
    place,
    runs_of_targets,
    standing,
    titled,
)
from resizefix.targets.catalogue import TARGETS
from resizefix.verification.verification import Status, Verification

_TONES = {Status.PASSED: "yes", Status.UNREFUTED: "care", Status.FAILED: "no", Status.SKIPPED: "care"}
_MOST_OPEN = 6  # a page with more sites begins folded
_MANY = 5  # sites that make a filter worth its room
_MOST_CHANGES = 2000  # rows that a browser shows without effort


def inspect_page(model: str, survey: Survey) -> str:
    """The page of one model; `model` is how the user named the file."""
    name = PurePath(model).name
    sites = survey.sites
    facts = [f"opset {survey.opset}", f"IR version {survey.ir_version}"]
    title, line = f"{name} – resizefix inspect", "resizefix inspect · " + " · ".join(facts)
    begun = header([element("bdi", name)], headline(survey) if sites else None, line)
    if not sites:
        return page(title, begun, element("main", NOTHING, id="sites"))
    step = next_step(model, survey)
    following = None if step is None else element("section", element("h2", "Next"), _commands([step]))
    groups = grouped(sites, lambda one: (one.looks, one.accepted))
    cards_of = [_card(model, group, survey, is_open=len(groups) <= _MOST_OPEN) for group in groups]
    content = element("main", _list(cards_of, _STANDINGS), following, _targets({"accepts": survey}))
    return page(title, begun, content)


def diff_page(before: str, after: str, comparison: Comparison, verification: Verification | None = None) -> str:
    """The page of two models, `before` and `after` as the user named the files; with what came of running both."""
    names = PurePath(before).name, PurePath(after).name
    pairs = comparison.pairs
    command = "resizefix diff" if verification is None else "resizefix verify"
    heading = element("bdi", names[0]), " → ", element("bdi", names[1])
    line = f"{command} · what is not listed below {is_the_same(comparison.meaning_only)}"
    begun = header(heading, _verdict(comparison, verification), line)
    title = f"{names[0]} → {names[1]} – {command}"
    groups = grouped(list(enumerate(pairs)), lambda numbered: _looks(numbered[1]))
    open_ones = sum(group[0][1].is_touched for group in groups) <= _MOST_OPEN
    cards_of = [_pair(group, is_open=group[0][1].is_touched and open_ones) for group in groups]
    surveys = {"before": comparison.before, "after": comparison.after}
    found = [_list(cards_of, _FATES), _targets(surveys)] if pairs else [element("div", NOTHING, id="sites")]
    banners = _banners(comparison) if pairs else []
    return page(title, begun, element("main", *banners, proof_section(verification), *found, _changes(comparison)))


def _verdict(comparison: Comparison, verification: Verification | None) -> Headline:
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
        if verification.status is Status.PASSED and not all(run.bitwise for run in verification.runs):
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
    Status.PASSED: "both models compute the same",
    Status.UNREFUTED: "the same in all that ran",
    Status.FAILED: "the models do not compute the same",
    Status.SKIPPED: "not compared by running",
}


def _banners(comparison: Comparison) -> list[Markup]:
    """The targets that the change lost, and those that it gained."""
    old, new = set(comparison.before.refusing), set(comparison.after.refusing)
    said = (
        (new - old, "no", "Lost", "accepted every resize before, and {} not now", ("does", "do")),
        (old - new, "yes", "Gained", "{} every resize now, and did not before", ("accepts", "accept")),
    )
    banners = []
    for moved, style, word, text, verbs in said:
        if moved:
            names = listed(runs_of_targets([target.name for target in TARGETS if target.name in moved]))
            line = element("p", element("strong", f"{word}: {names}"), f" {text.format(verbs[len(moved) > 1])}.")
            banners.append(element("div", line, class_=f"banner {style}", role="note"))
    return banners


def _looks(pair: Pair) -> Hashable:
    sides = [None if side is None else (side.looks, side.accepted) for side in (pair.before, pair.after)]
    return (pair.fate, *sides)


_STANDINGS = {standing.name.lower(): standing.value for standing in Standing}
_FATES = {fate.value: fate.value for fate in Fate}


def runtime_page(model: str, verification: Verification) -> str:
    """One model in another runtime, compared with onnxruntime resize by resize."""
    name, where = PurePath(model).name, f" in {verification.runtime or 'another runtime'}"
    compared = {
        Status.PASSED: "the same",
        Status.UNREFUTED: "the same in all that ran",
        Status.FAILED: "not the same",
        Status.SKIPPED: "not compared",
    }
    what = f"{compared[verification.status]} in onnxruntime and in {verification.runtime or 'the other runtime'}"
    first = next((site.node for site in verification.sites if site.first), None)
    differing = [f"{printable(first)} is the first that differs"] if first else []
    verdict = Headline((what, *differing), _TONES[verification.status])
    begun = header([element("bdi", name), where], verdict, "resizefix verify")
    return page(f"{name}{where} – resizefix verify", begun, element("main", proof_section(verification)))


def proof_section(verification: Verification | None, where: str | None = None) -> Markup | None:
    """The verdict, and a row for each run; nothing where nothing was verified. `where`: what was fed, in words."""
    if verification is None:
        return None
    style, sides, fed = _TONES[verification.status], ("Before", "After"), "to both models in onnxruntime"
    if verification.runtime is not None:
        sides, fed = ("onnxruntime", verification.runtime), f"to onnxruntime and to {verification.runtime}"
    verdict = element("p", element("strong", proof.verdict(verification), class_=style), proof.basis(verification))
    runs = _rows(
        "Runs",
        f"What was fed {where or fed}, and how far the outputs are apart.",
        proof.HEADINGS,
        proof.rows(verification),
    )
    sites = _rows(
        "Resizes",
        f"Every resize in {verification.runtime}: parts of the largest value that onnxruntime computes.",
        proof.SITE_HEADINGS,
        proof.site_rows(verification),
    )
    shown = (pictures(view, sides) for view in verification.views)
    return element("section", element("h2", "Verification"), verdict, *shown, runs, sites)


def _rows(label: str, caption: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup | None:
    if not rows:
        return None

    def cells(row: Sequence[str]) -> list[Markup]:
        return [element("td", cell, data_label=word) for word, cell in zip(headings, row, strict=True)]

    return wide_table("runs", label, headings, (element("tr", *cells(row)) for row in rows), caption)


def _list(sites: Sequence[Markup], kinds: Mapping[str, str]) -> Markup:
    heading = element("h2", "Resizes", id="sites", tabindex="-1")
    return element("section", heading, _filter(kinds) if len(sites) >= _MANY else None, *sites)


def _filter(kinds: Mapping[str, str]) -> Markup:
    """Hidden until the script, which makes it work, shows it."""

    def choice(label: str, name: str, every: str, options: Mapping[str, str]) -> Markup:
        listed = [element("option", every, value="")]
        listed += [element("option", text, value=value) for value, text in options.items()]
        return element("label", label, element("select", *listed, name=name))

    return element(
        "form",
        element("label", "Words in a line", element("input", type="search", name="words", autocomplete="off")),
        choice("Show", "what", "all", kinds),
        choice("Rejected by", "target", "any or none", {target.name: target.name for target in TARGETS}),
        element("button", "Unfold all", type="button", value="open"),
        element("button", "Fold all", type="button", value="close"),
        element("p", role="status"),
        hidden=True,
        aria_label="Filter the resizes",
    )


def _targets(surveys: Mapping[str, Survey]) -> Markup:
    """How many sites each target takes, in one column for each model."""
    rows = []
    for number, target in enumerate(TARGETS):
        cells = []
        for label, survey in surveys.items():
            taken = survey.taken(number)
            every = taken == len(survey.sites)
            text = f"✓ all {taken}" if every else f"✕ {taken} of {len(survey.sites)}"
            cells.append(element("td", text, class_="yes" if every else "no", data_label=label))
        name = element("th", element("code", target.name), scope="row")
        rows.append(element("tr", name, *cells, element("td", target.parser, class_="quiet", data_label="rules of")))
    caption = "How many of the resizes each target accepts and computes as ONNX says."
    wide = wide_table("targets", "Targets", ("target", *surveys, "rules of"), rows, caption)
    summary = element("summary", element("h2", "Targets"), element("p", _taken_whole(surveys)))
    return element("section", element("details", summary, wide, class_="folds"))


def _taken_whole(surveys: Mapping[str, Survey]) -> str:
    """How many of the targets take every resize."""
    counts = []
    for name, survey in surveys.items():
        whole = len(TARGETS) - len(survey.refusing)
        counts.append(f"{whole} {name}" if len(surveys) > 1 else str(whole))
    return f"Of {len(TARGETS)} targets, {' and '.join(counts)} accept every resize; unfold to see which"


def _card(model: str, group: Sequence[Surveyed], survey: Survey, *, is_open: bool) -> Markup:
    """One site, or several that are alike, of which the first is drawn."""
    surveyed = group[0]
    site = surveyed.site
    identity = f"site-{site.index}"
    first = titled(site) if site.node.name else place(site)
    title, row, names = first, cards.row(surveyed), []
    if len(group) > 1:
        title, row = _of_many(surveyed, len(group)), [*row, numbered([one.site.index for one in group])]
        names = [(f"site-{one.site.index}", titled(one.site)) for one in group]
        identity = f"sites-{site.index}"
    content = element(
        "div",
        element("p", f"The first of them, {first}:", class_="quiet") if len(group) > 1 else None,
        cards.picture(surveyed.picture, f"{identity}-picture", f"What stands around {first}"),
        cards.fact_list(cards.facts(surveyed)),
        _commands(steps_of(model, surveyed, survey)) if len(group) == 1 else None,
        cards.verdicts(surveyed, "h4"),
        class_="inside one",
    )
    kind = standing(site).name.lower()
    return cards.card(
        identity, title, row, content, is_open=is_open, kind=kind, rejected=surveyed.refusing, names=names
    )


def _of_many(surveyed: Surveyed, number: int) -> str:
    """`40 × nearest ×2`."""
    site = surveyed.site
    mode = "not valid" if site.interpolation is None else site.interpolation.mode.value
    return " ".join(filter(None, (f"{number} ×", mode, scale_of(site.extent))))


def _commands(steps: Sequence[NextStep]) -> Markup | None:
    """Each with its purpose; a word of a command is broken only where it is longer than the line."""
    commands = [
        join(
            element("p", f"To {step.purpose}:"),
            element("pre", element("code", *(join(element("span", word), " ") for word in step.quoted))),
        )
        for step in steps
    ]
    return element("div", *commands, class_="commands") if commands else None


def _pair(group: Sequence[tuple[int, Pair]], *, is_open: bool) -> Markup:
    """One pair of sites, or several that are alike, of which the first is drawn."""
    number, pair = group[0]
    identity = f"site-{number}" if len(group) == 1 else f"sites-{number}"
    known = pair.after or pair.before
    assert known is not None
    title, names = place(known.site), []
    if len(group) > 1:
        title = _of_many(pair.before or known, len(group))
        names = [(f"site-{number}", place(side.site)) for number, one in group if (side := one.after or one.before)]
    old, new = ({} if side is None else cards.facts(side) for side in (pair.before, pair.after))
    sizes = sizes_after(pair)
    if sizes is not None and "Makes" in new and pair.after is not None:
        new["Makes"] = join(element("code", pair.after.site.output), f" {sizes}")
    sides = []
    for word, side, known_facts, other in (("Before", pair.before, old, new), ("After", pair.after, new, old)):
        found = None if side is None else side.picture
        if word == "After":
            found = labelled(pair.after_picture, known.site.output, sizes)
        drawn = element("p", "Not there.", class_="quiet")
        if found is not None:
            drawn = cards.picture(
                found, f"{identity}-{word.lower()}", f"{word}: what stands around {place(known.site)}"
            )
        facts = element("div")
        if side is not None:
            facts = cards.fact_list(known_facts, other if other else None)
        elif found is not None:
            facts = element("p", "Other operators make this tensor; no Upsample or Resize does.")
        verdicts = element("div") if side is None else cards.verdicts(side, "h5")
        # Always four, so that before and after stand in the same rows.
        sides.append(element("div", element("h4", word), drawn, facts, verdicts, class_="side"))
    content = element("div", *sides, class_="inside two")
    colour = {Fate.SAME: "quiet", Fate.REMOVED: "no"}.get(pair.fate, "care")
    told_row = [element("span", pair.fate.value, class_=colour), *_moved(pair)]
    refusing = [] if pair.after is None else pair.after.refusing
    return cards.card(
        identity, title, told_row, content, is_open=is_open, kind=pair.fate.value, rejected=refusing, names=names
    )


def _moved(pair: Pair) -> list[Markup | str]:
    """Operator and number of targets that take the site, before and after where they differ."""
    rows = [cards.row(side) for side in (pair.before, pair.after) if side is not None]
    if len(rows) == 1 or rows[0] == rows[1]:
        return rows[0]
    return [old if old == new else join(old, " → ", new) for old, new in zip(*rows, strict=True)]


def _changes(comparison: Comparison) -> Markup:
    changes = comparison.changes
    heading = element("h2", "Every change")
    if not changes:
        return element("section", heading, element("p", f"The models {are_the_same(comparison.meaning_only)}."))
    shown = [_change(change) for change in changes[:_MOST_CHANGES]]
    left = len(changes) - len(shown)
    more = element("p", f"{left} more are not shown; resizefix diff lists them all.") if left else None
    return element("section", heading, element("ul", *shown, class_="changes"), more)


def _change(change: Change) -> Markup:
    where = [join(" in ", element("code", step)) for step in reversed(change.scope)]
    lines = [
        element(tag, element("span", word, class_="unseen"), f"{sign} {text}")
        for tag, word, sign, text in (("del", "before: ", "−", change.before), ("ins", "after: ", "+", change.after))
        if text is not None
    ]
    named = element("p", element("strong", change.what), " ", element("code", change.name), *where)
    return element("li", named, element("pre", element("code", *lines)))

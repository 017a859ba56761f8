"""`inspect --html`, `diff --html`, `verify --html`: every site drawn, with what each target says to it, in one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath

from resizefix.operations.diff import Change
from resizefix.reports import card as cards
from resizefix.reports import proof
from resizefix.reports.comparison import Comparison, Fate, Pair
from resizefix.reports.markup import Markup, element, join
from resizefix.reports.next_step import NextStep, next_step, steps_of
from resizefix.reports.page import page
from resizefix.reports.survey import Survey, Surveyed
from resizefix.reports.wording import Standing, count, place, standing
from resizefix.targets.catalogue import TARGETS
from resizefix.verification.verification import Status, Verification

_MOST_OPEN = 6  # a page with more sites begins folded
_MANY = 5  # sites that make a filter worth its room
_MOST_CHANGES = 2000  # rows that a browser shows without effort


def inspect_page(model: str, survey: Survey) -> str:
    """The page of one model; `model` is how the user named the file."""
    name = PurePath(model).name
    sites = survey.sites
    told = [count(len(sites), "resize node"), survey.counts]
    told += [f"opset {survey.opset}", f"IR version {survey.ir_version}"]
    header = element(
        "header",
        element("h1", element("bdi", name)),
        element("p", "resizefix inspect · " + " · ".join(told), class_="quiet"),
    )
    if not sites:
        return page(f"{name} – resizefix inspect", header, element("main", _nothing(), id="sites"))
    step = next_step(model, survey)
    following = None if step is None else element("section", element("h2", "Next"), _commands([step]))
    cards_of = [_card(model, surveyed, survey, is_open=len(sites) <= _MOST_OPEN) for surveyed in sites]
    content = element("main", following, _targets({"sites": survey}), _list(cards_of, _STANDINGS))
    return page(f"{name} – resizefix inspect", header, content)


def diff_page(before: str, after: str, comparison: Comparison, verification: Verification | None = None) -> str:
    """The page of two models, `before` and `after` as the user named the files; with what came of running both."""
    names = PurePath(before).name, PurePath(after).name
    changes, pairs = comparison.changes, comparison.pairs
    touched = sum(pair.fate is not Fate.SAME for pair in pairs)
    told = [count(len(changes), "change"), f"{touched} of {count(len(pairs), 'resize')} touched"]
    command = "resizefix diff" if verification is None else "resizefix verify"
    header = element(
        "header",
        element("h1", element("bdi", names[0]), " → ", element("bdi", names[1])),
        element("p", f"{command} · " + " · ".join(told), class_="quiet"),
    )
    title = f"{names[0]} → {names[1]} – {command}"
    cards_of = [
        _pair(number, pair, is_open=pair.fate is not Fate.SAME and touched <= _MOST_OPEN)
        for number, pair in enumerate(pairs)
    ]
    surveys = {"before": comparison.before, "after": comparison.after}
    found = [_targets(surveys), _list(cards_of, _FATES)] if pairs else [element("div", _nothing(), id="sites")]
    return page(title, header, element("main", proof_section(verification), *found, _changes(changes)))


_STANDINGS = {standing.name.lower(): standing.value for standing in Standing}
_FATES = {fate.value: fate.value for fate in Fate}


def proof_section(verification: Verification | None) -> Markup | None:
    """The verdict, and a row for each run; nothing where nothing was verified."""
    if verification is None:
        return None
    style = {Status.PASSED: "yes", Status.FAILED: "no", Status.SKIPPED: "care"}[verification.status]
    told = element("p", element("strong", proof.verdict(verification), class_=style), proof.basis(verification))
    headings = [element("th", word, scope="col") for word in proof.HEADINGS]
    table = element(
        "table",
        element("caption", "What both models were fed in onnxruntime, and how far their outputs are apart."),
        element("thead", element("tr", *headings)),
        element("tbody", *(element("tr", *(element("td", cell) for cell in row)) for row in proof.rows(verification))),
    )
    wide = element("div", table, class_="wide runs", role="region", tabindex="0", aria_label="Runs")
    return element("section", element("h2", "Verification"), told, wide if verification.runs else None)


def _nothing() -> Markup:
    return element("p", "There is no Upsample or Resize node in this model.")


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
        for survey in surveys.values():
            taken = sum(surveyed.verdicts[number].accepted for surveyed in survey.sites)
            every = taken == len(survey.sites)
            text = f"✓ all {taken}" if every else f"✕ {taken} of {len(survey.sites)}"
            cells.append(element("td", text, class_="yes" if every else "no"))
        name = element("th", element("code", target.name), scope="row")
        rows.append(element("tr", name, *cells, element("td", target.parser, class_="quiet")))
    headings = [element("th", word, scope="col") for word in ("target", *surveys, "parser that the rules stand for")]
    table = element(
        "table",
        element("caption", "How many of the resizes each target takes and computes as ONNX says."),
        element("thead", element("tr", *headings)),
        element("tbody", *rows),
    )
    summary = element("summary", element("h2", "Targets"), element("p", _taken_whole(surveys)))
    wide = element("div", table, class_="wide targets", role="region", tabindex="0", aria_label="Targets")
    return element("section", element("details", summary, wide, class_="folds"))


def _taken_whole(surveys: Mapping[str, Survey]) -> str:
    """How many of the targets take every resize."""
    told = []
    for name, survey in surveys.items():
        whole = len(TARGETS) - len(survey.refusing)
        told.append(f"{whole} {name}" if len(surveys) > 1 else str(whole))
    return f"{' and '.join(told)} of {len(TARGETS)} take every resize; unfold to see which"


def _card(model: str, surveyed: Surveyed, survey: Survey, *, is_open: bool) -> Markup:
    site = surveyed.site
    identity = f"site-{site.index}"
    title = f"#{site.index} {place(site)}" if site.node.name else place(site)
    refusing = cards.rejected_by(surveyed)
    content = element(
        "div",
        cards.picture(surveyed.picture, f"{identity}-picture", f"What stands around {title}"),
        element(
            "div",
            cards.fact_list(cards.facts(surveyed)),
            _commands(steps_of(model, surveyed, survey)),
            cards.verdicts(surveyed.verdicts, surveyed.broken, "h4", is_open=True),
            class_="side",
        ),
        class_="inside one",
    )
    kind = standing(site).name.lower()
    return cards.card(identity, title, cards.row(surveyed), content, is_open=is_open, kind=kind, rejected=refusing)


def _commands(steps: Sequence[NextStep]) -> Markup | None:
    """Each with its purpose; a word of a command is broken only where it is longer than the line."""
    told = [
        join(
            element("p", f"To {step.purpose}:"),
            element("pre", element("code", *(join(element("span", word), " ") for word in step.quoted))),
        )
        for step in steps
    ]
    return element("div", *told, class_="commands") if told else None


def _pair(number: int, pair: Pair, *, is_open: bool) -> Markup:
    identity = f"site-{number}"
    known = pair.after or pair.before
    assert known is not None
    title = place(known.site)
    old, new = ({} if side is None else cards.facts(side) for side in (pair.before, pair.after))
    sides = []
    for word, side, told, other in (("Before", pair.before, old, new), ("After", pair.after, new, old)):
        found = pair.after_picture if word == "After" else None if side is None else side.picture
        parts = [element("h4", word)]
        if found is None:
            parts.append(element("p", "Not there.", class_="quiet"))
        else:
            parts.append(cards.picture(found, f"{identity}-{word.lower()}", f"{word}: what stands around {title}"))
        if side is None and found is not None:
            parts.append(element("p", "Other operators make this tensor; no Upsample or Resize does."))
        if side is not None:
            parts.append(cards.fact_list(told, other if other else None))
            parts.append(cards.verdicts(side.verdicts, side.broken, "h5", is_open=False))
        sides.append(element("div", *parts, class_="side"))
    content = element("div", *sides, class_="inside two")
    colour = {Fate.SAME: "quiet", Fate.REMOVED: "no"}.get(pair.fate, "care")
    told_row = [element("span", pair.fate.value, class_=colour), *_moved(pair)]
    refusing = [] if pair.after is None else cards.rejected_by(pair.after)
    return cards.card(identity, title, told_row, content, is_open=is_open, kind=pair.fate.value, rejected=refusing)


def _moved(pair: Pair) -> list[Markup | str]:
    """Operator and number of targets that take the site, before and after where they differ."""
    rows = [cards.row(side) for side in (pair.before, pair.after) if side is not None]
    if len(rows) == 1 or rows[0] == rows[1]:
        return rows[0]
    return [old if old == new else join(old, " → ", new) for old, new in zip(*rows, strict=True)]


def _changes(changes: Sequence[Change]) -> Markup:
    heading = element("h2", "Every change")
    if not changes:
        return element("section", heading, element("p", "The models are the same."))
    shown = [_change(change) for change in changes[:_MOST_CHANGES]]
    left = len(changes) - len(shown)
    more = element("p", f"{left} more are not shown; resizefix diff lists them all.") if left else None
    told = element("p", "What is not listed is the same in both models.", class_="quiet")
    return element("section", heading, told, element("ul", *shown, class_="changes"), more)


def _change(change: Change) -> Markup:
    where = [join(" in ", element("code", step)) for step in reversed(change.scope)]
    lines = [
        element(tag, element("span", word, class_="unseen"), f"{sign} {text}")
        for tag, word, sign, text in (("del", "before: ", "−", change.before), ("ins", "after: ", "+", change.after))
        if text is not None
    ]
    named = element("p", element("strong", change.what), " ", element("code", change.name), *where)
    return element("li", named, element("pre", element("code", *lines)))

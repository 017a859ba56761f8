"""One site of an HTML page: a line that folds out into its picture, its facts and every target's verdict."""

from __future__ import annotations

from collections.abc import Sequence

from resizefix.document.text import counted, listed
from resizefix.library.verdict import Verdict
from resizefix.operations.site import Site
from resizefix.reports.drawing import drawing
from resizefix.reports.markup import Markup, element, join
from resizefix.reports.neighbourhood import Neighbourhood
from resizefix.reports.survey import Broken, Surveyed
from resizefix.reports.wording import (
    MARKS,
    Standing,
    coupling,
    extent,
    fault_text,
    meaning,
    operator,
    origin,
    origin_kind,
    runs_of_targets,
    standing,
    tensor,
)
from resizefix.targets.target import Effect

_EFFECTS = {
    Effect.REJECTED: ("no", "rejected by"),
    Effect.DIFFERENT: ("no", "computed differently by"),
    Effect.NOTED: ("care", "taken, with a note, by"),
}


def card(
    identity: str,
    heading: str,
    row: Sequence[Markup | str],
    content: Markup,
    *,
    is_open: bool,
    kind: str,
    rejected: Sequence[str],
    names: Sequence[tuple[str, str]] = (),
) -> Markup:
    """A site that folds, or several that are alike: `names` has the identity and the name of each. `kind` is what the
    filter may ask for, `rejected` the targets that refuse it."""
    summary = element(
        "summary",
        element("h3", element("bdi", *_breakable(heading))),
        " ",
        element("span", *(element("span", part, " ") for part in row), class_="row"),
    )
    return element(
        "section",
        element("details", summary, content, _names(names), open=is_open),
        class_="site",
        id=identity,
        data_kind=kind,
        data_rejected=" ".join(rejected),
    )


def _names(names: Sequence[tuple[str, str]]) -> Markup | None:
    if not names:
        return None
    listed = [element("li", element("bdi", *_breakable(name)), id=identity) for identity, name in names]
    folded = element("details", element("summary", f"All {len(names)} by name"), element("ul", *listed))
    return element("div", folded, class_="names")


def row(surveyed: Surveyed) -> list[Markup | str]:
    """A site in one line."""
    site = surveyed.site
    return [
        operator(site),
        meaning(site.interpolation),
        f"{extent(site.extent)}, {origin_kind(site.origin)}",
        stands(surveyed),
        f"accepted by {sum(surveyed.accepted)} of {counted(len(surveyed.verdicts), 'target')}",
    ]


def stands(surveyed: Surveyed) -> Markup:
    """What can be done with its scales, in words and colour."""
    word = standing(surveyed.site)
    return element("span", word.value, class_="care" if word in (Standing.FIXED, Standing.COUPLED) else "yes")


def picture(found: Neighbourhood | None, identity: str, title: str) -> Markup:
    """The drawing, which scrolls where it is wider than the screen."""
    if found is None:
        return element("p", "Nothing in the model makes this tensor.", class_="quiet")
    svg = drawing(found, identity, title)
    return element("div", svg, class_="picture", role="region", tabindex="0", aria_label=title)


def facts(surveyed: Surveyed) -> dict[str, Markup | str]:
    """What is to be known of a site, by name."""
    site = surveyed.site
    facts: dict[str, Markup | str] = {
        "Computes": f"{operator(site)}, {meaning(site.interpolation)}",
        "Resizes by": extent(site.extent) if site.extent.values is not None else _open(site),
        "Comes from": origin(site.origin),
        "Reads": join(_code(site.input), f" {tensor(site.input_dims, site.elem_type)}"),
        "Makes": join(_code(site.output), f" {tensor(site.output_dims, site.elem_type)}"),
    }
    if site.scope.path:
        facts["Stands in"] = join(*(_code(step) for step in site.scope.path.steps))
    facts["Promotable"] = {
        Standing.PROMOTABLE: "yes",
        Standing.COUPLED: f"coupled: {coupling(site)}",
        Standing.FED: "fed by an input already",
        Standing.FIXED: f"no: {site.reason}",
    }[standing(site)]
    if site.warning is not None:
        facts["Warning"] = element("span", site.warning, class_="care")
    if surveyed.faults:
        lines = [_sentence(fault_text(fault)) for fault in surveyed.faults]
        facts["Faults"] = element("span", " ".join(lines), class_="care")
    return facts


def fact_list(facts: dict[str, Markup | str], other: dict[str, Markup | str] | None = None) -> Markup:
    """Facts as a description list; those that the other side has otherwise are set off."""
    rows: list[Markup] = []
    for name, value in facts.items():
        differs = other is not None and other.get(name) != value
        rows += [element("dt", name), element("dd", element("span", value, class_="differs" if differs else None))]
    return element("dl", *rows)


def verdicts(surveyed: Surveyed, heading: str) -> Markup:
    """Every target as a badge, and the rules that are broken, each with its reason and fix."""
    found = surveyed.verdicts
    if not found:
        return element("div")
    badges = element("ul", *(_badge(verdict) for verdict in found), class_="verdicts", aria_label="Verdict per target")
    return element("div", element(heading, "Targets"), badges, legend(found), rules(surveyed.broken, is_open=False))


def rules(broken: Sequence[Broken], *, is_open: bool) -> Markup | None:
    """The rules that are broken, each with its reason and fix."""
    if not broken:
        return None
    listed = element("ul", *(_rule(entry) for entry in broken), class_="rules")
    summary = element("summary", f"{counted(len(broken), 'rule')} broken: what and why")
    return element("details", summary, listed, open=is_open)


def legend(found: Sequence[Verdict]) -> Markup | None:
    """What the marks mean that do not explain themselves."""
    signs = []
    if any(verdict.word == "different" for verdict in found):
        signs.append("≠ loads, and computes something else")
    if any(verdict.accepted and verdict.violations for verdict in found):
        signs.append("yellow: accepted, with a note below")
    return element("p", "; ".join(signs), class_="quiet") if signs else None


def _badge(verdict: Verdict) -> Markup:
    noted = bool(verdict.violations) and verdict.accepted
    word = {"different": "computes something else"}.get(verdict.word, verdict.word) + ", with a note" * noted
    colour = "care" if noted else "yes" if verdict.accepted else "no"
    sign = element("span", MARKS[verdict.word], aria_hidden="true")
    unseen = element("span", f": {word}", class_="unseen")
    return element("li", sign, f" {verdict.target.name}", unseen, class_=colour, title=word)


def _rule(entry: Broken) -> Markup:
    colour, word = _EFFECTS[entry.effect]
    return element(
        "li",
        element(
            "p",
            element("code", entry.rule),
            " ",
            element("span", f"{word} {listed(runs_of_targets(entry.targets))}", class_=colour),
        ),
        element("p", f"{_sentence(entry.because)} ", element("strong", "Fix: "), _sentence(entry.fix, raised=False)),
        element("p", f"Source: {'; '.join(entry.sources)}", class_="quiet"),
    )


def _breakable(name: str) -> list[Markup | str]:
    """A long name may be broken after its slashes."""
    first, *rest = name.split("/")
    return [first, *(join("/", element("wbr"), part) for part in rest)]


def _sentence(text: str, *, raised: bool = True) -> str:
    stop = "" if text.endswith((".", "!", "?")) else "."
    is_name = "_" in text.partition(" ")[0]
    return (text[:1].upper() + text[1:] if raised and not is_name else text) + stop


def _open(site: Site) -> str:
    kind = site.extent.kind.value
    return f"{kind} that are not valid" if site.origin.kind.is_constant else f"{kind}, known when the model runs"


def _code(name: str) -> Markup:
    return element("code", name)

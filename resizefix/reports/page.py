"""A self-contained HTML page: what it says, one style sheet, one script, and a policy that allows nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from importlib import resources

from resizefix.reports.headline import Headline, large
from resizefix.reports.markup import Markup, element, join
from resizefix.version import __version__

NOTHING = element("p", "There is no Upsample or Resize node in this model.")


def header(title: Sequence[Markup | str], verdict: Headline | None, line: str) -> Markup:
    """What a page begins with: its title, the verdict in large words, and a quiet line below."""
    said = None if verdict is None else large(verdict)
    return element("header", element("h1", *title), said, element("p", line, class_="quiet"))


def wide_table(
    kind: str, label: str, headings: Iterable[Markup | str], rows: Iterable[Markup], caption: str | None = None
) -> Markup:
    """A table that scrolls where it is wider than the screen; `kind` is its style class, `label` its name."""
    table = element(
        "table",
        None if caption is None else element("caption", caption),
        element("thead", element("tr", *(element("th", word, scope="col") for word in headings))),
        element("tbody", *rows),
    )
    return element("div", table, class_=f"wide {kind}", role="region", tabindex="0", aria_label=label)


def page(title: str, *content: Markup) -> str:
    """The whole document. The policy names style and script by their hashes, so that nothing that came in with a
    model's names could run even if it were markup."""
    style, script = (_text(name) for name in ("page.css", "page.js"))
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="generator", content=f"resizefix {__version__}"),
        element("title", title),
        element("style", style),
    )
    body = element(
        "body",
        element("a", "Skip to the resizes", class_="skip", href="#sites"),
        *content,
        element("footer", f"Made by resizefix {__version__}. This file loads nothing and sends nothing."),
        element("script", script),
    )
    return join(Markup("<!DOCTYPE html>\n"), element("html", head, body, lang="en"), Markup("\n"))


def _text(name: str) -> Markup:
    return Markup(resources.files("resizefix.reports").joinpath(name).read_text(encoding="utf-8"))


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

"""A self-contained HTML page out of a template: what it says, one style sheet, one script, and a policy that allows
nothing else.

Templates escape whatever they are given: no name out of a file can be markup. Control characters and those that turn
the line around are shown as their codes.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from resizefix.document.text import counted
from resizefix.printable import printable
from resizefix.reports.families import Headline, newest_first
from resizefix.reports.proof import difference_text
from resizefix.reports.site_facts import badge_of, legend, rule_of
from resizefix.reports.wording import reason
from resizefix.version import __version__

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_CODE = re.compile("`([^`]+)`")


def page(template: str, headline: Headline | None, line: str, **values: Any) -> str:
    """The document that the template makes; `headline` is the verdict in large words, `line` a quiet one below."""
    style, script = (_text(name) for name in ("page.css", "page.js"))
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    frame = {"policy": policy, "style": style, "script": script, "version": __version__}
    return _templates().get_template(f"{template}.html.j2").render(headline=headline, line=line, **frame, **values)


def fragment(template: str, **values: Any) -> str:
    """A part of somebody else's page, made by the template and escaped like a page."""
    return _templates().get_template(f"{template}.html.j2").render(**values)


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # where a page is asked for

    templates = Environment(
        loader=PackageLoader("resizefix.reports"),
        autoescape=True,
        finalize=_shown,
        keep_trailing_newline=True,
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    templates.filters |= {
        "badge": badge_of,
        "coded": _coded,
        "counted": counted,
        "difference": difference_text,
        "legend": legend,
        "newest_first": newest_first,
        "reason": reason,
        "rule": rule_of,
    }
    return templates


def _shown(value: Any) -> Any:
    """A text as it is shown; what a template has made is markup already."""
    return value if hasattr(value, "__html__") else "" if value is None else printable(str(value))


def _coded(text: str) -> Markup:
    """The text, with what stands between two backquotes as code."""
    from markupsafe import Markup  # which Jinja brings

    return Markup(_CODE.sub(r"<code>\1</code>", html.escape(printable(text))))


def _text(name: str) -> str:
    return resources.files("resizefix.reports").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

"""Called by mkdocs for each page: an option (`--dry-run`) is one word, which no narrow screen cuts at its hyphens."""

from __future__ import annotations

import re
from typing import Any

_TEXT = re.compile(r"(?<=>)[^<>]+(?=<)")
_OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")


def on_page_content(html: str, **_: Any) -> str:
    """The page's HTML with every option in an element of its own, which stylesheets/extra.css keeps in one line."""
    return _TEXT.sub(lambda text: _OPTION.sub(r'<span class="option">\g<0></span>', text[0]), html)

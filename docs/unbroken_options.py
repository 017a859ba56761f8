"""Called by mkdocs for each page: what no narrow screen may break, marked for stylesheets/extra.css.

An option (`--dry-run`) is one word, not cut at its hyphens. A printed line with columns is one line, which scrolls;
so does a block of text that holds a table.
"""

from __future__ import annotations

import re
from typing import Any

_TEXT = re.compile(r"(?<=>)[^<>]+(?=<)")
_COLUMNS = re.compile(r'<span class="go">(?= {12}|[^<]*\S {4,}\S)')
_TABLE = re.compile(r'(<div class="language-text[^>]*><pre><span></span><code)(?=>[^<]*\S {4,}\S)')
_OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")


def on_page_content(html: str, **_: Any) -> str:
    """The page's HTML with every option in an element of its own, and the lines of printed tables named `columns`."""
    html = _TABLE.sub(r'\1 class="columns"', _COLUMNS.sub('<span class="go columns">', html))
    return _TEXT.sub(lambda text: _OPTION.sub(r'<span class="option">\g<0></span>', text[0]), html)

"""GitHub-flavoured Markdown whose text cannot be taken for markup, a mention, a link or an issue's number."""

from __future__ import annotations

import html
import re

from resizefix.printable import printable

# What counts within a line; a cell or an item of a list never begins one with text of a file.
_PUNCTUATION = re.compile(r"([*_\[\]<>~$])")
# What backslashes do not help against in every place, tables above all.
_ENTITIES = str.maketrans({character: f"&#{ord(character)};" for character in "\\|`&"})
# What GitHub makes a link of without any markup; a zero-width space within keeps it text.
_LINKING = re.compile(r"(@|#(?=\w)|(?<=\w):(?=//)|\b[wW]{3}(?=\.)|\b[gG][hH](?=-\d))")
_APART = "&#8203;"


def prose(text: str) -> str:
    """Text as a part of a sentence or a table's cell."""
    parts = []
    for number, part in enumerate(_LINKING.split(printable(text))):
        escaped = _PUNCTUATION.sub(r"\\\1", part.translate(_ENTITIES))
        parts.append(escaped + (_APART if number % 2 else ""))
    return "".join(parts)


def code(text: str) -> str:
    """A name or value as code, in a sentence or a table's cell."""
    shown = printable(text)
    if not shown.strip() or any(character in shown for character in "|\\`"):
        return f"<code>{prose(text)}</code>"
    return f"`{shown}`"


def summary(text: str) -> str:
    """Text for a line of HTML, as `code`, where GitHub looks for no mentions."""
    return f"<code>{html.escape(printable(text))}</code>"


def table(headings: list[str], rows: list[list[str]]) -> str:
    """A table of cells that are Markdown already."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def fenced(language: str, text: str) -> str:
    """A block that is not interpreted; the fence is longer than any within."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def folded(line: str, content: str) -> str:
    """Content that unfolds under a line of HTML."""
    return f"<details><summary>{line}</summary>\n\n{content}\n\n</details>"

"""What objects show: text out of a model file made safe (no line breaks, no terminal escape codes, no invisible
directions) and as short as there is room, and a small table in a notebook.

The tables stand in `resizefix.reports`, above everything that they show; so they are looked up when a notebook asks.
"""

from __future__ import annotations

import importlib

MOST_SHOWN = 80  # characters of a name or a reason in the repr of an object

# Control characters, format characters (bidirectional overrides among them), surrogates, unassigned.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Cn", "Zl", "Zp"})


def printable(text: str, *, keep_lines: bool = False) -> str:
    """`text` with every character that a terminal would act on replaced by its escape, `\\x1b` for the escape
    character."""
    if text.isprintable():
        return text
    import unicodedata  # a library of its own, for names that few files have

    layout = "\n\t" if keep_lines else ""
    hidden = [one for one in set(text).difference(layout) if unicodedata.category(one) in _HIDDEN]
    return text.translate({ord(one): one.encode("unicode_escape", "surrogatepass").decode("ascii") for one in hidden})


def columns(text: str) -> int:
    """How many columns of a fixed-width font the text takes."""
    if text.isascii():
        return len(text)
    import unicodedata  # as above

    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
    )


def shortened(text: str, most: int) -> str:
    """The text in at most so many columns, its middle left out: of a path, the end tells the most."""
    if columns(text) <= most:
        return text
    head, tail = "", ""
    before, after = text, text
    while True:
        # Two characters of the end for each one of the beginning.
        for _ in range(2):
            if columns(head) + columns(tail) + columns(after[-1:]) >= most:
                return f"{head}…{tail}"
            tail, after = after[-1] + tail, after[:-1]
        if columns(head) + columns(tail) + columns(before[:1]) >= most:
            return f"{head}…{tail}"
        head, before = head + before[0], before[1:]


def one_paragraph(text: str) -> str:
    """What a runtime says, its lines and indents joined by single spaces, so that a sentence can hold it."""
    return " ".join(text.split())


def summary(name: str, *parts: str | None) -> str:
    """The repr of an object that holds more than a screen: its class, and one short line for each part."""
    shown = [printable(part) for part in parts if part]
    lines = [line if len(line) <= MOST_SHOWN else f"{line[: MOST_SHOWN - 1]}…" for line in shown]
    return f"<{name}: {f'{chr(10)}  '.join(lines)}>"


class InNotebook:
    """What Jupyter shows as HTML."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        html: str = importlib.import_module("resizefix.reports.notebook").html_of(self)
        return html

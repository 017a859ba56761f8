"""What one message is, and whether a pasted text holds it."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from functools import cached_property

Fix = tuple[str, ...]
"""The words of a command without its files: ("legalize", "--target", "tensorrt-8.0")."""

ANYTHING = "…"
SIZE = "SIZE"
"""Among the words of a fix: the height and width that the message says were fed (`wanted_size`)."""
# Colours, also where a log lost the escape character itself.
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07|\[\d{1,3}(?:;\d{1,3})*m")
# As JSON or a `repr` writes quotes, line breaks and other characters.
_ESCAPED = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|[nrt])?")
_PYTEST = re.compile(r"^E(?=\s)", re.MULTILINE)
# Quotes differ, and stand where C++ joins two texts; marks of quoted lines, frames and characters without a width go.
_BOXES = map(chr, range(0x2500, 0x25A0))
_LEFT_OUT = str.maketrans(dict.fromkeys([*"'`´‘’“”\">|#^\u200b\u200c\u200d\u2060\ufeff\u00ad", *_BOXES]))
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w])")
_FED = re.compile(r"index:([23])got:(\d+)expected:")
_LONGEST_GAP = 400  # of what `…` stands for: paths, names, shapes


@dataclass(frozen=True)
class Message:
    """One message of one runtime.

    `texts` are its wordings; in each, `…` stands for any name, path or shape, and every number for any number. The
    first is the one that is shown. `cause` has two sentences. `page` is a file of the repository. `fixes` are the
    commands that may help, the best first: which of them does depends on the model. `then` follows a fix that made a
    constant of what was fed, and makes another input of it.
    """

    runtime: str
    texts: tuple[str, ...]
    cause: str
    page: str  # a path, or the name of a how-to page
    fixes: tuple[Fix, ...]
    then: Fix | None = None

    def __post_init__(self) -> None:
        if "/" not in self.page:
            object.__setattr__(self, "page", f"docs/how-to/{self.page}.md")

    @property
    def text(self) -> str:
        """The wording to show."""
        return self.texts[0]

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str], ...]:
        return tuple(re.compile(_pattern(text)) for text in self.texts)

    def length_in(self, plain: str) -> int:
        """How many letters of its longest wording stand in a text that went through `plain_text`; 0: it does not."""
        found = zip(self._patterns, self.texts, strict=True)
        return max((len(text) - text.count(ANYTHING) for pattern, text in found if pattern.search(plain)), default=0)


def plain_text(pasted: str) -> str:
    """The text without colours, white space and marks of quotation: a terminal breaks a line anywhere."""
    read = _ESCAPED.sub(_character, html.unescape(pasted))
    return "".join(_PYTEST.sub("", _COLOURS.sub("", read)).split()).translate(_LEFT_OUT).casefold()


def _character(escaped: re.Match[str]) -> str:
    code = escaped[1] or escaped[2]
    return chr(int(code, 16)) if code else " "


def without_prefix(pasted: str) -> str:
    """The text without what begins each of its lines, as a time or the name of a container; numbers may differ."""
    lines = [line for line in pasted.splitlines() if line.strip()]
    if len(lines) < 2:
        return pasted
    alike = [re.sub(r"\d", "0", line) for line in lines]
    pairs = enumerate(zip(min(alike), max(alike), strict=False))
    shared = alike[0][: next((place for place, (one, other) in pairs if one != other), len(min(alike)))]
    prefix = re.match(r".*[]|:>)]\s*", shared) or re.match(r".*\W", shared)
    return pasted if prefix is None else "\n".join(line[prefix.end() :] for line in lines)


def _pattern(text: str) -> str:
    pieces = []
    for piece in text.split(ANYTHING):
        literals = _NUMBER.split(piece)
        pieces.append(r"-?\d+(?:\.\d+)?".join(re.escape(plain_text(literal)) for literal in literals))
    return rf".{{0,{_LONGEST_GAP}}}?".join(pieces)


def wanted_size(pasted: str) -> str | None:
    """`364x518`, the height and width that onnxruntime says were fed; None where a text says neither or one alone."""
    found = dict(_FED.findall(plain_text(pasted)))
    return f"{found['2']}x{found['3']}" if {"2", "3"} <= found.keys() else None

"""A file to begin a target of one's own with: valid as written, with a comment for each thing that can be stated."""

from __future__ import annotations

import textwrap

from resizefix.targets.described import FOLDER, QUOTED
from resizefix.targets.described_computation import PROPERTIES
from resizefix.targets.described_conditions import CONDITIONS

_WIDTH = 100


def template(name: str) -> str:
    """The text of a new file for a target of that name."""
    quoted = ", ".join(f"{{{word}}}" for word in QUOTED)
    text = [(FOLDER / "new.txt").read_text(encoding="utf-8").replace("@NAME@", name), _comment(quoted)]
    text.append("#\n# What `where` and `needs` may state. What is not known of a node breaks no rule.\n")
    text += [_entry(one.name, one.says, one.kind.takes) for one in CONDITIONS]
    text.append("#\n# What `computes` may state:\n")
    text += [_entry(one.name, one.says, one.kind.takes) for one in PROPERTIES]
    return "".join(text)


def _entry(name: str, says: str, takes: str) -> str:
    return f"#   {name}\n{_comment(f'{says}: {takes}')}"


def _comment(text: str) -> str:
    return (
        textwrap.fill(text, _WIDTH, initial_indent="#     ", subsequent_indent="#     ", break_on_hyphens=False) + "\n"
    )

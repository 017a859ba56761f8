"""The explanations of a message for a person at a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from resizefix.printable import printable
from resizefix.reports.screen import screen

if TYPE_CHECKING:
    from resizefix.library.explain import Explanation


def show_explanations(found: Sequence[Explanation], model: str | None) -> None:
    """Each message with its cause, page and command; the command stands alone on its line, to be copied."""
    out = screen(2)
    for number, one in enumerate(found):
        if number:
            out.line("")
        out.wrapped((one.runtime, "bold"), f": {one.message}")
        out.below(one.cause)
        out.below(f"page of the documentation: {_page(one.page)}")
        if one.command is not None:
            out.below("this fixes it:" if model else "this may fix it; with your model after the message, it is tried:")
            out.line((f"    {one.command}", "bold"))
        elif model is not None:
            out.below(
                f"No command changes {printable(model)} for this message; `resizefix inspect -v` explains each node."
            )


def _page(file: str) -> str:
    """The page's place in the documentation: its readers have the site or the repository."""
    return file.removeprefix("docs/").removesuffix(".md")

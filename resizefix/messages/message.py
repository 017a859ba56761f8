"""What one message is: its wordings, whose it is, its cause, the page about it, and the commands that may help."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from resizefix.messages.plain_text import Plain
from resizefix.messages.wording import Span, Wording

Fix = tuple[str, ...]
"""The words of a command without its files: ("legalize", "--target", "tensorrt-8.0")."""

FED = "FED"
"""Among the words of a fix: the options for the sizes that the message says were fed (`fed_sizes`)."""
RELEASES = "{releases}"
"""In a cause: the releases whose rows of `targets/` have the message's `rule`."""


@dataclass(frozen=True)
class Message:
    """One message of one runtime.

    `texts` are its wordings (`wording.py` says what varies in them); the first is the one that is shown. `cause` has
    two sentences. `page` is a file of the repository. `fixes` are the commands that may help, the best first: which of
    them does depends on the model. `then` follows a fix that made a constant of what was fed, and makes another input
    of it. `target` is the target whose rules speak of the message, where no fix names one. `rule` is the rule of the
    runtime's targets that stands for it, with words of its sentence behind a colon where several have the name.
    `at_other_sizes`: it comes when an image of another size is fed.
    """

    runtime: str
    texts: tuple[str, ...]
    cause: str
    page: str  # a path, or the name of a how-to page
    fixes: tuple[Fix, ...]
    then: Fix | None = None
    target: str | None = None
    rule: str = ""
    at_other_sizes: bool = False

    def __post_init__(self) -> None:
        if "/" not in self.page:
            object.__setattr__(self, "page", f"docs/how-to/{self.page}.md")

    @cached_property
    def wordings(self) -> tuple[Wording, ...]:
        """The texts, read."""
        return tuple(map(Wording, self.texts))

    @property
    def text(self) -> str:
        """The wording to show."""
        return self.wordings[0].text

    def whole_in(self, pasted: Plain) -> Span | None:
        """Where its longest wording stands in a text."""
        spans = [span for wording in self.wordings if (span := wording.whole_in(pasted)) is not None]
        return max(spans, key=lambda span: span.letters, default=None)

    def wording_in(self, pasted: Plain) -> str:
        """Its wording that says most of what stands in a text."""
        whole = [(span.letters, one) for one in self.wordings if (span := one.whole_in(pasted)) is not None]
        parts = whole or [(letters, one) for one in self.wordings if (letters := one.part_in(pasted))]
        return max(parts, key=lambda found: found[0])[1].text if parts else self.text

    def part_in(self, pasted: Plain) -> int:
        """How many letters of one of its wordings a text has that was cut off; 0: too few to know it by."""
        return max(wording.part_in(pasted) for wording in self.wordings)

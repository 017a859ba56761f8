"""What a message of onnxruntime says of the sizes that were fed."""

from __future__ import annotations

import re
from typing import NamedTuple

from resizefix.messages.plain_text import plain_text

_INPUT = re.compile(r"invalid dimensions for input:\s*['\"`]?([^\s'\"`]+)['\"`]?\s+for the following", re.IGNORECASE)
_AXIS = re.compile(r"index:(\d+)got:(\d+)expected:(\d+)")


class FedSizes(NamedTuple):
    """The input that was fed, as the message names it, and of each axis that does not fit the size that was fed."""

    input: str | None
    axes: dict[int, int]


def fed_sizes(pasted: str) -> FedSizes:
    """The sizes that a text says were fed; no axes where it says none."""
    named = _INPUT.search(pasted)
    return FedSizes(named and named[1], {int(axis): int(got) for axis, got, _ in _AXIS.findall(plain_text(pasted))})

"""What a message of onnxruntime says of the sizes that were fed."""

from __future__ import annotations

import re
from typing import NamedTuple

from resizefix.messages.pasted_text import plain_text

_INPUT = re.compile(r"invalid dimensions for input:\s*['\"`]?([^\s'\"`]+)['\"`]?\s+for the following", re.IGNORECASE)
_LARGEST_BATCH = 4096
_AXIS = re.compile(r"index:(\d+)got:(\d+)expected:(\d+)")


class FedSizes(NamedTuple):
    """The input that was fed, as the message names it, and of each axis that does not fit the size that was fed.

    `expected`: the sizes that the file has there.
    """

    input: str | None
    axes: dict[int, int]
    expected: dict[int, int]

    def is_batch(self, axis: int) -> bool:
        """Whether the sizes of the axis may be those of a batch: a signal's or a state's are larger."""
        return max(self.axes[axis], self.expected[axis]) <= _LARGEST_BATCH


def fed_sizes(pasted: str) -> FedSizes:
    """The sizes that a text says were fed; no axes where it says none."""
    named = _INPUT.search(pasted)
    said = [tuple(map(int, one)) for one in _AXIS.findall(plain_text(pasted))]
    return FedSizes(
        named and named[1], {axis: got for axis, got, _ in said}, {axis: expected for axis, _, expected in said}
    )

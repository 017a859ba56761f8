"""What a message of onnxruntime says of the sizes that were fed, and of inputs that were not."""

from __future__ import annotations

import re
from typing import NamedTuple

from resizefix.messages.pasted_text import plain_text

_INPUT = re.compile(r"invalid dimensions for input:\s*['\"`]?([^\s'\"`]+)['\"`]?\s+for the following", re.IGNORECASE)
_MISSING = re.compile(
    r"required inputs \(\[(.*?)\]\) are missing|missing input: *([^\s,;]+)", re.IGNORECASE | re.DOTALL
)
_NAME = re.compile(r"['\"]([^'\"]+)['\"]")
# As onnxruntime, TensorRT's parser, OpenVINO and OpenCV name a node that they refuse.
_NODES = tuple(
    re.compile(pattern)
    for pattern in (
        r"running (?:Resize|Upsample) node\. Name:'([^']+)'",
        r"operator \((?:Resize|Upsample)\) in node \(([^)]+)\)",
        r"Node \(([^)]+)\) Op \((?:Resize|Upsample)\)",
        r"\[(?:Resize|Upsample) -> \"([^\"]+)\"\]",
        r"with name: (\S+) and operator: (?:Resize|Upsample)",
        r"<Node\((?:Resize|Upsample)\): ([^>]+)>",
        r"\[(?:Resize|Upsample)@ai\.onnx\]:\(onnx_node!([^)]+)\)",
        r"for node \"([^\"]+)\" with op = \"(?:Resize|Upsample)\"",
    )
)
_LARGEST_BATCH = 4096
_AXIS = re.compile(r"index:(\d+)got:(\d+)expected:(\d+)")


class FedSizes(NamedTuple):
    """The input that was fed, as the message names it, and of each axis that does not fit the size that was fed.

    `expected`: the sizes that the file has there. `missing`: the inputs that were not fed. `nodes`: the nodes, or their
    outputs, that the message names.
    """

    input: str | None
    axes: dict[int, int]
    expected: dict[int, int]
    missing: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()

    def is_batch(self, axis: int) -> bool:
        """Whether the sizes of the axis may be those of a batch: a signal's or a state's are larger."""
        return max(self.axes[axis], self.expected[axis]) <= _LARGEST_BATCH


def fed_sizes(pasted: str) -> FedSizes:
    """The sizes that a text says were fed; no axes where it says none."""
    named = _INPUT.search(pasted)
    said = [tuple(map(int, one)) for one in _AXIS.findall(plain_text(pasted))]
    return FedSizes(
        named and named[1],
        {axis: got for axis, got, _ in said},
        {axis: expected for axis, _, expected in said},
        _missing_inputs(pasted),
        _named_nodes(pasted),
    )


def _missing_inputs(pasted: str) -> tuple[str, ...]:
    match = _MISSING.search(pasted)
    if match is None:
        return ()
    return tuple(_NAME.findall(match[1])) if match[1] is not None else (match[2].strip("'\""),)


def _named_nodes(pasted: str) -> tuple[str, ...]:
    """The names of resizes; a name that was cut off at the end of the text is none."""
    names = (match[1] for pattern in _NODES for match in pattern.finditer(pasted) if match.end() < len(pasted))
    return tuple(dict.fromkeys(names))

"""A pasted text without what terminals, logs, JSON, HTML and quotation marks add to it.

Which runtime printed a text that no row knows: by the names that its logs begin with; and what a message of onnxruntime
says of the sizes that were fed, and of inputs that were not.
"""

from __future__ import annotations

import html
import re
from typing import NamedTuple

# Colours, also where a log lost the escape character itself.
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07|\[\d{1,3}(?:;\d{1,3})*m")
# As JSON or a `repr` writes quotes, line breaks and other characters.
_ESCAPED = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|[nrt])?")
_PYTEST = re.compile(r"^E(?=\s)", re.MULTILINE)
# Quotes differ, and stand where C++ joins two texts; marks of quoted lines, frames and characters without a width go.
_BOXES = map(chr, range(0x2500, 0x25A0))
_LEFT_OUT = frozenset([*"'`´‘’“”\">|#^\u200b\u200c\u200d\u2060\ufeff\u00ad", *_BOXES])


class Plain(NamedTuple):
    """The letters of a text, without white space and marks of quotation: a terminal breaks a line anywhere.

    `gaps` are the places, as indices of `letters`, in front of which something was left out: a word may end there.
    """

    letters: str
    gaps: frozenset[int]

    def divides(self, place: int) -> bool:
        """Whether a word may begin or end at this place."""
        if place in (0, len(self.letters)) or place in self.gaps:
            return True
        return not (_in_word(self.letters[place - 1]) and _in_word(self.letters[place]))


def plain(pasted: str) -> Plain:
    """The letters of a text and the gaps between them."""
    read = _PYTEST.sub(" ", _COLOURS.sub(" ", _ESCAPED.sub(_character, html.unescape(pasted))))
    letters: list[str] = []
    gaps: set[int] = set()
    count = 0
    for character in read:
        if character.isspace() or character in _LEFT_OUT:
            gaps.add(count)
        else:
            folded = character.casefold()
            letters.append(folded)
            count += len(folded)
    return Plain("".join(letters), frozenset(gaps))


def plain_text(pasted: str) -> str:
    """The letters of a text alone."""
    return plain(pasted).letters


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


def _character(escaped: re.Match[str]) -> str:
    code = escaped[1] or escaped[2]
    return chr(int(code, 16)) if code else " "


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"


# In the order in which they are looked for; providers of onnxruntime name themselves, and it with them.
_SPEAKERS = (
    ("tensorrt", r"\btensorrt\b|\[trt\]|trtexec|nvonnxparser|onnx-tensorrt|onnx2trt|builtin_op_importers"),
    ("qnn", r"\bqnn\b"),
    ("coreml", r"core ?ml"),
    ("nnapi", r"\bnnapi\b"),
    ("migraphx", r"migraphx"),
    ("rknn", r"\brknn\b"),
    ("tidl", r"\btidl\b"),
    ("openvino", r"openvino|\bov::|ngraph|model optimizer"),
    ("opencv", r"\bopencv\b|\bcv2?::|\bcv2\."),
    ("ncnn", r"\bncnn\b|\bpnnx\b|onnx2ncnn"),
    ("mnn", r"\bmnn\b|mnnconvert"),
    ("tract", r"\btract\b|tract_onnx"),
    ("tvm", r"\btvm\b|\brelax\b|\brelay\b"),
    ("onnxruntime", r"onnxruntime|\bort\b"),
)


class Speaker(NamedTuple):
    """The runtime's name, as `--target` takes it, and its release where the text has it: OpenCV(4.5.1)."""

    name: str
    release: str | None


def speaker(pasted: str) -> Speaker | None:
    """Which runtime printed a text; None: the text names none."""
    for name, words in _SPEAKERS:
        if re.search(words, pasted, re.IGNORECASE):
            release = re.search(rf"\b{name}[\s(\[:=v-]{{1,3}}(\d+(?:\.\d+)+)", pasted, re.IGNORECASE)
            return Speaker(name, None if release is None else release[1])
    return None


# ---- sizes that were fed ----

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

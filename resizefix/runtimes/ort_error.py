"""What onnxruntime complains of, as one sentence and the node it names.

The text of an error is read for names and cleaned for people; no decision hangs on it. Where a pattern does not match
(another version of onnxruntime), the sentence is merely less tidy.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# Each names the node and its operator; the last match is the innermost: where the body of an If fails, the text reads
# "… running If node … Status Message: … running Add node … Status Message: …".
_NODE_CLAUSES = (
    # while a kernel runs
    re.compile(r"Non-zero status code returned while running (?P<op>\S+) node\. Name:'(?P<node>.*?)' Status Message: "),
    # shape and type inference
    re.compile(r"Node \((?P<node>[^()]*)\) Op \((?P<op>\w+)\) "),
    # the schema check
    re.compile(r"In Node, \(\"(?P<node>.*?)\", (?P<op>\w+), \".*?\", -?\d+\) : .*? , Error ", re.DOTALL),
    # a bad node in a body; it follows the sentence
    re.compile(r"\s*==> Context: Bad node spec for node\. Name: (?P<node>.*?) OpType: (?P<op>\w+)\s*"),
)
# The same as part of a sentence that would be none without it.
_NODE_MENTIONS = (
    re.compile(r"implementation for (?P<op>\w+)\(\d+\) node with name '(?P<node>.*?)'"),
    re.compile(r"of operator \((?P<op>\w+)\) in node \((?P<node>[^()]*)\)"),
)

_BOILERPLATE = (
    re.compile(r"\[ONNXRuntimeError\] : \d+ : \w+ : "),
    re.compile(r"Load model from .*? failed:"),
    re.compile(r"Exception during initialization: "),
    re.compile(r"This is an invalid model\. (?:Error: )?"),
    re.compile(r"Fatal error: "),
    re.compile(r"\[(?:Shape|Type)InferenceError\] "),
    # source location: file:line, then the function's full signature (`ns::C::f(T) [with T = …]`) or its bare name
    re.compile(
        r"\S+\.(?:h|hpp|cc|cpp):\d+ "
        r"(?:[^()]*::[^()]*(?:\((?:[^()]|\([^()]*\))*\))+(?: const)?(?: \[with [^\]]*\])? |\w+ )"
    ),
    re.compile(r"^[^.]* was false\. (?=\S)"),  # the C++ condition, where words follow
    re.compile(r"Please fix either the inputs/outputs or the model\."),
)


# Longer texts repeat what the model says (names, paths); the patterns above take time by the square of the length.
_LONGEST_TEXT = 4000


@dataclass(frozen=True)
class OrtError:
    """`reason` in one line; `node` and `op_type` where the text names a node (an unnamed node: None)."""

    reason: str
    node: str | None = None
    op_type: str | None = None


def read_ort_error(text: str) -> OrtError:
    """Reads the text of an exception that onnxruntime raised."""
    node: str | None = None
    op_type: str | None = None
    if len(text) > _LONGEST_TEXT:
        text = f"{text[: _LONGEST_TEXT // 2]} … {text[-_LONGEST_TEXT // 2 :]}"
    for pattern in (*_NODE_CLAUSES, *_NODE_MENTIONS):
        for match in pattern.finditer(text):
            node, op_type = match["node"] or None, match["op"]
    for pattern in (*_NODE_CLAUSES, *_BOILERPLATE):
        text = pattern.sub("", text)
    return OrtError(" ".join(text.split()).rstrip(". ") or "no reason given", node, op_type)

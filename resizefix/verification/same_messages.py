"""Messages of a model compared byte by byte."""

from __future__ import annotations

from typing import Any

from google.protobuf.message import Message
from onnx import NodeProto


def same_message(one: Message, other: Message) -> bool:
    """Whether two messages have the same bytes."""
    # NaN is not equal to itself, but its bytes are.
    return bool(one == other or _bytes(one) == _bytes(other))


def _bytes(message: Message) -> bytes:
    serialized: bytes = message.SerializeToString(deterministic=True)
    return serialized


def same_field(one: Any, other: Any, name: str) -> bool:
    """Whether a field of two messages has the same bytes."""
    was, now = getattr(one, name), getattr(other, name)
    if was == now:
        return True
    if isinstance(was, Message):
        return same_message(was, now)
    listed = not isinstance(was, (str, bytes, float)) and hasattr(was, "__len__") and len(was) == len(now)
    return listed and all(
        isinstance(old, Message) and same_message(old, new) for old, new in zip(was, now, strict=True)
    )


def bare(node: NodeProto) -> NodeProto:
    """The node without its bodies, which are scopes of their own."""
    copy = NodeProto()
    copy.CopyFrom(node)
    for attribute in copy.attribute:
        attribute.ClearField("g")
        attribute.ClearField("graphs")
    return copy


def made_by(node: NodeProto) -> str:
    """The first tensor that the node makes: what it is known by."""
    return next((name for name in node.output if name), "")

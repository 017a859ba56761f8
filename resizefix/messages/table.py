"""All messages, and those that a pasted text holds."""

from __future__ import annotations

from resizefix.messages import onnxruntime, other_runtimes, tensorrt
from resizefix.messages.message import Message, plain_text, without_prefix

MESSAGES: tuple[Message, ...] = (*tensorrt.MESSAGES, *onnxruntime.MESSAGES, *other_runtimes.MESSAGES)


def messages_in(pasted: str) -> list[Message]:
    """The messages that a text holds, the one with the longest wording first: it says most."""
    for text in (pasted, without_prefix(pasted)):
        plain = plain_text(text)
        if lengths := {message: length for message in MESSAGES if (length := message.length_in(plain))}:
            return sorted(lengths, key=lambda message: -lengths[message])
    return []

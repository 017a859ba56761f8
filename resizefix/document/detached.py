"""The model file that a light ModelProto came from, and which of the proto's references stand for its payloads.

Such a reference carries a token of this very file where the ONNX spec has room for a checksum (which no runtime reads).
So copies of a detached tensor are recognised wherever they go, while a tensor that keeps its data in the model file on
its own account, or one taken from another document, is never mistaken for one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import NamedTuple

import onnx

from resizefix.document.external_data import Reference, reference_of
from resizefix.document.payloads import (
    FORMS,
    OWN_DATA,
    RAW_DATA,
    THRESHOLD,
    Payload,
    detach,
    records_of_reference,
    replace_tensors_containing,
)
from resizefix.document.source import Piece, Source, Span, as_bytes, framed, size_of
from resizefix.document.wire import LENGTH_DELIMITED, MalformedError, encode_bytes, records
from resizefix.errors import RefusedError, UnreadableModelError

# While a model is compared and spliced, a payload is represented by these bytes and its offset. They are drawn anew in
# each process, so no tensor of a file holds them, by accident or on purpose.
_PLACEHOLDER = os.urandom(16)

# A protobuf message cannot be larger, so what remains without payloads must fit.
_LARGEST_MESSAGE = 2**31 - 1


def canonical(model: onnx.ModelProto) -> bytes:
    """The one serialisation that equal protos share."""
    serialized: bytes = model.SerializeToString(deterministic=True)
    return serialized


class Detached(NamedTuple):
    """A model file without its payloads: `light` is what remains, with references to `payloads` (by their offset)."""

    source: Source
    location: str
    payloads: dict[int, Payload]
    light: bytes

    @classmethod
    def of(cls, source: Source, file_name: str | None) -> Detached:
        """Reads the file without its payloads, or with them if there is no name to refer to it by.

        Raises MalformedError for bytes that cannot be a model, UnreadableModelError if reading fails.
        """
        payloads: dict[int, Payload] = {}

        def refer(payload: Payload) -> list[Piece]:
            payloads[payload.start] = payload
            return [records_of_reference(file_name or "", payload.start, payload.end - payload.start, source.token)]

        pieces: list[Piece] = [Span(source, 0, source.size)]
        if file_name is not None:
            with source.mapped() as data:
                pieces = detach(data, refer, source)
        if size_of(pieces) > _LARGEST_MESSAGE:
            raise MalformedError("document.larger-than-2-gib", threshold=THRESHOLD)
        return cls(source, file_name or "", payloads, as_bytes(pieces))

    def refers(self, reference: Reference) -> bool:
        """Whether a reference stands for one of the payloads."""
        if reference.checksum != self.source.token or not re.fullmatch("[0-9]{1,19}", reference.offset):
            return False
        payload = self.payloads.get(int(reference.offset))
        return payload is not None and reference.length == str(payload.end - payload.start)

    def payload_of(self, tensor: onnx.TensorProto) -> Payload | None:
        """The payload that a tensor's reference stands for; None for every other tensor.

        Raises RefusedError for a tensor that also has data of its own: which of the two counts is not known.
        """
        reference = reference_of(tensor) if self.payloads else None
        if reference is None or not self.refers(reference):
            return None
        if any(field.name in OWN_DATA for field, _ in tensor.ListFields()):
            raise RefusedError("document.data-given-twice", name=tensor.name)
        return self.payloads[int(reference.offset)]

    def span(self, payload: Payload) -> Span:
        """Where the bytes of a payload are, which are those of `raw_data` whatever field they stand in.

        Raises UnreadableModelError if the file was written to since it was opened.
        """
        self.source.require_unchanged()
        return Span(self.source, payload.start, payload.end)

    def with_references_replaced(self, model: bytes, instead: Callable[[Payload, int], bytes]) -> bytes:
        """A serialised light model with `instead(payload, data_type)` where a tensor referred to a payload."""

        def replacing(text: bytes) -> list[Piece] | None:
            tensor = onnx.TensorProto.FromString(text)
            payload = self.payload_of(tensor)
            if payload is None:
                return None
            tensor.ClearField("external_data")
            tensor.ClearField("data_location")
            if payload.location_stated:
                tensor.data_location = onnx.TensorProto.DEFAULT
            return [tensor.SerializeToString(deterministic=True), instead(payload, tensor.data_type)]

        if not self.payloads:
            return model
        return as_bytes(replace_tensors_containing(model, self.source.token.encode(), replacing))

    def with_placeholders(self, model: bytes) -> bytes:
        """A serialised light model with a placeholder for each payload, in the field that the payload belongs to."""

        def placeholder(payload: Payload, data_type: int) -> bytes:
            # A payload goes back into its field, unless its tensor was given a type that cannot stand there.
            field = payload.field if data_type in FORMS.get(payload.field, ()) else RAW_DATA
            return encode_bytes(field, _PLACEHOLDER + payload.start.to_bytes(8, "little"))

        return self.with_references_replaced(model, placeholder)

    def expand(self, kind: str, text: bytes) -> list[Piece]:
        """Records of the message `kind`, with placeholders replaced by the payloads they stand for."""

        def replacing(tensor: bytes) -> list[Piece]:
            pieces: list[Piece] = []
            for record in records(tensor, 0, len(tensor)):
                value = tensor[record.body : record.end]
                if record.wire_type == LENGTH_DELIMITED and value.startswith(_PLACEHOLDER):
                    payload = self.payloads[int.from_bytes(value[len(_PLACEHOLDER) :], "little")]
                    pieces += framed(record.number, [Span(self.source, payload.start, payload.end)])
                else:
                    pieces.append(tensor[record.start : record.end])
            return pieces

        return replace_tensors_containing(text, _PLACEHOLDER, replacing, kind)

    def spliced(self, old: bytes, new: bytes) -> list[Piece]:
        """The file with the edits that lead from `old` to `new`, both canonical and with placeholders."""
        if old == new:
            return [Span(self.source, 0, self.source.size)]
        from resizefix.document.splice import Splicer  # of a model that is saved

        try:
            with self.source.mapped() as data:
                original = list(records(data, 0, len(data)))
                return Splicer(self.source, data, self.expand).merge("ModelProto", original, old, new)
        except MalformedError as error:
            # Parsers skip what they do not know; a splice must understand every record it keeps.
            raise UnreadableModelError("document.cannot-be-edited", path=self.source.path, error=error) from error


def outline(model: bytes | Source, detached: Detached | None = None) -> bytes:
    """What a model says, large payloads by their length alone: to compare what was meant with what was written.

    Raises UnreadableModelError for records that ONNX has not.
    """

    def by_length(payload: Payload, _: int = 0) -> bytes:
        return records_of_reference("", 0, payload.end - payload.start)

    def refer(payload: Payload) -> list[Piece]:
        return [by_length(payload)]

    try:
        if isinstance(model, Source):
            with model.mapped() as data:
                light = detach(data, refer, model, everywhere=True)
            # Only in canonical form are numbers packed, so that both sides give the same payloads by their length.
            model = canonical(onnx.ModelProto.FromString(as_bytes(light)))
        elif detached:
            model = detached.with_references_replaced(model, by_length)
        light = detach(model, refer, everywhere=True)
    except MalformedError as error:
        raise UnreadableModelError("document.no-part-of-onnx", error=error) from error
    proto = onnx.ModelProto.FromString(as_bytes(light))
    # Parsers keep fields they do not know, but not in which order these stood.
    proto.DiscardUnknownFields()
    return canonical(proto)

"""The data of tensors as models store them: in which field or file, and where those of two tensors differ.

Data that stand in files are compared in blocks and never loaded as a whole.
"""

from __future__ import annotations

from typing import NamedTuple

import onnx
from onnx import TensorProto

from resizefix.diagnostics import UnreadableModelError
from resizefix.document.document import Document
from resizefix.document.payloads import OWN_DATA
from resizefix.document.source import Piece, Span, first_difference

EXTERNAL_DATA = "external_data"


class Stored(NamedTuple):
    """One tensor in parts: its data, where another file has them, and all the rest.

    `fields` hold the data; EXTERNAL_DATA is one of them where `place` says in which file they are. `span` is where a
    file has them, that of the model included; `unreadable` why it could not be found there.
    """

    rest: TensorProto
    place: TensorProto
    inline: TensorProto
    fields: tuple[str, ...]
    span: Span | None
    unreadable: UnreadableModelError | None = None

    @property
    def content(self) -> Piece | None:
        """The data as `raw_data` would have them; None where two fields hold some, or they do not fit the tensor."""
        if len(self.fields) != 1 or self.unreadable is not None:
            return None if self.fields else b""
        if self.span is not None:
            return self.span
        if self.fields == ("raw_data",):
            raw: bytes = self.inline.raw_data
            return raw
        whole = TensorProto(data_type=self.rest.data_type, dims=self.rest.dims)
        whole.MergeFrom(self.inline)
        try:
            packed: bytes = onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(whole)).raw_data
        except (ValueError, TypeError, KeyError):
            return None
        return None if whole.data_type == TensorProto.STRING else packed


def stored(document: Document, tensor: TensorProto) -> Stored:
    """How `document` stores its `tensor`. Raises RefusedError for a tensor of another document."""
    rest, place, inline = TensorProto(), TensorProto(), TensorProto()
    for part in (rest, inline):
        part.CopyFrom(tensor)
    inline.DiscardUnknownFields()
    is_external, payload = tensor.data_location == TensorProto.EXTERNAL, document.payload(tensor)
    for field in TensorProto.DESCRIPTOR.fields:
        is_own = field.name in OWN_DATA
        if is_own or (is_external and field.name in (EXTERNAL_DATA, "data_location")):
            rest.ClearField(field.name)
        if not is_own:
            inline.ClearField(field.name)
    fields = tuple(field.name for field, _ in inline.ListFields())
    if payload is not None:
        fields = (str(TensorProto.DESCRIPTOR.fields_by_number[payload.field].name),)
        if payload.location_stated:
            rest.data_location = TensorProto.DEFAULT
    elif is_external:
        fields = (EXTERNAL_DATA, *fields)
        place.external_data.extend(tensor.external_data)
    try:
        return Stored(rest, place, inline, fields, document.span(tensor))
    except UnreadableModelError as error:
        return Stored(rest, place, inline, fields, None, error)


def where_data_differ(before: Stored, after: Stored) -> int | None:
    """The first byte, in the form of `raw_data`, in which the data of two tensors differ; None if they are the same.

    0 where the form is not known: data that cannot be compared are not the same. Raises UnreadableModelError where both
    tensors refer alike to data that cannot be read.
    """
    same_fields = before.fields == after.fields
    if same_fields and before.inline.SerializeToString() == after.inline.SerializeToString():
        why = before.unreadable or after.unreadable
        if why is not None and before.place.SerializeToString() == after.place.SerializeToString():
            raise why
        if why is not None:
            return 0
        if before.span is None or after.span is None:
            return None
        return first_difference(before.span, after.span)
    old, new = before.content, after.content
    if old is None or new is None:
        return 0
    where = first_difference(old, new)
    # A field may differ in bits that no number is made of.
    in_proto = before.span is None and after.span is None
    return 0 if where is None and same_fields and in_proto else where

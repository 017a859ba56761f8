"""A complete model in memory as a light document, and back.

Operations copy the models they work on, and a proof runs several versions of them, so a large model in memory is
written once to a temporary file and from there treated like any file: its weights are copied when they are written and
when the result is read, and never in between. With 400 MB of weights a promotion takes 3 s of processor time and twice
their size in memory, most of it for the result, instead of 22 s and eight times. Below LARGE bytes the model stays in
memory.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import suppress

from google.protobuf.message import EncodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet
from onnx import ModelProto, TensorProto, numpy_helper

from resizefix.diagnostics import CannotWriteError, UnreadableModelError, UsageError
from resizefix.document.document import Document
from resizefix.document.external_data import references_in
from resizefix.document.wire import encode_header, number_of

LARGE = 4 << 20

# No other program uses this name: its folder is known by it, and nothing but it is ever removed.
_FILE = "model-in-memory.resizefix"
# More than this protobuf cannot read as one message; the slack is for what an operation adds.
_READABLE = (1 << 31) - (1 << 24)


def light_document(model: ModelProto) -> Document:
    """A document of the model's content, independent of `model`.

    Raises UnreadableModelError for a model without a graph, and for one that is refused as a file; UsageError where
    tensors of the model lie in other files; CannotWriteError where a large model cannot be written to the folder for
    temporary files (TMPDIR names it).
    """
    if not model.HasField("graph"):
        raise UnreadableModelError("interop.no-graph")
    pieces = _serialized(model)
    if sum(map(len, pieces)) > LARGE:
        return _through_a_file(pieces)
    proto = ModelProto.FromString(b"".join(pieces))
    return Document.from_proto(proto)


def complete(document: Document) -> ModelProto:
    """The complete model in memory, whatever its size; neither the document nor a copy of it can be run afterwards.

    Beyond 2 GiB, numbers come back as `raw_data` whatever field they stood in.
    """
    if document.folder is None or not (document.folder / _FILE).exists():
        return document.to_proto()
    size = (document.folder / _FILE).stat().st_size
    model = document.to_proto() if size < _READABLE else filled(document)
    _remove(str(document.folder))
    return model


def filled(document: Document) -> ModelProto:
    """The complete model, put together tensor by tensor: protobuf reads no more than 2 GiB at once."""
    proto = ModelProto()
    proto.CopyFrom(document.proto)
    for tensor in _tensors(proto):
        if tensor.data_location == TensorProto.EXTERNAL:
            tensor.raw_data = numpy_helper.from_array(document.array(tensor)).raw_data
            tensor.ClearField("external_data")
            tensor.ClearField("data_location")
    return proto


def _through_a_file(pieces: list[bytes]) -> Document:
    try:
        folder = tempfile.mkdtemp(prefix="resizefix-")
        try:
            with open(os.path.join(folder, _FILE), "wb") as file:
                file.writelines(pieces)
        except OSError:
            _remove(folder)
            raise
    except OSError as error:
        raise CannotWriteError(
            "interop.no-temporary-file", gettempdir=tempfile.gettempdir(), strerror=error.strerror or error
        ) from error
    document = Document.open(os.path.join(folder, _FILE))
    document.path = None  # it came from none that the user knows
    weakref.finalize(document, _remove, folder)  # where an error kept `complete` from it
    return document


def _remove(folder: str) -> None:
    with suppress(OSError):
        os.unlink(os.path.join(folder, _FILE))
    with suppress(OSError):
        os.rmdir(folder)


def _serialized(model: ModelProto) -> list[bytes]:
    """The serialised model, tensor by tensor: protobuf writes no more than 2 GiB at once."""
    if len(UnknownFieldSet(model)) or len(UnknownFieldSet(model.graph)):
        shell, initializers = model, []  # fields that no schema knows are kept by the message as a whole alone
    else:
        shell, initializers = ModelProto(), list(model.graph.initializer)
        _copy_fields(model, shell, but="graph")
        _copy_fields(model.graph, shell.graph, but="initializer")
    try:
        text = shell.SerializeToString(deterministic=True)
        graph = shell.graph.SerializeToString(deterministic=True)
    except EncodeError as error:
        raise UsageError("interop.too-large", error=error) from error
    lost = [reference.tensor for reference in references_in(text)]
    lost += [tensor.name for tensor in initializers if tensor.data_location == TensorProto.EXTERNAL]
    if lost:
        raise UsageError("interop.data-folder-unknown", lost=lost[0], lost_2=len(lost) - 1)
    if not initializers:
        return [text]
    inside = [graph]
    for tensor in initializers:
        content = tensor.SerializeToString(deterministic=True)
        inside += [encode_header(number_of("GraphProto", "initializer"), len(content)), content]
    shell.ClearField("graph")
    header = encode_header(number_of("ModelProto", "graph"), sum(map(len, inside)))
    return [shell.SerializeToString(deterministic=True), header, *inside]


def _copy_fields(source: Message, target: Message, but: str) -> None:
    for field, value in source.ListFields():
        if field.name == but:
            continue
        if hasattr(value, "MergeFrom") and not isinstance(value, Message):  # a repeated field
            getattr(target, field.name).MergeFrom(value)
        elif isinstance(value, Message):
            getattr(target, field.name).CopyFrom(value)
        else:
            setattr(target, field.name, value)


def _tensors(message: Message) -> Iterator[TensorProto]:
    if isinstance(message, TensorProto):
        yield message
        return
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for child in [value] if isinstance(value, Message) else value:
            yield from _tensors(child)

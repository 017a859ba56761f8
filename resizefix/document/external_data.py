"""Tensors whose data lie elsewhere: in other files, and, of a light ModelProto, in the model file that it came from.

The rules of the former are those of the ONNX spec (docs/ExternalData.md) and of onnxruntime: a location is relative to
the model's folder and may not lead out of it. A model reached through a link (as in the cache of the Hugging Face hub)
may also use files in the folder where it really lies.

A reference to a payload of the model file carries a token of this very file where the ONNX spec has room for a checksum
(which no runtime reads). So copies of a detached tensor are recognised wherever they go, while a tensor that keeps its
data in the model file on its own account, or one taken from another document, is never mistaken for one.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import onnx

from resizefix.diagnostics import RefusedError, UnreadableModelError, UsageError
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
from resizefix.document.source import TOKEN_PREFIX, Piece, Source, Span, as_bytes, framed, is_already, size_of
from resizefix.document.wire import LENGTH_DELIMITED, MalformedError, encode_bytes, records

if TYPE_CHECKING:
    from resizefix.document.atomic_write import AtomicWrite

_LONGEST_NUMBER = 19  # digits of an int64


class Reference(NamedTuple):
    """Where the data of one tensor are said to lie, in the words of the model: nothing is checked before it is used."""

    tensor: str
    location: str
    offset: str
    length: str | None
    checksum: str

    @property
    def is_of_payload(self) -> bool:
        """Whether it stands for a payload of a document, this one or another."""
        return self.checksum.startswith(TOKEN_PREFIX)


class Home(NamedTuple):
    """Where the references of a model resolve: `folder`, and where the file really lies if a link led to it."""

    folder: Path
    real_folder: Path

    def is_folder(self, folder: Path) -> bool:
        """Whether references resolve alike from a file in `folder`."""
        try:
            return os.path.samefile(folder, self.folder)
        except OSError:
            return False

    def leads_to_real_folder(self, reference: Reference) -> bool:
        """Whether the file a reference means lies where the model really lies."""
        return "\0" not in reference.location and _is_inside(self.folder / reference.location, self.real_folder)

    def resolve(self, reference: Reference) -> Path:
        """The file a reference means. Raises UnreadableModelError if that is outside of the model's folder."""
        location, path = Path(reference.location), self.folder / reference.location
        if (
            not location.parts
            or "\0" in reference.location
            or location.is_absolute()
            or Path(os.path.normpath(location)).parts[:1] == ("..",)
            or not any(_is_inside(path, folder) for folder in self)
        ):
            raise UnreadableModelError(
                "document.data-outside-folder", tensor=reference.tensor, location=reference.location, folder=self.folder
            )
        return path

    def open(self, reference: Reference) -> Source:
        """The file a reference means, opened. Raises UnreadableModelError."""
        try:
            return Source(self.resolve(reference))
        except UnreadableModelError as error:
            raise UnreadableModelError("document.data-not-readable", tensor=reference.tensor, error=error) from error


def span_of(reference: Reference, source: Source) -> Span:
    """The bytes of `source` that a reference means. Raises UnreadableModelError if it has no such bytes."""
    numbers = [number for number in (reference.offset, reference.length) if number is not None]
    if not all(re.fullmatch(f"[0-9]{{1,{_LONGEST_NUMBER}}}", number) for number in numbers):
        named = {"offset": reference.offset, "length": reference.length}
        said = " or ".join(
            f"{name} {number[: _LONGEST_NUMBER + 1]!r}" for name, number in named.items() if number is not None
        )
        raise UnreadableModelError(
            "document.external-data-no-number", tensor=reference.tensor, said=said, longest_number=_LONGEST_NUMBER
        )
    start = int(reference.offset)
    end = source.size if reference.length is None else start + int(reference.length)
    if not start <= end <= source.size:
        begins = reference.length is None
        raise UnreadableModelError(
            "document.external-data-begins-outside-file" if begins else "document.external-data-outside-file",
            tensor=reference.tensor,
            start=start,
            end=end,
            path=source.path,
            size=source.size,
        )
    return Span(source, start, end)


def reference_of(tensor: onnx.TensorProto) -> Reference | None:
    """Where the data of a tensor are said to lie, None if in the tensor itself."""
    if tensor.data_location != onnx.TensorProto.EXTERNAL:
        return None
    # protobuf gives bytes for a string that is not UTF-8.
    said = {entry.key: os.fsdecode(entry.value) for entry in tensor.external_data}
    location, checksum = said.get("location", ""), said.get("checksum", "")
    return Reference(tensor.name, location, said.get("offset", "0"), said.get("length"), checksum)


def references_in(model: bytes) -> list[Reference]:
    """All references of a serialised model, each once."""
    references: dict[Reference, None] = {}

    def collect(text: bytes) -> None:
        reference = reference_of(onnx.TensorProto.FromString(text))
        if reference is not None:
            references[reference] = None

    replace_tensors_containing(model, b"location", collect)
    return list(references)


def relocated(model: bytes, home: Home, except_for: Callable[[Reference], bool]) -> bytes:
    """The serialised model, its references leading to the same files from `home.real_folder`."""

    def replacing(text: bytes) -> list[Piece] | None:
        tensor = onnx.TensorProto.FromString(text)
        reference = reference_of(tensor)
        if reference is None or except_for(reference) or not home.leads_to_real_folder(reference):
            return None
        real = os.path.realpath(home.folder / reference.location)
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = Path(os.path.relpath(real, os.path.realpath(home.real_folder))).as_posix()
        return [tensor.SerializeToString(deterministic=True)]

    return as_bytes(replace_tensors_containing(model, b"location", replacing))


def require_own(references: Iterable[Reference]) -> None:
    """Raises RefusedError for a tensor of another document: its payload is known there and not here."""
    for reference in references:
        if reference.is_of_payload:
            raise RefusedError("document.tensor-of-another-document", tensor=reference.tensor)


def require_readable(references: Iterable[Reference], home: Home) -> None:
    """Raises UnreadableModelError if a file that the references mean, or part of it, is missing."""
    for reference in references:
        span_of(reference, home.open(reference))


def stage_data_files(write: AtomicWrite, references: list[Reference], home: Home, out: Path) -> None:
    """Takes the files that the references mean along into the folder of `out`, under the same relative names.

    A file that is already there is left alone if it is the same. Raises UsageError if another file has the name: even
    where the model itself may be replaced, a data file may serve other models, and the old model until the new one has
    its name. Raises UnreadableModelError if a file or part of it is missing.
    """
    by_file: dict[str, list[Reference]] = defaultdict(list)
    for reference in references:
        by_file[os.path.normpath(reference.location)].append(reference)
    for reference in references:
        parts = Path(reference.location).parts
        for count in range(1, len(parts) if ".." in parts else 0):  # `sub/../w.bin` is found where there is a `sub`
            write.make_folder(out.parent / os.path.normpath(os.path.join(*parts[:count])))
    for location, inside in by_file.items():
        source = home.open(inside[0])
        for reference in inside:
            span_of(reference, source)
        target = out.parent / location
        if not _is_inside(target, out.parent):
            raise UsageError("document.leads-out-of-folder", target=target, parent=out.parent)
        if os.path.realpath(target) == os.path.realpath(out):
            raise UsageError("document.out-is-external-data", out=out)
        if os.path.lexists(target):
            if source.is_at(target) or is_already(target, [Span(source, 0, source.size)]):
                continue
            raise UsageError("document.data-file-exists", target=target)
        write.stage(target, [Span(source, 0, source.size)], overwrite=False, make_folders=True)
        source.require_unchanged()


def require_not_referenced(path: Path, references: list[Reference], home: Home) -> None:
    """Raises UsageError if writing `path` would destroy data that the model refers to."""
    for reference in references:
        with suppress(OSError, ValueError):
            if os.path.samefile(path, home.folder / reference.location):
                raise UsageError("document.holds-tensor-data", path=path, tensor=reference.tensor)


def _is_inside(path: Path, folder: Path) -> bool:
    real, real_folder = Path(os.path.realpath(path)), Path(os.path.realpath(folder))
    return real_folder in real.parents


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

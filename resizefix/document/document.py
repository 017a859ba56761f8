"""A model file that can be edited without being loaded: `proto` is the model, its large payloads stay on disk."""

from __future__ import annotations

import os
import reprlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import onnx
from google.protobuf.message import DecodeError, EncodeError

from resizefix.diagnostics import CannotWriteError, Diagnostic, UnreadableModelError, UsageError
from resizefix.document.external_data import (
    Detached,
    Home,
    Reference,
    canonical,
    outline,
    reference_of,
    references_in,
    relocated,
    require_not_referenced,
    require_own,
    require_readable,
    span_of,
    stage_data_files,
)
from resizefix.document.payloads import Payload
from resizefix.document.source import Piece, Source, Span, as_bytes
from resizefix.document.structure import require_sound, require_utf8
from resizefix.document.wire import FIELDS, LENGTH_DELIMITED, CutOffError, MalformedError, number_of, records
from resizefix.printable import summary


@dataclass(eq=False)
class Document:
    """A model, its file, and the folder where references to its data resolve.

    `proto` may be edited in any way protobuf allows, tensors copied and moved included. `light_bytes` together with
    `folder` is what onnxruntime opens (session option `session.model_external_initializers_file_folder_path`).
    """

    proto: onnx.ModelProto
    path: Path | None = field(default=None, kw_only=True)
    folder: Path | None = field(default=None, kw_only=True)
    _home: Home | None = field(default=None, kw_only=True)
    _detached: Detached | None = field(default=None, kw_only=True)

    def __repr__(self) -> str:
        graph = self.proto.graph
        size = f"{len(graph.node)} nodes, {len(graph.initializer)} initializers"
        return summary("Document", "in memory" if self.path is None else str(self.path), size)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Document:
        """The model in the file `path`. Raises UnreadableModelError, which says what the file is instead."""
        path = _path(path)
        detached, proto, home, folder = open_detached(path)
        return cls(proto, path=path, folder=folder, _home=home, _detached=detached)

    @classmethod
    def from_proto(cls, model: onnx.ModelProto, folder: str | os.PathLike[str] | None = None) -> Document:
        """A copy of a model in memory; `folder` is where its external data lie, if it has any.

        Raises UnreadableModelError for a model whose texts are not all UTF-8 or whose nodes or functions go in circles,
        UsageError for one beyond 2 GiB.
        """
        proto = onnx.ModelProto()
        proto.CopyFrom(model)
        absolute = Path(os.path.abspath(_path(folder))) if folder is not None else None
        home = Home(absolute, absolute) if absolute is not None else None
        document = cls(proto, folder=absolute, _home=home)
        require_utf8(document._canonical(), "the model")
        require_sound(proto, "the model")
        return document

    @classmethod
    def of_part(cls, model: onnx.ModelProto, whole: Document) -> Document:
        """Nodes of `whole`, a document already, as a model by themselves; the message becomes the document's."""
        home = None if whole.folder is None else Home(whole.folder, whole.folder)
        return cls(model, folder=whole.folder, _home=home)

    def __reduce__(self) -> tuple[Callable[..., Document], tuple[object, ...]]:
        """A document travels between processes as its light proto and the path of its file, not as an open file."""
        token = None if self._detached is None else self._detached.source.token
        return _reopened, (self.path, token, self._canonical(), self.folder)

    def copy(self) -> Document:
        """An independent document: its own proto over the same file."""
        proto = onnx.ModelProto()
        proto.CopyFrom(self.proto)
        return replace(self, proto=proto)

    def is_changed(self) -> bool:
        """Whether saving would write other bytes than those of the file; always for a model that came from none."""
        if self._detached is None:
            return True
        return self._canonical() != canonical(onnx.ModelProto.FromString(self._detached.light))

    def light_bytes(self) -> bytes:
        """The serialised `proto`, large payloads as references into `folder`.

        Raises UnreadableModelError if the file at `path` is no longer the one that was opened.
        """
        self.require_in_place()
        model = self._canonical()
        if self._home is None or self.folder is None or self._detached is None:
            return model
        return model if self.folder == self._home.folder else relocated(model, self._home, self._detached.refers)

    def require_in_place(self) -> None:
        """Raises UnreadableModelError if the file at `path` is no longer the one that was opened."""
        if self.folder is None or self._detached is None or not self._detached.payloads:
            return
        if not self._detached.source.is_at(self.folder / self._detached.location):
            raise UnreadableModelError("document.changed-on-disk", path=self.path)

    def payload(self, tensor: onnx.TensorProto) -> Payload | None:
        """Where the model's own file holds the data of a tensor; None if `proto` or another file does."""
        return self._detached.payload_of(tensor) if self._detached else None

    def span(self, tensor: onnx.TensorProto) -> Span | None:
        """The bytes of a tensor's data in the file that holds them, as `raw_data` has them; None if `proto` holds them.

        Raises UnreadableModelError, RefusedError.
        """
        payload = self.payload(tensor)
        if self._detached and payload:
            return self._detached.span(payload)
        reference = reference_of(tensor)
        if reference is None:
            return None
        if self._home is None:
            raise UnreadableModelError("document.data-folder-unknown", name=tensor.name, location=reference.location)
        if reference.is_of_payload and self._detached:
            require_own(self._new([reference]))
        return span_of(reference, self._home.open(reference))

    def array(self, tensor: onnx.TensorProto) -> np.ndarray:
        """The value of a tensor of this document, wherever its data lie. Raises UnreadableModelError, RefusedError."""
        span = self.span(tensor)
        whole = tensor if span is None else _with_raw_data(tensor, as_bytes([span]))
        try:
            return onnx.numpy_helper.to_array(whole)
        except (ValueError, TypeError, KeyError) as error:
            raise UnreadableModelError("document.data-do-not-fit", name=tensor.name, error=error) from error

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False, as_external_data: bool = False) -> None:
        """Writes the model to `path`: the bytes of the original wherever nothing was changed.

        Files that hold data of the model go along if `path` is in another folder. `as_external_data` moves large
        payloads into one new file, `path` with `.data` appended. All files appear whole or none does; an existing
        `path` is replaced only with `overwrite`, a data file never. Raises UsageError, CannotWriteError,
        UnreadableModelError, RefusedError.
        """
        from resizefix.document.atomic_write import AtomicWrite  # who reads a model needs none

        out = _path(path)
        home = self._home or Home(out.parent, out.parent)
        with AtomicWrite() as write:
            write.require_free(out, overwrite=overwrite)
            model = self._canonical()
            own = self._own_references(model)
            self.require_apart(out)
            new = self._new(own)
            if self._detached:
                require_own(new)
            if home.is_folder(out.parent):
                require_readable(new, home)
            else:
                stage_data_files(write, own, home, out)
            if as_external_data:
                from resizefix.document.externalize import DataFile, externalized  # few files are stored so

                data_file = DataFile(f"{out.name}.data")
                model = externalized(model, self._detached, data_file)
                data_file.stage(write, out.parent)
            temporary = write.stage(out, self._pieces(model), overwrite=overwrite)
            if self._detached:
                self._detached.source.require_unchanged()
            if outline(Source(temporary)) != outline(model, self._detached):
                raise CannotWriteError("document.not-read-back", out=out)
            write.commit()

    def data_files(self) -> list[str]:
        """The files next to the model that hold data of it, as the model names them."""
        return sorted({reference.location for reference in self._own_references(self._canonical())})

    def require_apart(self, path: str | os.PathLike[str]) -> None:
        """Raises UsageError if writing `path` would destroy data of the model, as it is or as it was opened."""
        if self._home is not None and os.path.exists(path):
            given = b"" if self._detached is None else self._detached.light
            require_not_referenced(Path(path), self._own_references(self._canonical() + given), self._home)

    def to_proto(self) -> onnx.ModelProto:
        """The complete model in memory, what parsing the saved file gives; independent of the file."""
        proto: onnx.ModelProto = onnx.ModelProto.FromString(as_bytes(self._pieces(self._canonical())))
        return proto

    def _pieces(self, model: bytes) -> list[Piece]:
        if self._detached is None:
            return [model]
        self._detached.source.require_unchanged()
        old = canonical(onnx.ModelProto.FromString(self._detached.light))
        return self._detached.spliced(self._detached.with_placeholders(old), self._detached.with_placeholders(model))

    def _canonical(self) -> bytes:
        try:
            return canonical(self.proto)
        except EncodeError as error:
            raise UsageError("document.too-large-for-protobuf", error=error) from error

    def _own_references(self, model: bytes) -> list[Reference]:
        """The references of the serialised model that do not stand for detached payloads."""
        references = references_in(model)
        return [reference for reference in references if not (self._detached and self._detached.refers(reference))]

    def _new(self, references: list[Reference]) -> set[Reference]:
        """Those that the original does not have; what it has may be broken, as long as nothing needs it."""
        given = references_in(self._detached.light) if references and self._detached else []
        places = {reference._replace(tensor="") for reference in given}
        return {reference for reference in references if reference._replace(tensor="") not in places}


def _path(path: str | os.PathLike[str]) -> Path:
    """The path, where it can be one. Raises UsageError."""
    try:
        name = os.fsdecode(path)
        if not name or b"\0" in os.fsencode(name):
            raise ValueError
    except (TypeError, ValueError):
        raise UsageError("document.no-path", path=reprlib.repr(path)) from None
    return Path(name)


def _with_raw_data(tensor: onnx.TensorProto, content: bytes) -> onnx.TensorProto:
    return onnx.TensorProto(data_type=tensor.data_type, dims=tensor.dims, raw_data=content)


def _reopened(path: Path | None, token: str | None, light: bytes, folder: Path | None) -> Document:
    if path is None or token is None:
        return Document.from_proto(onnx.ModelProto.FromString(light), folder)
    document = Document.open(path)
    if document._detached is None or document._detached.source.token != token:
        raise UnreadableModelError("document.changed-on-disk", path=path)
    document.proto.CopyFrom(onnx.ModelProto.FromString(light))
    return document


_GRAPH = number_of("ModelProto", "graph")


def open_detached(path: Path) -> tuple[Detached, onnx.ModelProto, Home, Path]:
    """The file, its light proto, where its own references resolve, and the folder for those to its payloads.

    The two folders differ for a model reached through a link: its payloads are found where the file really lies. If
    its own references do not lead there as well, no folder serves both, and nothing is detached.
    Raises UnreadableModelError.
    """
    source = Source(path)
    named, real = Path(os.path.abspath(path)), Path(os.path.realpath(path))
    home = Home(named.parent, real.parent)
    if home.is_folder(real.parent):
        home = Home(real.parent, real.parent)
    detached, model = _read(source, real.name if _is_utf8(real) else None)
    if home.folder != home.real_folder:
        own = [reference for reference in references_in(detached.light) if not detached.refers(reference)]
        if not all(home.leads_to_real_folder(reference) for reference in own):
            return (*_read(source, None), home, home.folder)
    return detached, model, home, home.real_folder


def _read(source: Source, file_name: str | None) -> tuple[Detached, onnx.ModelProto]:
    if source.size == 0:
        raise UnreadableModelError("document.file-is-empty", path=source.path)
    try:
        _require_graph(source)
        detached = Detached.of(source, file_name)
        model = onnx.ModelProto.FromString(detached.light)
    except (MalformedError, DecodeError) as error:
        raise UnreadableModelError(f"{source.path}: {_diagnosis(source, error)}.") from error
    require_utf8(detached.light, str(source.path))
    require_sound(model, str(source.path))
    return detached, model


def _require_graph(source: Source) -> None:
    with source.mapped() as data:
        for record in records(data, 0, len(data)):
            if record.number == _GRAPH and record.wire_type == LENGTH_DELIMITED:
                return
    raise MalformedError("document.no-graph")


def _diagnosis(source: Source, error: Exception) -> str:
    from resizefix.document.foreign_formats import HEAD, describe  # most files are models

    foreign = describe(source.read(0, min(HEAD, source.size)), source.path.name)
    if foreign is not None:
        return foreign
    if isinstance(error, CutOffError) and _begins_like_a_model(source):
        return Diagnostic("document.cut-off", why=error)
    return Diagnostic("document.no-onnx-model", why=error)


def _begins_like_a_model(source: Source) -> bool:
    with source.mapped() as data:
        try:
            first = next(records(data, 0, len(data)))
        except MalformedError:
            return False
    row = FIELDS["ModelProto"].get(first.number)
    return row is not None and row.wire_type == first.wire_type


def _is_utf8(path: Path) -> bool:
    # onnxruntime takes folder and location as UTF-8; a name that is none can only be read by us.
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True

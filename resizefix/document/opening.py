"""Reads a model file without its payloads, or says what is wrong with the file."""

from __future__ import annotations

import os
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError

from resizefix.diagnostics import Diagnostic
from resizefix.document.detached import Detached
from resizefix.document.encoding import require_utf8
from resizefix.document.external_data import Home, references_in
from resizefix.document.foreign_formats import HEAD, describe
from resizefix.document.schema import FIELDS, number_of
from resizefix.document.source import Source
from resizefix.document.structure import require_sound
from resizefix.document.wire import LENGTH_DELIMITED, CutOffError, MalformedError, records
from resizefix.errors import UnreadableModelError

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
    foreign = describe(source.read(0, min(HEAD, source.size)))
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

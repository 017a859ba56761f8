"""Moves the large payloads of a model into one data file next to it (`--save-as-external-data`)."""

from __future__ import annotations

import os
from pathlib import Path

import onnx

from resizefix.diagnostics import UsageError
from resizefix.document.atomic_write import AtomicWrite
from resizefix.document.external_data import Detached, canonical
from resizefix.document.payloads import Payload, detach, records_of_reference
from resizefix.document.source import Piece, Span, as_bytes, is_already

# Each payload starts on a page, so that a runtime can map it by itself.
ALIGNMENT = 4096


class DataFile:
    """The data file being laid out: `pieces` make it, `location` is its name next to the model."""

    def __init__(self, location: str) -> None:
        try:
            location.encode()
        except UnicodeEncodeError:
            raise UsageError("document.name-not-utf-8", location=location) from None
        self.location = location
        self.pieces: list[Piece] = []
        self._size = 0

    def stage(self, write: AtomicWrite, folder: Path) -> None:
        """Writes the file into `folder`, unless it is there already or nothing was placed in it.

        Raises UsageError if another file has the name: even where the model itself may be replaced, a data file may
        serve other models.
        """
        path = folder / self.location
        if not self.pieces or is_already(path, self.pieces):
            return
        if os.path.lexists(path):
            raise UsageError("document.may-hold-other-data", path=path)
        write.stage(path, self.pieces, overwrite=False)

    def append(self, piece: Piece, length: int) -> bytes:
        """Places a payload and returns the records that make a tensor refer to it."""
        padding = -self._size % ALIGNMENT
        self.pieces += [bytes(padding), piece]
        offset = self._size + padding
        self._size = offset + length
        return records_of_reference(self.location, offset, length)


def externalized(model: bytes, detached: Detached | None, data_file: DataFile) -> bytes:
    """The serialised model with every large payload, detached or inline, placed in `data_file` and referred to there.

    Data that lie in other files already stay there. Copies of one detached payload share one place.
    """
    placed: dict[int, bytes] = {}

    def place(payload: Payload, data_type: int) -> bytes:
        if payload.start not in placed:
            span = Span(source, payload.start, payload.end)
            placed[payload.start] = data_file.append(span, payload.end - payload.start)
        return placed[payload.start]

    def refer(payload: Payload) -> list[Piece]:
        return [data_file.append(model[payload.start : payload.end], payload.end - payload.start)]

    if detached:
        source = detached.source
        model = detached.with_references_replaced(model, place)
    light = as_bytes(detach(model, refer))
    return canonical(onnx.ModelProto.FromString(light))

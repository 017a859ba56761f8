"""What is fuzzed, as functions of bytes: each returns for any input, or raises what is an error in resizefix.

`document` holds the wire walk and the splicing to what protobuf itself says of the same bytes; `commands` runs what the
commands run, without onnxruntime. Errors that are answers (`ResizefixError`) end a run quietly; everything else,
a false assertion above all, is a finding.
"""

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from hostile_names import raw_characters
from onnx import ModelProto

from resizefix.diagnostics import ResizefixError
from resizefix.document.document import Document
from resizefix.library.check import check
from resizefix.operations.diff import diff
from resizefix.operations.freeze_scales import freeze_scales
from resizefix.operations.legalize import legalize
from resizefix.operations.promote_scales import promote_scales
from resizefix.operations.replacement import Allowance
from resizefix.operations.sites import find_sites
from resizefix.operations.trt_legacy import trt_legacy
from resizefix.reports.html import inspect_page
from resizefix.reports.json import change_json, outcome_json, site_json, verdict_json
from resizefix.reports.markdown import inspect_markdown
from resizefix.reports.survey import Survey
from resizefix.targets.catalogue import TARGETS, target_named

ENDS = [TARGETS[0].name, TARGETS[-1].name]


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A folder to write in, in memory where the system has such."""
    shared = "/dev/shm"
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else None) as name:
        yield Path(name)


def document(data: bytes) -> None:
    """Open, save unchanged, edit, save: the bytes stay where nothing was edited, and the edit is all that is new."""
    with folder() as place:
        path = place / "in.onnx"
        path.write_bytes(data)
        try:
            opened = Document.open(path)
        except ResizefixError:
            return
        with contextlib.suppress(ResizefixError):
            assert opened.light_bytes() is not None
        _saved(opened, place / "same.onnx", data)
        whole = _parsed(data)
        edited = opened.copy()
        for proto in (edited.proto, whole):
            proto.producer_name += "!"
            for node in proto.graph.node[:1]:
                node.doc_string = "edited"
                node.input.append("another")
            for tensor in proto.graph.initializer[-1:]:
                tensor.name = "renamed"
            for value in proto.graph.output[1:2]:
                proto.graph.output.remove(value)
            proto.graph.node.add(op_type="Identity", input=["x"], output=["y"])
        _saved(edited, place / "edited.onnx", None)
        if (place / "edited.onnx").exists():
            written = _parsed((place / "edited.onnx").read_bytes())
            assert _known(written) == _known(whole), "the edit is not what was written"


def commands(data: bytes) -> None:
    """Everything the commands do with a model but running it."""
    with folder() as place:
        path = place / "in.onnx"
        path.write_bytes(data)
        try:
            opened = Document.open(path)
        except ResizefixError:
            return
        before = opened.proto.SerializeToString(deterministic=True)
        for work in (_inspected_and_promoted, _reported, _judged, _made_legal, _made_legacy):
            with contextlib.suppress(ResizefixError):
                work(opened, place)
            assert opened.proto.SerializeToString(deterministic=True) == before, f"{work.__name__} changed its input"
        assert path.read_bytes() == data


def _inspected_and_promoted(opened: Document, place: Path) -> None:
    sites = find_sites(opened)
    json.dumps([site_json(site) for site in sites], allow_nan=False)
    promoted = promote_scales(opened, sites)
    json.dumps([outcome_json(outcome) for outcome in promoted.outcomes], allow_nan=False)
    _kept(opened, promoted.document, place / "promoted.onnx")
    values = {source.name: source.value for source in promoted.inputs}
    frozen, _ = freeze_scales(promoted.document, find_sites(promoted.document), values=values)
    _kept(promoted.document, frozen.document, place / "frozen.onnx")


def _reported(opened: Document, place: Path) -> None:
    survey = Survey(opened)
    for page in (inspect_page("in.onnx", survey), inspect_markdown("in.onnx", survey)):
        assert raw_characters(page) == [], "raw in a report"


def _judged(opened: Document, place: Path) -> None:
    for name in ENDS:
        json.dumps(verdict_json(check(opened, target=name)), allow_nan=False)


def _made_legal(opened: Document, place: Path) -> None:
    made = legalize(opened, find_sites(opened), target_named(ENDS[0]), allowance=Allowance(True, True))
    _kept(opened, made.document, place / "legal.onnx")


def _made_legacy(opened: Document, place: Path) -> None:
    made = trt_legacy(opened, allowance=Allowance(True, True))
    if made.complete:
        _kept(opened, made.document, place / "legacy.onnx")


def _kept(before: Document, after: Document, path: Path) -> None:
    """Written and read again it is the same, and what changed can be told."""
    after.save(path)
    again = Document.open(path)
    assert _known(again.to_proto()) == _known(after.to_proto()), "what was written does not read back"
    json.dumps([change_json(change) for change in diff(before, again)], allow_nan=False)


def _saved(opened: Document, path: Path, expected: bytes | None) -> None:
    try:
        opened.save(path)
    except ResizefixError as error:
        if "error in resizefix" in str(error):
            raise AssertionError(str(error)) from error
        return
    assert expected is None or path.read_bytes() == expected, "unchanged, yet not the same bytes"


def _parsed(data: bytes) -> ModelProto:
    return ModelProto.FromString(data)


def _known(model: ModelProto) -> bytes:
    model.DiscardUnknownFields()
    return model.SerializeToString(deterministic=True)


TARGET_OF: dict[str, Callable[[bytes], None]] = {"document": document, "commands": commands}

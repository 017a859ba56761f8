"""Opening, editing and saving a large model costs neither its size in memory nor much more time than copying it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from resizefix.document.document import Document
from resizefix.document.external_data import outline
from resizefix.document.source import Source, size_of
from resizefix.document.wire import encode_header

MEGABYTE = 1 << 20

EDITING = """
import json, re, sys
from resizefix.document.document import Document
def peak():
    # Not ru_maxrss: that of a child begins at what its parent had.
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) // 1024
imported = peak()
document = Document.open(sys.argv[1])
document.proto.graph.node[1].name = "renamed"
document.save(sys.argv[2])
document.save(sys.argv[3], as_external_data=True)
print(json.dumps({"imported": imported, "peak": peak()}))
"""


def said(code: str, *paths: Path) -> str:
    """What a process of its own prints."""
    words = [sys.executable, "-c", code, *map(str, paths)]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def large_model(path: Path, tensors: int, size: int, stored: bool = True) -> None:
    """A model with payloads of `size` bytes, written one by one; unless `stored`, they are holes in the file."""
    nodes = [helper.make_node("Add", [f"t{i}", f"w{i}"], [f"t{i + 1}"], name=f"add{i}") for i in range(tensors)]
    head = helper.make_graph(nodes, "g", [], []).SerializeToString()
    heads = []
    for i in range(tensors):
        tensor = TensorProto(name=f"w{i}", data_type=1, dims=[size // 4]).SerializeToString() + encode_header(9, size)
        heads.append(encode_header(5, len(tensor) + size) + tensor)
    with path.open("wb") as file:
        file.write(b"\x08\x08" + encode_header(7, len(head) + sum(map(len, heads)) + tensors * size) + head)
        for i, tensor_head in enumerate(heads):
            file.write(tensor_head)
            if stored:
                file.write(bytes((i,)) * size)
            else:
                file.seek(size, 1)
        file.truncate()


def test_a_model_of_100_megabytes_is_edited_in_less_than_40_more_than_the_import(tmp_path):
    large_model(tmp_path / "in.onnx", 10, 10 * MEGABYTE)
    figures = json.loads(said(EDITING, *(tmp_path / name for name in ("in.onnx", "out.onnx", "external.onnx"))))
    assert figures["peak"] < 150
    assert figures["peak"] - figures["imported"] < 40
    before, after = ((tmp_path / name).read_bytes() for name in ("in.onnx", "out.onnx"))
    assert after[after.index(b"w9") :] == before[before.index(b"w9") :]
    assert len(after) == len(before) + len("renamed") - len("add1")
    assert (tmp_path / "external.onnx.data").stat().st_size == 100 * MEGABYTE


def test_a_model_beyond_two_gigabytes_is_opened_and_spliced(tmp_path):
    try:
        large_model(tmp_path / "in.onnx", 5, 600 * MEGABYTE, stored=False)
    except OSError as error:
        pytest.skip(f"no files of 3 GB here: {error}")
    document = Document.open(tmp_path / "in.onnx")
    assert len(document.light_bytes()) < 2000
    document.proto.graph.node[0].name = "renamed"
    pieces = document._pieces(document.light_bytes())
    assert size_of(pieces) == (tmp_path / "in.onnx").stat().st_size + len("renamed") - len("add0")
    assert len(pieces) < 30
    assert len(outline(Source(tmp_path / "in.onnx"))) < 2000


def test_ten_thousand_nodes_with_a_hundred_edits_are_saved_in_seconds(tmp_path):
    nodes = [helper.make_node("Relu", [f"t{i}"], [f"t{i + 1}"], name=f"n{i}") for i in range(10_000)]
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", [], [])), tmp_path / "in.onnx")
    code = """
import sys, time
from resizefix.document.document import Document
document = Document.open(sys.argv[1])
for i in range(0, 10_000, 100):
    document.proto.graph.node[i].op_type = "Abs"
begun = time.process_time()
document.save(sys.argv[2])
print(time.process_time() - begun)
"""
    assert float(said(code, tmp_path / "in.onnx", tmp_path / "out.onnx")) < 5

"""The fixtures are what fixtures/index.json says: valid or broken on purpose, runnable, with the sites named there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from fixture_models import DYNAMIC, FIXTURES, SRCNN, srcnn_of_torch
from google.protobuf.message import DecodeError
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, numpy_helper
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors
from ort_runs import opened, run

INDEX = json.loads((FIXTURES / "index.json").read_text(encoding="utf-8"))
MODELS = [entry for entry in INDEX if "read" not in entry["broken"]]
RUNNABLE = [entry for entry in MODELS if "load" not in entry["broken"]]
LOAD_ERRORS = (
    ort_errors.Fail,
    ort_errors.InvalidGraph,
    ort_errors.InvalidProtobuf,
    ort_errors.NotImplemented,
    ort_errors.RuntimeException,
)
CHECKER_ERRORS = (onnx.checker.ValidationError, onnx.shape_inference.InferenceError)
DTYPES = {
    "float": np.float32,
    "float16": np.float16,
    "uint8": np.uint8,
    "int32": np.int32,
    "int64": np.int64,
    "bool": bool,
}


def each(entries: list[dict[str, Any]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("entry", entries, ids=[entry["file"] for entry in entries])


def feeds_of(entry: dict[str, Any], session: onnxruntime.InferenceSession) -> dict[str, Any]:
    generator = np.random.default_rng(0)

    def value(said: Any, dtype: Any) -> Any:
        if isinstance(said, dict):
            return [value(shape, dtype) for shape in said["sequence"]]
        if isinstance(said, str):
            return (generator.standard_normal([int(n) for n in said.split("x")]) * 10).astype(dtype)
        return np.array(said, dtype)

    element = {node.name: node.type.split("(")[-1].rstrip(")") for node in session.get_inputs()}
    return {name: value(said, DTYPES.get(element[name], object)) for name, said in entry["feeds"].items()}


# ---- reading the sites of a model, independently of the package ----

Known = dict[str, tuple[str, np.ndarray | None]]


def known_names(graph: GraphProto, ir_version: int) -> Known:
    """Per name of one graph: its origin (`node`: another node computes it) and its value where the file has one."""
    known: Known = {value.name: ("graph-input", None) for value in graph.input}
    for tensor in graph.initializer:
        overridable = tensor.name in known and ir_version >= 4
        array = np.empty(0) if tensor.external_data else numpy_helper.to_array(tensor)
        known[tensor.name] = ("graph-input" if overridable else "initializer", array)
    known.update(names_of_nodes(graph.node))
    return known


def names_of_nodes(nodes: Any) -> Known:
    known: Known = {}
    for node in nodes:
        known.update((name, ("node", None)) for name in node.output)
        if node.op_type == "Constant":
            attribute = node.attribute[0]
            value = onnx.helper.get_attribute_value(attribute)
            array = numpy_helper.to_array(value) if attribute.name == "value" else np.array(value)
            known[node.output[0]] = ("constant", array)
    return known


def read_site(node: NodeProto, opset: int, known: Known, scope: list[str]) -> dict[str, Any]:
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    operands = [*node.input, "", "", ""]
    since_version = onnx.defs.get_schema(node.op_type, max_inclusive_version=opset).since_version
    kind, origin, values = "scales", "attribute", None
    if "height_scale" in attributes:
        values = [1.0, 1.0, attributes["height_scale"], attributes["width_scale"]]
    elif "scales" in attributes:
        values = attributes["scales"]
    else:
        position = 1 if node.op_type == "Upsample" or since_version == 10 else 2
        name = operands[position]
        if since_version >= 11 and operands[3]:
            kind, name = "sizes", operands[3]
        origin, array = known.get(name, ("none", None))
        values = None if array is None else array.tolist()
        kind = "none" if origin == "none" else kind
    coordinates = attributes.get("coordinate_transformation_mode", b"half_pixel").decode()
    return {
        "op": node.op_type,
        "since_version": since_version,
        "scope": scope,
        "mode": attributes.get("mode", b"nearest").decode(),
        "coordinate_transformation_mode": "asymmetric" if since_version <= 10 else coordinates,
        "extent": {"kind": kind, "values": values},
        "origin": origin,
    }


def read_sites(nodes: Any, opset: int, known: Known, scope: list[str], ir_version: int) -> Iterator[dict[str, Any]]:
    for node in nodes:
        if node.domain in ("", "ai.onnx") and node.op_type in ("Resize", "Upsample"):
            yield read_site(node, opset, known, scope)
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                inner = {**known, **known_names(attribute.g, ir_version)}
                inner_scope = [*scope, f"{node.name}.{attribute.name}"]
                yield from read_sites(attribute.g.node, opset, inner, inner_scope, ir_version)


def sites_of(model: ModelProto) -> list[dict[str, Any]]:
    ir_version = model.ir_version
    opsets = {entry.domain: entry.version for entry in model.opset_import}
    opset = opsets.get("", opsets.get("ai.onnx", 1))
    sites = [*read_sites(model.graph.node, opset, known_names(model.graph, ir_version), [], ir_version)]
    for function in model.functions:
        known: Known = dict.fromkeys(function.input, ("function-input", None))
        known.update(names_of_nodes(function.node))
        opset = next(entry.version for entry in function.opset_import if entry.domain == "")
        scope = [f"function {function.domain}::{function.name}"]
        sites += read_sites(function.node, opset, known, scope, ir_version)
    return sites


def comparable(site: dict[str, Any]) -> str:
    """Equal iff two sites are alike; what other nodes compute is one origin without values here."""
    origin, values = site["origin"], site["extent"]["values"]
    if origin in ("computed", "runtime", "node"):
        origin, values = "node", None
    if values is not None:
        values = [round(float(value), 6) for value in values]
    return json.dumps(
        {**site, "origin": origin, "extent": {"kind": site["extent"]["kind"], "values": values}}, sort_keys=True
    )


# ---- the tests ----


def test_the_index_lists_every_file() -> None:
    # fixtures/broken and fixtures/sizes have an index of their own (tests/operations/test_repaired_files.py,
    # tests/library/test_input_size_pairs.py)
    every = {path.relative_to(FIXTURES).as_posix() for path in FIXTURES.rglob("*.onnx")}
    files = {name for name in every if not name.startswith(("broken/", "sizes/"))}
    assert {entry["file"] for entry in INDEX} == files


def test_the_readme_lists_every_file() -> None:
    readme = (FIXTURES / "README.md").read_text(encoding="utf-8")
    assert [entry["file"] for entry in INDEX if f"| `{entry['file']}` |" not in readme] == []


def test_the_fixtures_stay_small() -> None:
    kinds = (".onnx", ".data", ".bin", ".npz")
    sizes = {path: path.stat().st_size for path in FIXTURES.rglob("*") if path.suffix in kinds}
    assert sum(sizes.values()) < 3_000_000
    assert [path.name for path, size in sizes.items() if path.suffix == ".onnx" and size > 150_000] == []


@each(MODELS)
def test_the_checker_agrees(entry: dict[str, Any]) -> None:
    path = str(FIXTURES / entry["file"])
    if "checker" not in entry["broken"]:
        onnx.checker.check_model(path, full_check=True)
        return
    with pytest.raises(CHECKER_ERRORS):
        onnx.checker.check_model(path, full_check=True)


@each([entry for entry in MODELS if "load" in entry["broken"]])
def test_onnxruntime_refuses_what_is_broken_on_purpose(entry: dict[str, Any]) -> None:
    with pytest.raises(LOAD_ERRORS):
        opened(str(FIXTURES / entry["file"]), optimized=True)


@each([entry for entry in INDEX if "read" in entry["broken"]])
def test_what_is_no_model_holds_no_graph(entry: dict[str, Any]) -> None:
    content = (FIXTURES / entry["file"]).read_bytes()
    if content:
        with pytest.raises(DecodeError):
            onnx.load_from_string(content)
    else:
        assert not onnx.load_from_string(content).HasField("graph")


@each(RUNNABLE)
def test_it_runs(entry: dict[str, Any]) -> None:
    session = opened(str(FIXTURES / entry["file"]), optimized=True)
    outputs = session.run(None, feeds_of(entry, session))
    assert len(outputs) == len(session.get_outputs())


@each(MODELS)
def test_it_holds_the_sites_the_index_names(entry: dict[str, Any]) -> None:
    model = onnx.load(FIXTURES / entry["file"], load_external_data="lost" not in entry["file"])
    found = sorted(comparable(site) for site in sites_of(model))
    assert found == sorted(comparable(site) for site in entry["sites"])


def tells_values(site: dict[str, Any]) -> bool:
    return not site["scope"] and site["extent"]["values"] is not None


def fits(node: NodeProto, site: dict[str, Any], before: list[int], after: list[int]) -> bool:
    """Whether an output of shape `after` is what the site's values make of an input of shape `before`."""
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    values, expected = site["extent"]["values"], list(before)
    for axis, value in zip(attributes.get("axes", range(len(before))), values, strict=True):
        is_size = site["extent"]["kind"] == "sizes"
        expected[axis] = int(value) if is_size else int(np.float32(value) * np.float32(before[axis]))
    if attributes.get("keep_aspect_ratio_policy", b"stretch") == b"not_larger":
        return all(size <= bound for size, bound in zip(after, expected, strict=True))
    return after == expected


@each([entry for entry in RUNNABLE if any(tells_values(site) for site in entry["sites"])])
def test_the_values_the_index_names_are_those_that_run(entry: dict[str, Any]) -> None:
    """Also the computed ones, which the file itself does not show."""
    model = onnx.load(FIXTURES / entry["file"])
    nodes = [node for node in model.graph.node if node.op_type in ("Resize", "Upsample")]
    sites = [site for site in entry["sites"] if not site["scope"]]
    names = list(dict.fromkeys(name for node in nodes for name in (node.input[0], node.output[0])))
    del model.graph.output[:]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    session = opened(model)
    shapes = dict(zip(names, (list(value.shape) for value in session.run(None, feeds_of(entry, session))), strict=True))
    for node, site in zip(nodes, sites, strict=True):
        if tells_values(site):
            assert fits(node, site, shapes[node.input[0]], shapes[node.output[0]])


@pytest.mark.parametrize("text", sorted((FIXTURES / "handmade").glob("*.onnxtxt")), ids=lambda path: path.stem)
def test_a_handmade_model_is_what_its_text_says(text: Path) -> None:
    parsed = onnx.parser.parse_model(text.read_text(encoding="utf-8"))
    assert onnx.load(text.with_suffix(".onnx"), load_external_data=False) == parsed


@pytest.mark.parametrize("path", [SRCNN, DYNAMIC], ids=lambda path: path.stem)
def test_srcnn_computes_what_torch_computed(path: Path) -> None:
    image, wanted = srcnn_of_torch("3")
    (output,) = run(str(path), {"input": image}, optimized=True)
    np.testing.assert_allclose(output, wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize(("factor", "scales"), [("2", (2, 2)), ("2.5", (2.5, 2.5)), ("4", (4, 4)), ("2x3", (2, 3))])
def test_srcnn_with_another_scale_computes_what_torch_computed(factor: str, scales: tuple[float, float]) -> None:
    """What a promotion must reach: the same weights, another constant."""
    model = onnx.load(DYNAMIC)
    resize = next(node for node in model.graph.node if node.op_type == "Resize")
    constant = next(node for node in model.graph.node if resize.input[2] in node.output)
    constant.attribute[0].t.CopyFrom(numpy_helper.from_array(np.array([1, 1, *scales], np.float32)))
    image, wanted = srcnn_of_torch(factor)
    (output,) = run(model, {"input": image}, optimized=True)
    np.testing.assert_allclose(output, wanted, rtol=0, atol=1e-5)

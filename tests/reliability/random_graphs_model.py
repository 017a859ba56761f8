"""Draws a whole model with resizes in it and knows what stands there: `draw(random.Random(7))`."""

import random
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import ModelProto, helper
from random_graphs_body import UNKNOWN_FIELD, Body, Source
from random_graphs_neighbours import AFTER, BEFORE, Tensor
from random_graphs_places import PLACES, Placed
from random_graphs_spelling import DTYPES, RANKS, draw_mode, draw_spelling

HIGHEST_OPSET = min(24, onnx.defs.onnx_opset_version())


@dataclass(frozen=True)
class Drawn:
    """A model, what to feed it, and its resize nodes; `external`: its constants belong into a file beside it."""

    model: ModelProto
    feeds: dict[str, np.ndarray]
    sites: tuple[Placed, ...]
    external: bool


def draw(rng: random.Random) -> Drawn:
    """A model with one to three resizes; onnxruntime runs most of them."""
    opset = rng.choice((7, 8, 9, 9, 10, 10, 11, 11, 12, 13, 13, 14, 15, 16, 17, 18, 18, 19, 20, 21, 22, HIGHEST_OPSET))
    least = helper.find_min_ir_version_for([helper.make_opsetid("", opset)])
    source = Source(rng, opset, rng.choice((least, least, max(least, 4), max(least, 8), max(least, 10))))
    body = Body(source, is_main=True)
    mode = draw_mode(rng, opset)
    tensor = _first_tensor(rng, source, mode)
    sites: list[Placed] = []
    functions: list[onnx.FunctionProto] = []
    outputs: list[Tensor] = []
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3))):
        tensor = rng.choice(BEFORE)(body, tensor)
        mode = rng.choice([m for m in _modes(opset) if _takes(m, tensor)] or [mode])
        if not _takes(mode, tensor):
            break
        kinds = ("scales", "scales", "sizes")
        spelling = draw_spelling(rng, opset, mode, tensor.sizes, kinds)
        place = rng.choice([place for place in PLACES for _ in range(place.weight) if place.fits(source)])
        resized = place.write(body, spelling, tensor, sites, functions)
        if resized.dims is None or 0 in resized.sizes or np.prod(resized.sizes) > 200_000 or not place.goes_on:
            outputs.append(resized)
            break
        tensor = rng.choice(AFTER)(body, tensor, resized, spelling, sites)
        if rng.random() < 0.2:
            outputs.append(resized)
        if tensor is not resized:
            continue
    outputs.append(tensor)
    model = _assembled(rng, source, body, functions, outputs)
    return Drawn(model, source.feeds, tuple(sites), external=rng.random() < 0.1)


def _modes(opset: int) -> tuple[str, ...]:
    return ("nearest", "linear", "cubic") if opset >= 11 else ("nearest", "linear")


def _takes(mode: str, tensor: Tensor) -> bool:
    return tensor.dims is not None and len(tensor.sizes) in RANKS[mode] and tensor.dtype in DTYPES[mode]


def _first_tensor(rng: random.Random, source: Source, mode: str) -> Tensor:
    rank, dtype = rng.choice(RANKS[mode]), rng.choice(DTYPES[mode])
    dims = tuple(rng.randint(1, 3) if axis < rank - 2 and axis < 2 else rng.randint(2, 6) for axis in range(rank))
    data = np.random.default_rng(rng.randrange(2**32)).normal(size=dims) * (1 if dtype.startswith("float") else 40)
    value = np.clip(data, 0 if dtype.startswith("u") else -100, 100).astype(dtype)
    declared: list[int | str] = list(dims)
    how = rng.random()
    for axis in range(rank):
        if how < 0.2 or (how < 0.4 and axis >= 2):
            declared[axis] = f"d{axis}"
    return Tensor(source.input("x", value, dims=declared), dims, dtype)


def _assembled(
    rng: random.Random, source: Source, body: Body, functions: list[onnx.FunctionProto], outputs: list[Tensor]
) -> ModelProto:
    infos = []
    for tensor in {tensor.name: tensor for tensor in outputs}.values():
        elem_type = helper.np_dtype_to_tensor_dtype(np.dtype(tensor.dtype))
        shape = list(tensor.dims) if tensor.dims is not None and rng.random() < 0.3 else None
        infos.append(helper.make_tensor_value_info(tensor.name, elem_type, shape))
    assert body.initializers is not None
    initializers = [*body.initializers, *source.defaults]
    inputs = list(source.inputs)
    if source.ir_version == 3:  # every initializer is an input there
        inputs += [helper.make_tensor_value_info(t.name, t.data_type, list(t.dims)) for t in initializers]
    graph = helper.make_graph(body.nodes, "drawn", inputs, infos, initializers)
    imports = [helper.make_opsetid("", source.opset)]
    if functions:
        imports.append(helper.make_opsetid("local", 1))
    model = helper.make_model(graph, opset_imports=imports, ir_version=source.ir_version, functions=functions)
    if rng.random() < 0.3:
        model = _with_value_info(model)
    _decorate(rng, model)
    return model


def _with_value_info(model: ModelProto) -> ModelProto:
    """Static shapes of everything, as exporters leave them behind."""
    try:
        inferred = onnx.shape_inference.infer_shapes(model)
    except onnx.shape_inference.InferenceError:
        return model
    made = ModelProto()
    made.CopyFrom(model)
    made.graph.value_info.extend(inferred.graph.value_info)
    return made


def _decorate(rng: random.Random, model: ModelProto) -> None:
    if rng.random() < 0.3:
        model.producer_name, model.doc_string = "pytorch", "exported\n✓"
    if rng.random() < 0.3:
        helper.set_model_props(model, {"classes": "[1, 2]", "author": "nobody"})
    if rng.random() < 0.2:
        model.graph.doc_string = "a graph"
    if rng.random() < 0.15:
        model.MergeFromString(UNKNOWN_FIELD)
    if rng.random() < 0.15:
        model.graph.MergeFromString(UNKNOWN_FIELD)
    if rng.random() < 0.15 and model.graph.initializer:
        rng.choice(list(model.graph.initializer)).MergeFromString(UNKNOWN_FIELD)
    if rng.random() < 0.15:
        annotation = model.graph.quantization_annotation.add()
        annotation.tensor_name = model.graph.input[0].name

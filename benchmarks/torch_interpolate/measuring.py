"""Exports each call with the torch that is installed, and compares onnxruntime with torch at several sizes."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import onnx
import onnxruntime as ort
import torch
from torch.nn import functional

import resizefix
from benchmarks.torch_interpolate.cells import CLOSE, DYNAMO, EXTENTS, MODES, OTHER_SIZES, SIZE, Cell, Found

CHANNELS = 2
LEVELS = (ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_ALL)


class Calls(torch.nn.Module):
    """F.interpolate with each of several options, one output for each."""

    def __init__(self, options: Sequence[Mapping[str, object]]) -> None:
        super().__init__()
        self.options = options

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(functional.interpolate(x, **options) for options in self.options)


def options_of(cell: Cell) -> dict[str, object]:
    return {**MODES[cell.mode], **EXTENTS[cell.extent]}


def measured(cells: Sequence[Cell]) -> Iterator[tuple[Cell, Found]]:
    """What becomes of each cell. Cells that differ only in the extent are one dynamo export, where that succeeds."""
    groups: dict[tuple[object, ...], list[Cell]] = {}
    for cell in cells:
        alone = cell.extent if cell.exporter != DYNAMO else None
        groups.setdefault((cell.mode, cell.exporter, cell.opset, cell.open_sizes, alone), []).append(cell)
    for group in groups.values():
        found = together(group)
        if found is None:
            yield from ((cell, (together([cell], last=True) or [Found("refused")])[0]) for cell in group)
        else:
            yield from zip(group, found, strict=True)


def together(cells: Sequence[Cell], last: bool = False) -> list[Found] | None:
    """What becomes of cells that are exported as one file; None where their export fails and `last` is not set."""
    module = Calls([options_of(cell) for cell in cells])
    try:
        model = exported(module, cells[0])
    except Exception as error:  # exporters raise many classes
        return [Found("refused", detail=message(error))] if last or len(cells) == 1 else None
    opset = next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
    names = [value.name for value in model.graph.output]
    nodes = described(model)
    return [compared(model, names[place], cell, nodes.get(names[place], ""), opset) for place, cell in enumerate(cells)]


def exported(module: torch.nn.Module, cell: Cell) -> onnx.ModelProto:
    """The file that the cell's exporter writes; raises what the exporter raises."""
    x = torch.zeros(1, CHANNELS, *SIZE)
    with quiet():
        if cell.exporter == DYNAMO:
            free = {axis: torch.export.Dim(name, min=2, max=4096) for axis, name in ((2, "h"), (3, "w"))}
            shapes = ({**free},) if cell.open_sizes else None
            program = torch.onnx.export(
                module, (x,), dynamo=True, opset_version=cell.opset, dynamic_shapes=shapes, verbose=False
            )
            return program.model_proto
        written = io.BytesIO()
        axes = {"x": {2: "h", 3: "w"}} if cell.open_sizes else None
        torch.onnx.export(
            module, (x,), written, dynamo=False, opset_version=cell.opset, dynamic_axes=axes, input_names=["x"]
        )
        return onnx.load_from_string(written.getvalue())


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """What exporters print, to the descriptors as well, goes nowhere."""
    kept = [os.dup(place) for place in (1, 2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    logging.disable(logging.CRITICAL)
    try:
        for place in (1, 2):
            os.dup2(nowhere, place)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
        for place, old in zip((1, 2), kept, strict=True):
            os.dup2(old, place)
            os.close(old)
        os.close(nowhere)


def message(error: BaseException) -> str:
    """The exporter's own sentence, without its advice, graphs and places; the innermost where errors are chained."""
    while error.__cause__ is not None:
        error = error.__cause__
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
    sentence = re.split(r"\. (?=[A-Z])|\.?  ?\[Caused|\. Please", first)[0][:200].rstrip(".")
    return re.sub(r"opset version \d+", "opset version N", sentence)


def described(model: onnx.ModelProto) -> dict[str, str]:
    """By graph output: the resize nodes behind it, as one phrase; other operators where there is none."""
    makers = {name: node for node in model.graph.node for name in node.output}
    sites = {site.output: site for site in resizefix.inspect(model)}
    phrases = {}
    for output in model.graph.output:
        todo, seen = [output.name], []
        while todo:
            name = todo.pop()
            if name in makers and name not in seen:
                seen.append(name)
                todo += makers[name].input if name not in sites else list(makers[name].input)[:1]
        found = [phrase(sites[name]) for name in seen if name in sites]
        phrases[output.name] = "; ".join(found) or _others({makers[name].op_type for name in seen if name in makers})
    return phrases


def _others(operators: set[str]) -> str:
    """The operator that picks or mixes samples, where there is no resize."""
    return next((name for name in ("GatherND", "GridSample", "Gather", "MatMul") if name in operators), "others")


def phrase(site: resizefix.Site) -> str:
    """`Resize linear, pytorch_half_pixel, constant scales`."""
    said = site.interpolation
    words = [site.op_type]
    if said is not None:
        words[0] += f" {said.mode.value}"
        words.append(said.coordinate_transformation_mode.value)
        if said.mode.value == "nearest" and said.nearest_mode.value != "simple":
            words.append(said.nearest_mode.value)
        if said.antialias:
            words.append("antialias")
    where = "computed" if site.origin.kind.value in ("computed", "runtime") else "constant"
    slot = getattr(site, "slot", None)  # of computed operands `extent` is what stands for them
    return ", ".join((*words, f"{where} {'sizes' if slot == 3 else 'scales'}"))


def compared(model: onnx.ModelProto, name: str, cell: Cell, node: str, opset: int) -> Found:
    """onnxruntime against torch at the export's size, and at others where the file is open; the worst of all."""
    written = opset if opset != cell.opset else None
    worst = 0.0
    sizes = (SIZE, *OTHER_SIZES) if cell.open_sizes else (SIZE,)
    for level in LEVELS:
        try:
            session = opened(model, level)
        except Exception as error:  # onnxruntime raises a class for each of its codes
            return Found("fails", node, detail=ort_message(error), written_opset=written)
        for height, width in sizes:
            x = np.random.RandomState(height).rand(1, CHANNELS, height, width).astype(np.float32)
            wanted = functional.interpolate(torch.from_numpy(x), **options_of(cell)).numpy()
            try:
                (got,) = session.run([name], {session.get_inputs()[0].name: x})
            except Exception as error:
                return Found("fails", node, detail=ort_message(error), written_opset=written)
            if got.shape != wanted.shape:
                there, here = (f"{shape[2]}×{shape[3]}" for shape in (wanted.shape, got.shape))
                detail = f"{height}×{width} gives {here}, torch {there}"
                return Found("shape", node, detail=detail, written_opset=written)
            worst = max(worst, float(np.abs(got.astype(np.float64) - wanted).max()))
    verdict = "same" if worst == 0 else "close" if worst <= CLOSE else "differs"
    return Found(verdict, node, None if worst == 0 else float(f"{worst:.1e}"), written_opset=written)


def opened(model: onnx.ModelProto, level: ort.GraphOptimizationLevel) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = level
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def ort_message(error: BaseException) -> str:
    """onnxruntime's own sentence, without the place in its source."""
    said = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", " ".join(str(error).split()))
    return said.rpartition(" was false. ")[2][:200]

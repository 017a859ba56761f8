"""Writes every call as an ONNX file, with what torch itself computes: `python -m benchmarks.torch_interpolate.exports`.

python -m benchmarks.torch_interpolate.exports FOLDER   needs torch and onnxscript, and nothing of this project

FOLDER gets NAME.onnx and NAME.npz for each call (x0, y0 and so on: an input, and torch's output), and index.json, which
says of each call whether it was exported, and of one that was not, what the exporter says.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.utils
import torch
from torch.nn import functional

from benchmarks.torch_interpolate.calls import CHANNELS, DYNAMO, LENGTHS, OTHER_LENGTHS, Call, all_calls

_AXES = ("d", "h", "w")


class Interpolate(torch.nn.Module):
    """Calls of F.interpolate, one output for each."""

    def __init__(self, options: Sequence[dict[str, Any]]) -> None:
        super().__init__()
        self.options = options

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(functional.interpolate(x, **options) for options in self.options)


def write(folder: Path) -> None:
    """Exports every call into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    index = []
    for call, content in all_exported():
        index.append({"name": call.name, "refused": content if isinstance(content, str) else None})
        if isinstance(content, bytes):
            (folder / f"{call.name}.onnx").write_bytes(content)
            np.savez_compressed(folder / f"{call.name}.npz", **answers(call))
        print(call.name, flush=True)
        (folder / "index.json").write_text(json.dumps(index, indent=0), encoding="utf-8")


def all_exported() -> Iterator[tuple[Call, bytes | str]]:
    """Each call with its file, or with what the exporter says where it writes none.

    dynamo takes seconds for an export: calls that differ in the extent alone are exported together, one output each,
    and the file is cut into one model for each output. Those that recompute the factor are exported by themselves, for
    the exporter makes one node of two that have the same operands.
    """
    together: dict[tuple[object, ...], list[Call]] = {}
    for call in all_calls():
        if call.exporter == DYNAMO:
            recomputes = "recompute_scale_factor" in call.options
            together.setdefault((call.rank, call.mode, call.open_sizes, recomputes), []).append(call)
        else:
            yield call, exported([call])[0]
    for calls in together.values():
        contents = exported(calls)
        if any(isinstance(content, str) for content in contents):
            contents = [exported([call])[0] for call in calls]
        yield from zip(calls, contents, strict=True)


def exported(calls: Sequence[Call]) -> list[bytes] | list[str]:
    """The files that the exporter writes, or what it says."""
    first, module = calls[0], Interpolate([call.options for call in calls])
    x = torch.zeros(1, CHANNELS, *LENGTHS[first.rank])
    names = dict(enumerate(_AXES[-first.rank :], start=2))
    written = io.BytesIO()
    try:
        with quiet():
            if first.exporter == DYNAMO:
                free = {axis: torch.export.Dim(name, min=2, max=4096) for axis, name in names.items()}
                shapes = (free,) if first.open_sizes else None
                program = torch.onnx.export(
                    module, (x,), dynamo=True, opset_version=first.opset, dynamic_shapes=shapes, verbose=False
                )
                return _one_by_one(program.model_proto)
            axes = {"x": names} if first.open_sizes else None
            torch.onnx.export(
                module, (x,), written, dynamo=False, opset_version=first.opset, dynamic_axes=axes, input_names=["x"]
            )
    except Exception as error:  # exporters raise many classes
        return [message(error)] * len(calls)
    return [written.getvalue()]


def _one_by_one(model: onnx.ModelProto) -> list[bytes]:
    """A model for each output."""
    names = [value.name for value in model.graph.output]
    if len(names) == 1:
        return [model.SerializeToString()]
    cut = onnx.utils.Extractor(model)
    parts = [cut.extract_model([value.name for value in model.graph.input], [name]) for name in names]
    for part in parts:
        part.producer_name, part.producer_version = model.producer_name, model.producer_version
    return [part.SerializeToString() for part in parts]


def answers(call: Call) -> dict[str, Any]:
    """Inputs, and what torch computes of each: x0, y0, and further ones where the sizes are open."""
    arrays: dict[str, Any] = {}
    lengths = (LENGTHS[call.rank], *(OTHER_LENGTHS[call.rank] if call.open_sizes else ()))
    for place, spatial in enumerate(lengths):
        x = np.random.RandomState(place).rand(1, CHANNELS, *spatial).astype(np.float32)
        arrays[f"x{place}"] = x
        arrays[f"y{place}"] = functional.interpolate(torch.from_numpy(x), **call.options).numpy()
    return arrays


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """What exporters print, to the descriptors as well, goes nowhere."""
    copies = [os.dup(place) for place in (1, 2)]
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
        for place, old in zip((1, 2), copies, strict=True):
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


if __name__ == "__main__":
    write(Path(sys.argv[1]))

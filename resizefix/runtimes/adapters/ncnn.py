"""ncnn on the CPU in single precision, through pnnx, its own converter, which fixes all sizes.

Of the package `pnnx` only its program is used: the Python code in it wants torch.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version as installed
from importlib.util import find_spec
from typing import Any

from resizefix.runtimes.adapters import AdapterRefusedError, Arrays, ModelToLoad, Options, Run

_TYPES = {"f4": "f32", "f2": "f16", "f8": "f64", "i4": "i32", "i8": "i64", "u1": "u8", "i1": "i8", "b1": "bool"}
_REDUCED = ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage")


def version(options: Options) -> str:
    """The versions of both packages."""
    _program()
    return f"ncnn {import_module('ncnn').__version__}, pnnx {installed('pnnx')}"


def _program() -> str:
    spec = find_spec("pnnx")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("No module named 'pnnx'", name="pnnx")
    return os.path.join(spec.submodule_search_locations[0], "pnnx.exe" if os.name == "nt" else "pnnx")


def load(model: ModelToLoad, options: Options) -> Run:
    """Converted for the sizes of the feeds, then loaded."""
    ncnn: Any = import_module("ncnn")
    said, written = _convert(model)
    net = ncnn.Net()
    if options.get("threads") != "default":
        net.opt.num_threads = 1
    for option in _REDUCED:
        setattr(net.opt, option, False)
    param, weights = written("ncnn.param"), written("ncnn.bin")
    if not os.path.exists(param) or net.load_param(param) != 0 or net.load_model(weights) != 0:
        raise AdapterRefusedError(said)
    with open(written("ncnn.py"), encoding="utf-8") as file:
        batch = _batch_axes(file.read())

    def run(feeds: Arrays) -> Sequence[Any]:
        extractor = net.create_extractor()
        # Its layers compute in single precision, and take what bytes they get for that. A clone of four axes still
        # reads the array, which must live until all is computed.
        arrays = [value.astype("f4") for value in feeds.values()]
        for index, array in enumerate(arrays):
            blob = f"in{index}"
            if blob in batch and extractor.input(blob, ncnn.Mat(array, **batch[blob]).clone()) != 0:
                raise AdapterRefusedError(f"the input {blob} was not taken")
        return [_extracted(extractor, f"out{index}", batch) for index in range(len(model.outputs))]

    return run


def _convert(model: ModelToLoad) -> tuple[str, Any]:
    """What pnnx said of ncnn's form of the model, and where its files are."""

    def written(end: str) -> str:
        return os.path.join(model.folder, f"pnnx.{end}")

    for name in os.listdir(model.folder):
        if name.startswith("pnnx."):
            os.remove(os.path.join(model.folder, name))
    try:
        os.symlink(os.path.realpath(model.path), written("onnx"))  # it writes more files next to the model
    except OSError:  # Windows lets few users make links
        shutil.copyfile(model.path, written("onnx"))
    shapes = (f"[{','.join(map(str, value.shape))}]{_type(value)}" for value in model.feeds.values())
    ends = {"pnnxparam": "param", "pnnxbin": "bin", "pnnxpy": "py", "pnnxonnx": "again.onnx"}
    ends.update(ncnnparam="ncnn.param", ncnnbin="ncnn.bin", ncnnpy="ncnn.py")
    command = [_program(), written("onnx"), f"inputshape={','.join(shapes)}", "fp16=0"]
    command += [f"{key}={written(end)}" for key, end in ends.items()]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    said = done.stdout.decode("utf-8", "replace")
    if done.returncode != 0:
        raise AdapterRefusedError(f"pnnx ended with status {done.returncode}: {said[-400:]}")
    return said.partition("pass_ncnn")[2].strip() or "pnnx wrote nothing for ncnn", written


def _type(value: Any) -> str:
    name = _TYPES.get(value.dtype.str[1:])
    if name is None:
        raise AdapterRefusedError(f"pnnx takes no inputs of type {value.dtype}")
    return name


def _batch_axes(program: str) -> dict[str, dict[str, int]]:
    """Which axis of each blob is the batch, which ncnn keeps apart: stated by the program that pnnx writes, too."""
    read = re.findall(r'"(in\d+)", ncnn\.Mat\(in\d+\.numpy\(\)(?:, batch_index=(-?\d+))?', program)
    written = re.findall(r"from_numpy\((out\d+)\.numpy\((?:batch_index=(-?\d+))?\)", program)
    return {blob: {"batch_index": int(axis)} if axis else {} for blob, axis in (*read, *written)}


def _extracted(extractor: Any, blob: str, batch: dict[str, dict[str, int]]) -> Any:
    status, mat = extractor.extract(blob)
    if status != 0:
        raise AdapterRefusedError(f"{blob} was not computed")
    return mat.numpy(**batch.get(blob, {})).copy()

"""What older exporters wrote: the resize nodes of a folder of real exports, each compared with today's torch.

The folder holds one folder for each version (`torch-1.3.1/….onnx`) and an `index.json` with the input shapes at which
each file runs (`run_in_shapes`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from torch.nn import functional

import resizefix
from benchmarks.torch_interpolate.cells import CLOSE, DYNAMO, TORCHSCRIPT
from benchmarks.torch_interpolate.measuring import LEVELS, opened, phrase

# By the node's mode and its rank: the names that F.interpolate has for it, and the one that it has here.
TORCH_MODES = {
    ("nearest", 3): {"nearest": "nearest", "nearest-exact": "nearest-exact"},
    ("nearest", 4): {"nearest": "nearest", "nearest-exact": "nearest-exact"},
    ("nearest", 5): {"nearest": "nearest", "nearest-exact": "nearest-exact"},
    ("linear", 3): {"linear": "(bi)linear"},
    ("linear", 4): {"bilinear": "(bi)linear"},
    ("linear", 5): {"trilinear": "(bi)linear"},
    ("cubic", 4): {"bicubic": "bicubic"},
}


def nodes_in(folder: Path) -> list[dict[str, Any]]:
    """A row for each version, exporter, opset and form of node, with the calls of torch that all its nodes compute."""
    shapes = {entry["file"]: entry.get("run_in_shapes") for entry in json.loads((folder / "index.json").read_text())}
    extents: dict[tuple[str, str, int, str], set[str]] = {}
    equals: dict[tuple[str, str, int, str], list[set[str]]] = {}
    for path in sorted(folder.glob("torch-*/**/*.onnx")):
        name = str(path.relative_to(folder))
        version = name.split("/")[0].removeprefix("torch-")
        exporter = DYNAMO if "dynamo" in name else TORCHSCRIPT
        if version == torch.__version__.split("+")[0]:
            continue  # measured cell by cell
        for opset, form, extent, found in nodes_of(path, shapes.get(name)):
            key = (version, exporter, opset, form)
            extents.setdefault(key, set()).add(extent)
            equals.setdefault(key, []).extend([found] if found is not None else [])
    names = ("torch", "exporter", "opset", "node")
    ordered = sorted(extents, key=lambda key: (tuple(map(int, key[0].split("."))), *key[1:]))
    return [
        dict(zip(names, key, strict=True))
        | {"extents": sorted(extents[key]), "nodes_run": len(equals[key])}
        | {"computes": sorted(set.intersection(*equals[key])) if equals[key] else []}
        for key in ordered
    ]


def nodes_of(path: Path, shapes: Mapping[str, list[int]] | None) -> Iterator[tuple[int, str, str, set[str] | None]]:
    """Opset, form, extent and what it computes of every resize of the main graph; None: it does not run."""
    model = onnx.load(path)
    opset = next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
    for site in resizefix.inspect(path):
        if site.interpolation is not None and len(site.scope.order) == 1:
            form, _, extent = phrase(site).rpartition(", ")
            yield opset, form, extent, computed(model, site, shapes) if shapes else None


def computed(model: onnx.ModelProto, site: resizefix.Site, shapes: Mapping[str, list[int]]) -> set[str] | None:
    """The calls of torch that give what the node gives, in its own model; None where that does not run."""
    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    del shown.graph.output[:], shown.graph.value_info[:]
    names = [site.input, site.output, *(() if site.slot is None else (site.node.input[site.slot],))]
    shown.graph.output.extend(onnx.ValueInfoProto(name=name) for name in dict.fromkeys(names))
    try:
        session = opened(shown, LEVELS[0])
        random = np.random.RandomState(0)
        feeds = {}
        for value in session.get_inputs():
            kind = {"tensor(float)": np.float32, "tensor(int64)": np.int64}[value.type]
            feeds[value.name] = (random.rand(*shapes[value.name]) + (kind is np.int64) * 2).astype(kind)
        x, y, *operand = session.run(names, feeds)
    except Exception:  # onnxruntime raises a class for each of its codes; a KeyError: another element type
        return None
    by_scales = [tuple(float(scale) for scale in value[2:]) for value in operand if value.dtype.kind == "f"]
    return set(calls(x, y, site.interpolation.mode.value, by_scales))


def calls(x: np.ndarray, y: np.ndarray, mode: str, scales: Sequence[tuple[float, ...]]) -> Iterator[str]:
    """The calls that make y of x, by size or by one of the scales."""
    data = torch.from_numpy(x).float()
    span = float(np.ptp(x)) or 1.0
    for name, shown in TORCH_MODES.get((mode, x.ndim), {}).items():
        for corners in (None,) if mode == "nearest" else (False, True):
            options = {"mode": name, "align_corners": corners}
            for extent in ({"size": y.shape[2:]}, *({"scale_factor": scale} for scale in scales)):
                result = functional.interpolate(data, **extent, **options).numpy()
                if result.shape == y.shape and np.abs(result - y).max() <= CLOSE * span:
                    yield shown + (", align_corners" if corners else "")
                    break

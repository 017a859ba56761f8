"""`input-size` over a folder of models: what converts, what is refused and why, and if every output follows.

Each model with a fixed image input gets another size. The judge is onnxruntime and numpy alone: the original at its
own size, the converted one at the new size, and the original whose input's height and width were freed by hand, where
that runs. An output whose shape is the old one is "kept"; it is right where the freed original keeps it too, or where
no axis of it is a share of the image. Everything else is printed, to be looked at.

usage: input_sizes.py FOLDER [--every N] [--only SUBSTRING] [--out FILE]
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort

import resizefix
from resizefix.diagnostics import ResizefixError
from resizefix.library.result import VerificationFailedError
from resizefix.outcome import Status


def image_of(model: onnx.ModelProto) -> tuple[str, list[int], int] | None:
    """The largest static image input: its name, its shape, and the axis of the height."""
    constants = {tensor.name for tensor in model.graph.initializer}
    found = None
    for value in model.graph.input:
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        if value.name in constants or len(shape) not in (3, 4) or min(shape) < 1:
            continue
        axis = len(shape) - 2 - (shape[-1] <= 4 < shape[-3])
        if len(shape) == 3 and shape[0] > 4 and axis == 1:
            continue
        if found is None or np.prod(shape) > np.prod(found[1]):
            found = value.name, shape, axis
    return found


def run(source: bytes | str, sizes: dict[str, int], old: dict[str, int]) -> dict[str, tuple[int, ...]]:
    """The shapes of all outputs; images are fed at the new size."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    random = np.random.default_rng(3)
    feeds = {}
    for value in session.get_inputs():
        feeds[value.name] = _fed(value, sizes, old, random)
    outputs = [value.name for value in session.get_outputs()]
    return {name: np.shape(found) for name, found in zip(outputs, session.run(outputs, feeds), strict=True)}


def _fed(value: ort.NodeArg, sizes: dict[str, int], old: dict[str, int], random: np.random.Generator) -> np.ndarray:
    """Random numbers; factors of 2 for what looks like scales."""
    shape = [dim if isinstance(dim, int) and dim >= 0 else 1 for dim in value.shape]
    for axis in range(len(shape) - 1):
        pair = value.shape[axis : axis + 2]
        fixed = pair == [old["height"], old["width"]]
        if len(shape) >= 3 and (fixed or (axis > 0 and not any(isinstance(dim, int) for dim in pair))):
            shape[axis : axis + 2] = [sizes["height"], sizes["width"]]
            break
    if value.type == "tensor(string)":
        return np.full(shape, "", object)
    kind = np.dtype({"float16": "f2", "float": "f4", "double": "f8"}.get(value.type[7:-1], value.type[7:-1]))
    if 0 in shape:
        return np.zeros(shape, kind)
    if len(shape) < 2:  # a factor, or factors of all axes or of two
        return np.asarray(([1] * (shape[0] - 2) + [2, 2])[-shape[0] :] if shape else 2, kind)
    return np.asarray(random.random(shape) * (1 if kind.kind == "f" else 100), kind)


def freed(path: Path, old: dict[str, int]) -> bytes:
    """The original with every image input's height and width free, and no stored shape left."""
    model = onnx.load(path)
    for value in model.graph.input:
        dims = value.type.tensor_type.shape.dim
        for axis in range(len(dims) - 1):
            if [dims[axis].dim_value, dims[axis + 1].dim_value] == [old["height"], old["width"]]:
                dims[axis].dim_param, dims[axis + 1].dim_param = "h", "w"
                break
    del model.graph.value_info[:]
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    return model.SerializeToString()


def related(shape: tuple[int, ...], old: dict[str, int]) -> bool:
    """Whether an axis has a length that is a share of the image, or of its area."""
    lengths = [*old.values(), old["height"] * old["width"]]
    shares = {
        length // step for length in lengths for step in (1, 2, 4, 8, 16, 32, 64, 256, 1024) if length >= step * 4
    }
    return any(size in shares for size in shape)


def judged(path: Path) -> dict[str, object]:
    """What becomes of one model."""
    model = onnx.load(path, load_external_data=False)
    image = image_of(model)
    if image is None:
        return {"verdict": "not static"}
    _, shape, axis = image
    old = {"height": shape[axis], "width": shape[axis + 1]}
    step = 64 if min(old.values()) >= 128 else 32
    sizes = [{"height": old["height"] + step, "width": old["width"] + 2 * step}]
    sizes.append({name: 2 * length for name, length in old.items()})
    answer: dict[str, object] = {}
    for new in sizes:
        answer = _converted(path, old, new)
        if "fit" not in str(answer.get("reason", "")) and "must be a multiple" not in str(answer.get("reason", "")):
            break
    return answer


def _converted(path: Path, old: dict[str, int], new: dict[str, int]) -> dict[str, object]:
    size = f"{new['height']}x{new['width']}"
    try:
        result = resizefix.input_size(str(path), size=(new["height"], new["width"]), on_refusal="return")
    except VerificationFailedError as error:
        return {"verdict": "verification failed", "size": size, "reason": str(error)}
    except ResizefixError as error:
        return {"verdict": "error", "size": size, "reason": str(error)}
    refused = [one for one in result.outcomes if one.status is Status.REFUSED]
    if refused:
        return {"verdict": "refused", "size": size, "node": refused[0].node, "reason": str(refused[0].reason)}
    made = Path(tempfile.gettempdir()) / f"input-sizes-{os.getpid()}.onnx"
    try:
        result.model.save(made)
        got = run(str(made), new, new)
    except Exception as error:  # the judge reports whatever the runtime raises
        return {"verdict": "does not run", "size": size, "reason": str(error)[:300]}
    finally:
        made.unlink(missing_ok=True)
    try:
        before = run(str(path), old, old)
    except Exception:  # the judge does not know what to feed
        return {"verdict": "converted", "size": size, "kept": [], "unlike freed": []}
    try:
        free = run(freed(path, old), new, old)
    except Exception:  # most models do not run so; then there is nothing to compare with
        free = {}
    kept = [name for name in got if got[name] == before[name] and free.get(name) != got[name]]
    stale = [f"{name} {list(got[name])}" for name in kept if related(before[name], old)]
    other = [
        f"{name} {list(free[name])} {list(got[name])}"
        for name in free
        if free[name] not in (got[name], before[name]) and len(free[name]) == len(got[name])
    ]
    return {"verdict": "converted", "size": size, "kept": stale, "unlike freed": other}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    counts: collections.Counter[str] = collections.Counter()
    rows = []
    for path in sorted(options.folder.rglob("*.onnx"))[:: options.every]:
        if options.only not in str(path):
            continue
        began = time.monotonic()
        try:
            row = judged(path)
        except Exception as error:  # a model that onnx or the judge cannot read
            row = {"verdict": "not judged", "reason": f"{type(error).__name__}: {str(error)[:200]}"}
        counts[str(row["verdict"])] += 1
        if row["verdict"] == "not static":
            continue
        row = {"model": str(path.relative_to(options.folder)), **row, "seconds": round(time.monotonic() - began, 1)}
        rows.append(row)
        if row["verdict"] != "converted" or row["kept"] or row["unlike freed"]:
            print(json.dumps(row), flush=True)
    if options.out:
        options.out.write_text(json.dumps(rows, indent=0))
    print(dict(counts), "outputs kept:", sum(len(row.get("kept", ())) for row in rows))


if __name__ == "__main__":
    main()

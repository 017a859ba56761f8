"""`set sizes=partner` on the coupled models of a folder whose sizes are open, held against plain onnxruntime.

    python benchmarks/partner_sizes.py FOLDER [--every 8] [--from 33 --to 70]

Of each model with a resize that meets another tensor: bitwise what the original computes at the sizes at which that
runs, and a run at every size of the range, each axis alone and both together. A size at which the model fails is
printed with the node that onnxruntime names. Exit code 1 where a result differs.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort

import resizefix
from resizefix.diagnostics import ResizefixError

_TRIES: tuple[dict[str, Any], ...] = ({}, {"opset": 11}, {"allow_inexact": True}, {"opset": 11, "allow_inexact": True})
_NAMED = re.compile(r"name:\s?'([^']*)'|Node:? ?\(?'?([^'\s)]+)")
_OWN_SIZES = (64, 96)  # multiples of 32, at which most networks run


def opened(model: onnx.ModelProto) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def open_image(model: onnx.ModelProto) -> onnx.ValueInfoProto | None:
    """The only input, a float tensor of rank 4 whose last two sizes are open; None where there is no such."""
    stored = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in stored]
    dims = inputs[0].type.tensor_type.shape.dim if len(inputs) == 1 else []
    is_float = len(dims) == 4 and inputs[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT
    return inputs[0] if is_float and not any(dim.HasField("dim_value") for dim in dims[2:]) else None


def fed(value: onnx.ValueInfoProto, height: int, width: int) -> dict[str, Any]:
    dims = [dim.dim_value or 1 for dim in value.type.tensor_type.shape.dim[:2]]
    x = np.random.default_rng(height * 1000 + width).random((*dims, height, width), np.float32)
    return {value.name: x}


def changed(model: onnx.ModelProto) -> tuple[onnx.ModelProto, dict[str, Any]] | str:
    """The model with partners' sizes and the options that it took, or why there is none."""
    why = ""
    for options in _TRIES:
        try:
            result = resizefix.set_interpolation(model, sizes="partner", **options)
        except ResizefixError as error:
            why = why or str(error)
            continue
        return (result.model, options) if result else "already"
    return why


def judged(path: Path, sizes: range) -> tuple[str, str]:
    """What came of one model, and the details."""
    model = onnx.load(path)
    image = open_image(model)
    if image is None or not resizefix.inspect(model):
        return "no open image or no resize", ""
    found = changed(model)
    if isinstance(found, str):
        return ("already" if found == "already" else "refused"), found[:200]
    after, options = found
    try:
        before_session, session = opened(model), opened(after)
    except Exception as error:  # onnxruntime raises a class for each of its codes
        return "does not load", str(error)[:200]
    for height in _OWN_SIZES:
        for width in _OWN_SIZES:
            feed = fed(image, height, width)
            try:
                wanted = before_session.run(None, feed)
            except Exception:
                continue
            got = session.run(None, feed)
            if not all(np.array_equal(one, other, equal_nan=True) for one, other in zip(wanted, got, strict=True)):
                return "differs" if not options.get("allow_inexact") else "differs as allowed", f"{height}x{width}"
    fails: Counter[str] = Counter()
    rescued = 0
    pairs = [*((size, size) for size in sizes), *((size, 64) for size in sizes), *((64, size) for size in sizes)]
    for height, width in pairs:
        feed = fed(image, height, width)
        try:
            session.run(None, feed)
        except Exception as error:
            named = _NAMED.search(str(error))
            fails[(named.group(1) or named.group(2)) if named else str(error)[:80]] += 1
            continue
        try:
            before_session.run(None, feed)
        except Exception:
            rescued += 1
    said = f"{rescued} of {len(pairs)} sizes only with it" + (f", {options}" if options else "")
    if not fails:
        return "runs at all", said
    return "runs at some", f"{said}; fails at {dict(fails.most_common(3))}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--from", dest="first", type=int, default=33)
    parser.add_argument("--to", type=int, default=70)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for path in sorted(options.folder.glob("**/*.onnx"))[:: options.every]:
        try:
            outcome, why = judged(path, range(options.first, options.to + 1))
        except Exception as error:
            outcome, why = "does not open", f"{type(error).__name__}: {error}"[:200]
        counts[outcome] += 1
        is_coupled = outcome not in ("no open image or no resize", "already") and "meets no" not in why
        if is_coupled:
            print(f"{outcome}: {path.relative_to(options.folder)}: {why}", flush=True)
    print(dict(counts))
    sys.exit(bool(counts["differs"]))


if __name__ == "__main__":
    main()

"""Whether a promoted model runs as fast as the static one: `python -m benchmarks.performance.emitted RUNS`.

Both sessions stand in one process and run in turn on one thread, with all optimisations. The clock is the thread's own,
which others on the machine do not turn; the difference is the median over neighbouring pairs. Prints JSON lines.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort

import resizefix

FIXTURES = Path(__file__).parents[2] / "fixtures"
MODELS = {
    "srcnn_x3_opset11": ((64, 64), (128, 128), (256, 256)),
    "bisenet_x8_nearest_opset11": ((64, 96), (256, 256), (512, 512)),
    "bisenet_x8_linear_opset13": ((64, 96), (256, 256), (512, 512)),
    "unet_nearest_opset11": ((64, 64), (256, 256)),
    "unet_linear_dynamo23": ((64, 64), (256, 256)),
    "esrgan_x4_opset17": ((64, 64), (128, 128)),
}
SECONDS = 4.0  # per row, unless RUNS are done earlier
FEWEST = 7
SAMPLE = 0.02  # seconds; shorter runs are measured several at a time


def fixed(path: Path, edge: tuple[int, int]) -> onnx.ModelProto:
    """The model, its image of this size: all shapes that followed from another are forgotten."""
    model = onnx.load(path)
    dims = model.graph.input[0].type.tensor_type.shape.dim
    for dim, length in zip(dims, (1, 3, *edge), strict=True):
        dim.dim_value = length
    del model.graph.value_info[:]
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    return onnx.shape_inference.infer_shapes(model)


# onnxruntime's default, and the same without its blocked layout: only a Resize with constant scales takes part in that.
LEVELS = {"default": "ORT_ENABLE_ALL", "extended": "ORT_ENABLE_EXTENDED"}


def opened(model: onnx.ModelProto, level: str) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, LEVELS[level])
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def measure(name: str, edge: tuple[int, int], runs: int, level: str) -> dict[str, object]:
    static = fixed(FIXTURES / f"{name}.onnx", edge)
    result = resizefix.promote_scales(static, allow_coupled=True, verify=False)
    feeds = {static.graph.input[0].name: np.random.default_rng(0).standard_normal((1, 3, *edge)).astype(np.float32)}
    fed = feeds | {new.name: np.array(new.value, np.float32) for new in result.inputs}
    pairs = ((opened(static, level), feeds), (opened(result.model, level), fed))
    outputs = [session.run(None, given)[0] for session, given in pairs]
    assert np.allclose(*outputs, rtol=1e-4, atol=1e-4), name
    single = min(seconds(session, given, 1) for session, given in pairs)
    repeats = max(1, round(SAMPLE / single))
    times: tuple[list[float], list[float]] = ([], [])
    began = time.perf_counter()
    while len(times[0]) < runs and (len(times[0]) < FEWEST or time.perf_counter() - began < SECONDS):
        for taken, (session, given) in zip(times, pairs, strict=True):
            taken.append(seconds(session, given, repeats))
    before, after = (statistics.median(taken) * 1e3 for taken in times)
    return {
        "model": name,
        "size": "×".join(map(str, edge)),
        "level": level,
        "sites": len(result.inputs),
        "static": before,
        "promoted": after,
        "times": statistics.median(two / one for one, two in zip(*times, strict=True)),
    }


def seconds(session: ort.InferenceSession, feeds: dict[str, np.ndarray], repeats: int) -> float:
    """Of the thread's own time, per run."""
    start = time.thread_time()
    for _ in range(repeats):
        session.run(None, feeds)
    return (time.thread_time() - start) / repeats


if __name__ == "__main__":
    for name, edges in MODELS.items():
        for edge in edges:
            for level in LEVELS:
                print(json.dumps(measure(name, edge, int(sys.argv[1]), level)), flush=True)

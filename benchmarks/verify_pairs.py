"""Tries `verify` on pairs of small random models, and decides by plain onnxruntime whether they compute the same.

    python benchmarks/verify_pairs.py [--pairs 10000] [--first 0] [--feeds 40] [--save FOLDER]

Each pair is a model of `random_models.py` and a change of it (`model_changes.py`). The oracle knows nothing of
`verify`: it feeds both numbers of several distributions without optimisation and compares bytes. `missed`: verify said
the same, and a feed shows a difference. `unrefuted`: verify names bodies that it did
not reach. `false`: verify said that they differ; the change means nothing, and no feed
shows a difference. Both are printed with the number of the pair, which draws it again, and make the exit code 1.
"""

from __future__ import annotations

import copy
import random
import sys
import time
from collections import Counter
from pathlib import Path

import click
import numpy as np
import onnx
import onnxruntime as ort
from onnx import ModelProto, TensorProto, helper

import resizefix
from resizefix.verification.verification import VerificationStatus

sys.path.append(str(Path(__file__).parents[1]))

from benchmarks.model_changes import CHANGES, NOTHING
from benchmarks.random_models import model

ort.set_default_logger_severity(4)
SIZES = (1, 2, 5)


def session(model: ModelProto) -> ort.InferenceSession | None:
    """The model, or None where onnxruntime refuses it."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception:  # of several classes, without a common base
        return None


def drawn(rng: np.random.Generator, model: ModelProto) -> dict[str, np.ndarray]:
    """Values for every input, each of a distribution of its own."""
    sizes = {symbol: int(rng.choice(SIZES)) for symbol in ("n", "h", "w")}
    feeds = {}
    for value in model.graph.input:
        tensor = value.type.tensor_type
        shape = tuple(sizes[dim.dim_param] if dim.dim_param else dim.dim_value for dim in tensor.shape.dim)
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(tensor.elem_type))
        if tensor.elem_type == TensorProto.STRING:
            feeds[value.name] = rng.choice(np.array(["a", "b", "cat", "", "zebra"], object), shape)
        elif dtype.kind == "f":
            scale = float(rng.choice([1, 1, 10, 200, 0.1]))
            feeds[value.name] = np.asarray(rng.standard_normal(shape) * scale, dtype)
        elif dtype.kind == "b":
            feeds[value.name] = np.asarray(rng.integers(0, 2, shape), bool)
        else:
            low, high = [(0, 2), (0, 10), (-10, 10), (0, 256), (-1000, 1000)][int(rng.integers(5))]
            feeds[value.name] = np.asarray(rng.integers(max(low, 0) if dtype.kind == "u" else low, high, shape), dtype)
        if tensor.elem_type == TensorProto.STRING:
            feeds[value.name] = np.asarray(feeds[value.name], object)
    return feeds


def made(one: ort.InferenceSession, feeds: dict[str, np.ndarray]) -> list[object] | None:
    """The outputs, or None where it does not run."""
    try:
        return list(one.run(None, feeds))
    except Exception:  # as above
        return None


def same(one: object, other: object) -> bool:
    """Whether two outputs have the same bytes."""
    if isinstance(one, list) or isinstance(other, list):
        both = isinstance(one, list) and isinstance(other, list) and len(one) == len(other)
        return both and all(map(same, one, other))
    a, b = np.asarray(one), np.asarray(other)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return bool(np.array_equal(a, b)) if a.dtype.kind == "O" else a.tobytes() == b.tobytes()


def oracle(before: ModelProto, after: ModelProto, seed: int, feeds: int) -> str:
    """`same`, `differs`, or why there is nothing to decide."""
    first, second = session(before), session(after)
    if first is None:
        return "no model"
    if second is None:
        return "differs"
    if [one.type for one in first.get_outputs()] != [one.type for one in second.get_outputs()]:
        return "differs"
    rng, ran = np.random.default_rng(seed), 0
    for _ in range(feeds):
        values = drawn(rng, before)
        expected = made(first, values)
        if expected is None:
            continue
        ran += 1
        found = made(second, values)
        if found is None or not all(map(same, expected, found)):
            return "differs"
    return "same" if ran >= feeds // 4 else "seldom runs"


def pair(number: int) -> tuple[ModelProto, ModelProto, str]:
    """The pair of that number, and what was changed."""
    rng = random.Random(number)
    before = model(rng)
    after = copy.deepcopy(before)
    changes = NOTHING if rng.random() < 0.2 else CHANGES
    for _ in range(10):
        change = rng.choice(changes)
        if change(rng, after):
            return before, after, change.__name__
    return before, after, "nothing"


def judged(number: int, feeds: int) -> tuple[str, str, str]:
    """What came of one pair, what was changed, and what verify said."""
    before, after, change = pair(number)
    truth = oracle(before, after, number, feeds)
    if truth in ("no model", "seldom runs"):
        return truth, change, ""
    try:
        found = resizefix.verify(before, after, seed=number % 7)
    except resizefix.ResizefixError as error:
        return "refused", change, str(error)
    if found.status is VerificationStatus.UNREFUTED:
        return "unrefuted", change, found.reason or ""
    if found.passed:
        return ("missed" if truth == "differs" else "same"), change, found.reason or ""
    if "cannot be run" in (found.reason or "") and truth == "same":
        return "not run", change, found.reason or ""
    means_nothing = change in {one.__name__ for one in NOTHING} or change == "nothing"
    if truth == "same" and means_nothing:
        return "false", change, found.reason or ""
    return ("told apart" if truth == "differs" else "told apart by verify alone"), change, found.reason or ""


@click.command()
@click.option("--pairs", default=10_000)
@click.option("--first", default=0)
@click.option("--feeds", default=40)
@click.option("--save", type=click.Path(path_type=Path))
def command(pairs: int, first: int, feeds: int, save: Path | None) -> None:
    """Judge so many pairs and count."""
    counts: Counter[str] = Counter()
    began = time.perf_counter()
    for number in range(first, first + pairs):
        verdict, change, said = judged(number, feeds)
        counts[verdict] += 1
        if verdict in ("missed", "false", "refused", "not run"):
            print(number, verdict, change, said[:200], flush=True)
            if save is not None:
                save.mkdir(exist_ok=True)
                for side, one in zip(("before", "after"), pair(number)[:2], strict=True):
                    onnx.save(one, save / f"{number}_{side}.onnx")
    print(f"{time.perf_counter() - began:.0f} s", dict(counts))
    raise SystemExit(bool(counts["missed"] + counts["false"]))


if __name__ == "__main__":
    command()

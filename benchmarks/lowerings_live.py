"""Which lowerings each runtime computes right: what the order per target in `lowerings/table.py` rests on.

    python benchmarks/lowerings_live.py openvino mnn --every 7

Resizes of ranks 2 to 5 are replaced by each lowering that applies, and the result runs in the runtime and in
onnxruntime. A runtime that lives in another environment is named by its variable (RESIZEFIX_MNN_PYTHON=…).
"""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import onnx
from onnx import TensorProto, helper

sys.path.append(str(Path(__file__).parents[1]))

from benchmarks.legalized_live import judged
from resizefix.diagnostics import RefusedError
from resizefix.document.document import Document
from resizefix.equivalences.resize_spec import ResizeSpec
from resizefix.interpolation import CoordinateTransformationMode as Coordinates
from resizefix.interpolation import ExtentKind, Interpolation, Mode, NearestMode
from resizefix.lowerings.table import BY_NAME, lower
from resizefix.runtimes.catalogue import runtime_named
from resizefix.runtimes.ort_session import open_session
from resizefix.runtimes.runtime import Runtime

SHAPES = ((1, 3, 6, 8), (1, 2, 5, 7), (1, 4, 16, 16), (2, 2, 4, 6), (1, 2, 7), (1, 2, 3, 4, 6), (5, 8), (1, 1, 1, 6))
SCALES = (2.0, 3.0, 0.5, 1.5, 4.0)
MEANINGS = (
    Interpolation(Mode.NEAREST, Coordinates.ASYMMETRIC, NearestMode.FLOOR),
    Interpolation(Mode.NEAREST, Coordinates.HALF_PIXEL, NearestMode.CEIL),
    Interpolation(Mode.LINEAR, Coordinates.HALF_PIXEL),
    Interpolation(Mode.LINEAR, Coordinates.ALIGN_CORNERS),
    Interpolation(Mode.LINEAR, Coordinates.ASYMMETRIC),
    Interpolation(Mode.CUBIC, Coordinates.HALF_PIXEL, cubic_coeff_a=-0.75),
)
OPSET = 13


def subjects() -> Iterator[ResizeSpec]:
    """Resizes of all image axes by one scale, and of images whose channels come last."""
    for shape, scale, meaning in itertools.product(SHAPES, SCALES, MEANINGS):
        first = 0 if len(shape) == 2 else 2
        scales = tuple(scale if axis >= first else 1.0 for axis in range(len(shape)))
        yield ResizeSpec(meaning, ExtentKind.SCALES, scales, shape, TensorProto.FLOAT)
    for meaning in MEANINGS:
        yield ResizeSpec(meaning, ExtentKind.SCALES, (1.0, 2.0, 2.0, 1.0), (1, 5, 7, 2), TensorProto.FLOAT)


def model(lowering: str, subject: ResizeSpec) -> onnx.ModelProto | None:
    """A model of the lowering alone; None where it does not apply."""
    counter = itertools.count()
    among = [BY_NAME[lowering]]
    try:
        made = next(
            lower(subject, x="X", y="Y", opset=OPSET, fresh=lambda name: f"{name}_{next(counter)}", among=among)
        )
    except RefusedError:
        return None
    x = helper.make_tensor_value_info("X", TensorProto.FLOAT, subject.shape)
    y = helper.make_tensor_value_info("Y", TensorProto.FLOAT, [axis.out for axis in subject.axes])
    graph = helper.make_graph(list(made.nodes), lowering, [x], [y], list(made.initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


def judge_lowering(runtime: Runtime, lowering: str, every: int) -> tuple[Counter[str], list[str]]:
    """How often the runtime computes the lowering right, and the first cases where it does not."""
    generator = np.random.default_rng(0)
    counts: Counter[str] = Counter()
    examples: list[str] = []
    for subject in itertools.islice(subjects(), 0, None, every):
        made = model(lowering, subject)
        if made is None:
            continue
        assert subject.shape is not None
        path = runtime.folder / "lowered.onnx"
        onnx.save(made, path)
        feeds = {"X": generator.normal(0, 3, subject.shape).astype(np.float32)}
        wanted = open_session(Document.open(path), optimized=False).run(feeds)
        verdict, why = judged(runtime.run(path, [feeds], ["Y"]), wanted, flat=runtime.row.name == "ncnn")
        counts[verdict] += 1
        if verdict != "right" and len(examples) < 4:
            examples.append(
                f"{verdict} {subject.interpolation.mode.value} {subject.shape} by {subject.values}: {why[-120:]}"
            )
    return counts, examples


@click.command()
@click.argument("runtimes", nargs=-1, required=True)
@click.option("--every", default=1, help="Only every so manieth resize.")
def main(runtimes: tuple[str, ...], every: int) -> None:
    """Print for each runtime and lowering how many resizes are right."""
    for name in runtimes:
        with Runtime(runtime_named(name), time_limit=60) as runtime:
            for lowering in BY_NAME:
                counts, examples = judge_lowering(runtime, lowering, every)
                print(f"{name:10} {lowering:26}", ", ".join(f"{count} {what}" for what, count in counts.items()))
                for example in examples:
                    print("          ", example)


if __name__ == "__main__":
    main()

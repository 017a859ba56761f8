"""Times each lowering against the node it replaces, in onnxruntime on one thread, and prints a Markdown table.

    python benchmarks/lowerings.py                  # all rows, about a minute
    python benchmarks/lowerings.py --runs 30        # steadier
    python benchmarks/lowerings.py --alternatives   # also the ways to say the same that were measured and left out

Times are the fastest of the runs, in milliseconds of the thread's own time. `difference` is the largest absolute one
for an input whose largest magnitude is 1; `bound` is what the lowering promises for it. At the end: where the lowering
that is chosen, the first of the table that applies, is not the fastest of those that come as near (exact, equal
numbers, within a bound).
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

from resizefix.dialects.dialect import Operands, dialect_of
from resizefix.dialects.write import write
from resizefix.document.edits import NodeBuilder, Replacement
from resizefix.interpolation import CoordinateTransformationMode, ExtentKind, Interpolation, Mode, NearestMode
from resizefix.lowerings import LOWERINGS, ResizeSpec
from resizefix.outcome import ErrorBound

OPSET = 13
NOISE = 1.1  # times as long, that is no reason to choose otherwise
HALF_PIXEL = CoordinateTransformationMode.HALF_PIXEL
NEAREST = Interpolation(Mode.NEAREST, CoordinateTransformationMode.ASYMMETRIC, NearestMode.FLOOR)
NEAREST_CENTRED = Interpolation(Mode.NEAREST, HALF_PIXEL, NearestMode.ROUND_PREFER_FLOOR)
LINEAR = Interpolation(Mode.LINEAR, HALF_PIXEL)
CUBIC = Interpolation(Mode.CUBIC, HALF_PIXEL, cubic_coeff_a=-0.75)

UP = [
    ((1, 64, 64, 64), 2.0),
    ((1, 3, 224, 224), 2.0),
    ((1, 128, 16, 16), 8.0),
    ((1, 256, 40, 40), 2.0),
    ((1, 32, 128, 128), 3.0),
    ((1, 3, 256, 256), 4.0),
]
DOWN = [((1, 64, 128, 128), 1 / 2), ((1, 3, 480, 480), 1 / 3)]

CASES = [
    *(
        (interpolation, shape, scale)
        for interpolation in (NEAREST, NEAREST_CENTRED, LINEAR, CUBIC)
        for shape, scale in UP
    ),
    *((interpolation, shape, scale) for interpolation in (NEAREST_CENTRED, LINEAR) for shape, scale in DOWN),
]


@dataclass(frozen=True)
class Timing:
    milliseconds: float
    output: np.ndarray


def measure(nodes, constants, subject: ResizeSpec, x: np.ndarray, runs: int) -> Timing:
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        list(nodes),
        "one",
        [info("x", subject.element_type, subject.shape)],
        [info("y", subject.element_type, [None] * len(subject.axes))],
        list(constants),
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    output = session.run(None, {"x": x})[0]
    times = []
    for _ in range(runs):
        start = time.thread_time()
        session.run(None, {"x": x})
        times.append(time.thread_time() - start)
    return Timing(min(times) * 1e3, output)


def native(subject: ResizeSpec, x: np.ndarray, runs: int) -> Timing:
    scales = numpy_helper.from_array(np.array(subject.values, np.float32), "scales")
    node = write(subject.interpolation, Operands("x", scales="scales"), dialect_of("Resize", OPSET), output="y")
    return measure([node], [scales], subject, x, runs)


def counted() -> Callable[[str], str]:
    taken: list[str] = []

    def fresh(suggestion: str) -> str:
        taken.append(suggestion)
        return f"{suggestion}_{len(taken)}"

    return fresh


# The same in other operators, measured and left out.


def expand(subject: ResizeSpec, builder: NodeBuilder) -> None:
    """Expand and Reshape, where `repeat` concatenates."""
    n, c, h, w = subject.shape
    s = subject.axes[2].factor
    wide = builder.add("Expand", builder.unsqueeze("x", [3, 5]), builder.value([1, 1, 1, s, 1, s], "shape"))
    builder.reshape(wide, [n, c, h * s, w * s])


def depth_to_space(subject: ResizeSpec, builder: NodeBuilder) -> None:
    """Copies of the channels, dealt out over height and width."""
    s = subject.axes[2].factor
    builder.add("DepthToSpace", builder.add("Concat", *["x"] * s**2, axis=1), blocksize=s)


def twice_the_factor(subject: ResizeSpec, builder: NodeBuilder) -> None:
    """Edge padding, asymmetric linear by 2s, every second sample, where `pad_upsample_slice` averages."""
    s = subject.axes[2].factor
    padded = builder.add("Pad", "x", builder.value([0, 0, 1, 1, 0, 0, 1, 1], "pads"), mode="edge")
    scales = builder.value([1, 1, 2 * s, 2 * s], "scales", np.float32)
    attributes = {"mode": "linear", "coordinate_transformation_mode": "asymmetric"}
    double = builder.add("Resize", padded, "", scales, **attributes)
    ends = [1 + s + 2 * s * size - 1 for size in subject.shape[2:]]
    builder.slice(double, [2, 3], [1 + s] * 2, ends, [2, 2])


ALTERNATIVES: dict[Mode, tuple[Callable[[ResizeSpec, NodeBuilder], None], ...]] = {
    Mode.NEAREST: (expand, depth_to_space),
    Mode.LINEAR: (twice_the_factor,),
    Mode.CUBIC: (),
}


def alternatives(subject: ResizeSpec) -> list[Replacement]:
    found = []
    even_or_nearest = subject.interpolation.mode is Mode.NEAREST or (subject.axes[2].factor or 1) % 2 == 0
    if subject.axes[2].factor is None or not even_or_nearest:
        return []
    for way in ALTERNATIVES[subject.interpolation.mode]:
        builder = NodeBuilder(counted(), OPSET, "y")
        way(subject, builder)
        builder.nodes[-1].output[0] = "y"
        found.append(
            Replacement(
                tuple(builder.nodes),
                tuple(builder.initializers),
                ErrorBound(exact=False, bound=float("nan"), note="left out"),
                f"({way.__name__})",
            )
        )
    return found


def title(subject: ResizeSpec) -> str:
    interpolation, scale = subject.interpolation, subject.values[2]
    rounding = f" {interpolation.nearest_mode.value}" if interpolation.nearest_mode else ""
    coordinates = interpolation.coordinate_transformation_mode.value
    by = f"×{scale:g}" if scale > 1 else f"×1/{subject.axes[2].divisor}"
    return f"{interpolation.mode.value} {coordinates}{rounding} | {'×'.join(map(str, subject.shape))} {by}"


@dataclass(frozen=True)
class Choice:
    """The lowering that is chosen, and the fastest of those that come as near."""

    subject: ResizeSpec
    chosen: str
    fastest: str
    ratio: float


def rows(subject: ResizeSpec, runs: int, *, with_alternatives: bool) -> tuple[list[str], Choice]:
    x = np.random.default_rng(0).standard_normal(subject.shape).astype(np.float32)
    x /= np.abs(x).max()
    before = native(subject, x, runs)
    lines = [f"| {title(subject)} | the node itself | {before.milliseconds:.2f} | 1 | | |"]
    candidates = [
        low.build(subject, x="x", y="y", opset=OPSET, fresh=counted())
        for low in LOWERINGS
        if low.applies(subject, OPSET) is None
    ]
    taken = {}
    for lowered in candidates + (alternatives(subject) if with_alternatives else []):
        after = measure(lowered.nodes, lowered.initializers, subject, x, runs)
        taken[lowered.how] = after.milliseconds
        apart = float(np.abs(after.output.astype(np.float64) - before.output).max())
        bound = (
            "exact"
            if lowered.error.exact
            else "left out"
            if np.isnan(lowered.error.bound)
            else f"{lowered.error.bound:.1e}"
        )
        ratio = after.milliseconds / before.milliseconds
        lines.append(f"| | | {lowered.how} | {after.milliseconds:.2f} | {ratio:.2g} | {apart:.1e} | {bound} |")
    chosen = candidates[0]
    rivals = [
        one.how
        for one in candidates
        if one.error.exact is chosen.error.exact and (one.error.bound > 0) == (chosen.error.bound > 0)
    ]
    fastest = min(rivals, key=taken.__getitem__)
    return lines, Choice(subject, chosen.how, fastest, taken[chosen.how] / taken[fastest])


def verdict(choices: list[Choice]) -> list[str]:
    """How well the order of the table follows the measurement."""
    slower = [choice for choice in choices if choice.ratio > NOISE]
    count = f"{len(choices) - len(slower)} of {len(choices)} cases"
    lines = [f"\nThe lowering chosen is the fastest of its kind, or within {NOISE - 1:.0%} of it, in {count}."]
    if slower:
        lines += ["", "| interpolation | input | chosen | fastest | times as long |", "|---|---|---|---|---|"]
    for choice in slower:
        lines.append(f"| {title(choice.subject)} | {choice.chosen} | {choice.fastest} | {choice.ratio:.2g} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9, help="runs of which the fastest counts")
    parser.add_argument("--alternatives", action="store_true", help="also what was measured and left out")
    arguments = parser.parse_args()
    print(f"onnxruntime {ort.__version__}, one thread, default optimisations, {platform.machine()}\n")
    print("| interpolation | input | by | ms | times the node | difference | bound |")
    print("|---|---|---|---|---|---|---|")
    choices = []
    for interpolation, shape, scale in CASES:
        one = float(np.float32(scale))
        subject = ResizeSpec(interpolation, ExtentKind.SCALES, (1.0, 1.0, one, one), shape, TensorProto.FLOAT)
        lines, choice = rows(subject, arguments.runs, with_alternatives=arguments.alternatives)
        choices.append(choice)
        print("\n".join(lines), flush=True)
    print("\n".join(verdict(choices)))


if __name__ == "__main__":
    main()

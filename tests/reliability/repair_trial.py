# ruff: noqa: E501
"""Breaks valid models as converters do, and judges `repair` by the model that was broken.

    python tests/reliability/repair_trial.py --cases 2000 --seed 1 [--models FOLDER --every 8]

A verdict for each case: `right` (bitwise what the valid model computes, optimisation disabled, at two sizes), `refused`
(with a reason), `harmless` (left alone, and it computes the same), `missed` (left alone, and it does not), `wrong` (written,
and it computes something else), `harmed` (a valid model was changed). Exit code 1 for any wrong or harmed.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, parser

import resizefix

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1])]
from ort_runs import opened
from repair_breakers import BREAKERS, CONTROLS
from resize_nodes import NotHere

NUMPY = {
    "float": np.float32,
    "float16": np.float16,
    "double": np.float64,
    "int64": np.int64,
    "int32": np.int32,
    "bool": np.bool_,
}


@dataclass(frozen=True)
class Verdict:
    """What came of one case."""

    case: str
    verdict: str
    reason: str = ""


def outputs(model: ModelProto, extra: int) -> list[np.ndarray] | str:
    """What a model computes with open sizes `extra` larger than usual; the error's text where it does not run."""
    try:
        runner = opened(model)
        names: dict[str, int] = {}
        feeds = {}
        for value in runner.get_inputs():
            kind = NUMPY[value.type[len("tensor(") : -1]]
            shape = [size if isinstance(size, int) else names.setdefault(str(size), (2, 3)[axis == 1] if axis < 2 else 8 + axis + extra)
                     for axis, size in enumerate(value.shape)]  # fmt: skip
            random_state = np.random.RandomState(len(feeds) + extra)
            whole = np.issubdtype(kind, np.integer)
            feeds[value.name] = (random_state.randint(1, 4, shape) if whole else random_state.rand(*shape)).astype(kind)
        return [np.asarray(value) for value in runner.run(None, feeds)]
    except Exception as error:  # onnxruntime raises a class for each of its codes
        return str(error).splitlines()[0][:160]


def same(one: list[np.ndarray] | str, other: list[np.ndarray] | str) -> bool:
    if isinstance(one, str) or isinstance(other, str) or len(one) != len(other):
        return False
    return all(
        a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        for a, b in zip(one, other, strict=True)
    )


def judge(case: str, valid: ModelProto, broken: ModelProto, *, control: bool, prefer: str | None = None) -> Verdict:
    """The verdict on one broken model; of a control, which is valid, any change is harm unless it computes the same."""
    wanted = [outputs(valid, extra) for extra in (0, 5)]
    try:
        result = resizefix.repair(broken, prefer=prefer)
    except resizefix.ResizefixError as error:
        return Verdict(case, "refused", str(error)[:200])
    refused = [outcome.reason or "" for outcome in result.outcomes if outcome.status.value == "refused"]
    after = [outputs(result.model, extra) for extra in (0, 5)]
    right = all(same(one, other) for one, other in zip(wanted, after, strict=True) if not isinstance(one, str))
    if control:
        return Verdict(
            case, "harmed" if result.changed else "right", "; ".join(o.reason or "" for o in result.outcomes)[:200]
        )
    if result.changed and not right:
        differing = next((other for one, other in zip(wanted, after, strict=True) if not same(one, other)), "")
        what = differing if isinstance(differing, str) else f"shapes {[array.shape for array in differing]}"
        return Verdict(case, "refused" if refused else "wrong", ("; ".join(refused) or what)[:200])
    if result.changed:
        return Verdict(case, "right")
    if refused:
        return Verdict(case, "refused", refused[0][:200])
    return Verdict(
        case,
        "harmless" if right else "missed",
        "" if right else str(after[0])[:160] if isinstance(after[0], str) else "other numbers",
    )


# ---- valid models ----

MODES = ("nearest", "linear", "cubic")
WHERE = ("main", "if", "function")
COORDINATES = ("asymmetric", "half_pixel", "align_corners", "pytorch_half_pixel")


def made(rng: random.Random) -> tuple[str, ModelProto]:
    """A small valid model: opset, mode, place, extent, and what is stored of its shapes, all drawn."""
    opset = rng.choice((9, 10, 11, 12, 13, 15, 17, 18, 19, 21, 22))
    mode = rng.choice(MODES if opset > 10 else MODES[:2])
    place = rng.choice(WHERE)
    batch, height, width = rng.choice((("1", "8", "9"), ("N", "8", "9"), ("1", "h", "w"), ("N", "h", "w")))
    fixed = height.isdigit()
    factors = rng.choice(((2, 2), (1.5, 1.5), (3, 1.25), (1.8, 1.8), (0.5, 0.5), (2, 0.75), (4, 4)))
    if opset == 9:
        factors = tuple(max(factor, 1.25) for factor in factors)
    extent = rng.choice(("scales", "scales", "scales", "sizes", "computed sizes", "computed scales"))
    if opset < 11 and "sizes" in extent:
        extent = "scales"
    if extent == "sizes" and not (fixed and batch == "1"):
        extent = "computed sizes" if opset > 10 else "scales"
    attributes = [f'mode = "{mode}"']
    if opset > 10:
        attributes.append(f'coordinate_transformation_mode = "{rng.choice(COORDINATES)}"')
        if mode == "nearest":
            attributes.append(f'nearest_mode = "{rng.choice(("floor", "round_prefer_floor", "ceil"))}"')
        if mode == "cubic" and rng.random() < 0.3:
            attributes.append("cubic_coeff_a = -0.5")
    nodes, constants, operands = operands_of(opset, extent, factors)
    operator = "Upsample" if opset == 9 else "Resize"
    resize = f"y = {operator} <{', '.join(attributes)}> ({operands})"
    data = f"float[{batch},3,{height},{width}]"
    text = placed(place, opset, data, nodes + resize, constants)
    model = parser.parse_model(text)
    onnx.checker.check_model(model)
    if rng.random() < 0.6:
        model = onnx.shape_inference.infer_shapes(model)
    return f"opset {opset}, {mode}, {place}, {extent} {factors}, [{batch},3,{height},{width}]", model


def operands_of(opset: int, extent: str, factors: tuple[float, ...]) -> tuple[str, str, str]:
    """The nodes before the resize, the constants as Constant nodes, and its inputs, of which h is the first."""
    scales = f"s = Constant <value = float[4] {{1, 1, {factors[0]}, {factors[1]}}}> ()"
    roi = "r" if 10 < opset < 13 else '""'
    empty = "r = Constant <value = float[0] {}> () " if 10 < opset < 13 else ""
    if extent == "scales":
        return empty, scales, f"h, {roi}, s" if opset > 10 else "h, s"
    if extent == "computed scales":
        chain = "one = Constant <value = float[4] {1, 1, 1, 1}> () t = Mul (s, one) "
        return empty + chain, scales, f"h, {roi}, t" if opset > 10 else "h, t"
    none = "r, r" if opset < 13 else '"", ""'
    if extent == "sizes":
        sizes = f"z = Constant <value = int64[4] {{1, 3, {int(8 * factors[0])}, {int(9 * factors[1])}}}> ()"
        return empty, sizes, f"h, {none}, z"
    chain = "a = Shape (h) b = Cast <to = 1> (a) c = Mul (b, s) d = Floor (c) z = Cast <to = 7> (d) "
    return empty + chain, scales, f"h, {none}, z"


def placed(place: str, opset: int, data: str, nodes: str, constants: str) -> str:
    """The whole model, the resize in the main graph, in a branch of an If, or in a local function."""
    head = f'<ir_version: 8, opset_import: ["" : {opset}'
    out = "(float[p, q, u, v] z0)"
    body = f"{constants} {nodes}"
    if place == "main":
        return f"{head}]> g ({data} x) => {out} {{ h = Relu (x) {body} z0 = Neg (y) }}"
    if place == "if":
        other = body.replace("y =", "e =")
        branches = f"then_branch = t () => (float[a1, a2, a3, a4] y) {{ {body} }}, else_branch = f () => (float[b1, b2, b3, b4] e) {{ {other} }}"
        return f"{head}]> g ({data} x) => {out} {{ h = Relu (x) k = Constant <value = bool {{1}}> () i = If (k) <{branches}> z0 = Neg (i) }}"
    return (
        f'{head}, "d" : 1]> g ({data} x) => {out} {{ x0 = Relu (x) i = d.F (x0) z0 = Neg (i) }}'
        f'<domain: "d", opset_import: ["" : {opset}]> F (h) => (y) {{ {body} }}'
    )


def with_initializers(model: ModelProto, rng: random.Random) -> ModelProto:
    """Constant nodes of the main graph as initializers, as most exporters have them."""
    if rng.random() < 0.5:
        return model
    graph = model.graph
    for node in [node for node in graph.node if node.op_type == "Constant"]:
        tensor = graph.initializer.add()
        tensor.CopyFrom(node.attribute[0].t)
        tensor.name = node.output[0]
        graph.node.remove(node)
    return model


def valid_models(rng: random.Random, cases: int, folder: Path | None, every: int) -> Iterator[tuple[str, ModelProto]]:
    for path in sorted(folder.glob("**/*.onnx"))[::every] if folder is not None else ():
        try:
            model = onnx.load(path)
        except Exception:  # some are broken on purpose
            continue
        if path.stat().st_size < 2_000_000 and any(is_resize(node) for node in model.graph.node):
            yield str(path.relative_to(folder)), model
    for _ in range(cases):
        name, model = made(rng)
        yield name, with_initializers(model, rng)


def is_resize(node: NodeProto) -> bool:
    return node.op_type in ("Resize", "Upsample") and node.domain in ("", "ai.onnx")


def trials(rng: random.Random, models: Iterator[tuple[str, ModelProto]], per_model: int) -> Iterator[Verdict]:
    for name, valid in models:
        if isinstance(outputs(valid, 0), str):
            continue
        for breaker in rng.sample([*BREAKERS, *CONTROLS], per_model):
            broken = ModelProto()
            broken.CopyFrom(valid)
            try:
                breaker(broken, rng)
            except NotHere:
                continue
            if broken == valid:
                continue
            yield judge(f"{breaker.__name__}: {name}", valid, broken, control=breaker in CONTROLS)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--cases", type=int, default=500)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--models", type=Path)
    options.add_argument("--every", type=int, default=8)
    options.add_argument("--per-model", type=int, default=4)
    options.add_argument("--json", type=Path)
    given = options.parse_args()
    rng = random.Random(given.seed)
    found = []
    for verdict in trials(rng, valid_models(rng, given.cases, given.models, given.every), given.per_model):
        found.append(verdict)
        if verdict.verdict in ("wrong", "harmed", "missed"):
            print(f"{verdict.verdict:8} {verdict.case}: {verdict.reason}", flush=True)
    table = Counter((verdict.case.split(":")[0], verdict.verdict) for verdict in found)
    for (breaker, verdict), count in sorted(table.items()):
        print(f"{breaker:32} {verdict:9} {count}")
    print(len(found), dict(Counter(verdict.verdict for verdict in found)))
    if given.json:
        given.json.write_text(json.dumps([vars(verdict) for verdict in found], indent=0))
    return int(any(verdict.verdict in ("wrong", "harmed") for verdict in found))


if __name__ == "__main__":
    sys.exit(main())

"""Breaks valid models as converters do, and judges `repair` by the model that was broken.

    python tests/reliability/repair_trial.py --cases 2000 --seed 1 [--models FOLDER --every 8]

The models are those of random_graphs_model.py, or real ones of a folder; each gets one fault, or two. A verdict for
each case: `right` (bitwise what the valid model computes, optimisation disabled, at two sizes), `refused` (with a
reason), `harmless` (left alone, and it computes the same), `missed` (left alone, and it does not), `wrong` (written,
and it computes something else), `moved` (a node far from any resize was changed), `restless` (a second repair changes
more), `harmed` (a valid model was changed).
Exit code 1 for wrong, moved, missed, restless and harmed.
"""

import argparse
import contextlib
import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto

import resizefix

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1])]
from ort_runs import opened
from random_graphs_model import draw
from repair_breakers import BREAKERS
from repair_misspellings import CONTROLS, MISSPELLINGS
from resize_nodes import NotHere, resizes

FAULTS = {**BREAKERS, **MISSPELLINGS}
BAD = ("wrong", "moved", "harmed", "missed", "restless")


@dataclass(frozen=True)
class Verdict:
    """What came of one case."""

    case: str
    verdict: str
    reason: str = ""


# ---- judging ----


def outputs(model: ModelProto, extra: int) -> list[np.ndarray] | str:
    """What a model computes with open sizes `extra` larger than usual; the error's text where it does not run."""
    try:
        session = opened(model)
        names: dict[str, int] = {}
        feeds = {}
        for value in session.get_inputs():
            usual = (2, 3, *(8 + axis + extra for axis in range(2, 9)))
            shape = [
                size if isinstance(size, int) else names.setdefault(str(size), usual[axis])
                for axis, size in enumerate(value.shape)
            ]
            element = numpy_type(value.type)
            random_state = np.random.RandomState(len(feeds) + extra)
            whole = np.issubdtype(element, np.integer)
            drawn = random_state.randint(1, 4, shape) if whole else random_state.rand(*shape)
            feeds[value.name] = drawn.astype(element)
        return [np.asarray(value) for value in session.run(None, feeds)]
    except Exception as error:  # onnxruntime raises a class for each of its codes
        return str(error).splitlines()[0][:160]


def numpy_type(said: str) -> np.dtype:
    """Of `tensor(float)`."""
    name = said[len("tensor(") : -1]
    return np.dtype({"float": "float32", "double": "float64"}.get(name, name))


def same(one: list[np.ndarray] | str, other: list[np.ndarray] | str) -> bool:
    if isinstance(one, str) or isinstance(other, str) or len(one) != len(other):
        return False
    return all(a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in zip(one, other, strict=True))


def near(model: ModelProto) -> set[str]:
    """Names that resizes of the main graph read and write, and what computes their operands."""
    made_by = {name: node for node in model.graph.node for name in node.output}
    found: set[str] = set()
    for node in model.graph.node:
        if node.op_type not in ("Resize", "Upsample"):
            continue
        found |= {*node.input, *node.output}
        todo = list(node.input[1:])
        while todo:
            maker = made_by.get(todo.pop())
            if maker is not None and maker.op_type != "Shape":
                todo += [name for name in maker.input if name not in found]
                found |= {*maker.input, *maker.output}
    return found - {""}


def moved(broken: ModelProto, repaired: ModelProto) -> bool:
    """Whether a node that has no part in a resize is not what it was; raising the opset changes none here."""
    apart = near(broken) | near(repaired)
    kept = Counter(node.SerializeToString() for node in repaired.graph.node)
    far = (
        node
        for node in broken.graph.node
        if not {*node.input, *node.output} & apart and not any(one.HasField("g") for one in node.attribute)
    )
    return any(not kept[node.SerializeToString()] for node in far)


def with_safe_scales(valid: ModelProto, broken: ModelProto, repaired: ModelProto) -> ModelProto:
    """The valid model with the scales that no fault was planted in and `repair` moved in the last digits: some runtimes
    round such a size down, which a repaired operand before the node can be the first to show."""
    copy = ModelProto.FromString(valid.SerializeToString())
    was, now = ({resize.output: resize for resize in resizes(model)} for model in (broken, repaired))
    for resize in resizes(copy):
        with contextlib.suppress(NotHere, KeyError):
            scales, after = resize.constant("scales"), now[resize.output].constant("scales")
            unplanted = np.array_equal(scales, was[resize.output].constant("scales"))
            if unplanted and scales.shape == after.shape and np.allclose(scales, after, rtol=1e-6, atol=0):
                resize.put(resize.place_of("scales"), after)
    return copy


def judge(case: str, valid: ModelProto, broken: ModelProto, *, control: bool) -> Verdict:
    """The verdict on one broken model; of a control, which is valid, any change is harm."""
    try:
        result = resizefix.repair(broken, on_refusal="return")
    except resizefix.ResizefixError as error:
        return Verdict(case, "refused", str(error)[:200])
    refused = "; ".join(one.reason or "" for one in result.outcomes if one.status.value == "refused")[:200]
    if control:
        return Verdict(case, "harmed" if result.changed else "right", refused)
    if result.changed and moved(broken, result.model):
        return Verdict(case, "moved")
    if any(outcome.fault == "lost-pixel" for outcome in result.outcomes):
        valid = with_safe_scales(valid, broken, result.model)
    pairs = [(outputs(valid, extra), outputs(result.model, extra)) for extra in (0, 5)]
    differing = [after for wanted, after in pairs if not isinstance(wanted, str) and not same(wanted, after)]
    if result.changed and not refused and not differing and resizefix.repair(result.model, on_refusal="return").changed:
        return Verdict(case, "restless")
    if not differing and (result.changed or not refused):
        return Verdict(case, "right" if result.changed else "harmless")
    if refused:
        return Verdict(case, "refused", refused)
    (what, *_) = differing
    shown = what if isinstance(what, str) else f"other numbers, of shapes {[array.shape for array in what]}"
    return Verdict(case, "wrong" if result.changed else "missed", shown)


# ---- trials ----


def valid_models(rng: random.Random, cases: int, folder: Path | None, every: int) -> Iterator[tuple[str, ModelProto]]:
    for path in sorted(folder.glob("**/*.onnx"))[::every] if folder is not None else ():
        try:
            model = onnx.load(path)
        except Exception:  # some are broken on purpose
            continue
        if path.stat().st_size < 2_000_000 and model.ir_version > 3 and not is_broken(model):
            yield str(path.relative_to(folder)), model
    for number in range(cases):
        model = draw(rng).model
        with contextlib.suppress(onnx.shape_inference.InferenceError):  # most exports store their shapes
            model = onnx.shape_inference.infer_shapes(model, data_prop=True) if rng.random() < 0.7 else model
        if not is_broken(model):
            yield f"drawn {number}", model


def is_broken(model: ModelProto) -> bool:
    """Whether a model has no resize, or a fault of its own: then it is no judge."""
    try:
        return not resizes(model) or resizefix.repair(model, verify=False, on_refusal="return").changed
    except (NotHere, resizefix.ResizefixError):
        return True


def planted(valid: ModelProto, names: list[str], rng: random.Random) -> ModelProto | None:
    """A copy with these faults, each at some resize; None where one fits none, or all together change nothing."""
    broken = ModelProto.FromString(valid.SerializeToString())
    for name in names:
        try:
            {**FAULTS, **CONTROLS}[name](rng.choice(resizes(broken)), rng)
        except NotHere:
            return None
    return None if broken == valid else broken


def trials(rng: random.Random, models: Iterator[tuple[str, ModelProto]], per_model: int) -> Iterator[Verdict]:
    for name, valid in models:
        if isinstance(outputs(valid, 0), str):
            continue
        for fault in rng.sample([*FAULTS, *CONTROLS], per_model):
            two = fault in FAULTS and rng.random() < 0.4
            names = [fault, rng.choice(sorted(FAULTS))] if two else [fault]
            broken = planted(valid, names, rng)
            if broken is not None:
                yield judge(f"{' + '.join(names)}: {name}", valid, broken, control=fault in CONTROLS)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--cases", type=int, default=500)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--models", type=Path)
    options.add_argument("--every", type=int, default=8)
    options.add_argument("--per-model", type=int, default=4)
    options.add_argument("--refusals", action="store_true", help="print what was refused, and why")
    given = options.parse_args()
    rng = random.Random(given.seed)
    verdicts: Counter[str] = Counter()
    for one in trials(rng, valid_models(rng, given.cases, given.models, given.every), given.per_model):
        verdicts[one.verdict] += 1
        if one.verdict in BAD or (given.refusals and one.verdict == "refused"):
            print(f"{one.verdict:8} {one.case}: {one.reason}", flush=True)
    print(sum(verdicts.values()), dict(verdicts))
    return int(any(verdicts[bad] for bad in BAD[:3]))


if __name__ == "__main__":
    sys.exit(main())

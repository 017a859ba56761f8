"""The laws over models made from recipes: `python tests/reliability/recipe_laws.py --cases 5000 --seed 0`.

The judge is onnxruntime alone: the model that is written anew at another scale says what a promoted one must compute.
What breaks a law is printed with the number that repeats it (`--first K --cases 1` with the same `--seed`).
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
import onnx

sys.path.insert(0, str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1]))

from ort_runs import run
from recipes import OTHERS, Factors, Recipe, build, fed, free, recipes

import resizefix

TARGETS = ("tensorrt-5.1", "tensorrt-7.0", "tensorrt-8.0", "tensorrt-10", "tensorrt-rtx", "onnxruntime")
FORMS = ("scales", "spatial", "factor", "sizes")
# Sums in another order, at onnxruntime's default level and behind other operators, as a part of the largest value.
FUSED, HALF, LOWERED = 2e-5, 2.0**-9, 1e-5
Values = dict[str, np.ndarray]


def runs(model: onnx.ModelProto, feeds: Values) -> bool:
    """Whether onnxruntime computes it."""
    try:
        run(model, feeds)
    except Exception:  # onnxruntime's exceptions have no base class of their own
        return False
    return True


def require_same(wanted: list[np.ndarray], found: list[np.ndarray], allowed: float, what: str) -> None:
    """Shapes and types are equal, and every number within `allowed` of the largest; 0: every bit."""
    assert len(wanted) == len(found), what
    for one, other in zip(wanted, found, strict=True):
        assert one.shape == other.shape, f"{what}: {list(other.shape)} where {list(one.shape)} is right"
        assert one.dtype == other.dtype, what
        if allowed == 0.0:
            assert one.tobytes() == other.tobytes(), f"{what}: other bits"
        elif one.size:
            a, b = one.astype(np.float64), other.astype(np.float64)
            assert np.abs(a - b).max() <= allowed * max(np.abs(a).max(), 1e-30), f"{what}: {np.abs(a - b).max():.3g}"


def tolerance(row: Recipe, least: float) -> float:
    return max(least, HALF) if row.dtype == "float16" else least


def sayable(row: Recipe, form: str, factors: Factors) -> Factors:
    """The factors that the form can say: `spatial` and `factor` drive the axes that are scaled already."""
    pairs = zip(row.factors, factors, strict=True)
    return tuple(new if form in ("scales", "sizes") or old != 1 else old for old, new in pairs)  # type: ignore[return-value]


def encoded(row: Recipe, form: str, factors: Factors) -> np.ndarray | None:
    """What an input of this form is fed for the factors; None where the form cannot say them."""
    scaled = tuple(new for old, new in zip(row.factors, factors, strict=True) if old != 1)[-len(row.axes) :]
    factors = factors[-len(row.axes) :]
    full = [1.0] * row.rank
    for axis, factor in zip(row.axes, factors, strict=True):
        full[axis] = factor
    if form == "factor":
        return np.array(scaled[:1], np.float32) if len(set(scaled)) == 1 else None
    if form == "sizes":
        return np.array([int(np.float32(s) * np.float32(n)) for s, n in zip(full, row.shape, strict=True)], np.int64)
    if form == "spatial":
        return np.array(scaled, np.float32)
    if row.extent == "axes":
        return np.array(factors, np.float32)
    return np.array(full, np.float32)


def untouched(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    """Everything that is not the resize or behind its operand stands there byte for byte."""
    kept = {node.name: node.SerializeToString() for node in before.graph.node}
    for node in after.graph.node:
        if node.name in ("before", "c", "behind", "size_of", "flatten", "doubled", "meet"):
            assert node.SerializeToString() == kept[node.name], f"{node.name} was changed"
    weights = {tensor.name: tensor.SerializeToString() for tensor in after.graph.initializer}
    for tensor in before.graph.initializer:
        if tensor.name in ("w", "kept", "flat"):
            assert weights.get(tensor.name) == tensor.SerializeToString(), f"{tensor.name} was changed"
    assert before.metadata_props == after.metadata_props
    assert (before.producer_name, before.graph.name) == (after.producer_name, after.graph.name)
    assert before.graph.doc_string == after.graph.doc_string


def promoted(row: Recipe, model: onnx.ModelProto, feeds: Values, rng: random.Random, tally: Counter) -> None:
    form = rng.choice(FORMS)
    options = {"form": form, "keep_default": rng.random() < 0.3, "verify": rng.random() < 0.3}
    try:
        result = resizefix.promote_scales(model, on_refusal="return", **options)
    except resizefix.UsageError:
        if form == "scales":
            raise
        return
    (outcome,) = result.outcomes
    tally[f"promote {form} {outcome.status.value}"] += 1
    if outcome.status.value != "changed":
        assert outcome.reason
        coupled = not free(row)
        # one number for two factors, sizes of an open length, scales of a size that is computed in a function
        cannot = form != "scales" or row.extent in ("sizes", "shape_times")
        assert coupled or cannot, f"refused {options}: {outcome.reason}"
        assert result.model == model
        return
    assert free(row), "a coupled site was promoted without being asked to"
    untouched(model, result.model)
    (entry,) = result.inputs
    old = np.array(entry.value, np.int64 if entry.elem_type == "int64" else np.float32).reshape(entry.shape)
    require_same(run(model, feeds), run(result.model, {**feeds, entry.name: old}), 0.0, f"{form} at the old value")
    if not free(row):
        return
    for factors in rng.sample(OTHERS, 2):
        factors = sayable(row, form, factors)
        value = encoded(row, form, factors)
        if value is None or (entry.elem_type == "int64") != (form == "sizes") or list(value.shape) != list(entry.shape):
            tally["promote: another scale not said"] += 1
            continue
        wanted, given = build(row, factors), {**feeds, entry.name: value}
        require_same(run(wanted, feeds), run(result.model, given), half_bits(row), f"{form} at {factors}")
        allowed = tolerance(row, FUSED)
        found = run(result.model, given, optimized=True)
        require_same(run(wanted, feeds), found, allowed, f"{form} at {factors}, optimised")
        tally["promote: other scales compared"] += 1


def half_bits(row: Recipe) -> float:
    """Half precision is computed in float32 between casts whose places depend on the neighbours."""
    return HALF if row.dtype == "float16" else 0.0


def frozen(row: Recipe, model: onnx.ModelProto, feeds: Values, rng: random.Random, tally: Counter) -> None:
    if not free(row):
        return
    there = resizefix.promote_scales(model, verify=False, on_refusal="return")
    if not there.changed:
        return
    (entry,) = there.inputs
    factors = rng.choice(OTHERS)
    value = encoded(row, "sizes" if entry.elem_type == "int64" else "scales", factors)
    if value is None or list(value.shape) != list(entry.shape):
        return
    numbers = value.astype(float).tolist()
    back = resizefix.freeze_scales(
        there.model, set={entry.name: numbers}, verify=rng.random() < 0.3, on_refusal="return"
    )
    assert back.changed, back.outcomes[0].reason
    constants = {tensor.name for tensor in back.model.graph.initializer}  # up to IR 3 they are listed as inputs too
    assert entry.name not in {value.name for value in back.model.graph.input} - constants
    require_same(run(build(row, factors), feeds), run(back.model, feeds), half_bits(row), f"frozen at {factors}")
    tally["freeze compared"] += 1


def legalized(row: Recipe, model: onnx.ModelProto, feeds: Values, rng: random.Random, tally: Counter) -> None:
    target, verify = rng.choice(TARGETS), rng.random() < 0.3
    result = resizefix.legalize(
        model, target=target, verify=verify, on_refusal="return"
    )  # raises what verification refuses
    (outcome,) = result.outcomes
    tally[f"legalize {outcome.status.value}"] += 1
    if outcome.status.value == "changed":
        allowed = half_bits(row) if outcome.exact else tolerance(row, LOWERED)
        require_same(run(model, feeds), run(result.model, feeds), allowed, f"legalized for {target}")
        again = resizefix.legalize(result.model, target=target, verify=False, on_refusal="return")
        assert not again.changed, f"a second legalize for {target} finds something to do"
    if outcome.status.value != "refused":
        assert resizefix.check(result.model, target=target).accepted, f"check refuses what legalize made for {target}"
    else:
        assert outcome.reason
        assert result.model == model


def made_legacy(row: Recipe, model: onnx.ModelProto, feeds: Values, rng: random.Random, tally: Counter) -> None:
    # The branches of an If give two shapes here, which If-1 forbids; with open sizes only a run can tell.
    unknowable = row.home == "if" and row.input != "static"
    try:
        result = resizefix.trt_legacy(model, verify=unknowable or rng.random() < 0.3, on_refusal="return")
    except resizefix.VerificationFailedError:
        if not unknowable:
            raise
        return
    done = result.model != model
    tally[f"trt-legacy {'made' if done else 'not made'}"] += 1
    if not done:
        return
    made = result.model
    assert max(entry.version for entry in made.opset_import if entry.domain in ("", "ai.onnx")) <= 8
    assert made.ir_version <= 3
    exact = all(outcome.exact for outcome in result.outcomes)
    allowed = half_bits(row) if exact else tolerance(row, LOWERED)
    require_same(run(model, feeds), run(made, feeds), allowed, "trt-legacy")
    onnx.checker.check_model(made, full_check=True)


def inspected(row: Recipe, model: onnx.ModelProto, feeds: Values, rng: random.Random, tally: Counter) -> None:
    (site,) = resizefix.inspect(model)
    meaning = site.interpolation
    assert meaning is not None
    assert meaning.mode.value == row.mode
    assert meaning.coordinate_transformation_mode.value == row.coordinates
    assert meaning.antialias == (row.options == "antialias")
    assert site.promotable, site.reason
    coupling = getattr(site, "coupling", None)
    if coupling is not None:
        verdict = coupling.verdict.value
        tally[f"inspect says {verdict} ({row.home})"] += 1
        assert verdict != "free" or free(row), "inspect calls a coupled site free"
        assert verdict != "coupled" or not free(row), "inspect calls a free site coupled"
    assert not resizefix.repair(model, verify=False, on_refusal="return").changed, "repair changes a right model"


LAWS = (inspected, promoted, frozen, legalized, made_legacy)


def broken(row: Recipe, seed: int, tally: Counter) -> list[str]:
    """What the laws say against one model."""
    model, feeds, rng = build(row), fed(row), random.Random(seed)
    if not runs(model, feeds):
        tally["onnxruntime does not run the model"] += 1
        return []
    tally["onnxruntime runs the model"] += 1
    bytes_before, found = model.SerializeToString(), []
    for law in LAWS:
        try:
            law(row, model, feeds, rng, tally)
        except Exception as error:  # every one of them is a finding
            where = traceback.extract_tb(error.__traceback__)[-1]
            told = str(error) if isinstance(error, AssertionError) else repr(error)
            found.append(f"{law.__name__} ({Path(where.filename).name}:{where.lineno}): {told[:500]}")
        assert model.SerializeToString() == bytes_before, f"{law.__name__} changed its argument"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="pass over the cases before this one")
    options = parser.parse_args()
    tally: Counter = Counter()
    pairs: set = set()
    failures, start = 0, time.monotonic()
    rows = islice(enumerate(recipes(options.seed, options.first + options.cases)), options.first, None)
    for number, row in rows:
        pairs |= row.pairs
        for text in broken(row, options.seed + number, tally):
            failures += 1
            print(f"case {number} of seed {options.seed}: {text}\n    {row}", flush=True)
    took = time.monotonic() - start
    print(f"{options.cases} models in {took:.0f} s, {len(pairs)} pairs, {failures} broken laws")
    for what, count in sorted(tally.items()):
        print(f"  {count:6} {what}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

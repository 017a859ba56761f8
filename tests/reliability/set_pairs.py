"""`set` judged from outside: random models with random settings, each held to a node that onnx.helper writes.

`python tests/reliability/set_pairs.py --cases 3000 --seed 0`. The judge knows the attributes of Resize and Upsample as
the specification has them, and runs nodes of its own in onnxruntime; of the package it calls `set_interpolation` and
`inspect` alone. The laws: what was set is what is read back and what is computed, at both optimisation levels; what is
called exact is equal bit by bit; the reported difference is the one that the judge finds; nothing else of the file
changes; what was set can be set back; and what onnxruntime runs, with a node edited by hand, is not refused.
"""

import argparse
import random
import sys
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper

sys.path.append(str(Path(__file__).parents[1]))
from ort_runs import opened
from set_cases import DEFAULTS, NAMES, SYMMETRIC, Case, drawn

import resizefix
from resizefix.diagnostics import UsageError

ort.set_default_logger_severity(4)


class BrokenLawError(AssertionError):
    """A law that a case broke."""


def run(model: onnx.ModelProto, x: np.ndarray, *, optimized: bool = False) -> np.ndarray:
    """What the model makes of x; raises what onnxruntime raises."""
    return opened(model, optimized=optimized).run(None, {"x": x})[0]


def runs(model: onnx.ModelProto, x: np.ndarray) -> bool:
    """Whether onnxruntime runs the model and onnx's checker takes it."""
    try:
        onnx.checker.check_model(model, full_check=True)
        run(model, x)
    except Exception:  # whatever it raises, it does not run
        return False
    return True


def values(case: Case, seed: int) -> np.ndarray:
    """An input for the case."""
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(case.kind))
    made = np.random.default_rng(seed).standard_normal(case.shape) * (50 if dtype.kind in "iu" else 1)
    return (np.abs(made) if dtype.kind == "u" else made).astype(dtype)


def named(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings by the names of attributes, without the form."""
    return {NAMES.get(key, key): value for key, value in settings.items() if key != "form"}


def is_read(key: str, value: Any, attributes: dict[str, Any]) -> bool:
    """Whether a node with the attributes reads the setting; what is switched off is never read."""
    has = {**DEFAULTS, **attributes}
    smooth = has["antialias"] and has["mode"] != "nearest"
    return {
        "nearest_mode": has["mode"] == "nearest",
        "cubic_coeff_a": has["mode"] == "cubic",
        "antialias": not value or has["mode"] != "nearest",
        "exclude_outside": not value or has["mode"] == "cubic" or bool(smooth),
    }.get(key, True)


def is_contradictory(settings: dict[str, Any]) -> bool:
    """Whether the settings alone cannot be meant, whatever the node."""
    mode = settings.get("mode")
    return mode is not None and (
        ("nearest_mode" in settings and mode != "nearest")
        or ("cubic_coeff_a" in settings and mode != "cubic")
        or (bool(settings.get("antialias")) and mode == "nearest")
        or (bool(settings.get("exclude_outside")) and mode == "nearest")
        or (bool(settings.get("exclude_outside")) and mode == "linear" and settings.get("antialias") == 0)
    )


def rounding(case: Case) -> str | None:
    """How nearest rounds before opset 11: by the scales; None where they are mixed."""
    scales = case.scales or ()
    return "floor" if min(scales) >= 1 else "ceil" if max(scales) <= 1 else None


def spelled(case: Case, attributes: dict[str, Any]) -> dict[str, Any]:
    """The meaning of attributes at the case's opset in the attributes of opset 11 and later."""
    if case.opset >= 11:
        return attributes
    found = {"coordinate_transformation_mode": "asymmetric", **attributes}
    return {"nearest_mode": rounding(case), **found} if found["mode"] == "nearest" else found


def meant(case: Case, settings: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """The old meaning in the attributes of opset 11 and later. A node that becomes nearest rounds by the default of the
    opset that it is in then."""
    found = dict(spelled(case, case.attributes))
    if case.opset < 11 and found["mode"] != "nearest":
        found["nearest_mode"] = DEFAULTS["nearest_mode"] if "opset" in options else rounding(case)
    return found


def read_alone(attributes: dict[str, Any]) -> dict[str, Any]:
    """The attributes that the mode reads: onnxruntime refuses some of the others."""
    return {key: value for key, value in attributes.items() if is_read(key, value, attributes)}


def wanted_case(case: Case, attributes: dict[str, Any]) -> Case:
    """A case of the newest opset that computes what the attributes mean."""
    full = spelled(case, attributes)
    return Case(19, case.kind, case.shape, case.open_axes, case.scales, case.sizes, case.axes, full, "main")


def judged(case: Case, seed: int) -> str:
    """What became of the case. Raises BrokenLawError."""
    before, x = case.model(), values(case, seed)
    if not runs(before, x):
        return "the original does not run"
    if not run(before, x).size:
        return "the original makes nothing"
    settings, options = named(case.settings), {"feed": {"x": x}}
    if case.raise_to is not None and case.raise_to > case.opset:
        options["opset"] = case.raise_to
    untouched = before.SerializeToString()
    try:
        result = resizefix.set_interpolation(before, on_refusal="return", **case.settings, **options)
    except UsageError as error:
        law(is_contradictory(settings), f"a usage error without a contradiction: {error}")
        return "contradictory"
    except resizefix.RefusedError as error:
        law("opset" in options, f"refused as a whole: {error}")
        return "not raised"
    law(not is_contradictory(settings), "a contradiction was taken")
    law(before.SerializeToString() == untouched, "the argument was changed")
    outcome, status = result.outcomes[0], result.outcomes[0].status.value
    attributes = read_alone({**meant(case, settings, options), **settings})
    law(len({o.status for o in result.outcomes}) == 1, "alike nodes have other outcomes")
    if status == "refused":
        return why_refused(case, outcome, settings, x, options.get("opset", case.opset))
    for key, value in settings.items():
        law(is_read(key, value, attributes), f"{key} is not read, and was not refused")
    if status == "unchanged":
        attributes = spelled(case, case.attributes)
        for key, value in settings.items():
            same = {**DEFAULTS, **attributes}[key]
            law(same == value or not value, f"{key} is {same}, not {value}, and the node was not changed")
        return "unchanged"
    return changed(case, before, result, outcome, attributes, settings, x)


def why_refused(case: Case, outcome: Any, settings: dict[str, Any], x: np.ndarray, opset: int) -> str:
    """A refusal must have a reason: it is a form, the setting is not read, the opset has no such word (onnxruntime runs
    cubic before opset 11, and half_pixel_symmetric before 19), or the node edited by hand does not run."""
    law(bool(outcome.reason), "refused without a reason")
    if "form" in case.settings:
        return "refused: form"
    edited = {**case.attributes, **settings}
    if not all(is_read(key, value, {**spelled(case, case.attributes), **settings}) for key, value in settings.items()):
        law("has no meaning" in outcome.reason or "opset" in outcome.reason, f"another reason: {outcome.reason}")
        return "refused: not read"
    if opset != case.opset:
        return "refused, raised"
    unsaid = settings.get("mode") == "cubic" and opset < 11
    unsaid |= settings.get("coordinate_transformation_mode") == SYMMETRIC and opset < 19
    made = run(case.model(), x)
    says_something = made.size and made.shape != x.shape  # a copy, and nothing, are made of any type and rank
    runs_edited = says_something and not unsaid and runs(case.model(edited), x)
    law(not runs_edited, f"refused, and edited by hand it runs: {outcome.reason}")
    if outcome.retry_args:
        advised = {"opset": int(outcome.retry_args[1]), "feed": {"x": x}}
        later = resizefix.set_interpolation(case.model(), on_refusal="return", **case.settings, **advised)
        law(later.outcomes[0].status.value != "refused", f"the advice {outcome.retry_args} does not help")
    return "refused: opset" if outcome.retry_args else "refused: does not run"


def changed(
    case: Case,
    before: onnx.ModelProto,
    result: Any,
    outcome: Any,
    attributes: dict[str, Any],
    settings: dict[str, Any],
    x: np.ndarray,
) -> str:
    """A node that was changed."""
    after = result.model
    onnx.checker.check_model(after, full_check=True)
    law(result.verification.passed, "written though not verified")
    reference = wanted_case(case, attributes)
    form = case.settings.get("form")
    lowered = form not in (None, "scales", "sizes", "axes")
    is_exact_form = not lowered or outcome.exact
    for number, one in enumerate((x, values(case, 7001))):
        if spelled(case, attributes).get("nearest_mode", "") is None:
            break  # mixed scales before opset 11: no node of opset 19 says it
        want = run(reference.model(), one)
        largest = float(np.abs(one.astype(np.float64)).max())
        half = 2 * 2.0**-10 * largest if case.kind == TensorProto.FLOAT16 else 0.0
        for optimized in (False, True):
            found = run(after, one, optimized=optimized)
            allowed = outcome.bound if outcome.bound is not None else 1e-5  # the lowering's, of another meaning
            bound = 0.0 if is_exact_form and form is None else allowed * largest
            law(want.shape == found.shape and want.dtype == found.dtype, "another shape or type than asked for")
            apart = difference(want, found)
            law(apart <= max(bound, half), f"{apart} from what was asked for, {bound} allowed (optimised: {optimized})")
        old, found = run(before, one), run(after, one)
        apart = difference(old, found)
        if outcome.exact:
            law(old.tobytes() == found.tobytes(), "called exact, and bits differ")
        elif outcome.bound is not None:
            law(apart <= max(outcome.bound * largest, half), f"{apart} beyond the bound {outcome.bound}")
        if number == 0:
            told = [diff.max_abs_diff for diff in outcome.output_diffs]
            law(told == [apart], f"reported {told}, measured {apart}")
    read_back(case, after, settings, lowered)
    only_the_node(case, before, after)
    if form is None and case.raise_to is None:
        set_back(case, before, after, x)
    return "changed: exact" if outcome.exact else "changed: bound" if outcome.bound is not None else "changed: measured"


def difference(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(one.astype(np.float64) - other.astype(np.float64)).max(initial=0.0))


def read_back(case: Case, after: onnx.ModelProto, settings: dict[str, Any], lowered: bool) -> None:
    """What was set is what inspect says."""
    if lowered:
        return
    for site in resizefix.inspect(after):
        for key, value in settings.items():
            found = getattr(site.interpolation, key)
            found = getattr(found, "value", found)
            simple = key == "nearest_mode" and found == "simple"
            law(found == value or simple or not (found or value), f"{key} was set to {value} and is {found}")


def only_the_node(case: Case, before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    """Nothing else of the file is another."""
    if "form" in case.settings or case.raise_to is not None:
        return
    left, right = onnx.ModelProto(), onnx.ModelProto()
    left.CopyFrom(before)
    right.CopyFrom(after)
    for model in (left, right):
        graphs = [model.graph]
        while graphs:
            graph = graphs.pop()
            for node in graph.node:
                graphs += [attribute.g for attribute in node.attribute if attribute.HasField("g")]
                if node.op_type in ("Resize", "Upsample"):
                    del node.attribute[:]
    law(left.SerializeToString() == right.SerializeToString(), "something else changed")


def set_back(case: Case, before: onnx.ModelProto, after: onnx.ModelProto, x: np.ndarray) -> None:
    """With the old values the numbers are the old ones."""
    has = {**DEFAULTS, **spelled(case, case.attributes)}
    keys = ["mode", "coordinate_transformation_mode"]
    keys += ["nearest_mode"] if has["mode"] == "nearest" and has["nearest_mode"] else []
    keys += ["cubic_coeff_a"] if has["mode"] == "cubic" else []
    keys += ["antialias"] if has["mode"] != "nearest" else []
    keys += ["exclude_outside"] if has["mode"] == "cubic" or (has["antialias"] and has["mode"] != "nearest") else []
    back = resizefix.set_interpolation(
        after, on_refusal="return", **{key: has[key] for key in keys}, feed={"x": x}
    ).model
    law(run(back, x).tobytes() == run(before, x).tobytes(), "what was set back computes something else")


def law(holds: Any, told: str) -> None:
    """Raises BrokenLawError unless it holds."""
    if not holds:
        raise BrokenLawError(told)


def main() -> int:
    """Judge the cases; the exit code is 1 where a law was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for seed in range(options.seed, options.seed + options.cases):
        case = drawn(random.Random(seed))
        try:
            counts[judged(case, seed)] += 1
        except Exception as error:  # every case counts, and the others go on
            counts["BROKEN"] += 1
            print(f"seed {seed}: {error!r}\n  {case}", flush=True)
            if not isinstance(error, BrokenLawError):
                traceback.print_exc()
    for what, count in counts.most_common():
        print(f"{count:6} {what}")
    return 1 if counts["BROKEN"] else 0


if __name__ == "__main__":
    sys.exit(main())

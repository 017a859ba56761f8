"""Whether a refusal is true: each reason that an operation has, with what must hold in the model then."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from random_graphs_case import Case
from random_graphs_claims import as_scales, feeds_that_run, unscaled
from random_graphs_runs import Runner, baked, bodies

import resizefix


def _breaks(case: Case, outcome: Any, result: Any) -> bool:
    """Whether some other scale of this node breaks the model in onnxruntime, beside the nodes that were promoted: one
    that read fixed sizes may read scales now, and no longer takes whatever comes. With --shared all of them move."""
    output = case.sites[outcome.index].output
    beside = {d.output: (d.kind.value, d.base) for source in result.inputs for d in source.sites}
    moved = [output]
    if "of the selected sites together" in outcome.reason:
        moved = [case.sites[o.index].output for o in result.outcomes if "selected sites together" in (o.reason or "")]
    for move in _MOVES:
        operands = {name: _moved(case, name, move) for name in moved}
        model = baked(case.model, {**beside, **operands})
        runner = Runner(case.save_proto(model, "coupled"))
        if any(runner.run(feeds).error is not None for feeds in (*feeds_that_run(case), *_larger(case))):
            return True
    return False


def _larger(case: Case) -> Iterator[dict[str, np.ndarray]]:
    """The drawn feeds with larger images where the file leaves the size open: an axis of 1 fits any other."""
    open_ones = {
        value.name
        for value in case.model.graph.input
        if len(value.type.tensor_type.shape.dim) == 4
        and not any(dim.dim_value for dim in value.type.tensor_type.shape.dim[2:])
    }
    for times in (2, 5):
        feeds = {
            name: np.tile(array, (1, 1, times, times)) if name in open_ones and array.ndim == 4 else array
            for name, array in case.drawn.feeds.items()
        }
        if case.runner.run(feeds).error is None:
            yield feeds


# Of an operand's entry `v`, for an axis that has `n` (1 for scales): the whole steps and fractions that are tried.
_MOVES = (
    lambda v, n: v * 2, lambda v, n: v * 1.5, lambda v, n: v * 1.25, lambda v, n: v + n, lambda v, n: v // n * n + n,
)  # fmt: skip


def _moved(case: Case, output: str, move: Callable[[float, int], float]) -> tuple[str, list[float]]:
    placed = _placed(case, output)
    still = unscaled(placed)
    moving = [position for position, value in enumerate(placed.values) if value != still[position]]
    values = list(placed.values)
    for position in moving or range(len(values)):
        number = move(values[position], still[position])
        values[position] = max(1, int(number)) if placed.spelling.kind == "sizes" else float(np.float32(number))
    return placed.spelling.kind, values


def _static(case: Case, output: str) -> bool:
    site = next(site for site in case.sites if site.output == output)
    return site.input_dims is not None and all(isinstance(size, int) and size for size in site.input_dims)


def _several(case: Case, output: str) -> bool:
    placed = _placed(case, output)
    return len({value / size for value, size in zip(placed.values, unscaled(placed), strict=True)}) > 1


def _sampled_elsewhere(case: Case, output: str) -> bool:
    """Whether some axis, said as a size, has another scale than the one that stands there."""
    placed = _placed(case, output)
    for axis, scale in zip(placed.spelling.axes or range(len(placed.values)), placed.values, strict=True):
        size = placed.x.sizes[axis]
        out = int(np.float32(scale) * np.float32(size))
        # whole numbers over a denominator may make one less than the product in float32
        if np.float32(out) / np.float32(size) != np.float32(scale) or int(float(np.float32(scale)) * size) != out:
            return placed.spelling.kind == "scales"
    return False


def _no_scale(case: Case, output: str) -> bool:
    placed = _placed(case, output)
    axes = placed.spelling.axes or range(len(placed.values))
    pairs = [(np.float32(out), np.float32(placed.x.sizes[axis])) for axis, out in zip(axes, placed.values, strict=True)]
    return placed.spelling.kind == "sizes" and any(int(out / size * size) != out for out, size in pairs)


def _rank_unknown(case: Case, output: str) -> bool:
    return next(site for site in case.sites if site.output == output).input_dims is None


# A part of the reason, and what must be true of the model and the site.
TRUTHS = (
    ("are an attribute", lambda case, output: _kind(case, output) == "attribute"),
    ("already follow the graph input", lambda case, output: _kind(case, output) == "graph-input"),
    ("run-time data", lambda case, output: _kind(case, output) == "runtime"),
    ("keep_aspect_ratio_policy", lambda case, output: _placed(case, output).spelling.policy),
    ("rank of its input is not known", _rank_unknown),
    ("are computed .*rank of", _rank_unknown),
    ("are computed", lambda case, output: _kind(case, output) in ("computed", "graph-input")),
    ("is not fixed in the file", lambda case, output: not _static(case, output)),
    ("scaled by different numbers", _several),
    ("is another scale, at which", _sampled_elsewhere),
    ("no float32 scale is", _no_scale),
    ("tf_crop_and_resize", lambda case, output: _placed(case, output).spelling.roi is not None),
    ("has no input for sizes", lambda case, output: _placed(case, output).spelling.opset < 11),
    ("at every size of its input", lambda case, output: not _static(case, output)),
    ("floor\\(", lambda case, output: not _static(case, output)),
    ("onnxruntime samples by", lambda case, output: not _static(case, output)),
    ("no scales say", lambda case, output: _placed(case, output).spelling.kind == "sizes"),
)


def _placed(case: Case, output: str) -> Any:
    return next(site for site in case.drawn.sites if site.output == output)


def _kind(case: Case, output: str) -> str:
    return str(_placed(case, output).way.kind)


# Rules that the original need not break: what the promoted node would read, and from where.
OF_PROMOTED = {
    "tf-half-pixel-by-scales": lambda placed: (
        placed.spelling.attributes["coordinate_transformation_mode"] == "tf_half_pixel_for_nn"
    ),
    "fed-extent-not-in-an-if": lambda placed: placed.place == "If",
}


def assert_true_refusal(case: Case, outcome: Any, result: Any) -> None:
    """Raises where a reason of promote-scales is unknown here, names no node, or does not hold."""
    reason, output = outcome.reason or "", case.sites[outcome.index].output
    if "another scale of" in reason:
        assert _breaks(case, outcome, result), f"{output}: not true: {reason}"
    elif found := re.match(r"TensorRT refuses the node \(([^)]*)\)", reason):
        rules = {violation.rule for violation in _violations(case, outcome, "tensorrt-rtx")}
        holds = OF_PROMOTED.get(found[1])
        true = found[1] in rules if holds is None else holds(_placed(case, output))
        assert true, f"{output}: not true: {reason}; it breaks {rules}"
    elif found := re.search(r"scale (\S+) is not a whole number over (\d+)", reason):
        over, scale = int(found[2]), np.float32(found[1])  # of sizes: a neighbour of the quotient, with their length
        near = any(abs(float(scale) / value - 1) < 1e-6 for value in as_scales(_placed(case, output)))
        true = near and np.float32(round(float(scale) * over) / over) != scale
        assert true, f"{output}: not true: {reason}"
    elif "one shared input cannot" in reason:
        mine, theirs = re.findall(r"\[([^\]]*)\]", reason)[:2]
        assert mine != theirs, f"{output}: not true: {reason}"
        said = _as_sizes if result.inputs and result.inputs[0].sites[0].form.value == "sizes" else as_scales
        assert len({tuple(said(placed)) for placed in case.drawn.sites}) > 1, f"{output}: not true: {reason}"
    else:
        _assert_listed(case, output, reason)


def assert_true_freeze_refusal(case: Case, outcome: Any) -> None:
    """Raises where a reason of freeze-scales is unknown here or does not hold."""
    reason, output = outcome.reason or "", case.sites[outcome.index].output
    if "constant already" in reason:
        assert outcome.status.value == "unchanged", reason
        kinds = ("attribute", "initializer", "constant")
        assert case.sites[outcome.index].origin.kind.value in kinds, f"{output}: not true: {reason}"
        return
    assert _kind(case, output) not in ("attribute", "initializer", "graph-input"), f"{output}: {reason}"
    _assert_listed(case, output, reason)


def _assert_listed(case: Case, output: str, reason: str) -> None:
    if found := re.search(r"make (\d+) into (\d+), which no float32 scale does", reason):
        size, out = int(found[1]), int(found[2])
        scale = np.float32(out) / np.float32(size)
        by_both = int(scale * np.float32(size)) == int(float(scale) * size) == out
        assert not by_both, f"{output}: not true: {reason}"
        assert not _static(case, output), f"{output}: not true: {reason}"
        return
    for part, holds in TRUTHS:
        if re.search(part, reason):
            assert holds(case, output), f"{output}: not true: {reason}"
            return
    raise AssertionError(f"{output}: a reason that no truth is written for: {reason}")


def assert_true_legalize_refusal(
    case: Case, outcome: Any, target: str, broken: set[str], options: dict[str, Any]
) -> None:
    """The rule that is named is one that `check` finds broken, and what is said to be forbidden would help."""
    reason = outcome.reason or ""
    found = re.match(r"\S+ refuses it \(([^)]*)\)", reason)
    assert found, f"no rule: {reason}"
    assert found[1] in broken, f"not true: {reason}; it breaks {broken}"
    output = case.sites[outcome.index].output
    if "stands in a local function" in reason:
        assert _placed(case, output).place == "function", f"not true: {reason}"
    _assert_not_constant(case, output, reason)
    if "--no-lower forbids" in reason:
        assert options.get("lower") is False, reason
        allowed = {**options, "lower": True, "verify": False}
        outcomes = resizefix.legalize(str(case.path), target=target, on_refusal="return", **allowed).outcomes
        assert outcomes[outcome.index].status.value == "changed", (
            f"not true: {reason}: {outcomes[outcome.index].reason}"
        )


def assert_true_legacy_refusal(case: Case, outcome: Any, options: dict[str, Any]) -> None:
    """What is said to be no Upsample-7, or no constant, is none; what is said to be forbidden would help."""
    reason = outcome.reason or ""
    named = re.search(r"(\w+) = ", outcome.before)
    drawn = next((site for site in case.drawn.sites if named and site.output == named[1]), None)
    if drawn is None:  # functions are inlined: what they write has another name
        assert any(site.place == "function" for site in case.drawn.sites), f"there is no {outcome.before}"
        return
    _assert_not_constant(case, drawn.output, reason)
    if "which has no exact form there" in reason:
        said = drawn.spelling.attributes
        mode = said.get("mode", "nearest")
        assert f"this is {mode} {said.get('coordinate_transformation_mode', 'half_pixel')}" in reason or (
            drawn.spelling.opset < 11
        ), f"not what it is: {reason}"
        asymmetric = said.get("coordinate_transformation_mode") == "asymmetric" or drawn.spelling.opset < 11
        floor = said.get("nearest_mode") == "floor" or drawn.spelling.opset < 11
        plain = drawn.spelling.kind == "scales" and drawn.spelling.axes is None and min(drawn.values) >= 1
        upsample = asymmetric and plain and (mode == "linear" or (mode == "nearest" and floor))
        assert not upsample or said.get("antialias"), f"not true: {reason}"
    if "--no-lower forbids" in reason:
        assert options.get("lower") is False, reason
        outcomes = resizefix.trt_legacy(
            str(case.path), on_refusal="return", **{**options, "lower": True, "verify": False}
        ).outcomes
        assert outcomes[outcome.index].status.value != "refused", (
            f"not true: {reason}: {outcomes[outcome.index].reason}"
        )


def _assert_not_constant(case: Case, output: str, reason: str) -> None:
    kind = _kind(case, output)
    if "fed at run time" in reason:
        assert kind == "graph-input", f"not true: {reason}"
    if "are computed at run time" in reason:
        assert kind in ("computed", "runtime"), f"not true: {reason}"


def assert_true_blocker(case: Case, blocker: Any) -> None:
    """The operator that stands in the way is one of the model's, or of those that took a node's place."""
    nodes = [node for body in bodies(case.model) for node in body.node]
    assert blocker.reason, "no reason"
    if blocker.op_type and blocker.op_type not in {node.op_type for node in nodes}:  # of what took a node's place
        stands_for = any(output in blocker.node for node in nodes for output in node.output)
        assert stands_for, f"there is no {blocker.op_type}: {blocker}"


def _violations(case: Case, outcome: Any, target: str) -> list[Any]:
    found = resizefix.check(str(case.path), target=target).violations
    return [violation for violation in found if violation.node == outcome.node]


def _as_sizes(placed: Any) -> list[int]:
    if placed.spelling.kind == "sizes":
        return [int(value) for value in placed.values]
    pairs = zip(placed.values, placed.spelling.axes or range(len(placed.values)), strict=True)
    return [int(np.float32(value) * np.float32(placed.x.sizes[axis])) for value, axis in pairs]

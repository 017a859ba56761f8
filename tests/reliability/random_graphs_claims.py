"""What a result claims about its numbers, as a bound: 0 where it calls every change exact."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx.numpy_helper import to_array
from random_graphs_case import Case
from random_graphs_places import Placed
from random_graphs_runs import Ran, Runner, baked, difference, holders, steps_apart, visible

# Relative to the outputs' largest value, in half precision also to what is resized: as much as the library
# lets pass, and says.
LOWERED = 1e-5  # other operators add in another order (library/seam.py)
HALF = 2 * 2.0**-10  # two units in the last place (verification/compare.py)
# onnxruntime's shape inference against its own kernels (5 → 9), or branches of one If against each other: a constant
# tells the inference what it did not know before, and the model is refused.
CONTRADICTIONS = (
    "Can't merge shape info",
    "pre-allocated output",
    "Shape mismatch attempting to re-use buffer",
    "Mismatch between expected shape and shape from first output",
    "must have the shape set",
)
SIZE_RULES_DISAGREE = (
    *CONTRADICTIONS,
    "Incompatible dimensions",
    "The output OrtValue provided for output",
    "cannot be reshaped to the requested shape",  # a Shape that optimisation folds to the inferred size
)
APPROXIMATE = 0.5  # allowed by --allow-inexact: more would be another picture (library/seam.py)


def called_exact(result: Any) -> bool:
    """Whether every change is called exact and no run of the proof says otherwise."""
    changed = [outcome for outcome in result.outcomes if outcome.status.value == "changed"]
    runs = [run for run in result.verification.runs if not run.optimized]
    for outcome in changed:
        assert outcome.max_abs_diff is None or not outcome.exact, f"exact, by {outcome.max_abs_diff}"
        assert outcome.exact or not runs or outcome.max_abs_diff is not None, "not exact, and no number for it"
    return all(outcome.exact for outcome in changed) and all(run.bitwise for run in runs)


def assert_as_claimed(case: Case, result: Any, before: Ran, after: Ran, *, lowered: float, at: str = "") -> None:
    """Bit for bit where the result says exact; else within `lowered`, and the last bits where something is float16."""
    exact = called_exact(result)
    bound = 0.0 if exact else max(lowered, HALF if case.halves else 0.0)
    apart = difference(before, after)
    if apart <= bound:
        return
    # The last bits of half precision are those of what is resized: in a sum near zero they are more of the sum.
    if not exact and case.halves and difference(before, after, least=case.largest_resized) <= bound:
        return
    # Where numbers are rounded to steps, a last bit may be a whole step, and cubic weights make more of it.
    if lowered and not exact and case.rounds_to_steps and steps_apart(before, after, case.step) <= 2:
        return
    # onnx's inference multiplies in float64, the kernel in float32: a constant lets the inference speak, and what it
    # contradicts onnxruntime does not load. The proof refuses to write that; without one it is written.
    unproven = result.verification.status.value == "skipped"
    if unproven and is_contradiction(after.error or "") and disputes_constants(case):
        return
    if unproven and (case.is_limit(after.error or "") or is_said_not_empty(case, result, after.error or "")):
        return
    raise AssertionError(f"{at}{apart} apart (exact: {exact}, bound: {bound:.3g}); {before.error}; {after.error}")


def is_said_not_empty(case: Case, result: Any, error: str) -> bool:
    """Whether a node was replaced by a pool under the condition that its output is not empty, and here it is: a pool
    takes no empty tensor, and makes a sample of an axis that is shorter than its stride."""
    held = "where the output is not empty"
    told = {
        case.sites[o.index].output for o in result.outcomes if o.status.value == "changed" and held in (o.reason or "")
    }
    if not told or (error and "Only N can be zero" not in error and ", 0, " not in error):
        return False
    written = holders(case.model, told)  # in a branch: what the If gives
    shown = Runner(case.save_proto(visible(case.model, sorted(written)), "visible")).run(case.drawn.feeds)
    return any(not shown.outputs[name].size for name in written & set(shown.outputs))


def is_turned_rounding(case: Case, result: Any, said: str) -> bool:
    """Whether a proof fails only because a node behind others that came near rounds to steps: a last bit turned it,
    which no proof can let pass unless the user does. The refusal must tell how."""
    found = re.search(r"output '([^']*)' differs in .*?, by at most ([\d.e+-]+):", said)
    near = any(outcome.status.value == "changed" and not outcome.exact for outcome in result.outcomes)
    if found is None or not near or not case.rounds_to_steps:
        return False
    value = case.ran.outputs.get(found[1])
    step = 1 if value is not None and value.dtype.kind in "iu" else case.step
    return float(found[2]) <= 2 * step and "--allow-inexact lets" in said


def is_contradiction(error: str) -> bool:
    """Whether onnxruntime says that a size is another than it was said to be."""
    return any(part in error for part in SIZE_RULES_DISAGREE)


def disputes_constants(case: Case) -> bool:
    """Whether onnxruntime refuses the original, too, once plain constants say what its nodes read: as scales, as they
    are spelled, or all or one of them; with and without optimisation. Or it would, if it saw the size of what a scale
    is for."""
    if infers_other_sizes(case):
        return True
    sites = [site for site in case.drawn.sites if site.way.kind != "attribute"]
    spelled = {site.output: (site.spelling.kind, site.values) for site in sites}
    scales = {site.output: ("scales", as_scales(site)) for site in sites}
    mixed = ({**spelled, output: said} for output, said in scales.items())
    paths = [case.save_proto(baked(case.model, operands), "disputed") for operands in (spelled, scales, *mixed)]
    runs = (Runner(path, optimized=optimized).run(case.drawn.feeds) for path in paths for optimized in (False, True))
    return any(is_contradiction(ran.error or "") for ran in runs)


def infers_other_sizes(case: Case) -> bool:
    """Whether some node's scale, or the one that its size is said as, makes one size in onnx's inference, which
    multiplies in float64 and which onnxruntime believes, and another one in its kernel, which multiplies in float32."""
    for site in case.drawn.sites:
        axes = site.spelling.axes or range(len(site.values))
        for axis, scale in zip(axes, as_scales(site), strict=True):
            size = site.x.sizes[axis]
            product = float(np.float32(scale)) * size
            if int(np.float32(scale) * np.float32(size)) != int(product):
                return True
    return False


def as_scales(site: Placed) -> list[float]:
    """The node's scales; of sizes the quotients by those of its input."""
    return [float(np.float32(value / size)) for value, size in zip(site.values, unscaled(site), strict=True)]


def unscaled(site: Placed) -> list[int]:
    """The values at which the node would scale nothing."""
    axes = site.spelling.axes or range(len(site.values))
    return [site.x.sizes[axis] if site.spelling.kind == "sizes" else 1 for axis in axes]


# ---- what a proof may have fed: it does not know the values drawn for an input that decides how a node resizes ----

_FACTORS = (1.0, 2.0, 0.5, 4.0, 0.25)


def feeds_that_run(case: Case) -> Iterator[dict[str, np.ndarray]]:
    """The drawn feeds, then others for the inputs that decide a size; only feeds at which the original runs. An input
    that has a default is left to it, too: a proof moves the others alone."""
    yield case.drawn.feeds
    fed = [site for site in case.drawn.sites if site.input]
    if not fed:
        return
    names = {site.input for site in fed}
    defaults = {t.name: to_array(t, str(case.folder)) for t in case.model.graph.initializer if t.name in names}
    for factor in _FACTORS:
        for spatial in (True, False):
            values = {site.input: _scaled(site.x.sizes, case.drawn.feeds[site.input], factor, spatial) for site in fed}
            without = {name: value for name, value in values.items() if name not in defaults}
            for feeds in (case.drawn.feeds | values, case.drawn.feeds | defaults | without):
                if case.runner.run(feeds).error is None:
                    yield feeds


def is_other_than_fed(case: Case, result: Any, said: str) -> bool:
    """Whether a promotion is not proven for what no proof can know, or for what onnxruntime refuses the original, too:
    nothing is written then. What it makes unproven is judged at the drawn feeds all the same."""
    sources = getattr(result, "inputs", ())
    if "(the default optimisation level) the model does not run" in said:
        return is_contradiction(said) and _disputes_constants(case, sources, said)
    outputs = {driven.output for source in sources for driven in source.sites}
    computed = any(site.output in outputs and site.origin.kind.value == "computed" for site in case.sites)
    differs = "the new model differs from the original with these scales" in said
    return differs and computed and case.is_fed and _unfixed_by_feeds(case)


def _disputes_constants(case: Case, inputs: Any, said: str) -> bool:
    """Whether onnxruntime finds a contradiction in the original, too, with the scales that the failed proof names as
    constants in it: the branches of an If, say, which at the default level it believes to be of one size."""
    operands = {}
    for source in inputs:
        found = re.search(re.escape(source.name) + r"=\[([^\]]*)\]", said)
        if found is not None:
            value = [float(number) for number in found[1].split(",")]
            operands |= {driven.output: (driven.kind.value, driven.operand(value)) for driven in source.sites}
    ran = Runner(case.save_proto(baked(case.model, operands), "disputed"), optimized=True).run(case.drawn.feeds)
    return bool(operands) and is_contradiction(ran.error or "")


def _unfixed_by_feeds(case: Case) -> bool:
    """Whether the original, fed other values than those drawn for an input that decides a size, makes tensors of other
    sizes than the file fixes: what the file says of a chain that reads them is untrue there."""
    entries = (*case.model.graph.output, *case.model.graph.value_info)
    fixed = {
        entry.name: tuple(dim.dim_value for dim in entry.type.tensor_type.shape.dim)
        for entry in entries
        if entry.type.tensor_type.HasField("shape")
    }
    fixed = {name: dims for name, dims in fixed.items() if dims and all(dims)}
    shown = Runner(case.save_proto(visible(case.model, sorted(fixed)), "visible"))
    for feeds in feeds_that_run(case):
        made = shown.run(feeds).outputs
        if any(made[name].shape != fixed[name] for name in fixed.keys() & made.keys()):
            return True
    return False


def _scaled(sizes: tuple[int, ...], drawn: np.ndarray, factor: float, spatial: bool) -> np.ndarray:
    """What asks for an image of these sizes to be scaled by the factor: on its last two axes alone, or on all."""
    count = drawn.size
    scales = np.array([factor if at >= count - 2 or not spatial else 1.0 for at in range(count)])
    if drawn.dtype.kind == "f":
        return scales.astype(drawn.dtype).reshape(drawn.shape)
    whole = np.array(sizes[-count:] if count <= len(sizes) else [1] * count)
    return np.maximum(1, whole * scales).astype(drawn.dtype).reshape(drawn.shape)

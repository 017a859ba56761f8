"""What a proof may have fed: it does not know the values drawn for an input that decides how a node resizes."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx.numpy_helper import to_array
from random_graphs_case import Case
from random_graphs_claims import is_contradiction
from random_graphs_runs import Runner, baked, visible

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

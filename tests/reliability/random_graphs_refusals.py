"""Whether a refusal is true: each reason that promote-scales has, with what must hold in the model then."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from random_graphs_case import Case
from random_graphs_runs import Runner, baked


def _breaks(case: Case, output: str) -> bool:
    """Whether some other scale of this node alone breaks the model in onnxruntime, as it is or as it would be with the
    other nodes promoted too: one that read fixed sizes reads scales then, and no longer takes whatever comes."""
    others = {
        site.output: (
            "scales",
            [float(np.float32(value / size)) for value, size in zip(site.values, sizes, strict=True)],
        )
        for site in case.drawn.sites
        if site.output != output and (sizes := _unscaled(site))
    }
    return _breaks_beside(case, output, {}) or _breaks_beside(case, output, others)


def _unscaled(site: Any) -> list[int]:
    axes = site.spelling.axes or range(len(site.values))
    return [site.x.sizes[axis] if site.spelling.kind == "sizes" else 1 for axis in axes]


def _breaks_beside(case: Case, output: str, others: dict[str, Any]) -> bool:
    placed = _placed(case, output)
    sizes = placed.spelling.kind == "sizes"
    unscaled = _unscaled(placed)
    moving = [position for position, value in enumerate(placed.values) if value != unscaled[position]]
    for move in (lambda v: v * 2, lambda v: v * 1.5, lambda v: v * 1.25, lambda v: v + 1):
        values = list(placed.values)
        for position in moving or range(len(values)):
            values[position] = (
                max(1, int(move(values[position]))) if sizes else float(np.float32(move(values[position])))
            )
        model = baked(case.model, {**others, output: (placed.spelling.kind, values)})
        if Runner(case.save_proto(model, "coupled")).run(case.drawn.feeds).error is not None:
            return True
    return False


def _static(case: Case, output: str) -> bool:
    site = next(site for site in case.sites if site.output == output)
    return site.input_dims is not None and all(isinstance(size, int) and size for size in site.input_dims)


def _several(case: Case, output: str) -> bool:
    placed = _placed(case, output)
    axes = placed.spelling.axes or range(len(placed.values))
    sizes = [placed.x.sizes[axis] if placed.spelling.kind == "sizes" else 1 for axis in axes]
    return len({value / size for value, size in zip(placed.values, sizes, strict=True)}) > 1


# A part of the reason, and what must be true of the model and the site.
TRUTHS = (
    ("TensorRT refuses the node", lambda case, output: True),  # targets' own tests hold what parsers say
    ("another scale of", _breaks),
    ("scales are an attribute", lambda case, output: _kind(case, output) == "attribute"),
    ("already follow the graph input", lambda case, output: _kind(case, output) == "graph-input"),
    ("run-time data", lambda case, output: _kind(case, output) in ("runtime", "graph-input", "computed")),
    ("keep_aspect_ratio_policy", lambda case, output: _placed(case, output).spelling.policy),
    ("are computed", lambda case, output: _kind(case, output) in ("computed", "graph-input")),
    ("is not fixed in the file", lambda case, output: not _static(case, output)),
    ("scaled by different numbers", _several),
    ("is another scale, at which", lambda case, output: _placed(case, output).spelling.kind == "scales"),
    ("no float32 scale is", lambda case, output: _placed(case, output).spelling.kind == "sizes"),
    ("tf_crop_and_resize", lambda case, output: _placed(case, output).spelling.roi is not None),
    ("no whole number over", lambda case, output: True),
    ("has no input for sizes", lambda case, output: _placed(case, output).spelling.opset < 11),
    ("one shared input cannot", lambda case, output: len(case.sites) > 1),
    ("rank of its input is not known", lambda case, output: min(_placed(case, output).spelling.axes or (0,)) < 0),
    ("whatever the size of its input", lambda case, output: not _static(case, output)),
    ("onnxruntime samples by", lambda case, output: not _static(case, output)),
    ("no scales say", lambda case, output: _placed(case, output).spelling.kind == "sizes"),
)


def _placed(case: Case, output: str) -> Any:
    return next(site for site in case.drawn.sites if site.output == output)


def _kind(case: Case, output: str) -> str:
    return str(_placed(case, output).way.kind)


def assert_true_refusal(case: Case, outcome: Any, result: Any) -> None:
    """Raises where the reason is unknown here, names no node, or does not hold."""
    assert outcome.reason, "no reason"
    output = case.sites[outcome.index].output
    for part, holds in TRUTHS:
        if re.search(part, outcome.reason):
            assert holds(case, output), f"{output}: not true: {outcome.reason}"
            return
    raise AssertionError(f"{output}: a reason that no truth is written for: {outcome.reason}")

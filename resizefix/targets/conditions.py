"""Conditions that rules of several runtimes are made of; each looks at the facts of one node.

Local functions, and bodies of If, Loop and Scan, that a runtime does not enter.

Operators that are called Upsample or Resize and are another domain's: TensorRT's parsers take them for ONNX's.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from resizefix.shapes.output_size import inference_length
from resizefix.shapes.stored_shapes import ModelView
from resizefix.targets.collect_facts import foreign_domain_facts
from resizefix.targets.facts import OperandSource, SiteFacts
from resizefix.targets.target import Effect, Rule, Target, Violation, judge

S = OperandSource

WEIGHTS = frozenset({S.INITIALIZER, S.INITIALIZER_AND_INPUT, S.CONSTANT, S.UNKNOWN})
"""Sources that every parser holds as weights, not as a tensor of the network."""
STORED = WEIGHTS | {S.ATTRIBUTE, S.CONSTANT_LIST}
"""Sources whose value stands in the file as it is."""
FED = frozenset({S.INTEGER_INPUT, S.INTEGER_INPUT_COMPUTED, S.INTEGER_INPUT_DIVIDED, S.OTHER_INPUT, S.DATA})
"""Sources that decide while the model runs, whatever the sizes of its inputs are."""


def is_fed(f: SiteFacts) -> bool:
    """The scales or sizes are decided while the model runs, whatever the sizes of its inputs are."""
    return f.source in FED and f.values is None


def counts_from_the_front(f: SiteFacts) -> bool:
    """No axis is listed as counted from the end."""
    return all(axis >= 0 for axis in f.axes or ())


def scales_images_alone(f: SiteFacts) -> bool:
    """The scales of batch and channels, as far as they are known, are 1."""
    return all(scale == 1 for scale in (f.full_scales or ())[:2])


def trailing_ones(f: SiteFacts, most: int) -> bool:
    """At most the last `most` axes change, as far as scales or sizes and the input's shape are known."""
    rank = f.rank if f.rank is not None else (f.length if f.axes is None else None)
    return rank is None or f.resized_axes is None or all(axis >= rank - most for axis in f.resized_axes)


def output_sizes(f: SiteFacts) -> tuple[int | None, ...] | None:
    """The output's sizes: stored or inferred, else by scales or sizes where the input's are known."""
    if f.output_shape is not None:
        return f.output_shape
    if f.by_sizes:
        if f.values is None or f.axes is not None:
            return None
        return tuple(int(size) if math.isfinite(size) else None for size in f.values)
    scales = f.full_scales
    if scales is None or f.input_shape is None or len(scales) != len(f.input_shape):
        return None
    return tuple(
        inference_length(scale, size) if size is not None and math.isfinite(scale) else None
        for scale, size in zip(scales, f.input_shape, strict=True)
    )


def no_single_pixel_output(f: SiteFacts) -> bool:
    """No spatial output size is known to be 1."""
    sizes = output_sizes(f)
    return sizes is None or 1 not in sizes[2:]


def is_power_of_two(value: float) -> bool:
    """2^k for an integer k, negative ones too."""
    return math.frexp(value)[0] == 0.5


def ratio_is_scale(f: SiteFacts) -> bool:
    """Sampling by out/in is sampling by the scale: no product scale·size is known to have a fraction."""
    scales = f.full_scales
    if scales is None or f.coordinate_transformation_mode == "align_corners":
        return True
    shape = f.input_shape if f.input_shape is not None else (None,) * len(scales)
    return all(
        float(scale).is_integer() or (size is not None and float(scale * size).is_integer())
        for scale, size in zip(scales, shape, strict=False)
    )


def lists_all_in_order(f: SiteFacts) -> bool:
    """Where `axes` lists every axis, the values are those of the axes in order, so that `axes` need not be read."""
    if f.axes is None or not f.rank or len(f.axes) != f.rank or f.axes_in_order:
        return True
    if f.values is None or len(f.values) != f.rank:
        return False
    rank = f.rank
    pairs = zip((axis % rank for axis in f.axes), f.values, strict=True)
    return tuple(value for _, value in sorted(pairs)) == tuple(f.values)


def not_inside(containers: Collection[str]) -> Rule:
    """Bodies that a parser does not enter."""
    return Rule(
        name="body-is-imported",
        holds=lambda f: not f.enclosing & frozenset(containers),
        because=f"it stands in a body of {{f.bodies}}; this parser enters none of {', '.join(sorted(containers))}",
        fix="inline the function or take the branch out of the If before converting",
    )


FUNCTIONS_ARE_INLINED = Rule(
    name="functions-are-inlined",
    holds=lambda f: not f.calls_functions,
    because="the model calls local functions, which it does not know ({says})",
    fix="inline them: `resizefix legalize` does it",
)
"""A runtime that takes the call of a local function for an operator that it has not."""


def unentered(says: str, source: str, bodies: Collection[str] = (), **releases: str) -> tuple[Rule, ...]:
    """The rules of a runtime that knows no local functions, and enters none of these bodies."""
    rules = (FUNCTIONS_ARE_INLINED.saying(says), *((not_inside(bodies),) if bodies else ()))
    return tuple(rule.read_in(source).only(**releases) for rule in rules)


_SOURCE = "onnx-tensorrt a9a47bb … 96e7811, ModelImporter.cpp, parseNode; measured on TensorRT-RTX 1.7.1"


def foreign_domain_resizes(view: ModelView, target: Target) -> tuple[Violation, ...]:
    """A violation for each node that the target mistakes for a resize.

    Its parsers look importers up by the operator's name, whatever its domain, and before local functions. So such a
    node is refused where it has not the form of ONNX's operator, and otherwise computes what that does.
    """
    if target.runtime != "tensorrt":
        return ()
    return tuple(_violation(domain, facts, judge(target, facts)) for domain, facts in foreign_domain_facts(view))


def _violation(domain: str, facts: SiteFacts, as_resize: Sequence[Violation]) -> Violation:
    refusal = next((broken for broken in as_resize if broken.effect is Effect.REJECTED), None)
    fate = f"refuses it as such: {refusal.because}" if refusal else "computes that instead"
    return Violation(
        node=facts.node,
        rule="domain-is-overlooked",
        because=f"it is {facts.op_type} of the domain {domain}; this parser goes by the name alone, takes it for "
        f"ONNX's {facts.op_type}, and {fate}",
        source=_SOURCE,
        fix="rename the operator, and the local function if there is one, or inline that first "
        "(onnx.inliner.inline_local_functions)",
        effect=Effect.REJECTED if refusal else Effect.DIFFERENT,
    )

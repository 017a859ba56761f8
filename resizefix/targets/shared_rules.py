"""What rules of several runtimes are made of: conditions, each of the facts of one node, and rules about what a parser
takes.

`{says}` stands for the words of the runtime itself, which `Rule.saying` gives. Where a rule was read or measured
`read_in` says, else the table.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from onnx import TensorProto

from resizefix.shapes.output_size import inference_length
from resizefix.targets.facts import OperandSource, SiteFacts
from resizefix.targets.target import Rule

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


CAST = "put a Cast to float before the node and one back after it"
TRANSPOSE = "put a Transpose before the node and one behind it"
RESHAPE = "reshape around the node"
FIRST_CROP = "crop with Slice, then resize"
PLAIN_SIZES = "write the sizes that the policy leads to"
WHERE_WHOLE = "half_pixel is the same where in·scale is whole; else replace the node"
SYMMETRIC_WHERE_WHOLE = "half_pixel is half_pixel_symmetric where in·scale is whole; else replace the node"
EVERY_DIMENSION = "write one value per dimension instead"
INTEGERS = frozenset({TensorProto.INT8, TensorProto.UINT8, TensorProto.INT32, TensorProto.INT64})


def element_types(allowed: Collection[int]) -> Rule:
    """The types of X that a parser takes."""
    names = ", ".join(TensorProto.DataType.Name(elem_type).lower() for elem_type in sorted(allowed))
    return Rule(
        name="input-type",
        holds=lambda f: f.elem_type is None or f.elem_type in allowed,
        because=f"the tensor to resize is {{f.type_name}}; this parser resizes {names}",
        fix=CAST,
    )


def resize_modes(allowed: Collection[str]) -> Rule:
    """The spellings of `mode` that a parser takes at Resize from opset 11 on, where it looks at all."""
    return Rule(
        name="resize-mode",
        holds=lambda f: f.is_upsample or f.mode in allowed,
        because=f"mode is {{f.mode}}; this parser has {', '.join(sorted(allowed))}",
        fix="replace the node, or take a later release",
    )


def upsample_modes(allowed: Collection[str]) -> Rule:
    """The spellings of `mode` that a parser takes at Upsample."""
    rule = resize_modes(allowed)
    holds, because = (lambda f: not f.is_upsample or f.mode in allowed), f"{rule.because} for Upsample"
    return rule._replace(name="upsample-mode", holds=holds, because=because)


def coordinate_modes(
    allowed: Collection[str], then: str, fix: str = "write an equal mode, or replace the node"
) -> Rule:
    """The coordinate transformation modes that a runtime takes; `then`: the end of the sentence about others."""
    return Rule(
        name="coordinate-transformation-mode",
        holds=lambda f: f.coordinates is None or f.coordinates in allowed,
        because=f"coordinate_transformation_mode is {{f.coordinate_transformation_mode}}{then}",
        fix=fix,
    )


EXTENT_IS_CONSTANT = Rule(
    name="extent-is-constant",
    holds=lambda f: not is_fed(f),
    because="the {f.extent_name} come from {f.source.value}{says}",
    fix="freeze the scales",
)
"""Scales or sizes that the runtime must know when it loads the model."""
MODE_IS_WRITTEN = Rule(
    name="mode-is-written",
    holds=lambda f: "mode" in f.attributes,
    because="the attribute `mode` is not written, which {says}",
    fix="write mode=nearest",
)
"""A node without `mode`, which is nearest by the standard."""
NOT_RESIZE_10 = Rule(
    name="not-resize-10",
    holds=lambda f: not f.is_old_resize,
    because='Resize of opset 10 is read as a later one, whose second input is the roi ("{says}")',
    fix="raise the model to opset 11, or replace the node",
)
"""A parser that reads the second input as that of Resize-11."""
CONSTANT_IS_A_TENSOR = Rule(
    name="constant-is-a-tensor",
    holds=lambda f: f.source is not OperandSource.CONSTANT_LIST,
    because='the {f.extent_name} come from a Constant node with a list instead of a tensor ("{says}")',
    fix="make them an initializer",
)
"""A Constant node with the attribute value_floats or value_ints, which came with opset 12."""
OPERANDS_COME_FIRST = Rule(
    name="operands-come-first",
    holds=lambda f: not f.reads_ahead,
    because='a node that makes its {f.extent_name} stands behind it ("{says}")',
    fix="sort the nodes, or make them an initializer",
)
"""Nodes in another order than the standard asks for, which onnxruntime puts right."""
DOMAIN_IS_EMPTY = Rule(
    name="domain-is-empty",
    holds=lambda f: not f.names_its_domain,
    because='the node names its domain, ai.onnx ("{says}")',
    fix="leave the domain of the node empty",
)
"""The standard's operators belong to the domain "", which may be written as "ai.onnx"."""
# Not even where they change nothing: antialiasing, exclude_outside, an aspect policy.
NO_ANTIALIAS = Rule(
    "no-antialias",
    lambda f: not f.antialias,
    "{says}",
    fix="antialias=0 is nearly the same where no axis shrinks; else replace the node",
)
NO_EXCLUDE_OUTSIDE = Rule("no-exclude-outside", lambda f: not f.exclude_outside, "{says}")
STRETCH_ALONE = Rule("stretch-alone", lambda f: f.keep_aspect_ratio_policy == "stretch", "{says}", fix=PLAIN_SIZES)
NO_CROP = Rule("no-crop", lambda f: not f.crops, "{says}", fix=FIRST_CROP)
AXES_FROM_THE_FRONT = Rule(
    name="axes-from-the-front",
    holds=counts_from_the_front,
    because="axes are {f.axes}, counted from the end{says}",
    fix="count the axes from the front",
)

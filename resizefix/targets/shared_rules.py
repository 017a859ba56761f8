"""Rules that several runtimes have, each with values of its own: what they take, and what they say of the rest.

`says` is what the runtime itself prints. Where a rule was read or measured `read_in` says, else the table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from onnx import TensorProto

from resizefix.targets.conditions import is_fed
from resizefix.targets.facts import OperandSource, SiteFacts
from resizefix.targets.sampling import gives_samples
from resizefix.targets.target import Rule

CAST = "put a Cast to float before the node and one back after it"
TRANSPOSE = "put a Transpose before the node and one behind it"
RESHAPE = "reshape around the node"
NO_ANTIALIAS = "antialias=0 is nearly the same where no axis shrinks; else replace the node"
FIRST_CROP = "crop with Slice, then resize"
PLAIN_SIZES = "write the sizes that the policy leads to"
WHERE_WHOLE = "half_pixel is the same where in·scale is whole; else replace the node"
SYMMETRIC_WHERE_WHOLE = "half_pixel is half_pixel_symmetric where in·scale is whole; else replace the node"
EVERY_DIMENSION = "write one value per dimension instead"


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


def extent_is_constant(
    then: str,
    holds: Callable[[SiteFacts], bool] = lambda f: not is_fed(f),
    fix: str = "freeze the scales",
) -> Rule:
    """Scales or sizes that the runtime must know when it loads the model; `then`: how the reason ends."""
    return Rule(
        name="extent-is-constant",
        holds=holds,
        because=f"the {{f.extent_name}} come from {{f.source.value}}{then}",
        fix=fix,
    )


def output_is_not_empty(says: str, holds: Callable[[SiteFacts], bool] = gives_samples) -> Rule:
    """An axis that gets the length 0, which onnxruntime gives an empty output for."""
    return Rule(
        name="output-is-not-empty",
        holds=holds,
        because="an axis gets the length 0: the {f.extent_name} are {f.values}, the input is {f.shown_input_shape} "
        f'("{says}")',
        fix="resize by less, or feed larger inputs",
    )


def mode_is_written(then: str) -> Rule:
    """A node without `mode`, which is nearest by the standard; `then`: the end of the sentence about it."""
    return Rule(
        name="mode-is-written",
        holds=lambda f: "mode" in f.attributes,
        because=f"the attribute `mode` is not written, which {then}",
        fix="write mode=nearest",
    )


def not_resize_10(says: str) -> Rule:
    """A parser that reads the second input as that of Resize-11."""
    return Rule(
        name="not-resize-10",
        holds=lambda f: not f.is_old_resize,
        because=f'Resize of opset 10 is read as a later one, whose second input is the roi ("{says}")',
        fix="raise the model to opset 11, or replace the node",
    )


def no_antialias(because: str) -> Rule:
    """`antialias` is not taken, even where it changes nothing."""
    return Rule(name="no-antialias", holds=lambda f: not f.antialias, because=because, fix=NO_ANTIALIAS)


def no_exclude_outside(because: str) -> Rule:
    """`exclude_outside` is not taken, even where it changes nothing."""
    return Rule(name="no-exclude-outside", holds=lambda f: not f.exclude_outside, because=because)


def stretch_alone(because: str) -> Rule:
    """No aspect policy is taken, even where it changes nothing."""
    return Rule(
        name="stretch-alone",
        holds=lambda f: f.keep_aspect_ratio_policy == "stretch",
        because=because,
        fix=PLAIN_SIZES,
    )


def constant_is_a_tensor(says: str) -> Rule:
    """A Constant node with the attribute value_floats or value_ints, which came with opset 12."""
    return Rule(
        name="constant-is-a-tensor",
        holds=lambda f: f.source is not OperandSource.CONSTANT_LIST,
        because=f'the {{f.extent_name}} come from a Constant node with a list instead of a tensor ("{says}")',
        fix="make them an initializer",
    )


def operands_come_first(says: str) -> Rule:
    """Nodes in another order than the standard asks for, which onnxruntime puts right."""
    return Rule(
        name="operands-come-first",
        holds=lambda f: not f.reads_ahead,
        because=f'a node that makes its {{f.extent_name}} stands behind it ("{says}")',
        fix="sort the nodes, or make them an initializer",
    )


def domain_is_empty(says: str) -> Rule:
    """The standard's operators belong to the domain "", which may be written as "ai.onnx"."""
    return Rule(
        name="domain-is-empty",
        holds=lambda f: not f.names_its_domain,
        because=f'the node names its domain, ai.onnx ("{says}")',
        fix="leave the domain of the node empty",
    )


def not_inside(containers: Collection[str]) -> Rule:
    """Bodies that a parser does not enter."""
    return Rule(
        name="body-is-imported",
        holds=lambda f: not f.enclosing & frozenset(containers),
        because=f"it stands in a body of {{f.bodies}}; this parser enters none of {', '.join(sorted(containers))}",
        fix="inline the function or take the branch out of the If before converting",
    )

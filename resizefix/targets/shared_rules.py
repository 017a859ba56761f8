"""Rules that several runtimes have, each with values of its own: what they take, and what they say of the rest."""

from __future__ import annotations

from collections.abc import Collection

from onnx import TensorProto

from resizefix.targets.facts import OperandSource
from resizefix.targets.sampling import gives_samples
from resizefix.targets.target import Rule


def element_types(allowed: Collection[int], source: str) -> Rule:
    """The types of X that a parser takes."""
    names = ", ".join(TensorProto.DataType.Name(elem_type).lower() for elem_type in sorted(allowed))
    return Rule(
        name="input-type",
        holds=lambda f: f.elem_type is None or f.elem_type in allowed,
        because=f"the tensor to resize is {{f.type_name}}; this parser resizes {names}",
        source=source,
        fix="put a Cast to float before the node and one back after it",
    )


def resize_modes(allowed: Collection[str], source: str) -> Rule:
    """The spellings of `mode` that a parser takes at Resize from opset 11 on, where it looks at all."""
    return Rule(
        name="resize-mode",
        holds=lambda f: f.is_upsample or f.mode in allowed,
        because=f"mode is {{f.mode}}; this parser has {', '.join(sorted(allowed))}",
        source=source,
        fix="replace the node, or take a later release",
    )


def upsample_modes(allowed: Collection[str], source: str) -> Rule:
    """The spellings of `mode` that a parser takes at Upsample."""
    return Rule(
        name="upsample-mode",
        holds=lambda f: not f.is_upsample or f.mode in allowed,
        because=f"mode is {{f.mode}}; this parser has {', '.join(sorted(allowed))} for Upsample",
        source=source,
        fix="replace the node, or take a later release",
    )


def coordinate_modes(allowed: Collection[str], says: str, source: str) -> Rule:
    """The coordinate transformation modes that a parser takes, and what it says of others."""
    return Rule(
        name="coordinate-transformation-mode",
        holds=lambda f: not f.has_coordinates or f.coordinate_transformation_mode in allowed,
        because=f'coordinate_transformation_mode is {{f.coordinate_transformation_mode}} ("{says}")',
        source=source,
        fix="rewrite it in an equal mode where there is one",
    )


def output_is_not_empty(says: str, source: str) -> Rule:
    """An axis that gets the length 0, which onnxruntime gives an empty output for."""
    return Rule(
        name="output-is-not-empty",
        holds=gives_samples,
        because="an axis gets the length 0: the {f.extent_name} are {f.values}, the input is {f.shown_input_shape} "
        f'("{says}")',
        source=source,
        fix="resize by less, or feed larger inputs",
    )


def mode_is_written(says: str, source: str) -> Rule:
    """A node without `mode`, which is nearest by the standard."""
    return Rule(
        name="mode-is-written",
        holds=lambda f: "mode" in f.attributes,
        because=f'the attribute `mode` is not written, which this parser asks for ("{says}")',
        source=source,
        fix="write mode=nearest",
    )


def constant_is_a_tensor(says: str, source: str) -> Rule:
    """A Constant node with the attribute value_floats or value_ints, which came with opset 12."""
    return Rule(
        name="constant-is-a-tensor",
        holds=lambda f: f.source is not OperandSource.CONSTANT_LIST,
        because=f'the {{f.extent_name}} come from a Constant node with a list instead of a tensor ("{says}")',
        source=source,
        fix="make them an initializer",
    )


def operands_come_first(says: str, source: str, *, since: str = "", until: str = "") -> Rule:
    """Nodes in another order than the standard asks for, which onnxruntime puts right."""
    return Rule(
        name="operands-come-first",
        holds=lambda f: not f.reads_ahead,
        because=f'a node that makes its {{f.extent_name}} stands behind it ("{says}")',
        source=source,
        since=since,
        until=until,
        fix="sort the nodes, or make them an initializer",
    )


def domain_is_empty(says: str, source: str) -> Rule:
    """The standard's operators belong to the domain "", which may be written as "ai.onnx"."""
    return Rule(
        name="domain-is-empty",
        holds=lambda f: not f.names_its_domain,
        because=f'the node names its domain, ai.onnx ("{says}")',
        source=source,
        fix="leave the domain of the node empty",
    )


def not_inside(containers: Collection[str], source: str) -> Rule:
    """Bodies that a parser does not enter."""
    return Rule(
        name="body-is-imported",
        holds=lambda f: not f.enclosing & frozenset(containers),
        because=f"it stands in a body of {{f.bodies}}; this parser enters none of {', '.join(sorted(containers))}",
        source=source,
        fix="inline the function or take the branch out of the If before converting",
    )

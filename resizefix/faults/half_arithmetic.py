"""Scales or sizes that are computed in half precision out of the sizes of tensors.

A conversion to float16 turns the arithmetic of sizes into float16, too (tensorflow-onnx#2305). float16 holds no odd
number above 2048, bfloat16 none above 256, so that the output is a pixel too long or too short; quotients are rounded
at every size. onnxruntime 1.32.0 computes Mul, Add and Div of float16 in float32 on the CPU, and in float16 where it
folds constants (measured): there the same file makes other sizes once its input is of fixed size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import NamedTuple

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

from resizefix.diagnostics import Diagnostic
from resizefix.document.edits import NodeEdit, apply_around
from resizefix.document.scopes import DEFAULT_DOMAINS
from resizefix.document.values import Array
from resizefix.faults.fault import Fault, Preferences
from resizefix.faults.resize_node import FLOAT, INT64, Operand, ResizeNode
from resizefix.faults.types import plain_fraction
from resizefix.shapes.operand import attribute_of
from resizefix.shapes.stored_shapes import ModelView, fixed_values

HALF_ARITHMETIC = "half-arithmetic"

# The largest whole number up to which each type holds every one: 11 and 8 bits of a significand.
_EXACT_TO: Mapping[int, int] = {TensorProto.FLOAT16: 2048, TensorProto.BFLOAT16: 256}
_INTEGERS = frozenset({TensorProto.INT64, TensorProto.INT32, TensorProto.INT16, TensorProto.INT8, TensorProto.UINT8})
# Operators that mean the same of int64 as of real numbers, where these are whole.
_ROUNDING = frozenset({"Ceil", "Floor", "Round"})  # a whole number stays as it is
_IN_INTEGERS = _ROUNDING | {
    *("Add", "Cast", "Concat", "Gather", "Identity", "Mul", "Reshape", "Slice", "Squeeze", "Sub", "Transpose"),
    "Unsqueeze",
}
# Those that float32 computes as the export did before it was converted.
_IN_FLOATS = _IN_INTEGERS | {"Div", "Expand", "Max", "Min", "Neg"}


class _Chain(NamedTuple):
    """The nodes by which an operand depends on half precision, in order, and the constants of that type."""

    links: Sequence[NodeProto]
    constants: Mapping[str, Array]
    half: int


def half_arithmetic(node: ResizeNode, _: Preferences) -> Fault | None:
    """Sizes or scales out of arithmetic in float16 or bfloat16 that begins at sizes of tensors."""
    for what in ("scales", "sizes"):
        operand = node.operands.get(node.places.get(what, -1))
        chain = None if operand is None or operand.value is not None else _chain(node, operand)
        if operand is None or chain is None:
            continue
        kind = helper.tensor_dtype_to_np_dtype(chain.half).name
        because = Diagnostic("faults.half-arithmetic", what=what, kind=kind, largest=_EXACT_TO[chain.half])
        strange = next((link for link in chain.links if not _is_among(link, _IN_FLOATS)), None)
        if strange is not None:
            label = strange.name or strange.output[0]
            fix = Diagnostic("faults.half-not-rewritten", operator=strange.op_type, label=label)
            return Fault(HALF_ARITHMETIC, because, fix, keeps_numbers=False)
        wide = INT64 if _is_whole(node, chain) else FLOAT
        change = _widened(node, operand, chain, wide)
        if _is_right_already(node, operand, change):
            continue
        fix = Diagnostic("faults.computed-in", kind="int64" if wide == INT64 else "float32")
        return Fault(HALF_ARITHMETIC, because, fix, change, keeps_numbers=False)
    return None


def _is_among(link: NodeProto, operators: frozenset[str]) -> bool:
    return link.domain in DEFAULT_DOMAINS and link.op_type in operators


def _chain(node: ResizeNode, operand: Operand) -> _Chain | None:
    """What computes the operand by half precision; None where nothing does, or it depends on what is fed or on data."""
    links = sorted(node.chain(operand.name))
    outputs = {name for _, link in links for name in link.output if name}
    first = next((half for name in outputs if (half := node.type_of(name)) in _EXACT_TO), None)
    if first is None or not any(link.op_type in ("Shape", "Size") for _, link in links):
        return None
    constants: dict[str, Array] = {}
    moved: set[str] = set()
    halves: list[NodeProto] = []
    for _, link in links:
        if link.op_type in ("Shape", "Size", "Constant"):
            continue
        for name in filter(None, link.input):
            value = node.value_of(name)
            if value is None and name not in outputs:
                return None
            if value is not None and node.type_of(name) in _EXACT_TO:
                constants[name] = value
        computed = any(node.value_of(name) is None for name in link.output)
        begins = link.op_type == "Cast" and node.type_of(link.output[0]) in _EXACT_TO
        if computed and (begins or moved & set(link.input)):
            moved.update(link.output)
            halves.append(link)
    half = next((half for link in halves if (half := node.type_of(link.output[0])) in _EXACT_TO), None)
    return _Chain(halves, constants, half) if half is not None and operand.name in moved else None


def _is_whole(node: ResizeNode, chain: _Chain) -> bool:
    """Whether every number of the chain is whole: it begins at integers, and nothing divides."""
    for link in chain.links:
        if not _is_among(link, _IN_INTEGERS):
            return False
        enters = link.op_type == "Cast" and node.type_of(link.output[0]) in _EXACT_TO
        if enters and node.type_of(link.input[0]) not in {*_INTEGERS, *_EXACT_TO}:
            return False
        if link.op_type == "Cast" and attribute_of(link, "to", 0) not in {*_INTEGERS, *_EXACT_TO}:
            return False
    read = {name for link in chain.links for name in link.input}
    return all(_holds_whole(value) for name, value in chain.constants.items() if name in read)


def _holds_whole(value: Array) -> bool:
    numbers = value.astype(np.float64)
    return bool(np.all(np.isfinite(numbers)) and np.array_equal(numbers, np.round(numbers)))


def _widened(node: ResizeNode, operand: Operand, chain: _Chain, wide: int) -> NodeEdit:
    """The chain written anew in a wider type before the node; what else reads the old one keeps it."""
    names: dict[str, str] = {}
    before: list[NodeProto] = []
    for name in dict.fromkeys(name for link in chain.links for name in link.input if name in chain.constants):
        tensor = numpy_helper.from_array(_unrounded(chain.constants[name], wide), node.names.fresh(f"{name}_wide"))
        names[name] = tensor.name
        before.append(helper.make_node("Constant", [], [tensor.name], name=tensor.name, value=tensor))
    widened = set(names)  # of the wider type now; an integer of another type is not
    for link in chain.links:
        to = attribute_of(link, "to", 0) if link.op_type == "Cast" else None
        becomes_wide = to in (*_EXACT_TO, wide) or (to is None and bool(widened & set(link.input)))
        if becomes_wide:
            widened.update(link.output)
        if link.input[0] in widened and ((to is not None and becomes_wide) or _is_whole_already(link, wide)):
            names[link.output[0]] = names[link.input[0]]
            continue
        copy = deepcopy(link)
        fresh = {name: node.names.fresh(f"{name}_wide") for name in link.output if name}
        copy.name = fresh[link.output[0]]
        copy.input[:] = [names.get(name, name) for name in link.input]
        copy.output[:] = [fresh.get(name, name) for name in link.output]
        names.update(fresh)
        if to in _EXACT_TO:
            del copy.attribute[:]
            copy.attribute.append(helper.make_attribute("to", wide))
        before.append(copy)
    changed = node.with_input(operand.position, names[operand.name])
    return NodeEdit(changed, before=before, resized=True)


def _is_whole_already(link: NodeProto, wide: int) -> bool:
    """Whether the node rounds what is whole in the wider type."""
    return wide == INT64 and link.op_type in _ROUNDING


def _unrounded(value: Array, wide: int) -> Array:
    """The constant in the wider type: the simple fraction, else the shortest decimal number, that was rounded to it."""
    if wide == INT64:
        return value.astype(np.int64)
    plain = [_plain(number) for number in value.reshape(-1)]
    return np.array(plain, np.float32).reshape(value.shape)


def _plain(number: np.generic) -> float:
    given, rounded = float(number), number.dtype.type
    if not np.isfinite(given) or given <= 0 or given.is_integer():
        return given
    near = plain_fraction(given, lambda factor: bool(rounded(factor) == number))
    return float(str(number)) if near is None else float(near)


def _is_right_already(node: ResizeNode, operand: Operand, change: NodeEdit) -> bool:
    """Whether the sizes that the file fixes give the same numbers in both types."""
    old = node.surroundings.at_sizes().array(node.scope, operand.name)
    if old is None:
        return False
    document = node.view.document.copy()
    scope = ModelView(document).scopes.by_path[node.scope.path]
    apply_around(document.proto, scope.body, node.index, change)
    view = ModelView(document)
    scope = view.scopes.by_path[node.scope.path]
    assert change.node is not None
    new = fixed_values(view, None).array(scope, change.node.input[operand.position])
    return new is not None and np.array_equal(old, new)

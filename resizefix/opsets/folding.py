"""Chains of constants are computed once, so that what newer opsets feed as inputs can become attributes.

A closed list of operators, each a function on numpy arrays that gives the bits onnxruntime's kernel gives: moves of
data, integer arithmetic, and the float operations that IEEE 754 defines exactly. What could differ (a division by zero,
a cast out of range) is left as it is. Shape and Size are constants where the sizes they ask for are fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, ValueInfoProto, helper, numpy_helper

from resizefix.document.names import FreshNames
from resizefix.document.scopes import DEFAULT_DOMAINS, Scope, node_label
from resizefix.opsets.constants import place_constant, replace_nodes
from resizefix.opsets.inference import Array, ValueOf
from resizefix.opsets.knowledge import LARGEST, Knowledge
from resizefix.opsets.prune import Unread
from resizefix.opsets.signatures import since_version
from resizefix.opsets.verdict import Step

Inputs = Sequence["Array | None"]

Rule = Callable[[dict[str, Any], Inputs], "Array | list[Array]"]


class NotFoldable(ValueError):
    """The value would depend on the runtime, or cannot be had."""


def fold(model: ModelProto, value_of: ValueOf, unread: Unread) -> tuple[Knowledge, list[Step]]:
    """Fold until nothing more folds: a shape found in one round may fix another in the next.

    Returns what is known of the folded model, and a step for each node that went.
    """
    steps: list[Step] = []
    while True:
        knowledge = Knowledge(model, value_of)
        found = _round(knowledge)
        if not found:
            return knowledge, steps
        steps += found
        unread.remove(model)


def _round(knowledge: Knowledge) -> list[Step]:
    steps: list[Step] = []
    names = FreshNames(knowledge.scopes.names())
    folded: list[tuple[GraphProto, dict[int, list[tuple[str, Array]]]]] = []
    for scope in knowledge.scopes.all:
        if not isinstance(scope.body, GraphProto):
            continue
        here: dict[int, list[tuple[str, Array]]] = {}
        for index, node in enumerate(scope.body.node):
            values = _values(node, scope, knowledge)
            if values is None:
                continue
            here[index] = list(zip(node.output, values, strict=True))
            for name, value in here[index]:
                knowledge.learn(scope, name, value)
            since = since_version(node.op_type, scope.opset)
            steps.append(Step(node_label(node, index), node.op_type, since, "folded to a constant"))
        folded.append((scope.body, here))
    for graph, here in reversed(folded):  # inner bodies first: nodes of an outer graph are copied
        if here:
            _replace(graph, here, names)
    return steps


def _replace(graph: GraphProto, folded: dict[int, list[tuple[str, Array]]], names: FreshNames) -> None:
    nodes: list[NodeProto] = []
    for index, node in enumerate(graph.node):
        if index not in folded:
            nodes.append(node)
            continue
        for name, value in folded[index]:
            place_constant(
                graph, nodes, numpy_helper.from_array(np.ascontiguousarray(value).reshape(value.shape)), name, names
            )
    replace_nodes(graph, nodes)


def _values(node: NodeProto, scope: Scope, knowledge: Knowledge) -> list[Array] | None:
    if node.domain not in DEFAULT_DOMAINS or not all(node.output):
        return None
    attributes = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    if node.op_type in ("Shape", "Size"):
        dims = knowledge.dims(scope, node.input[0])
        if dims is None:
            return None
        wanted = dims[_int(attributes, "start", 0) : attributes.get("end")] if node.op_type == "Shape" else dims
        if None in wanted:
            return None
        sizes = np.array(wanted, np.int64)
        return [sizes if node.op_type == "Shape" else np.array(np.prod(sizes, dtype=np.int64))]
    rule = RULES.get(node.op_type)
    if rule is None or (node.op_type == "Identity" and node.output[0] in _outputs(scope)):
        return None  # an output of the graph that is constant is an Identity of its value already
    inputs = [knowledge.constant(scope, name) if name else None for name in node.input]
    if any(name and value is None for name, value in zip(node.input, inputs, strict=True)):
        return None
    try:
        result = rule(attributes, inputs)
    except (NotFoldable, ValueError, IndexError, TypeError, OverflowError):
        return None  # an invalid node, or one whose value is the runtime's choice: left as it is
    values = [np.asarray(value) for value in (result if isinstance(result, list) else [result])]
    # Splitting aside, every rule has one output; a result that is too large is not worth its bytes in the file.
    return values if len(values) == len(node.output) and sum(value.size for value in values) <= LARGEST else None


def _outputs(scope: Scope) -> set[str]:
    return {value.name for value in scope.body.output if isinstance(value, ValueInfoProto)}


def _int(attributes: dict[str, Any], name: str, default: int) -> int:
    return int(attributes.get(name, default))


def _operand(inputs: Inputs, position: int) -> Array:
    value = inputs[position] if position < len(inputs) else None
    if value is None:
        raise NotFoldable
    return value


def _listed(attributes: dict[str, Any], name: str, inputs: Inputs, position: int) -> list[int] | None:
    """Integers of an attribute (older versions) or an input (newer ones)."""
    if name in attributes:
        return [int(value) for value in attributes[name]]
    value = inputs[position] if position < len(inputs) else None
    return None if value is None else [int(number) for number in value.reshape(-1)]


def _cast(attributes: dict[str, Any], inputs: Inputs) -> Array:
    source = _operand(inputs, 0)
    wanted = np.dtype(helper.tensor_dtype_to_np_dtype(attributes["to"]))
    if source.dtype.kind not in "fiub" or wanted.kind not in "fiub":
        raise NotFoldable
    if source.dtype.kind == "f" and wanted.kind in "iu":
        limits = np.iinfo(wanted)
        if not (np.isfinite(source).all() and (source > limits.min - 1.0).all() and (source < limits.max + 1.0).all()):
            raise NotFoldable
    return source.astype(wanted)


def _slice(attributes: dict[str, Any], inputs: Inputs) -> Array:
    data = _operand(inputs, 0)
    starts, ends = _listed(attributes, "starts", inputs, 1), _listed(attributes, "ends", inputs, 2)
    if starts is None or ends is None:
        raise NotFoldable
    axes = _listed(attributes, "axes", inputs, 3) or list(range(len(starts)))
    steps = _listed({}, "steps", inputs, 4) or [1] * len(starts)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        # Slice-10: a negative end counts from the back, and one still negative lies before the first element.
        positions = range(*slice(start, end, step).indices(data.shape[axis]))
        data = np.take(data, np.array(positions, np.int64), axis)
    return data


def _reshape(attributes: dict[str, Any], inputs: Inputs) -> Array:
    data, wanted = _operand(inputs, 0), [int(size) for size in _operand(inputs, 1)]
    if not _int(attributes, "allowzero", 0):
        wanted = [data.shape[axis] if size == 0 else size for axis, size in enumerate(wanted)]
    return data.reshape(wanted)


def _unsqueeze(attributes: dict[str, Any], inputs: Inputs) -> Array:
    axes = _listed(attributes, "axes", inputs, 1)
    if axes is None:
        raise NotFoldable
    return np.expand_dims(_operand(inputs, 0), tuple(axes))


def _squeeze(attributes: dict[str, Any], inputs: Inputs) -> Array:
    axes = _listed(attributes, "axes", inputs, 1)
    return np.squeeze(_operand(inputs, 0), tuple(axes) if axes else None)


def _divide(attributes: dict[str, Any], inputs: Inputs) -> Array:
    left, right = _operand(inputs, 0), _operand(inputs, 1)
    if left.dtype.kind == "f":
        return np.divide(left, right)
    if left.dtype.kind not in "iu" or (right == 0).any():
        raise NotFoldable
    quotient = np.abs(left) // np.abs(right)  # integers divide towards zero, as in C++
    return np.where((left < 0) ^ (right < 0), -quotient, quotient).astype(left.dtype)


def _modulo(attributes: dict[str, Any], inputs: Inputs) -> Array:
    left, right = _operand(inputs, 0), _operand(inputs, 1)
    if left.dtype.kind not in "iu" or (right == 0).any():
        raise NotFoldable
    return np.fmod(left, right) if _int(attributes, "fmod", 0) else np.mod(left, right)


def _constant_of_shape(attributes: dict[str, Any], inputs: Inputs) -> Array:
    filled = numpy_helper.to_array(attributes["value"]) if "value" in attributes else np.zeros(1, np.float32)
    return np.full([int(size) for size in _operand(inputs, 0)], filled.reshape(-1)[0], filled.dtype)


def _range(attributes: dict[str, Any], inputs: Inputs) -> Array:
    start, limit, delta = (_operand(inputs, position).reshape(-1)[0] for position in range(3))
    if start.dtype.kind not in "iu" or delta == 0:
        raise NotFoldable
    return np.array(range(int(start), int(limit), int(delta)), start.dtype)


def _reduced(compute: Callable[..., Array]) -> Rule:
    def rule(attributes: dict[str, Any], inputs: Inputs) -> Array:
        data = _operand(inputs, 0)
        if data.dtype.kind not in "iu":  # the order of float sums is the runtime's choice
            raise NotFoldable
        axes = _listed(attributes, "axes", inputs, 1)
        if not axes and _int(attributes, "noop_with_empty_axes", 0):
            return data
        kept = bool(_int(attributes, "keepdims", 1))
        return np.asarray(compute(data, axis=tuple(axes) if axes else None, keepdims=kept)).astype(data.dtype)

    return rule


def _ordered(compute: Callable[[Array, Array], Array]) -> Rule:
    """For operators on any number of operands whose answer on NaN is the runtime's choice."""

    def rule(attributes: dict[str, Any], inputs: Inputs) -> Array:
        operands = [_operand(inputs, position) for position in range(len(inputs))]
        if any(value.dtype.kind not in "fiu" or not (value == value).all() for value in operands):
            raise NotFoldable
        result = operands[0]
        for value in operands[1:]:
            result = compute(result, value)
        return result

    return rule


def _plain(compute: Callable[..., Array]) -> Rule:
    """For operators that are a function of their operands alone."""

    def rule(attributes: dict[str, Any], inputs: Inputs) -> Array:
        operands = [_operand(inputs, position) for position in range(len(inputs))]
        with np.errstate(all="ignore"):
            return np.asarray(compute(*operands))

    return rule


def _gather(attributes: dict[str, Any], inputs: Inputs) -> Array:
    return np.take(_operand(inputs, 0), _operand(inputs, 1).astype(np.int64), _int(attributes, "axis", 0))


def _concat(attributes: dict[str, Any], inputs: Inputs) -> Array:
    return np.concatenate([_operand(inputs, position) for position in range(len(inputs))], attributes["axis"])


def _transpose(attributes: dict[str, Any], inputs: Inputs) -> Array:
    return np.transpose(_operand(inputs, 0), attributes.get("perm"))


def _split(attributes: dict[str, Any], inputs: Inputs) -> list[Array]:
    lengths = _listed(attributes, "split", inputs, 1)
    if lengths is None:
        raise NotFoldable
    return np.split(_operand(inputs, 0), np.cumsum(lengths)[:-1], _int(attributes, "axis", 0))


def _expand(data: Array, shape: Array) -> Array:
    return np.broadcast_to(data, np.broadcast_shapes(data.shape, tuple(int(size) for size in shape)))


# Versions of one operator differ only in where they keep axes and the like; every function looks in both places.
RULES: dict[str, Rule] = {
    "Identity": _plain(lambda x: x),
    "Cast": _cast,
    "Gather": _gather,
    "Concat": _concat,
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Slice": _slice,
    "Reshape": _reshape,
    "Transpose": _transpose,
    "Split": _split,
    "Expand": _plain(_expand),
    "Tile": _plain(lambda x, repeats: np.tile(x, [int(count) for count in repeats])),
    "ConstantOfShape": _constant_of_shape,
    "Range": _range,
    "Add": _plain(np.add),
    "Sub": _plain(np.subtract),
    "Mul": _plain(np.multiply),
    "Div": _divide,
    "Mod": _modulo,
    "Neg": _plain(np.negative),
    "Abs": _plain(np.abs),
    "Floor": _plain(np.floor),
    "Ceil": _plain(np.ceil),
    "Equal": _plain(np.equal),
    "Less": _plain(np.less),
    "LessOrEqual": _plain(np.less_equal),
    "Greater": _plain(np.greater),
    "GreaterOrEqual": _plain(np.greater_equal),
    "Not": _plain(np.logical_not),
    "And": _plain(np.logical_and),
    "Or": _plain(np.logical_or),
    "Where": _plain(np.where),
    "Min": _ordered(np.minimum),
    "Max": _ordered(np.maximum),
    "ReduceProd": _reduced(np.prod),
    "ReduceSum": _reduced(np.sum),
    "ReduceMin": _reduced(np.min),
    "ReduceMax": _reduced(np.max),
}

"""The types of a node's outputs, symbols included, from what it reads. Nodes that differ in names are asked once.

Three things are said here that onnx's inference of one node does not know: what a list of sizes makes of which not all
are numbers, what bodies are given, and what If, Loop and Scan make of what their bodies give.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from onnx import NodeProto, TensorProto, TypeProto

from resizefix.dialects.dialect import RESIZES
from resizefix.document.scopes import DEFAULT_DOMAINS, is_operator
from resizefix.document.values import Array, Dims
from resizefix.shapes.expression import Computed, Dim, Expression, Number
from resizefix.shapes.inference import ConflictError, NumberReading, Numbers, UnknownSizesError, by_schema, infer
from resizefix.shapes.operand import attribute_of
from resizefix.shapes.output_size import REDUCTIONS
from resizefix.shapes.table import row_for_numbers, why_incomplete
from resizefix.shapes.value_types import (
    TensorType,
    ValueType,
    as_proto,
    common,
    dims_of,
    has_negative,
    merged,
    of_known_rank,
    stacked,
    type_in,
    without_shape,
)

Outputs = Sequence["ValueType | None"]

# What comes out of these depends on the values of what they read: of all operands, or of those behind the first.
_BY_ALL = frozenset({"BlackmanWindow", "ConstantOfShape", "HammingWindow", "HannWindow", "MelWeightMatrix", "Range"})
_BY_OTHERS = REDUCTIONS | frozenset(
    {"AffineGrid", "CenterCropPad", "Col2Im", "DFT", "Expand", "MaxUnpool", "OneHot", "Pad", "Reshape", "Resize"}
    | {"STFT", "Slice", "Split", "SplitToSequence", "Squeeze", "Tile", "TopK", "Unsqueeze", "Upsample"}
    | {
        f"Reduce{name}"
        for name in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
    }
)

# The operand that lists the sizes of what comes out, or how often an axis is repeated.
_LISTING = {"ConstantOfShape": 0, "Reshape": 1, "Expand": 1, "Tile": 1, "Resize": 3}
_RANKED = frozenset({"ConstantOfShape", "Reshape", "Expand"})  # which the list gives their rank
_INTEGERS = frozenset({"int32", "int64"})  # no tensor is so long that 32 bits do not hold its size
_BEFORE_STATES = 2  # the inputs of a Loop and of its body that are none of its states


def first_value_read(node: NodeProto) -> int:
    """The first operand whose value decides about sizes; one that the node does not have where none does."""
    if node.op_type in _BY_OTHERS:
        return 1
    return 0 if node.op_type in _BY_ALL else len(node.input)


class NodeTypes:
    """Answers; results are remembered. `as_runtime`: only what onnxruntime infers when it loads a model, which takes
    ranks from lists of numbers alone, and has no rows."""

    def __init__(self, *, as_runtime: bool = False) -> None:
        self._as_runtime = as_runtime
        self._numbers = Numbers()
        self._by_names: dict[tuple[object, ...], Outputs] = {}
        self._by_kind: dict[tuple[object, ...], Outputs] = {}

    def outputs(
        self,
        node: NodeProto,
        versions: tuple[int, int],
        types: Sequence[ValueType | None],
        values: Sequence[Array | Dims | None],
        value_of: Callable[[str], Array | None],
    ) -> Outputs:
        """`versions` of the node's domain and of ai.onnx; `values` of the operands from `first_value_read` on, None for
        the others. `value_of` gives the numbers of any."""
        attributes = tuple([attribute.SerializeToString() for attribute in node.attribute]) if node.attribute else ()
        present = tuple(map(bool, node.input)) if "" in node.input else len(node.input)
        alike = node.op_type, node.domain, versions, attributes, present, len(node.output)
        key = alike, tuple(types), tuple(map(_as_key, values)) if values else ()
        outputs = self._by_names.get(key)
        if outputs is None:
            naming = Naming(types, values)
            renamed = alike, naming.key
            counted = self._by_kind.get(renamed)
            if counted is None:
                counted = self._by_kind[renamed] = self._asked(node, versions, naming, value_of)
            outputs = self._by_names[key] = naming.back(counted)
        return outputs

    def _asked(
        self, node: NodeProto, versions: tuple[int, int], naming: Naming, value_of: Callable[[str], Array | None]
    ) -> Outputs:
        version, opset = versions
        protos = dict(zip(node.input, map(_proto, naming.types), strict=True))
        arrays = {
            name: value for name, value in zip(node.input, naming.values, strict=False) if isinstance(value, np.ndarray)
        }
        if node.domain in DEFAULT_DOMAINS and node.op_type in RESIZES:
            inferred = by_schema(node, _lenient(node, version), protos.get, arrays.get)
        elif node.domain in DEFAULT_DOMAINS:
            inferred = infer(node, version, protos.get, arrays.get, {})
        else:
            inferred = by_schema(node, version, protos.get, arrays.get)
        types = [type_in(inferred[name], keep_negative=True) if name in inferred else None for name in node.output]
        if types and node.domain in DEFAULT_DOMAINS:
            types[0] = _by_list(node, naming, _of_resize(node, naming, types[0]))
        if self._as_runtime and node.op_type in _RANKED and not isinstance(naming.value(node), np.ndarray):
            types[:1] = map(without_shape, types[:1])
        if self._as_runtime or all(isinstance(kind, TensorType) and kind.numbers is not None for kind in types):
            return types
        sizes = self._by_row(node, opset, naming, value_of)
        return [_completed(kind, dims) for kind, dims in zip(types, sizes, strict=True)] if sizes else types

    def _by_row(
        self, node: NodeProto, opset: int, naming: Naming, value_of: Callable[[str], Array | None]
    ) -> list[tuple[int, ...] | None]:
        """What the row of a node says, where all sizes that it reads are numbers."""
        if row_for_numbers(node, opset) is None or why_incomplete(node, opset) is not None:
            return []
        operands = _Operands(dict(zip(node.input, naming.types, strict=True)), value_of)
        if any(operands.dims(name, 0) is None for name in node.input if name):
            return []
        try:
            sizes = NumberReading(operands, self._numbers, node, opset).made(0)
        except (ConflictError, UnknownSizesError):
            return []
        return [*sizes, *[None] * (len(node.output) - len(sizes))][: len(node.output)]


class _Operands:
    """What a node reads, for a row."""

    def __init__(self, types: Mapping[str, ValueType | None], value_of: Callable[[str], Array | None]) -> None:
        self._types, self._value_of = types, value_of

    def dims(self, name: str, case: int) -> tuple[int, ...] | None:
        kind = self._types.get(name)
        return kind.numbers if isinstance(kind, TensorType) and not has_negative(kind) else None

    def value(self, name: str, case: int) -> Array | None:
        return self._value_of(name)

    def type_of(self, name: str, case: int) -> TypeProto | None:
        return _proto(self._types.get(name))


class Naming:
    """What a node or a call reads with its symbols counted in their order."""

    def __init__(self, types: Sequence[ValueType | None], values: Sequence[Array | Dims | None]) -> None:
        self._counted: dict[str, str] = {}
        self.types = [self._type(kind) for kind in types]
        self.values = [self._sizes(value) if isinstance(value, tuple) else value for value in values]
        self.key = tuple(self.types), tuple(map(_as_key, self.values))

    def value(self, node: NodeProto) -> Array | Dims | None:
        """The list of sizes that a node reads."""
        position = _LISTING.get(node.op_type, len(self.values))
        return self.values[position] if position < len(self.values) else None

    def _type(self, kind: ValueType | None) -> ValueType | None:
        if not isinstance(kind, TensorType) or kind.dims is None or kind.numbers is not None:
            return kind
        return TensorType(kind.elem_type, self._sizes(kind.dims))

    def _sizes(self, sizes: Dims) -> Dims:
        counted = self._counted
        return tuple([counted.setdefault(size, str(len(counted))) if isinstance(size, str) else size for size in sizes])

    def back(self, types: Outputs, invent: Callable[[], str] | None = None) -> Outputs:
        """The types with the symbols that were counted; in place of each other symbol a new one, with `invent`."""
        if not self._counted and invent is None:
            return types
        names = {number: name for name, number in self._counted.items()}
        return [self._named(kind, names, invent) for kind in types]

    @staticmethod
    def _named(kind: ValueType | None, names: dict[str, str], invent: Callable[[], str] | None) -> ValueType | None:
        if not isinstance(kind, TensorType) or kind.dims is None or kind.numbers is not None:
            return kind
        if invent is not None:
            for size in kind.dims:
                if isinstance(size, str) and size not in names:
                    names[size] = invent()
        sizes = [names.get(size, size) if isinstance(size, str) else size for size in kind.dims]
        return TensorType(kind.elem_type, tuple(sizes))


def _as_key(value: Array | Dims | None) -> object:
    return (value.dtype.str, value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value


def _proto(kind: ValueType | None) -> TypeProto | None:
    return None if kind is None else as_proto(kind)


def _completed(kind: ValueType | None, sizes: tuple[int, ...] | None) -> ValueType | None:
    if sizes is None or isinstance(kind, bytes):
        return kind
    dims = dims_of(kind)
    if dims is not None and len(dims) != len(sizes):
        return kind
    return TensorType(0 if kind is None else kind.elem_type, sizes)


def _lenient(node: NodeProto, version: int) -> int:
    """The version in which onnx infers resizes that no version allows, but onnxruntime runs, or a repair reads: those
    without a roi in opset 11, and Upsample nodes behind opset 9."""
    if node.op_type == "Upsample":
        return min(version, 9)
    return max(version, 13) if version >= 11 else version


def _of_resize(node: NodeProto, naming: Naming, kind: ValueType | None) -> ValueType | None:
    """Of a resize at least the rank, though it be no valid node."""
    if node.op_type not in RESIZES or not naming.types or dims_of(kind) is not None:
        return kind
    return merged(of_known_rank(naming.types[0]), kind)


def _by_list(node: NodeProto, naming: Naming, kind: ValueType | None) -> ValueType | None:
    """The first output of a node that reads a list of sizes of which not all are numbers."""
    wanted = naming.value(node)
    if not isinstance(kind, TensorType) or not isinstance(wanted, tuple):
        return kind
    dims = listed_dims(node, dims_of(naming.types[0]), wanted)
    return kind if dims is None else TensorType(kind.elem_type, dims)


# ---- lists of sizes ----


def listed_size(element: Expression) -> int | str | None:
    """An element of a list of sizes: a number, a symbol, or unknown."""
    while isinstance(element, Computed) and element.operator == "Cast" and element.dtype in _INTEGERS:
        (element,) = element.operands
    if isinstance(element, Number):
        return int(element.value)
    return str(element.data) if isinstance(element, Dim) and element.kind == "root" else None


def listed_dims(node: NodeProto, source: Dims | None, wanted: Dims) -> Dims | None:
    """The sizes of the output of a node that reads a list of sizes; None where the list does not say them."""
    if node.op_type == "ConstantOfShape":
        return wanted
    if node.op_type == "Reshape":
        return _reshaped(source, wanted, keeps_zero=bool(attribute_of(node, "allowzero", 0)))
    if source is None:
        return None
    if node.op_type == "Expand":
        return _expanded(source, wanted)
    if len(source) != len(wanted):
        return None
    if node.op_type == "Tile":
        return tuple(map(_times, source, wanted))
    keeps_ratio = attribute_of(node, "keep_aspect_ratio_policy") not in (None, b"stretch")
    return None if keeps_ratio or attribute_of(node, "axes") is not None else wanted


def _times(size: int | str | None, count: int | str | None) -> int | str | None:
    if isinstance(size, int) and isinstance(count, int):
        return size * count
    return size if count == 1 else count if size == 1 else None


def _reshaped(source: Dims | None, wanted: Dims, *, keeps_zero: bool) -> Dims:
    """0 is the size of the same axis, and -1 what is left where all else is known. That two sizes have one name does
    not make them equal: exporters name different sizes alike."""
    copied = {axis for axis, size in enumerate(wanted) if size == 0 and not keeps_zero}
    sizes = list(wanted)
    for axis in copied:
        sizes[axis] = source[axis] if source is not None and axis < len(source) else None
    whole = None if source is None else _product([size for axis, size in enumerate(source) if axis not in copied])
    part = _product([size for axis, size in enumerate(wanted) if axis not in copied and size != -1])
    left = whole // part if whole and part and whole % part == 0 else None
    return tuple(left if size == -1 else size for size in sizes)


def _product(sizes: Sequence[int | str | None]) -> int | None:
    numbers = [size for size in sizes if isinstance(size, int)]
    return math.prod(numbers) if len(numbers) == len(sizes) else None


def _expanded(source: Dims, wanted: Dims) -> Dims:
    """Of two sizes, counted from the end, that which is not 1."""
    rank = max(len(source), len(wanted))
    columns = zip((1,) * (rank - len(source)) + source, (1,) * (rank - len(wanted)) + wanted, strict=True)
    return tuple(_longer(one, other) for one, other in columns)


def _longer(one: int | str | None, other: int | str | None) -> int | str | None:
    if one == 1 or one == other:
        return other
    if other == 1 or isinstance(one, int):
        return one
    return other if isinstance(other, int) else None


# ---- bodies ----


def body_inputs(node: NodeProto, opset: int, types: Outputs) -> Outputs:
    """The types of the inputs of a node's body: what goes around a Loop may change its sizes, in a Scan it may not."""
    if is_operator(node, "Loop"):
        return [TensorType(TensorProto.INT64, None), *types[1:2], *map(without_shape, types[_BEFORE_STATES:])]
    if is_operator(node, "Scan") and opset >= 9:
        states, sequences, axes = _scanned(node, types)
        return [*states, *(_element(kind, axis) for kind, axis in zip(sequences, axes, strict=False))]
    return ()


def held_outputs(
    node: NodeProto, opset: int, types: Outputs, bodies: Mapping[str, Outputs], taken: Array | None
) -> Outputs:
    """The types of the outputs of If, Loop or Scan, by what its bodies make; `taken`: the condition, where it is
    known."""
    if node.op_type == "If":
        if taken is not None and taken.size == 1:
            return bodies.get("then_branch" if np.all(taken) else "else_branch", ())
        return [common(pair) for pair in zip(*bodies.values(), strict=False)]
    (body,) = list(bodies.values())[:1]
    if node.op_type == "Loop":
        states = types[_BEFORE_STATES:]
        # No round gives the initial value, others what the body returned.
        carried = [common([start, end]) for start, end in zip(states, body[1:], strict=False)]
        return [*carried, *(stacked(kind, None) for kind in body[1 + len(states) :])]
    if opset < 9:
        return ()
    states, sequences, input_axes = _scanned(node, types)
    lengths = [_length(kind, axis) for kind, axis in zip(sequences, input_axes, strict=False)]
    length = next((size for size in sorted(lengths, key=_is_open)), None)
    carried = [merged(start, end) for start, end in zip(states, body, strict=False)]
    axes = [*(attribute_of(node, "scan_output_axes") or ()), *[0] * len(body)]
    behind = zip(body[len(states) :], axes, strict=False)
    return [*carried, *(stacked(kind, length, axis) for kind, axis in behind)]


def _scanned(node: NodeProto, types: Outputs) -> tuple[Outputs, Outputs, Sequence[int]]:
    """The states of a Scan, what it goes through, and along which axes."""
    count = attribute_of(node, "num_scan_inputs", 0)
    first = max(len(types) - count, 0)
    return types[:first], types[first:], attribute_of(node, "scan_input_axes") or [0] * count


def _element(kind: ValueType | None, axis: int) -> ValueType | None:
    dims = dims_of(kind)
    if dims is None or not isinstance(kind, TensorType) or not -len(dims) <= axis < len(dims):
        return without_shape(kind)
    at = axis % len(dims)
    return TensorType(kind.elem_type, (*dims[:at], *dims[at + 1 :]))


def _length(kind: ValueType | None, axis: int) -> int | str | None:
    dims = dims_of(kind)
    return None if dims is None or not -len(dims) <= axis < len(dims) else dims[axis]


def _is_open(size: int | str | None) -> int:
    return 0 if isinstance(size, int) else 1 if size else 2

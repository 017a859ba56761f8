"""Output sizes by the kernels' own rule, where onnx's shape inference gives another size.

onnx.shape_inference multiplies in other numbers than onnxruntime's kernels do, and what follows from a wrong size is
wrong, too, here and in shapes that an exporter stored. So a node whose size the rule corrects is hidden from inference,
everything stored that depends on it is forgotten, and the rest is inferred again from the size that the rule gives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from functools import cached_property, partial

import numpy as np
from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    TypeProto,
    helper,
    numpy_helper,
)

from resizefix.dialects.dialect import RESIZES
from resizefix.document.edits import FIRST_IR_WITH_DEFAULTS, drop_named, set_shape
from resizefix.document.scopes import DEFAULT_DOMAINS, Scope, bodies, default_opset
from resizefix.document.values import (
    Array,
    Dims,
    dims_of,
    forget_shape,
    held_by,
    known_types,
    numbers_in,
    stored_values,
)
from resizefix.document.view import View
from resizefix.scope_path import MAIN, FunctionName, Key, ScopePath
from resizefix.shapes.dependents import Dependents
from resizefix.shapes.inference import infer_shapes
from resizefix.shapes.output_size import corrected, may_mislead

# A domain of no operator set: inference passes over its nodes and takes what is stored of their outputs.
_HIDDEN = "resizefix.hidden"
# One correction may show the next; a longer chain of them is left unknown.
_ROUNDS = 8
# Operands that decide about sizes have one number for each axis.
_MOST_NUMBERS = 64


def inferred(model: ModelProto) -> ModelProto:
    """A copy with every type and shape that inference derives and the kernels' rule lets stand."""
    copy, defaults = _without_defaults(model)
    result = infer_shapes(copy)
    dims = (dim for value in stored_values(copy.graph) for dim in value.type.tensor_type.shape.dim)
    symbols = sorted({dim.dim_param for dim in dims if dim.dim_param})
    for _ in range(_ROUNDS):
        values = _KnownValues(result, defaults)
        wrong = values.wrong()
        if not wrong:
            return result
        _mend(copy, values, wrong)
        result = _inferred_with_symbols(copy, symbols)
    values = _KnownValues(result, defaults)
    wrong = values.wrong()
    if wrong:
        _mend(copy, values, {**dict.fromkeys(values.keys_behind(copy, wrong)), **dict.fromkeys(wrong)}, at_once=True)
        result = _inferred_with_symbols(copy, symbols)
    return result


def _inferred_with_symbols(model: ModelProto, symbols: Sequence[str]) -> ModelProto:
    """Inference that invents no symbol which the file has for another size, now that its shapes are forgotten."""
    reserved = ModelProto()
    reserved.CopyFrom(model)
    reserved.graph.value_info.append(helper.make_tensor_value_info(_HIDDEN, TensorProto.FLOAT, symbols))
    result = infer_shapes(reserved)
    drop_named(result.graph.value_info, {_HIDDEN})
    return result


def _without_defaults(model: ModelProto) -> tuple[ModelProto, list[TensorProto]]:
    """A copy, and the defaults of inputs that are not in it."""
    copy = ModelProto()
    copy.CopyFrom(model)
    defaults: list[TensorProto] = []
    if model.ir_version >= FIRST_IR_WITH_DEFAULTS:
        # Inference takes a default for a constant and would write shapes that hold for no other value.
        inputs = {value.name for value in copy.graph.input}
        defaults = [tensor for tensor in model.graph.initializer if tensor.name in inputs]
        drop_named(copy.graph.initializer, inputs)
    return copy, defaults


def _mend(model: ModelProto, values: _KnownValues, wrong: Mapping[Key, Dims | None], *, at_once: bool = False) -> None:
    """Hide the wrong nodes that depend on no other wrong one (`at_once`: all), and forget what depends on them."""
    scopes = View(model).scopes
    dependents = Dependents(scopes)
    chosen: dict[Key, Dims | None] = {}
    there = [key for key in wrong if key[1] in scopes.by_path[key[0]].producers]
    for key in sorted(there, key=lambda key: _place(scopes.by_path[key[0]], key[1])):
        if at_once or key not in dependents.reached:
            chosen[key] = wrong[key]
            dependents.add([key])
    for path, name in chosen:
        scope = scopes.by_path[path]
        scope.body.node[scope.producers[name]].domain = _HIDDEN
    for holder in (model, *model.functions):
        if not any(entry.domain == _HIDDEN for entry in holder.opset_import):
            holder.opset_import.add(domain=_HIDDEN, version=1)
    names: dict[ScopePath, set[str]] = {}
    for path, name in dependents.resized:
        names.setdefault(path, set()).add(name)
    for path, body in bodies(model):
        if path in names:
            _relax(path, body, names[path], values, chosen)


def _place(scope: Scope, name: str) -> tuple[bool, tuple[int, ...]]:
    """Functions first: their nodes are wrong wherever they are called."""
    return not scope.in_function, (*scope.order, scope.producers[name])


def _relax(
    path: ScopePath,
    body: GraphProto | FunctionProto,
    names: set[str],
    values: _KnownValues,
    chosen: Mapping[Key, Dims | None],
) -> None:
    """Of these values keep type and rank; the sizes are those chosen, if any."""
    present = [value for value in stored_values(body) if value.name in names]
    there = {value.name for value in present}
    if isinstance(body, GraphProto):
        for name in sorted(names - there):
            if (path, name) in values.types:
                present.append(body.value_info.add(name=name))
    for value in present:
        value_type = values.types.get((path, value.name), value.type)
        if not value_type.HasField("tensor_type") or not value_type.tensor_type.HasField("shape"):
            forget_shape(value)
            continue
        value.type.CopyFrom(value_type)
        set_shape(value, chosen.get((path, value.name)) or [None] * len(value_type.tensor_type.shape.dim))


class _KnownValues:
    """What inference says around resizes."""

    def __init__(self, model: ModelProto, defaults: Sequence[TensorProto]) -> None:
        """`defaults` of inputs: a size that is stored behind one is what inference once made of it."""
        self._model = model
        self._functions = {FunctionName.of(function): function for function in model.functions}
        self._opsets: dict[FunctionName | None, int] = {}
        self._nodes: list[tuple[ScopePath, NodeProto]] = []
        self._arrays: dict[Key, Array | None] = {}
        self._operands: dict[tuple[ScopePath, tuple[str, ...]], tuple[object, ...]] = {}
        self._sizes: dict[Key, Dims | None] = {}
        self._constants: dict[Key, NodeProto | TensorProto] = {(MAIN, tensor.name): tensor for tensor in defaults}
        self._bodies = list(bodies(model))
        for path, body in self._bodies:
            for node in body.node:
                operator = node.op_type
                if operator == "Constant":
                    self._constants.update(((path, name), node) for name in node.output)
                elif operator in RESIZES and node.domain in DEFAULT_DOMAINS and node.input and node.output:
                    self._nodes.append((path, node))
            if isinstance(body, GraphProto):
                self._constants.update(((path, tensor.name), tensor) for tensor in body.initializer)
        self._nodes = [(path, node) for path, node in self._nodes if node.output[0]]
        names = {name for _, node in self._nodes for name in (node.input[0], node.output[0])}
        self._around = self._types(names) if names else {}

    def _types(self, names: Container[str] | None = None) -> dict[Key, TypeProto]:
        return {
            (path, name): value_type
            for path, body in self._bodies
            for name, value_type in known_types(body, names).items()
        }

    @cached_property
    def types(self) -> dict[Key, TypeProto]:
        """What inference says of each value."""
        return self._types()

    def wrong(self) -> dict[Key, Dims | None]:
        """The outputs whose sizes inference got wrong, with the true ones; None for those inside functions that it may
        get wrong."""
        corrections: dict[Key, Dims | None] = {}
        right: set[tuple[object, ...]] = set()
        for path, node in self._nodes:
            opset = self._opset(path.function)
            value_of = partial(self._value, path)
            if path.function is not None:
                if may_mislead(node, opset, value_of):
                    corrections[path, node.output[0]] = None
                continue
            source, claimed = self._dims(path, node.input[0]), self._dims(path, node.output[0])
            if source is None or claimed is None:
                continue
            alike = self._but_names(path, node, source, claimed)
            if alike in right:
                continue
            dims = corrected(node, opset, source, claimed, value_of)
            if dims is not None:
                corrections[path, node.output[0]] = dims
            else:
                right.add(alike)
        return corrections

    def _opset(self, function: FunctionName | None) -> int:
        if function not in self._opsets:
            holder = self._functions.get(function, self._model) if function else self._model
            self._opsets[function] = default_opset(holder.opset_import, fallback=1)
        return self._opsets[function]

    def _but_names(self, path: ScopePath, node: NodeProto, source: Dims, claimed: Dims) -> tuple[object, ...]:
        """All that decides whether a claim can stand: nodes have names, and sizes have symbols, that do not."""
        names = path, tuple(node.input[1:])
        if names not in self._operands:  # many nodes may read the same
            self._operands[names] = tuple([self._but_its_name(path, name) for name in names[1]])
        attributes = tuple([attribute.SerializeToString() for attribute in node.attribute])
        return path, node.op_type, self._operands[names], numbers_in(source), numbers_in(claimed), attributes

    def _but_its_name(self, path: ScopePath, name: str) -> object:
        """An operand by what it holds; else a constant by its name, and any other by whether it is there."""
        constants = self._constants
        holder = next((constants[scope, name] for scope in path.visible if (scope, name) in constants), None)
        return bool(name) if holder is None else held_by(holder) or name

    def keys_behind(self, model: ModelProto, wrong: Mapping[Key, object]) -> list[Key]:
        """The outputs of resizes that depend on the wrong ones."""
        dependents = Dependents(View(model).scopes)
        dependents.add(wrong)
        keys = [(path, node.output[0]) for path, node in self._nodes]
        return [key for key in keys if key in dependents.reached]

    def _dims(self, path: ScopePath, name: str) -> Dims | None:
        if (path, name) not in self._sizes:
            self._sizes[path, name] = self._stated(path, name)
        return self._sizes[path, name]

    def _stated(self, path: ScopePath, name: str) -> Dims | None:
        value_type = next((self._around[scope, name] for scope in path.visible if (scope, name) in self._around), None)
        if value_type is None or not value_type.tensor_type.HasField("shape"):
            return None
        return dims_of(value_type)

    def _value(self, path: ScopePath, name: str) -> Array | None:
        constants = self._constants
        holder = next((constants[scope, name] for scope in path.visible if (scope, name) in constants), None)
        if isinstance(holder, TensorProto):
            if (path, name) not in self._arrays:  # many nodes may read one constant
                self._arrays[path, name] = _array(holder)
            return self._arrays[path, name]
        if holder is not None:
            attribute = next((attribute for attribute in holder.attribute), None)
            if attribute is None or not attribute.ref_attr_name:
                return None if attribute is None else _given(attribute.name, attribute)
            wanted, kind = attribute.ref_attr_name, attribute.name
            return self._at_calls(
                path, lambda _, call: next((_given(kind, a) for a in call.attribute if a.name == wanted), None)
            )
        return self._argument(path, name)

    def _argument(self, path: ScopePath, name: str) -> Array | None:
        """What calls give a function's parameter."""
        function = self._functions.get(path.function) if path.function else None
        if function is None or name not in function.input:
            return None
        position = list(function.input).index(name)

        def given(caller: ScopePath, call: NodeProto) -> Array | None:
            argument = call.input[position] if position < len(call.input) else ""
            return self._value(caller, argument) if argument else None

        return self._at_calls(path, given)

    def _at_calls(self, path: ScopePath, given: Callable[[ScopePath, NodeProto], Array | None]) -> Array | None:
        """All numbers that calls of the function around `path` give, one call's after another's; None where one is
        not known. Calls inside functions, which may go in circles, are not followed."""
        function = self._functions.get(path.function) if path.function else None
        if function is None:
            return None
        values: list[Array | None] = []
        for caller, body in self._bodies:
            calls = (node for node in body.node if FunctionName.called_by(node) == path.function)
            values += [None if caller.function else given(caller, call) for call in calls]
        vectors = [value for value in values if value is not None and value.ndim == 1]
        return np.concatenate(vectors) if vectors and len(vectors) == len(values) else None


def constant_of(scope: Scope, name: str) -> Array | None:
    """A few numbers that a scope holds under this name, in an initializer or a Constant; None for anything else."""
    if name in scope.initializers:
        return _array(scope.initializers[name])
    index = scope.producers.get(name)
    node = None if index is None else scope.body.node[index]
    if node is None or node.op_type != "Constant" or not node.attribute or node.attribute[0].ref_attr_name:
        return None
    return _given(node.attribute[0].name, node.attribute[0])


def _array(tensor: TensorProto) -> Array | None:
    if tensor.data_location == TensorProto.EXTERNAL or math.prod(tensor.dims) > _MOST_NUMBERS:
        return None
    try:
        return numpy_helper.to_array(tensor)
    except (ValueError, TypeError):  # a tensor that holds other bytes than it says
        return None


def _given(kind: str, attribute: AttributeProto) -> Array | None:
    """The value of a Constant whose attribute `kind` is this one."""
    if kind == "value":
        return _array(attribute.t)
    if kind == "value_floats":
        return np.array(attribute.floats, np.float32)
    return np.array(attribute.ints, np.int64) if kind == "value_ints" else None

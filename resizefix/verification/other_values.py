"""Constants, inputs, outputs and stored shapes of two models: none differs but where it was planned."""

from __future__ import annotations

from collections.abc import Iterator

from onnx import GraphProto, TensorProto, ValueInfoProto

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.edits import FIRST_IR_WITH_DEFAULTS
from resizefix.document.scopes import Scope
from resizefix.document.values import Dims, dims_of, tensor_of
from resizefix.scope_path import MAIN, Key
from resizefix.verification.plan import Seen, same_message, unplanned


def other_values(seen: Seen, old: Scope, new: Scope) -> Iterator[Diagnostic]:
    """What is not what it was in a scope, and was to be."""
    if isinstance(old.body, GraphProto) and isinstance(new.body, GraphProto):
        yield from _initializers(seen, old, new)
        yield from _inputs(seen, old, new)
        yield from _outputs(seen, old, new)
    yield from _stored(seen, old, new)


def _initializers(seen: Seen, old: Scope, new: Scope) -> Iterator[Diagnostic]:
    plan = seen.plan
    for name, tensor in old.initializers.items():
        now, key = new.initializers.get(name), (old.path, name)
        if now is None:
            goes = plan.is_rebuilt or plan.opset is not None or key in seen.removable
            if not goes or (not plan.is_rebuilt and seen.is_read_elsewhere(key)):
                yield unplanned("initializer", name)
        elif key[0] == MAIN and name in plan.frozen and name not in new.inputs:
            if not seen.became(name, now):
                yield unplanned("initializer", name)
        elif not same_message(tensor, now) and not (plan.changes_constants and _read_by_planned(seen, key)):
            yield unplanned("initializer", name)
    for name, tensor in new.initializers.items():
        if name not in old.initializers and name in seen.names and not _replaces(seen, old, name, tensor):
            yield unplanned("initializer", name)


def _replaces(seen: Seen, old: Scope, name: str, tensor: TensorProto) -> bool:
    """Whether a new constant may bear a name of the model before."""
    became = seen.became(name, tensor) if old.path == MAIN else None
    if became is not None:
        return became
    return seen.plan.is_rebuilt or (old.path, name) in seen.plan.nodes | seen.removable


def _read_by_planned(seen: Seen, key: Key) -> bool:
    nodes = (reader.node for reader in seen.old.readers_of(key))
    return all(node is not None and any((key[0], name) in seen.plan.nodes for name in node.output) for node in nodes)


def _inputs(seen: Seen, old: Scope, new: Scope) -> Iterator[Diagnostic]:
    was, now = _fed(seen, old, seen.before), _fed(seen, new, seen.after)
    plan, names_now = seen.plan, []
    for value in was:
        same_name = next((one for one in now if one.name == value.name), None)
        if same_name is None:
            key = old.path, value.name
            goes = key in seen.removable or (plan.is_rebuilt and value.name in old.initializers)
            if not goes or _is_fed_in(seen, new, value.name):
                yield unplanned("input", value.name)
            continue
        names_now.append(value.name)
        if plan.input_shapes and old.path == MAIN:
            planned = plan.input_shapes.get(value.name, dims_of(value.type))
            same = same_message(_unshaped(value), _unshaped(same_name)) and _is_shape(dims_of(same_name.type), planned)
        elif old.path == MAIN and value.name in plan.renamed:
            same = same_message(_unnamed(value), _unnamed(same_name))
        elif (old.path, value.name) in seen.resized:
            same = same_message(_unshaped(value), _unshaped(same_name))
        else:
            same = same_message(value, same_name)
        if not same:
            yield unplanned("input", value.name)
    old_names = {value.name for value in was} | old.initializers.keys()
    added = [value.name for value in now if value.name not in old_names]
    if not plan.new_inputs.issuperset(added) or (old.path != MAIN and added):
        yield unplanned("input", next(name for name in added if name not in plan.new_inputs or old.path != MAIN))
    if [value.name for value in now if value.name in set(names_now)] != names_now:
        yield unplanned("the order of", "inputs")


def _is_fed_in(seen: Seen, new: Scope, name: str) -> bool:
    """Whether a node of the new model reads the name though nothing there defines it."""
    return any(name in node.input for node in new.body.node) and not new.defines(name)


def _fed(seen: Seen, scope: Scope, document: Document) -> list[ValueInfoProto]:
    """The inputs of a scope; up to IR 3 constants are listed among them."""
    assert isinstance(scope.body, GraphProto)
    listed = document.proto.ir_version < FIRST_IR_WITH_DEFAULTS
    return [value for value in scope.body.input if not (listed and value.name in scope.initializers)]


def _outputs(seen: Seen, old: Scope, new: Scope) -> Iterator[Diagnostic]:
    assert isinstance(old.body, GraphProto)
    assert isinstance(new.body, GraphProto)
    if [value.name for value in old.body.output] != [value.name for value in new.body.output]:
        yield unplanned("the list", "outputs")
        return
    for was, now in zip(old.body.output, new.body.output, strict=True):
        is_renamed = old.path == MAIN and was.name in seen.plan.renamed
        if not _same_value(seen, old, *(map(_unnamed, (was, now)) if is_renamed else (was, now))):
            yield unplanned("output", was.name)


def _stored(seen: Seen, old: Scope, new: Scope) -> Iterator[Diagnostic]:
    was = {value.name: value for value in old.body.value_info}
    now = {value.name: value for value in new.body.value_info}
    for name, value in was.items():
        stored_now = now.get(name)
        if stored_now is None:
            if new.defines(name) and not _may_be_forgotten(seen, old, name):
                yield unplanned("the stored shape of", name)
        elif not _same_value(seen, old, value, stored_now):
            yield unplanned("the stored shape of", name)
    for name in now:
        if name not in was and name in seen.names and not _may_be_forgotten(seen, old, name):
            yield unplanned("the stored shape of", name)


def _may_be_forgotten(seen: Seen, old: Scope, name: str) -> bool:
    return seen.plan.is_rebuilt or (old.path, name) in seen.resized


def _same_value(seen: Seen, old: Scope, was: ValueInfoProto, now: ValueInfoProto) -> bool:
    if same_message(was, now):
        return True
    key = old.path, was.name
    if key in seen.plan.types:
        was, now = _untyped(was), _untyped(now)
    if key in seen.resized or seen.plan.is_rebuilt:
        was, now = _unshaped(was), _unshaped(now)
    return same_message(was, now)


def _is_shape(dims: Dims, planned: Dims) -> bool:
    return len(dims) == len(planned) and all(
        size == wanted or not (isinstance(size, int) or isinstance(wanted, int))
        for size, wanted in zip(dims, planned, strict=True)
    )


def _unshaped(value: ValueInfoProto) -> ValueInfoProto:
    copy = ValueInfoProto()
    copy.CopyFrom(value)
    tensor = tensor_of(copy.type)
    if tensor is not None:
        tensor.ClearField("shape")
    return copy


def _unnamed(value: ValueInfoProto) -> ValueInfoProto:
    copy = ValueInfoProto()
    copy.CopyFrom(value)
    tensor = tensor_of(copy.type)
    for dim in tensor.shape.dim if tensor is not None else ():
        if dim.dim_param:
            dim.dim_param = "?"
    return copy


def _untyped(value: ValueInfoProto) -> ValueInfoProto:
    copy = ValueInfoProto()
    copy.CopyFrom(value)
    copy.type.tensor_type.ClearField("elem_type")
    return copy

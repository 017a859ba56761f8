"""What a node must compute once its faults are gone: read from the fixes, not from what became of the file."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from onnx import NodeProto, TensorProto, numpy_helper

from resizefix.diagnostics import RefusedError
from resizefix.dialects.dialect import dialect_of, is_resize
from resizefix.dialects.intended import Chain, IntendedNode, IntendedStep
from resizefix.dialects.read import read
from resizefix.document.scopes import Scope
from resizefix.document.values import Array
from resizefix.faults.fault import Fault
from resizefix.faults.resize_node import ResizeNode
from resizefix.scope_path import Key
from resizefix.shapes.stored_shapes import ModelView


class Meanings:
    """What the fixes of a file say, round by round; a later fix of a node counts more than an earlier one."""

    def __init__(self, original: ModelView) -> None:
        self._original = original
        self._steps: dict[Key, IntendedStep] = {}
        self._constants: dict[str, TensorProto] = {}
        self._read: dict[int, tuple[ResizeNode, NodeProto, int]] = {}

    def add(self, index: int, node: ResizeNode, fault: Fault) -> None:
        """The fix of a fault of the site of this index."""
        change = fault.change
        assert change is not None
        opset = change.opset or node.opset
        for written in (*change.before, *change.others.values(), *change.after):
            self._steps.update(
                {(node.scope.path, name): IntendedStep(written, node.opset) for name in written.output if name}
            )
        self._constants.update({tensor.name: tensor for tensor in change.initializers})
        self._read[index] = (node, node.node if change.node is None else change.node, opset)

    def of(self, as_read: IntendedNode) -> IntendedNode:
        """The node of a site as its fixes mean it: its meaning where that can be read, the numbers of its constant
        operands, and how the others are computed."""
        node, fixed, opset = self._read[as_read.index]
        try:
            reading = read(fixed, dialect_of(fixed.op_type, opset))
        except RefusedError:  # another fault is still there
            return as_read
        scope = self._original.scopes.by_path.get(node.scope.path)
        values: dict[str, Array] = {}
        chains: dict[str, Chain] = {}
        operands = reading.operands
        for what, name in (("roi", operands.roi), ("scales", operands.scales), ("sizes", operands.sizes)):
            chain = None if scope is None or not name else self._chain(scope, name)
            if chain is not None and chain.steps:
                chains[what] = chain
            elif chain is not None and chain.name in chain.constants:
                values[what] = chain.constants[chain.name]
        return replace(as_read, wanted=reading.interpolation, values=values, chains=chains)

    def _chain(self, scope: Scope, name: str) -> Chain:
        """What a tensor is made by, back to what no fix wrote."""
        steps: dict[str, IntendedStep] = {}
        constants: dict[str, Array] = {}
        leaves: list[str] = []

        def bring(wanted: str) -> None:
            if wanted in steps or wanted in constants or wanted in leaves:
                return
            step = self._written(scope, wanted) or self._behind(scope, wanted)
            value = self._value(scope, wanted) if step is None else None
            if value is not None:
                constants[wanted] = value
            elif step is None:
                leaves.append(wanted)
            else:
                for source in filter(None, step.node.input):
                    bring(source)
                steps[wanted] = step

        bring(name)
        ordered = {id(step): step for step in steps.values()}
        return Chain(name, tuple(ordered.values()), constants, tuple(leaves))

    def _written(self, scope: Scope, name: str) -> IntendedStep | None:
        """The node by which a fix makes a tensor that the scope sees."""
        around: Scope | None = scope
        while around is not None:
            step = self._steps.get((around.path, name))
            if step is not None or around.defines(name):
                return step
            around = around.parent
        return None

    def _behind(self, scope: Scope, name: str) -> IntendedStep | None:
        """The node of the file that makes a tensor, where it reads what a fix wrote."""
        source = self._original.scopes.definition(scope, name)
        if source is None or source.node is None or source.key not in self._touched:
            return None
        return IntendedStep(source.node, source.scope.opset)

    @cached_property
    def _touched(self) -> set[Key]:
        """What nodes of the file make of tensors that fixes wrote, up to the next resize."""
        touched: set[Key] = set()
        pending = [key for key in self._steps if key[0] in self._original.scopes.by_path]
        while pending:
            for reader in self._original.scopes.readers_of(pending.pop()):
                if reader.node is None or is_resize(reader.node):
                    continue
                outputs = {(reader.scope.path, name) for name in reader.node.output if name} - touched
                touched |= outputs
                pending += outputs
        return touched

    def _value(self, scope: Scope, name: str) -> Array | None:
        tensor = self._constants.get(name)
        return self._original.value(scope, name) if tensor is None else numpy_helper.to_array(tensor)

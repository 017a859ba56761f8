"""Which bodies of a model ran: branches of If, bodies of Loop and Scan, at whatever depth, in local functions too; and
what tensors inside them held first.

A copy of the model computes it: every body adds to a vector and hands it on, which is one more output of the model.
onnxruntime computes the rest as before where it does not optimise.

A model that runs says nothing of a body that it passed over: other data may take it, and another scale break it there.
Where both models hold it in the same node, which reads the same, it can make no difference."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

import numpy as np
from onnx import FunctionProto, GraphProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from resizefix.document.document import Document
from resizefix.document.edits import insert_nodes
from resizefix.document.scopes import DEFAULT_DOMAINS, Scope, Scopes, is_operator, names_in
from resizefix.document.values import Array
from resizefix.document.view import View
from resizefix.scope_path import Key, ScopePath

if TYPE_CHECKING:
    pass

_MOST_BODIES = 1000  # of one model
_DEEPEST = 60  # bodies in bodies: what walks them is recursive
_SCAN_SINCE = 9  # before, a Scan had another signature


def watched_bodies(scopes: Scopes) -> list[Scope]:
    """The bodies that may run and that a vector can be carried through; none where they are too many."""
    bodies = [scope for scope in scopes.all if scope.parent is not None and _is_watched(scope)]
    bodies = [scope for scope in bodies if scope.path.function is None or scope.path.function in scopes.reached]
    deepest = max((len(scope.path) for scope in bodies), default=0)
    return bodies if len(bodies) <= _MOST_BODIES and deepest <= _DEEPEST else []


def _is_watched(scope: Scope) -> bool:
    """Whether it is a body of such an operator, and so are all that it stands in."""
    while scope.parent is not None and scope.owner is not None:
        node = scope.parent.body.node[scope.owner]
        if not is_operator(node, "If", "Loop", "Scan") or (node.op_type == "Scan" and scope.opset < _SCAN_SINCE):
            return False
        scope = scope.parent
    return True


class Part(Protocol):
    """Gives the vector of one scope."""

    def __call__(
        self, vector: CarriedVector, scope: Scope, first: list[NodeProto], last: list[NodeProto]
    ) -> str | None:
        """Write its nodes: what stands before all nodes of the scope into `first`, what stands behind them into `last`.
        The name of the vector; None where the scope has none."""


@dataclass
class CarriedVector:
    """Adds the vector to a copy of a model. `bodies`: all that are watched; `neutral`: what a body adds that does not
    run; `joining`: the operator that joins vectors.
    """

    document: Document
    scopes: Scopes
    bodies: Collection[Scope]
    neutral: Array
    joining: str
    part: Part
    _taken: set[str] = field(init=False)
    _functions: dict[Scope, str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._taken = names_in(self.scopes.model)

    def write(self) -> str | None:
        """The name of the output that the copy gets; None where nothing adds to the vector."""
        name = self._summed(self.scopes.main)
        if name is not None:
            self.document.proto.graph.output.append(self._declared(name))
        return name

    def constant(self, nodes: list[NodeProto], value: Array) -> str:
        """A new constant among these nodes."""
        return self.node(nodes, "Constant", [], value=numpy_helper.from_array(value))

    def node(self, nodes: list[NodeProto], operator: str, inputs: Sequence[str], **attributes: Any) -> str:
        """A new node of one output."""
        name = self._fresh()
        nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        return name

    def _summed(self, scope: Scope) -> str | None:
        """Write the vector of this scope and of all in it; its name, None where nothing adds to it."""
        first: list[NodeProto] = []
        last: list[NodeProto] = []
        own = self.part(self, scope, first, last)
        parts = [] if own is None else [own]
        for index, node in enumerate(scope.body.node):
            function = self.scopes.called(node)
            bodies = [body for body in self.scopes.held.get((scope.path, index), []) if body in self.bodies]
            inner = self._call(node, function) if function is not None else self._holder(node, bodies, first)
            if inner is not None:
                parts.append(inner)
        if not parts:
            return None
        name = self.node(last, self.joining if len(parts) > 1 else "Identity", parts)
        insert_nodes(scope.body, len(scope.body.node), last)
        insert_nodes(scope.body, 0, first)
        return name

    def _call(self, node: NodeProto, function: Scope) -> str | None:
        """One more output of a local function that adds to the vector, and of its call."""
        if function not in self._functions:
            name = self._functions[function] = self._summed(function)
            if name is not None and isinstance(function.body, FunctionProto):
                function.body.output.append(name)
                if not any(entry.domain in DEFAULT_DOMAINS for entry in function.body.opset_import):
                    function.body.opset_import.append(helper.make_opsetid("", function.opset))
        if self._functions[function] is None:
            return None
        node.output.extend([""] * (len(function.body.output) - 1 - len(node.output)))
        return self._out(node, len(node.output))

    def _holder(self, node: NodeProto, bodies: Sequence[Scope], first: list[NodeProto]) -> str | None:
        """One more output of an If, Loop or Scan and of its bodies. What turns add is joined from one to the next."""
        summed = [(body, self._summed(body)) for body in bodies]
        if not any(name for _, name in summed):
            return None
        named = [(body, name or self._without(body)) for body, name in summed]
        if node.op_type == "If":
            for body, name in named:
                cast("GraphProto", body.body).output.append(self._declared(name))
            return self._out(node, len(node.output))
        ((body, name),) = named
        graph = cast("GraphProto", body.body)
        if node.op_type == "Loop":
            node.input.extend([""] * (2 - len(node.input)))
            carried = len(node.input)
            at_input, at_output, at_result = carried, carried - 1, carried - 2
        else:
            scanned = next(attribute.i for attribute in node.attribute if attribute.name == "num_scan_inputs")
            at_input = at_output = at_result = len(node.input) - scanned
        before, joined = self._fresh(), self._fresh()
        graph.input.insert(at_input, self._declared(before))
        graph.node.append(helper.make_node(self.joining, [name, before], [joined]))
        graph.output.insert(at_output, self._declared(joined))
        node.input.insert(at_input, self.constant(first, self.neutral))
        return self._out(node, at_result)

    def _without(self, body: Scope) -> str:
        """The vector of a body that adds nothing to it."""
        nodes: list[NodeProto] = []
        name = self.constant(nodes, self.neutral)
        insert_nodes(body.body, 0, nodes)
        return name

    def _declared(self, name: str) -> ValueInfoProto:
        """The vector as an input or output of a body."""
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(self.neutral.dtype))
        return helper.make_tensor_value_info(name, kind, self.neutral.shape)

    def _out(self, node: NodeProto, position: int) -> str:
        name = self._fresh()
        node.output.insert(position, name)
        return name

    def _fresh(self) -> str:
        name = f"ran_{len(self._taken)}"
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name


ELEMENTS = 3  # of a tensor, each of which is taken for itself
_PAD_SINCE = 11  # before, the numbers of Pad were attributes


class InnerTensors(NamedTuple):
    """A copy of a model with the output `name`, and where in that each tensor stands."""

    document: Document
    name: str
    parts: Mapping[Key, slice]


def with_inner_tensors(document: Document, keys: Collection[Key]) -> InnerTensors | None:
    """The copy that gives those of the tensors that a vector can be carried from; None where there is none."""
    copy = document.copy()
    scopes = View(copy.proto).scopes
    bodies = watched_bodies(scopes)
    seen = {scope.path for scope in bodies} | {scope.path for scope in scopes.all if scope.path.function is not None}
    seen -= {scope.path for scope in scopes.all if scope.opset < _PAD_SINCE}
    wanted = [key for key in dict.fromkeys(keys) if key[0] in seen]
    parts = {key: slice(ELEMENTS * at, ELEMENTS * (at + 1)) for at, key in enumerate(wanted)}
    neutral = np.full(ELEMENTS * len(wanted), -np.inf)

    def itself(vector: CarriedVector, scope: Scope, first: list[NodeProto], last: list[NodeProto]) -> str | None:
        vectors = [
            _placed(vector, last, key[1], part, len(neutral)) for key, part in parts.items() if key[0] == scope.path
        ]
        return vector.node(last, "Max", vectors) if vectors else None

    name = CarriedVector(copy, scopes, bodies, neutral, "Max", itself).write() if wanted else None
    return None if name is None else InnerTensors(copy, name, parts)


def _placed(vector: CarriedVector, nodes: list[NodeProto], tensor: str, part: slice, length: int) -> str:
    """Nodes that put the first elements of the tensor at that part of a vector of such a length."""

    def numbers(*values: int) -> str:
        return vector.constant(nodes, np.array(values, np.int64))

    missing = vector.constant(nodes, np.full(ELEMENTS, -np.inf))
    wide = vector.node(nodes, "Cast", [tensor], to=TensorProto.DOUBLE)
    flat = vector.node(nodes, "Reshape", [wide, numbers(-1)])
    filled = vector.node(nodes, "Concat", [flat, missing], axis=0)
    cut = vector.node(nodes, "Slice", [filled, numbers(0), numbers(ELEMENTS)])
    around = numbers(part.start, length - part.stop)
    return vector.node(nodes, "Pad", [cut, around, vector.constant(nodes, np.array(-np.inf))])


_SUM_SINCE = 6  # before, Sum had another signature


def watched_copy(document: Document) -> tuple[Document, tuple[ScopePath, ...], str] | None:
    """A copy with one more output, how often each body ran; the paths of the bodies, and the name of the output. None
    where there is no body to watch, or too many."""
    copy = document.copy()
    scopes = View(copy.proto).scopes
    arms = {scope: position for position, scope in enumerate(watched_bodies(scopes))}
    if not arms or scopes.main.opset < _SUM_SINCE:
        return None

    def itself(vector: CarriedVector, scope: Scope, first: list[NodeProto], last: list[NodeProto]) -> str | None:
        if scope not in arms:
            return None
        value = np.zeros(len(arms), np.float32)
        value[arms[scope]] = 1
        return vector.constant(first, value)

    flag = CarriedVector(copy, scopes, arms, np.zeros(len(arms), np.float32), "Sum", itself).write()
    return None if flag is None else (copy, tuple(scope.path for scope in arms), flag)

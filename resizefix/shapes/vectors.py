"""Which nodes onnx may follow values through, because the vectors that they read are known to be short.

onnx keeps a list of the elements of each vector that such a node reads or makes. How long these lists can get is worked
out here from types alone, in the order in which onnx comes to the nodes: bodies with the node that holds them, a
function at each call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto

from resizefix.document.scopes import DEFAULT_DOMAINS, bodies, subgraphs
from resizefix.document.values import MOST_AXES, known_types
from resizefix.scope_path import FunctionName
from resizefix.shapes.output_size import BROADCASTING, KEEPING

# The operators that onnx has a data propagation function for, as far as they read values (Shape reads types), and those
# that it infers by a body made of such operators (onnx 1.23: a test asks onnx's schemas).
FOLLOWED = frozenset({"Add", "Cast", "Concat", "Gather", "Mul", "Size", "Slice", "Squeeze", "Sub", "Unsqueeze"})
BY_BODY = frozenset({"MeanVarianceNormalization"})
# Of their inputs it looks at the first alone.
_READ_ONE = frozenset({"Cast", "Size", "Squeeze", "Unsqueeze"})

# More elements than any list of sizes has, or any list to choose sizes from; each takes about 50 bytes.
_LONGEST = 1 << 14
_MOST = 1 << 20
_LISTED_TYPES = frozenset({TensorProto.INT64, TensorProto.INT32})
# A function is looked at for so many different lengths of its arguments; more are one case, of which nothing is known.
_MOST_CASES = 32
# In a function's body types are not known. What of its operators keeps the length of the longest input:
_KEEPING = KEEPING | BROADCASTING

# The way to a node: -1 or a function's position, then positions of a node, a body of it, a node of that …
Place = tuple[int, ...]
Length = int | None  # elements of a vector, 0 for what is none and so never listed, None where it is not known


@dataclass
class _Body:
    """Lengths of names by their types (`types`), and of constants by what they hold, as onnx reads those here."""

    place: Place
    types: dict[str, Length]
    constants: dict[str, Length] = field(default_factory=dict)
    valued: set[str] = field(default_factory=set)  # names of which onnx knows every element
    outer: _Body | None = None

    def by_type(self, name: str) -> Length:
        """The longest of this name here and outside: onnx keeps an outer type until it has an inner one."""
        lengths: list[Length] = []
        body: _Body | None = self
        while body is not None:
            lengths += [body.types[name]] if name in body.types else []
            body = body.outer
        return _longest(lengths) if lengths else None


class Vectors:
    """The lengths in a model whose types are inferred, as far as types say them.

    `unfollowed`: the nodes that onnx may not follow values through; None where it may not do so at all.
    `wants_values`: whether a node reads such a list, whose own sizes types do not say.
    """

    def __init__(self, typed: ModelProto) -> None:
        self._functions = {
            FunctionName.of(function): (position, function) for position, function in enumerate(typed.functions)
        }
        self._cases: dict[Place, dict[tuple[Length, ...], tuple[int, list[int], list[Length]]]] = {}
        self._refused: set[Place] = set()
        self._spent = 0
        self.wants_values = False
        self.unfollowed: frozenset[Place] | None = frozenset()
        if not _has_values(typed):
            return
        self._graph(typed.graph, (-1,), None, {}, typed=True)
        self.unfollowed = None if self._spent > _MOST else frozenset(self._refused)

    def _graph(
        self, graph: GraphProto, place: Place, outer: _Body | None, listed: dict[str, Length], *, typed: bool
    ) -> None:
        kinds = known_types(graph) if typed else {}
        body = _Body(place, {name: _by_type(kind) for name, kind in kinds.items()}, outer=outer)
        for tensor in graph.initializer:
            body.constants[tensor.name] = _of_constant(tensor)
            body.valued.add(tensor.name)
            body.types.setdefault(tensor.name, _of_dims(tensor.dims))
        self._nodes(graph.node, body, listed, kinds if typed else None)

    def _nodes(
        self,
        nodes: Sequence[NodeProto],
        body: _Body,
        listed: dict[str, Length],
        kinds: Mapping[str, TypeProto] | None = None,
    ) -> None:
        """`listed`: how long the lists are that onnx has made by now, by name, in all bodies alike. `kinds`: types."""
        typed = kinds is not None
        for index, node in enumerate(nodes):
            for position, (_, graph) in enumerate(subgraphs(node) if node.attribute else ()):
                self._graph(graph, (*body.place, index, position), body, listed, typed=typed)
            outputs: list[Length]
            operator = node.op_type if node.domain in DEFAULT_DOMAINS else ""
            if operator in FOLLOWED or operator in BY_BODY:
                outputs = self._followed(node, (*body.place, index), body, listed)
            elif operator == "Constant" and node.output:
                outputs = [_constant_node(node, body)]
            elif not operator and FunctionName.called_by(node) in self._functions:
                outputs = self._call(node, body, listed)
            elif operator == "Shape":
                outputs = [(body.by_type(node.output[0]) or 0) if typed else MOST_AXES] if node.output else []
                listed.update(zip(node.output, outputs, strict=False))
            elif typed and (self.wants_values or not any(listed.get(name) for name in node.input)):
                continue
            elif kinds is not None:
                self.wants_values = not all(_is_full(kinds.get(name)) for name in node.output if name)
                continue
            else:
                self.wants_values |= any(listed.get(name) for name in node.input)
                keeps = operator in _KEEPING
                outputs = [_longest([self._read(name, body, listed) for name in node.input if name]) if keeps else None]
            if not typed:
                body.types.update(zip(node.output, outputs, strict=False))

    def _followed(self, node: NodeProto, place: Place, body: _Body, listed: dict[str, Length]) -> list[Length]:
        read = node.input[:1] if node.op_type in _READ_ONE else node.input
        lengths = [self._read(name, body, listed) for name in read if name]
        longest = _longest(lengths)
        stated = [length for length in lengths if length is not None]
        # onnx takes an element that it does not know for 0 where it says what a Slice begins with (onnx 1.23).
        given = [name for name in node.input if name]
        from_unknown = node.op_type == "Slice" and not body.valued.issuperset(given[1:])
        if body.valued.issuperset(given):
            body.valued.update(node.output)
        if longest is None or longest > _LONGEST or self._spent > _MOST or from_unknown:
            self._refused.add(place)
        else:
            self._spent += sum(stated)
            for name in node.output:
                total = sum(stated) if node.op_type == "Concat" else longest
                listed[name] = max(total, listed.get(name) or 0)
        if longest is None or node.op_type in BY_BODY or (node.op_type in ("Gather", "Squeeze") and lengths[:1] == [0]):
            return [None]  # of what is no vector, one may be taken
        return [sum(stated) if node.op_type == "Concat" else longest]

    def _call(self, node: NodeProto, body: _Body, listed: dict[str, Length]) -> list[Length]:
        position, function = self._functions[FunctionName.called_by(node)]
        given = [self._read(name, body, listed) if name else 0 for name in node.input]
        arguments = tuple(given[: len(function.input)]) + (0,) * (len(function.input) - len(given))
        cases = self._cases.setdefault((position,), {})
        if arguments not in cases and len(cases) > _MOST_CASES:
            arguments = (None,) * len(arguments)
        if arguments not in cases:
            before = self._spent
            cases[arguments] = self._body_of(function, position, arguments)
            self._spent = before
        cost, lists, lengths = cases[arguments]
        self._spent += cost
        for name, length in zip(node.output, lists, strict=False):
            listed[name] = max(length, listed.get(name) or 0)
        return lengths

    def _body_of(
        self, function: FunctionProto, position: int, arguments: Sequence[Length]
    ) -> tuple[int, list[int], list[Length]]:
        """What a call with arguments of these lengths costs; the lists and the lengths of its results."""
        before = self._spent
        body = _Body((position,), dict(zip(function.input, arguments, strict=True)))
        listed = dict(body.types)
        self._nodes(function.node, body, listed)
        lists = [listed.get(name) or 0 for name in function.output]
        return self._spent - before, lists, [body.by_type(name) for name in function.output]

    def _read(self, name: str, body: _Body, listed: Mapping[str, Length]) -> Length:
        length = body.constants[name] if name in body.constants else body.by_type(name)
        return None if length is None else max(length, listed.get(name) or 0)


def _has_values(model: ModelProto) -> bool:
    """Whether there can be a list that says a value: of a shape, or of an integer constant that a node works on."""
    names: set[str] = set()
    for path, body in bodies(model):
        in_function = path.function is not None
        names.update(tensor.name for tensor in getattr(body, "initializer", ()) if tensor.data_type in _LISTED_TYPES)
        for node in body.node:
            operator = node.op_type
            if operator == "Constant":
                names.update(node.output)
            elif operator == "Shape":
                return True
            elif operator in FOLLOWED:
                read = node.input if operator == "Concat" else node.input[:1]
                if in_function or not names.isdisjoint(read):
                    return True
    return False


def places_of(model: ModelProto, operator: str) -> list[Place]:
    """Where the nodes of an operator of ai.onnx stand."""
    places: list[Place] = []
    starts = (model.graph, *model.functions)
    pending: list[tuple[Place, Sequence[NodeProto]]] = [((at,), body.node) for at, body in enumerate(starts, start=-1)]
    while pending:
        start, nodes = pending.pop()
        for index, node in enumerate(nodes):
            place: Place = (*start, index)
            if node.op_type == operator and node.domain in DEFAULT_DOMAINS:
                places.append(place)
            if node.attribute:
                pending += [((*place, at), graph.node) for at, (_, graph) in enumerate(subgraphs(node))]
    return places


def node_at(model: ModelProto, place: Place) -> NodeProto:
    """The node at a place of the model, or of a copy of it."""
    start, index, *inner = place
    node: NodeProto = (model.graph if start < 0 else model.functions[start]).node[index]
    for body, position in zip(inner[::2], inner[1::2], strict=True):
        node = [graph for _, graph in subgraphs(node)][body].node[position]
    return node


def _longest(lengths: Sequence[Length]) -> Length:
    known_lengths = [length for length in lengths if length is not None]
    return max(known_lengths, default=0) if len(known_lengths) == len(lengths) else None


def _of_dims(dims: Sequence[int]) -> Length:
    return 1 if not dims else max(dims[0], 0) if len(dims) == 1 else 0


def _by_type(kind: TypeProto) -> Length:
    if not kind.HasField("tensor_type"):
        return None if kind.WhichOneof("value") is None else 0
    dims = kind.tensor_type.shape.dim
    if not kind.tensor_type.HasField("shape"):
        return None
    if len(dims) != 1:
        return 0 if dims else 1
    return max(dims[0].dim_value, 0) if dims[0].HasField("dim_value") else None


def _is_full(kind: TypeProto | None) -> bool:
    return (
        kind is not None
        and kind.tensor_type.HasField("shape")
        and all(d.HasField("dim_value") for d in kind.tensor_type.shape.dim)
    )


def _of_constant(tensor: TensorProto) -> Length:
    """Only integers are listed."""
    return _of_dims(tensor.dims) if tensor.data_type in _LISTED_TYPES else 0


def _constant_node(node: NodeProto, body: _Body) -> Length:
    attribute = next(iter(node.attribute), None)
    length: Length
    if attribute is None or attribute.ref_attr_name:
        return None
    if attribute.name == "value":
        length = _of_dims(attribute.t.dims)
        body.constants[node.output[0]] = _of_constant(attribute.t)
        body.valued.add(node.output[0])
    elif attribute.name == "sparse_value":
        length = _of_dims(attribute.sparse_tensor.dims)
    else:
        length = max(len(attribute.ints), len(attribute.floats), len(attribute.strings), 1)
        body.valued.add(node.output[0])
    body.types[node.output[0]] = length
    return length

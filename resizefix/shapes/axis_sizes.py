"""Where the size of a tensor on an axis comes from, so that sizes that are provably equal are seen to be.

onnx.shape_inference gives a dynamic size up at the first convolution. Here sizes are followed from where they begin,
through operators that keep them and through windows: two that are equal expressions over such roots are equal for every
input the model runs with. Sizes that the file fixes are followed like all others: that two numbers are equal in this
file does not make one the other; nor do equal names, which exporters give to inputs of different sizes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from onnx import GraphProto, NodeProto

from resizefix.dialects.dialect import is_resize
from resizefix.document.scopes import DEFAULT_DOMAINS, Definition, DefinitionKind, Scope
from resizefix.document.values import Array
from resizefix.scope_path import Key
from resizefix.shapes.expression import Dim, Expression, Number, Size, UntraceableError, computed
from resizefix.shapes.operand import MISFITS, attribute_of, stated_attribute
from resizefix.shapes.output_size import BROADCASTING, KEEPING
from resizefix.shapes.reading import DimList, NodeSizes, Notes, UnknownRankError
from resizefix.shapes.sizes import Sizes
from resizefix.shapes.stored_shapes import ModelView
from resizefix.shapes.table import why_incomplete
from resizefix.shapes.values import Values

# Their rows hold for every input; those of others say what an image of another size would most probably give.
_FOLLOWED = KEEPING | BROADCASTING | {"Transpose", "Concat", "Conv", "FusedConv", "MaxPool", "AveragePool", "LpPool"}
_FOREIGN = frozenset({("com.microsoft", "FusedConv"), ("com.microsoft", "Gelu")})
# operator -> the operand that lists the sizes of what it makes
_LISTING = {"Reshape": 1, "ConstantOfShape": 0}
_OPERATORS = {"total": "Add", "product": "Mul", "floor": "Div", "least": "Min", "greatest": "Max"}


class AxisSizes:
    """Answers `source` over one state of a document; results are remembered."""

    def __init__(self, view: ModelView) -> None:
        self.view = view
        self.scopes = view.scopes
        self.sizes = Sizes({})
        self.notes = Notes()
        self._dims: dict[Key, DimList | None] = {}
        self._expressions: dict[Dim, Expression] = {}

    def source(self, tensor: Key, axis: int) -> Expression:
        """The size of `tensor` on `axis` (counted from 0) as an expression over sizes that lead no further."""
        dims = self.dims(tensor)
        dim = dims[axis] if dims is not None and axis < len(dims) else self._root(tensor, axis)
        return self._expression(dim)

    def expression(self, dim: Dim) -> Expression:
        """A size that `dims` gave, as an expression. Raises UntraceableError for one that has none."""
        return self._expression(dim)

    def fixed(self, tensor: Key, axis: int) -> int | None:
        """The size of `tensor` on `axis` if the file fixes it."""
        source = self.source(tensor, axis)
        return int(source.value) if isinstance(source, Number) else self._stored(tensor, axis)

    def rank(self, tensor: Key) -> int | None:
        """How many axes a tensor has: what inference knows, else what follows from what it was made of."""
        dims = self.dims(tensor)
        return None if dims is None else len(dims)

    def dims(self, tensor: Key) -> DimList | None:
        """The sizes of a tensor; None where it is not known how many axes it has."""
        pending = [tensor]
        entered: set[Key] = set()
        # Depth first with an explicit stack: networks are deeper than Python recurses.
        while pending:
            current = pending[-1]
            if current not in self._dims:
                definition = self.scopes.definition(self.scopes.by_path[current[0]], current[1])
                sources = [] if definition is None else self._sources(definition)
                # What was entered and has no answer is on the way here: a file whose nodes depend on themselves.
                missing = [key for key, _ in sources if key not in self._dims and key not in entered]
                entered.add(current)
                if missing:
                    pending += missing
                    continue
                self._dims[current] = self._made(current, definition, sources)
            pending.pop()
        return self._dims[tensor]

    def answered(self, tensor: Key) -> DimList | None:
        """The answer of `dims`; None where there is none yet, in a file whose nodes depend on themselves."""
        return self._dims.get(tensor)

    def _made(self, tensor: Key, definition: Definition | None, sources: Sequence[tuple[Key, int]]) -> DimList | None:
        stored = self.view.shapes.dims(tensor)
        by_row = None if definition is None or not _is_followed(definition) else self._by_row(definition)
        if stored is not None:
            rank: int | None = len(stored)
        elif by_row is not None:
            rank = len(by_row)
        else:
            rank = None if definition is None else self._rank(definition, sources)
        if rank is None:
            return None
        if by_row is None or len(by_row) != rank:
            return tuple(self._root(tensor, axis) for axis in range(rank))
        return tuple(dim if self._is_said(dim) else self._root(tensor, axis) for axis, dim in enumerate(by_row))

    def _by_row(self, definition: Definition) -> DimList | None:
        from resizefix.shapes.table import OPERATORS  # most models compute no scale from sizes

        assert definition.node is not None
        try:
            return OPERATORS[definition.node.op_type].sizes(_SourceReading(self, definition, definition.node))[0]
        except (*MISFITS, UnknownRankError, UntraceableError):
            return None

    def _rank(self, definition: Definition, sources: Sequence[tuple[Key, int]]) -> int | None:
        """The rank of what no row says the sizes of."""
        node = definition.node
        position = None if node is None or node.domain not in DEFAULT_DOMAINS else _LISTING.get(node.op_type)
        if node is not None and position is not None and position < len(node.input):
            listed = self.view.dims(definition.scope, node.input[position])
            return listed[0] if listed is not None and len(listed) == 1 and isinstance(listed[0], int) else None
        if _is_followed(definition):
            if definition.node is not None and definition.node.op_type in BROADCASTING:
                return None
            sources = sources[:1]
        ranks = {None if (dims := self._dims.get(key)) is None else len(dims) - taken for key, taken in sources}
        return ranks.pop() if len(ranks) == 1 else None

    def _sources(self, definition: Definition) -> list[tuple[Key, int]]:
        """The tensors whose sizes decide those of this one, or how many there are, each with the axes that this one has
        more; none where one is not there."""
        node, scope = definition.node, definition.scope
        if node is None:
            names = _scanned(definition)
        elif _is_followed(definition):
            names = [(scope, name, 0) for name in node.input if name]
        elif is_resize(node) and node.input:
            names = [(scope, node.input[0], 0)]
        else:
            branches = self.view.calls.branches(definition) if node.domain in DEFAULT_DOMAINS else None
            names = [(branch.scope, branch.name, 0) for branch in branches or ()]
        origins = [(self.scopes.definition(where, name), taken) for where, name, taken in names]
        sources = [(origin.key, taken) for origin, taken in origins if origin is not None]
        return sources if len(sources) == len(origins) else []

    # ---- sizes ----

    def _stored(self, tensor: Key, axis: int) -> int | None:
        dims = self.view.shapes.dims(tensor)
        size = dims[axis] if dims is not None and axis < len(dims) else None
        return size if isinstance(size, int) and not self.scopes.by_path[tensor[0]].is_repeated else None

    def _root(self, tensor: Key, axis: int) -> Dim:
        """A size that leads no further."""
        dims = self.view.shapes.dims(tensor)
        stored = dims[axis] if dims is not None and axis < len(dims) else None
        root = self.sizes.root(Size(tensor, axis), stored if isinstance(stored, int) else None)
        self._expressions.setdefault(root, Size(tensor, axis))
        return root

    def _is_said(self, dim: Dim) -> bool:
        """Whether it can be written as an expression."""
        try:
            self._expression(dim)
        except UntraceableError:
            return False
        return True

    def _expression(self, dim: Dim) -> Expression:
        """Raises UntraceableError for a size that depends on more than sizes, or is too long to write."""
        expression = self._expressions.get(dim)
        if expression is None:
            if dim.kind == "const":
                expression = Number(dim.data, "int64")
            elif dim.kind in _OPERATORS:
                expression, *others = map(self._expression, dim.parts)
                for other in others:
                    expression = computed(_OPERATORS[dim.kind], "int64", expression, other)
            else:
                raise UntraceableError("document.chain-too-long")
            self._expressions[dim] = expression
        return expression


def traced_values(axis_sizes: AxisSizes, given: Mapping[str, Array] | None = None) -> Values:
    """What holds at every size of the inputs: the sizes of tensors are `Size`s. `given` are values of graph inputs.

    What is said here is confirmed by `origins.measure`, which runs the chain in onnxruntime.
    """

    def sizes(definition: Definition) -> Sequence[Expression]:
        rank = axis_sizes.rank(definition.key)
        if rank is None:
            raise UntraceableError("origins.rank-of-shape-unknown", name=definition.name)
        return [Size(definition.key, axis) for axis in range(rank)]

    def value(definition: Definition) -> Array | None:
        return (given or {}).get(definition.name) if definition.scope is axis_sizes.scopes.main else None

    return axis_sizes.view.values(sizes, value if given else None)


def _is_followed(definition: Definition) -> bool:
    """Whether a tensor is the first output of a node whose row holds, and which has what its operator needs."""
    node = definition.node
    if node is None or definition.kind is not DefinitionKind.NODE or definition.name != node.output[0]:
        return False
    has_row = node.op_type in _FOLLOWED and node.domain in DEFAULT_DOMAINS
    has_row = has_row or (node.domain, node.op_type) in _FOREIGN
    return has_row and why_incomplete(node, definition.scope.opset) is None


def _scanned(definition: Definition) -> list[tuple[Scope, str, int]]:
    """What a Scan (since opset 9) hands to its body under this name: a state as it is, a slice of all else."""
    scope = definition.scope
    if scope.parent is None or scope.owner is None or not isinstance(scope.body, GraphProto) or scope.opset < 9:
        return []
    node = scope.parent.body.node[scope.owner]
    count = attribute_of(node, "num_scan_inputs")
    position = next((at for at, value in enumerate(scope.body.input) if value.name == definition.name), None)
    if node.op_type != "Scan" or node.domain not in DEFAULT_DOMAINS or count is None or position is None:
        return []
    if position >= len(node.input):
        return []
    return [(scope.parent, node.input[position], int(position >= len(node.input) - count))]


class _SourceReading(NodeSizes):
    """A node whose inputs' sizes are expressions: only what holds for every input is said of its outputs."""

    index, label = 0, ""

    def __init__(self, sources: AxisSizes, definition: Definition, node: NodeProto) -> None:
        self._sources, self._scope = sources, definition.scope
        self.node, self.opset = node, definition.scope.opset
        self.sizes, self.notes = sources.sizes, sources.notes

    def attribute(self, name: str, default: Any = None) -> Any:
        """Raises UntraceableError where the call of a function gives it."""
        return stated_attribute(self.node, name, default)

    def dims(self, position: int) -> DimList:
        definition = self._sources.scopes.definition(self._scope, self.node.input[position])
        dims = None if definition is None else self._sources.answered(definition.key)
        if dims is None:
            raise UnknownRankError
        return dims

    def listed(self, position: int) -> list[Dim]:
        raise UnknownRankError

    def scales(self, position: int) -> Array | None:
        raise UnknownRankError

    def array(self, position: int) -> Array | None:
        return None

    def broadcast(self, many: Sequence[DimList], positions: Sequence[int] = ()) -> DimList:
        # Before opset 7 the second operand was broadcast to the first.
        return super().broadcast(many, positions) if self.opset >= 7 else many[0]

    def common(self, dims: Sequence[Dim], positions: Sequence[int] = ()) -> Dim:
        longer = {dim for dim in dims if dim.old != 1}
        return longer.pop() if len(longer) == 1 else self.sizes.opaque()

    def meet(self, one: Dim, other: Dim, *positions: int) -> None:
        pass  # they are equal, and neither is the other's source

    def require(self, dim: Dim, what: str) -> None:
        pass  # whatever runs has it

    def fix(self, dim: Dim, what: str) -> None:
        pass  # it is a number

    def reaches(self, dim: Dim) -> None:
        pass  # whatever runs reaches it

    def leave_to_runtime(self, when: bool) -> None:
        pass  # what does not run has no sizes

    def misfit(self, *positions: int) -> Exception:
        return UnknownRankError()

    def refuse(self, code: str, /, **arguments: object) -> Exception:
        return UnknownRankError()

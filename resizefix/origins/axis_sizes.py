"""Where the size of a tensor on an axis comes from, so that sizes that are provably equal are seen to be.

onnx.shape_inference gives a dynamic size up at the first convolution. Here a size is followed backwards, through
operators that keep it and through windows, to sizes that lead no further: two that end in equal expressions are equal
for every input the model runs with. Sizes that the file fixes are followed like all others: that two numbers are equal
in this file does not make one the other; nor do equal names, which exporters give to inputs of different sizes.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from onnx import GraphProto, NodeProto

from resizefix.dialects.dialect import is_resize
from resizefix.dialects.model_view import ModelView
from resizefix.document.operator_semantics.expression import Expression, Number, Size, UntraceableError, computed
from resizefix.document.operator_semantics.operand import attribute_of, stated_attribute
from resizefix.document.output_lengths import BROADCASTING, KEEPING, window
from resizefix.document.scopes import DEFAULT_DOMAINS, Definition, DefinitionKind, Scope
from resizefix.document.shapes import Dims, Key
from resizefix.opsets.node_schema import why_incomplete


class AxisSizes:
    """Answers `source` over one state of a document; results are remembered."""

    def __init__(self, view: ModelView) -> None:
        self.view = view
        self.scopes = view.scopes
        self._known: dict[Size, Expression] = {}
        self._ranks: dict[Key, int | None] = {}

    def source(self, tensor: Key, axis: int) -> Expression:
        """The size of `tensor` on `axis` (counted from 0) as an expression over sizes that lead no further."""
        wanted = Size(tensor, axis)
        # Depth first with an explicit stack: networks are deeper than Python recurses.
        pending = [wanted] if wanted not in self._known else []
        while pending:
            current = pending[-1]
            try:
                self._known[current] = self._step(current)
                pending.pop()
            except _NeededError as needed:
                if needed.size in pending:  # a file whose nodes depend on themselves
                    self._known[needed.size] = needed.size
                else:
                    pending.append(needed.size)
            except UntraceableError:
                self._known[current] = current
                pending.pop()
        return self._known[wanted]

    def fixed(self, tensor: Key, axis: int) -> int | None:
        """The size of `tensor` on `axis` if the file fixes it."""
        source = self.source(tensor, axis)
        if isinstance(source, Number):
            return int(source.value)
        if self.scopes.by_path[tensor[0]].is_repeated:
            return None
        dims = self.view.shapes.dims(tensor)
        size = dims[axis] if dims is not None and axis < len(dims) else None
        return size if isinstance(size, int) else None

    def rank(self, tensor: Key) -> int | None:
        """How many axes a tensor has: what inference knows, else what follows from what it was made of."""
        pending = [tensor]
        entered: set[Key] = set()
        while pending:
            current = pending[-1]
            if current not in self._ranks:
                definition = self.scopes.definition(self.scopes.by_path[current[0]], current[1])
                dims = self.view.shapes.dims(current)
                known = len(dims) if dims is not None else None if definition is None else self._listed(definition)
                ways = [] if known is not None or definition is None else self._ways(definition)
                # What was entered and has no answer is on the way here: a file whose nodes depend on themselves.
                missing = [key for key, _ in ways if key not in self._ranks and key not in entered]
                entered.add(current)
                if missing:
                    pending += missing
                    continue
                self._ranks[current] = known if known is not None else self._rank_by(definition, ways)
            pending.pop()
        return self._ranks[tensor]

    def _ways(self, definition: Definition) -> list[tuple[Key, int]]:
        """The tensors from which a rank follows, and how many axes more each has; none where one is not there."""
        sources = self._of_same_rank(definition)
        origins = [self.scopes.definition(source.scope, source.name) for source in sources]
        ways = [(origin.key, source.taken) for origin, source in zip(origins, sources, strict=True) if origin]
        return ways if len(ways) == len(sources) else []

    def _rank_by(self, definition: Definition | None, ways: list[tuple[Key, int]]) -> int | None:
        ranks = [self._ranks.get(key) for key, _ in ways]
        found = {rank - taken for rank, (_, taken) in zip(ranks, ways, strict=True) if rank is not None}
        if not found or None in ranks:
            return None
        if definition is not None and _row(definition) is _broadcast:
            return max(found)  # ranks are aligned at the end (Broadcasting in ONNX, docs/Broadcasting.md)
        return found.pop() if len(found) == 1 else None

    def _of_same_rank(self, definition: Definition) -> "list[_Source]":
        """The tensors that this one is, as far as its rank goes, or that are broadcast to it; none: not known."""
        if definition.node is not None and definition.node.domain in DEFAULT_DOMAINS:
            branches = self.view.calls.branches(definition)
            if branches is not None:
                return [_Source(branch.scope, branch.name) for branch in branches]
        if definition.node is not None and _row(definition) is _broadcast:
            return [_Source(definition.scope, name) for name in definition.node.input]
        one = _scanned(definition) if definition.node is None else _input_of_same_rank(definition)
        return [] if one is None else [one]

    def _listed(self, definition: Definition) -> int | None:
        """The rank of what a node makes of listed sizes: inference gives up where it cannot read them."""
        node = definition.node
        position = None if node is None or node.domain not in DEFAULT_DOMAINS else _LISTING.get(node.op_type)
        if node is None or position is None or position >= len(node.input):
            return None
        dims = self.view.dims(definition.scope, node.input[position])
        return dims[0] if dims is not None and len(dims) == 1 and isinstance(dims[0], int) else None

    def known(self, size: Size) -> Expression:
        """The answer for another size, on the way to one. Raises _NeededError until it is known."""
        if size not in self._known:
            raise _NeededError(size)
        return self._known[size]

    def _step(self, size: Size) -> Expression:
        definition = self.scopes.definition(self.scopes.by_path[size.tensor[0]], size.tensor[1])
        if definition is None or definition.kind is not DefinitionKind.NODE or definition.node is None:
            return size
        row = _row(definition)
        found = None if row is None else row(_Reading(self, definition, definition.node), size.axis)
        return size if found is None else found


class _Source(NamedTuple):
    """A tensor from which the rank of another follows: it has `taken` axes more."""

    scope: Scope
    name: str
    taken: int = 0


def _input_of_same_rank(definition: Definition) -> _Source | None:
    """The first input of a node that keeps the rank."""
    node = definition.node
    keeps = node is not None and bool(node.input) and (is_resize(node) or _row(definition) is not None)
    return _Source(definition.scope, node.input[0]) if node is not None and keeps else None


def _scanned(definition: Definition) -> _Source | None:
    """What a Scan (since opset 9) hands to its body under this name: a state as it is, a slice of all else."""
    scope = definition.scope
    if scope.parent is None or scope.owner is None or not isinstance(scope.body, GraphProto) or scope.opset < 9:
        return None
    node = scope.parent.body.node[scope.owner]
    count = attribute_of(node, "num_scan_inputs")
    position = next((at for at, value in enumerate(scope.body.input) if value.name == definition.name), None)
    if node.op_type != "Scan" or node.domain not in DEFAULT_DOMAINS or count is None or position is None:
        return None
    if position >= len(node.input):
        return None
    return _Source(scope.parent, node.input[position], int(position >= len(node.input) - count))


class _NeededError(Exception):
    """Another size must be known first."""

    def __init__(self, size: Size) -> None:
        super().__init__(size)
        self.size = size


class _Reading:
    """One node as the rows see it."""

    def __init__(self, sizes: AxisSizes, definition: Definition, node: NodeProto) -> None:
        self._sizes = sizes
        self._scope = definition.scope
        self.node = node
        self.opset = definition.scope.opset

    def size(self, position: int, axis: int) -> Expression | None:
        """The size of an input on an axis; None if there is no such input."""
        key = self._key(position)
        return None if key is None else self._sizes.known(Size(key, axis))

    def dims(self, position: int) -> Dims | None:
        """What the file and shape inference say of an input."""
        key = self._key(position)
        return None if key is None else self._sizes.view.shapes.dims(key)

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute's value. Raises UntraceableError."""
        return stated_attribute(self.node, name, default)

    def _key(self, position: int) -> Key | None:
        name = self.node.input[position] if position < len(self.node.input) else ""
        definition = self._sizes.scopes.definition(self._scope, name) if name else None
        return None if definition is None else definition.key


Row = Callable[[_Reading, int], "Expression | None"]


def _broadcast(reading: _Reading, axis: int) -> Expression | None:
    """Elementwise over several inputs, ranks aligned at the end (Broadcasting in ONNX, docs/Broadcasting.md)."""
    if reading.opset < 7:  # before, the second was broadcast to the first
        return reading.size(0, axis)
    all_dims = [reading.dims(position) for position in range(len(reading.node.input))]
    if any(dims is None for dims in all_dims):
        return None
    ranks = [len(dims) for dims in all_dims if dims is not None]
    found: list[Expression] = []
    for position, dims in enumerate(all_dims):
        own_axis = axis - (max(ranks) - ranks[position])
        if dims is None or own_axis < 0 or dims[own_axis] == 1:
            continue
        size = reading.size(position, own_axis)
        if size is not None and size not in found:
            found.append(size)
    return found[0] if len(found) == 1 else None


def _transpose(reading: _Reading, axis: int) -> Expression | None:
    dims = reading.dims(0)
    perm = reading.attribute("perm", list(range(len(dims)))[::-1] if dims is not None else None)
    return None if perm is None or axis >= len(perm) else reading.size(0, perm[axis])


def _concat(reading: _Reading, axis: int) -> Expression | None:
    dims = reading.dims(0)
    joined = reading.attribute("axis", 1)  # Concat-1's default; required since 4
    if joined < 0:
        if dims is None:
            return None
        joined += len(dims)
    # The inputs must agree on every other axis.
    return None if axis == joined else reading.size(0, axis)


def _convolution(reading: _Reading, axis: int) -> Expression | None:
    weight = reading.dims(1)
    if axis >= 2:
        return _window(reading, axis, None if weight is None else weight[2:])
    if axis == 1:
        filters = weight[0] if weight else None
        return Number(filters, "int64") if isinstance(filters, int) else None
    return reading.size(0, axis)


def _pool(reading: _Reading, axis: int) -> Expression | None:
    return _window(reading, axis, None) if axis >= 2 else reading.size(0, axis)


def _window(reading: _Reading, axis: int, kernel: Dims | None) -> Expression | None:
    size = reading.size(0, axis)
    found = window(reading.attribute, reading.attribute("kernel_shape", kernel), axis - 2)
    if size is None or found is None or (found.after and reading.attribute("ceil_mode", 0)):
        return None  # whether a last window that starts in the padding counts differs between versions
    for operator, number, nothing in (("Add", found.before, 0), ("Div", found.stride, 1), ("Add", found.after, 0)):
        if number != nothing:
            size = computed(operator, "int64", size, Number(number, "int64"))
    return size


_ROWS: dict[str, Row] = {
    **dict.fromkeys(KEEPING, lambda reading, axis: reading.size(0, axis)),
    **dict.fromkeys(BROADCASTING, _broadcast),
    "Transpose": _transpose,
    "Concat": _concat,
    "Conv": _convolution,
    "FusedConv": _convolution,  # com.microsoft: Conv with an activation
    "MaxPool": _pool,
    "AveragePool": _pool,
    "LpPool": _pool,
}
# operator -> the operand that lists the sizes of what it makes
_LISTING = {"Reshape": 1, "ConstantOfShape": 0}
_FOREIGN = frozenset({("com.microsoft", "FusedConv"), ("com.microsoft", "Gelu")})


def _row(definition: Definition) -> Row | None:
    """The row for what makes a tensor; None where there is none, or the node lacks what its operator needs."""
    node = definition.node
    if node is None or definition.name != node.output[0]:
        return None
    known = node.domain in DEFAULT_DOMAINS or (node.domain, node.op_type) in _FOREIGN
    row = _ROWS.get(node.op_type) if known else None
    return row if row is not None and why_incomplete(node, definition.scope.opset) is None else None

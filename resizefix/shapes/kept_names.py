"""Names and numbers of sizes behind nodes that keep them, where onnx.shape_inference gives the size up: behind every
resize, every call of a local function and every loop.

Only of what an edit reached: a size that the file knows on one side of a node that keeps the axis is the same size on
the other, in every scope.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import zip_longest

from onnx import NodeProto

from resizefix.dialects.dialect import RESIZES
from resizefix.document.scopes import DEFAULT_DOMAINS, Scope, Scopes, in_order, is_operator
from resizefix.document.values import Dims
from resizefix.scope_path import Key, ScopePath
from resizefix.shapes.dependents import Dependents
from resizefix.shapes.model_types import reading, stored_array
from resizefix.shapes.operand import attribute_of
from resizefix.shapes.output_size import BROADCASTING, KEEPING, batch_and_channel, kept_axes
from resizefix.shapes.values import Values

Sizes = list[int | str | None]
_Signature = tuple[tuple[int | str | None, ...] | None, ...]
_POOLS = frozenset({"MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"})
_KEPT_AXES = {"Conv": (0,), "ConvTranspose": (0,), **dict.fromkeys(_POOLS, (0, 1))}  # by operator, of the first input


class KeptNames:
    """The sizes of a model's tensors with such names and numbers.

    `derived` says those that inference knows, `stated` those that the file had before the edit, `seeds` those of the
    edited tensors, `dependents` what they reach. `names` are those that the file or the edit gives.
    """

    def __init__(
        self,
        scopes: Scopes,
        derived: Callable[[Key], Dims | None],
        stated: Mapping[Key, Dims],
        seeds: Mapping[Key, Dims | None],
        dependents: Dependents,
        names: Collection[str],
    ) -> None:
        self._scopes = scopes
        self._constants = Values(reading(stored_array), scopes)
        self._derived, self._stated, self._seeds, self._names = derived, stated, seeds, names
        self._dependents = dependents
        self._sizes: dict[Key, Sizes | None] = {}
        self._returned: dict[tuple[ScopePath, _Signature], list[Sizes | None]] = {}
        self._running: set[ScopePath] = set()

    def followed(self) -> dict[Key, Sizes]:
        """The sizes of the reached tensors, as far as their ranks are known; of those in functions, which each call may
        give others, none."""
        self._run(self._scopes.main)
        return {key: sizes for key, sizes in self._sizes.items() if sizes is not None and key[0].function is None}

    def _run(self, scope: Scope) -> None:
        """Work out what the nodes of a scope make, and of a function's all: inference tells nothing of its inside."""
        nodes = list(scope.body.node)
        for index in in_order(nodes):
            for body in self._scopes.held.get((scope.path, index), ()):
                self._run_body(scope, nodes[index], body)
            for position, name in enumerate(nodes[index].output):
                key = scope.path, name
                if name and (key in self._dependents.resized or scope.in_function):
                    self._sizes[key] = self._made(scope, index, position)

    def _run_body(self, scope: Scope, node: NodeProto, body: Scope) -> None:
        """The same of a body; what goes around a loop has the sizes at the start that a round leaves as they are."""
        inputs = [value if isinstance(value, str) else value.name for value in body.body.input]
        before, left = (2, 1) if is_operator(node, "Loop") else (0, 0)
        scanned = attribute_of(node, "num_scan_inputs") or 0
        around = inputs[before : len(inputs) - scanned] if is_operator(node, "Loop", "Scan") else []
        if scope.parent is not None or (scope.opset < 9 and is_operator(node, "Scan")):
            around = []  # in a loop inside another, the rounds of both would multiply
        supposed = [self._known(scope, name) if name else None for name in node.input[before:][: len(around)]]
        while True:
            for name, sizes in zip(around, supposed, strict=False):
                self._sizes.pop((body.path, name), None)
                if sizes is not None and ((body.path, name) in self._dependents.resized or scope.in_function):
                    self._sizes[body.path, name] = sizes
            self._run(body)
            after = [_common([sizes, self._given(body, left + at)]) for at, sizes in enumerate(supposed)]
            if after == supposed:
                return
            supposed = after

    def _of(self, scope: Scope, name: str) -> Sizes | None:
        """The sizes of a tensor that a scope reads."""
        definition = self._scopes.definition(scope, name)
        key = (scope.path, name) if definition is None else definition.key
        if key in self._sizes:
            return self._sizes[key]
        dims = self._derived(key)
        return None if dims is None else list(dims)

    def _known(self, scope: Scope, name: str) -> Sizes | None:
        """The same without what inference invented."""
        sizes = self._of(scope, name)
        return None if sizes is None else [self._said(size) for size in sizes]

    def _said(self, size: int | str | None) -> int | str | None:
        return size if isinstance(size, int) or size in self._names else None

    def _made(self, scope: Scope, index: int, position: int) -> Sizes | None:
        node = scope.body.node[index]
        key = scope.path, node.output[position]
        seed, before, derived = self._seeds.get(key), self._stated.get(key, ()), self._derived(key)
        followed = self._followed(scope, index, position)
        any_sizes = next((sizes for sizes in (derived, seed, followed) if sizes is not None), None)
        if any_sizes is None:
            return None
        sizes: Sizes = [None] * len(any_sizes) if derived is None else list(derived)
        for axis, size in enumerate(sizes):
            if self._said(size) is not None:
                continue
            fixed = seed[axis] if seed is not None and axis < len(seed) else None
            if fixed is not None and axis < len(before) and before[axis] in self._names:
                sizes[axis] = before[axis]  # the edit left it as it was
            elif self._said(fixed) is not None:
                sizes[axis] = fixed
            elif followed is not None and len(followed) == len(sizes) and followed[axis] is not None:
                sizes[axis] = followed[axis]
        return sizes

    def _followed(self, scope: Scope, index: int, position: int) -> Sizes | None:
        """The sizes of an output as far as they are sizes of what the node reads, or of what it runs gives."""
        node = scope.body.node[index]
        function = self._scopes.called(node)
        if function is not None:
            results = self._results(scope, node, function)
            return results[position] if position < len(results) else None
        bodies = self._scopes.held.get((scope.path, index), ())
        if bodies:
            return self._of_bodies(scope, node, position, bodies)
        by_caller = node.op_type not in _KEPT_AXES and any(attribute.ref_attr_name for attribute in node.attribute)
        if position or by_caller or node.domain not in DEFAULT_DOMAINS:
            return None
        given = [self._known(scope, name) for name in node.input if name]
        if node.op_type in BROADCASTING:
            return _broadcast(given) if scope.opset >= 7 else None
        if node.op_type == "Concat":
            return _joined(given, attribute_of(node, "axis"))
        if node.op_type == "Constant":
            held = next((attribute.t for attribute in node.attribute if attribute.name == "value"), None)
            return None if held is None else list(held.dims)
        first = given[0] if given and node.input[0] else None
        if first is None or node.op_type in KEEPING:
            return first
        if node.op_type == "Transpose":
            order = attribute_of(node, "perm") or range(len(first))[::-1]
            return [first[axis] for axis in order] if sorted(order) == list(range(len(first))) else None
        axes: Iterable[int] | None = _KEPT_AXES.get(node.op_type)
        if node.op_type in RESIZES:
            axes = self._kept_by_resize(scope, node, first)
        if axes is None:
            return None
        sizes = [size if axis in axes else None for axis, size in enumerate(first)]
        weight = given[1] if node.op_type == "Conv" and len(given) > 1 else None
        return [*sizes[:1], weight[0], *sizes[2:]] if weight else sizes

    def _kept_by_resize(self, scope: Scope, node: NodeProto, source: Sizes) -> set[int]:
        """The axes that a resize leaves as they are: by its constant scales, by what the edit says, or, where it is fed
        its scales, batch and channels that the file gives one size on both sides."""
        axes = set(kept_axes(node, scope.opset, len(source), lambda name: self._constants.array(scope, name)))
        key = scope.path, node.output[0]
        if key in self._seeds:
            return axes | {axis for axis, size in enumerate(self._seeds[key] or ()) if isinstance(size, str)}
        definition = self._scopes.definition(scope, node.input[0])
        read = (scope.path, node.input[0]) if definition is None else definition.key
        before, after = self._stated.get(read, self._derived(read)), self._stated.get(key)
        if before is None or after is None or not len(before) == len(after) == len(source):
            return axes
        moved = {axis for axis, size in enumerate(before) if self._said(size) is None or size != after[axis]}
        return axes | batch_and_channel(len(source), moved)

    def _results(self, scope: Scope, call: NodeProto, function: Scope) -> list[Sizes | None]:
        """The sizes of what a local function returns to this call."""
        given = [self._known(scope, name) if name else None for name in call.input]
        signature = function.path, tuple(None if sizes is None else tuple(sizes) for sizes in given)
        if function.path in self._running:  # a function that calls itself: nothing runs it
            return []
        if signature not in self._returned:
            self._running.add(function.path)
            inner: dict[Key, Sizes | None] = dict.fromkeys((function.path, name) for name in function.inputs)
            pairs = zip(function.body.input, given, strict=False)
            inner.update({(function.path, str(name)): sizes for name, sizes in pairs})
            outer, self._sizes = self._sizes, inner
            self._run(function)
            self._returned[signature] = [self._known(function, name) for name in function.body.output]
            self._sizes = outer
            self._running.remove(function.path)
        return self._returned[signature]

    def _of_bodies(self, scope: Scope, node: NodeProto, position: int, bodies: Sequence[Scope]) -> Sizes | None:
        """An output of If, Loop or Scan: what all branches give, what goes around, or the rounds one after another."""
        if is_operator(node, "If"):
            return _common([self._given(body, position) for body in bodies])
        if not is_operator(node, "Loop", "Scan") or (node.op_type == "Scan" and scope.opset < 9):
            return None
        (body, *_), before_carried = bodies, 2 if node.op_type == "Loop" else 0
        scanned = 0 if node.op_type == "Loop" else attribute_of(node, "num_scan_inputs") or 0
        carried = len(node.input) - before_carried - scanned
        inner = self._given(body, position + (node.op_type == "Loop"))
        if position < carried:
            return _common([self._known(scope, node.input[before_carried + position]), inner])
        if inner is None:
            return None
        axes = attribute_of(node, "scan_output_axes") or ()
        axis = axes[position - carried] if position - carried < len(axes) else 0
        at = axis % (len(inner) + 1)
        before = self._stated.get((scope.path, node.output[position]), ())
        rounds = before[at] if len(before) == len(inner) + 1 and self._rounds_stay(scope, node, body) else None
        return [*inner[:at], self._said(rounds), *inner[at:]]

    def _rounds_stay(self, scope: Scope, node: NodeProto, body: Scope) -> bool:
        """Whether the edit reaches nothing that says how often a loop runs."""
        reached = self._dependents.reached if node.op_type == "Loop" else self._dependents.resized
        if node.op_type == "Loop":
            names = [(scope, name) for name in node.input[:2] if name]
            names += [(body, value.name) for value in body.body.output[:1] if not isinstance(value, str)]
        else:
            count = attribute_of(node, "num_scan_inputs") or 0
            names = [(scope, name) for name in node.input[len(node.input) - count :]]
        sources = [self._scopes.definition(*name) for name in names]
        return all(source is not None and source.key not in reached for source in sources)

    def _given(self, body: Scope, position: int) -> Sizes | None:
        """The sizes of an output of a body."""
        outputs = [value if isinstance(value, str) else value.name for value in body.body.output]
        return self._known(body, outputs[position]) if position < len(outputs) else None


def _common(given: Sequence[Sizes | None]) -> Sizes | None:
    """The sizes on which all agree, where all have one rank."""
    known_sizes = [sizes for sizes in given if sizes is not None]
    if not known_sizes or len(known_sizes) < len(given) or len({len(sizes) for sizes in known_sizes}) > 1:
        return None
    return [column[0] if len(set(column)) == 1 else None for column in zip(*known_sizes, strict=True)]


def _broadcast(given: Sequence[Sizes | None]) -> Sizes | None:
    """The sizes of the output of an elementwise operator, counted from the end: of several, that which is not 1."""
    known_sizes = [sizes for sizes in given if sizes is not None]
    if not known_sizes or len(known_sizes) < len(given):
        return None
    columns = [set(column) for column in zip_longest(*map(reversed, known_sizes), fillvalue=1)]
    longest = [column - {1} or {1} for column in columns]
    return [next(iter(sizes)) if len(sizes) == 1 else None for sizes in reversed(longest)]


def _joined(given: Sequence[Sizes | None], axis: int | None) -> Sizes | None:
    """The sizes of tensors one after another along an axis."""
    sizes, stated = _common(given), [one for one in given if one is not None]
    if sizes is None or axis is None or not -len(sizes) <= axis < len(sizes):
        return None
    lengths = [one[axis] for one in stated]
    numbers = [length for length in lengths if isinstance(length, int)]
    sizes[axis % len(sizes)] = sum(numbers) if len(numbers) == len(lengths) else None
    return sizes

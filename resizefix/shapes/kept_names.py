"""Names of sizes behind nodes that keep them, where onnx.shape_inference gives the size up: behind every resize.

Only of what an edit reached, in the main graph: a size that is a name of the file on one side of a node that keeps the
axis is the same size on the other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import zip_longest

from onnx import ModelProto, NodeProto

from resizefix.dialects.dialect import RESIZES
from resizefix.document.edits import FIRST_IR_WITH_DEFAULTS
from resizefix.document.scopes import DEFAULT_DOMAINS, Scope, in_order
from resizefix.document.values import Array, Dims
from resizefix.document.view import View
from resizefix.scope_path import MAIN, Key
from resizefix.shapes.output_lengths import BROADCASTING, KEEPING
from resizefix.shapes.output_size import kept_axes
from resizefix.shapes.size_rules import constant_of

Sizes = list[int | str | None]
_LEADING = frozenset(
    {"Conv", "ConvTranspose", "MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool"}
)


class KeptNames:
    """The sizes of a model's tensors with such names.

    `derived` says those that inference knows, `stated` those that the file had before the edit, `seeds` those of the
    edited tensors. `names` are those that the file gives.
    """

    def __init__(
        self,
        model: ModelProto,
        derived: Callable[[Key], Dims | None],
        stated: Mapping[Key, Dims],
        seeds: Mapping[Key, Dims | None],
        names: Collection[str],
    ) -> None:
        self._scope: Scope = View(model).scopes.main
        self._fed = {value.name for value in model.graph.input} if model.ir_version >= FIRST_IR_WITH_DEFAULTS else set()
        self._derived, self._stated, self._seeds, self._names = derived, stated, seeds, names
        self._sizes: dict[str, Sizes | None] = {}

    def followed(self, reached: Collection[Key]) -> dict[Key, Sizes]:
        """The sizes of the reached tensors of the main graph, as far as their ranks are known."""
        nodes = list(self._scope.body.node)
        for index in in_order(nodes):
            node = nodes[index]
            for position, name in enumerate(node.output):
                if (MAIN, name) in reached:
                    self._sizes[name] = self._made(node, name) if position == 0 else self._of(name)
        return {(MAIN, name): sizes for name, sizes in self._sizes.items() if sizes is not None}

    def _of(self, name: str) -> Sizes | None:
        if name not in self._sizes:
            dims = self._derived((MAIN, name))
            self._sizes[name] = None if dims is None else list(dims)
        return self._sizes[name]

    def _made(self, node: NodeProto, name: str) -> Sizes | None:
        sizes = self._of(name)
        if sizes is None:
            return None
        key = (MAIN, name)
        seed, before = self._seeds.get(key), self._stated.get(key, ())
        kept = self._kept(node, len(sizes))
        for axis, size in enumerate(sizes):
            if isinstance(size, int) or size in self._names:
                continue
            fixed = seed[axis] if seed is not None and axis < len(seed) else None
            if fixed is not None and axis < len(before) and before[axis] in self._names:
                sizes[axis] = before[axis]  # the edit left it as it was
            elif axis in kept or (isinstance(fixed, str) and _is_resize(node)):  # it is the input's
                sizes[axis] = self._common(node, axis, len(sizes)) or size
        return sizes

    def _constant(self, name: str) -> Array | None:
        return None if name in self._fed else constant_of(self._scope, name)

    def _kept(self, node: NodeProto, rank: int) -> Iterable[int]:
        """The axes that the output has from the inputs."""
        if _is_resize(node):
            return kept_axes(node, self._scope.opset, rank, self._constant)
        if node.domain not in DEFAULT_DOMAINS:
            return ()
        if node.op_type in KEEPING or (node.op_type in BROADCASTING and self._scope.opset >= 7):
            return range(rank)
        if node.op_type == "Concat":
            axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 0)
            return set(range(rank)) - {axis % rank if rank else 0}
        return (0,) if node.op_type in _LEADING else ()

    def _common(self, node: NodeProto, axis: int, rank: int) -> str | None:
        """The name that all inputs have on an axis, counted from the end, but for those of one element."""
        many = node.op_type in BROADCASTING or node.op_type == "Concat"
        given: Sequence[str] = node.input if many else node.input[:1]
        inputs = [self._of(name) for name in given if name]
        if None in inputs:
            return None
        columns = zip_longest(*(reversed(sizes or ()) for sizes in inputs), fillvalue=1)
        column = next((found for at, found in enumerate(columns) if at == rank - 1 - axis), ())
        sizes = {size for size in column if size != 1 or node.op_type == "Concat"}
        name = sizes.pop() if len(sizes) == 1 else None
        return name if isinstance(name, str) and name in self._names else None


def _is_resize(node: NodeProto) -> bool:
    return node.op_type in RESIZES and node.domain in DEFAULT_DOMAINS

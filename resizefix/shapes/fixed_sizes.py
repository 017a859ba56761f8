"""Sizes that the file fixes where onnx.shape_inference gave up, and the values that follow from them.

Inference does not fold the small chains that exporters leave, as pads made by Shape, Concat and Split: behind them all
sizes are open, though the inputs and constants of the file leave only one.
"""

from collections.abc import Mapping, Sequence, Set

from onnx import NodeProto

from resizefix.document.scopes import Definition
from resizefix.document.values import Dims, dims_of
from resizefix.scope_path import MAIN
from resizefix.shapes.expression import Expression, Number, Size, UntraceableError
from resizefix.shapes.operand import Known
from resizefix.shapes.stored_shapes import ModelView
from resizefix.shapes.values import Values


def know_fixed_sizes(view: ModelView, beside: Sequence[NodeProto] = ()) -> None:
    """Let `view.shapes` say the sizes of tensors of the main graph that follow from those of its inputs, where a resize
    reads one of which inference leaves a size open, or a node `beside` writes one."""
    nodes = [scope.body.node[index] for scope, index in view.resizes if scope.path == MAIN]
    shaped = [value for value in view.model.graph.input if value.type.tensor_type.HasField("shape")]
    stated = {value.name: dims_of(value.type) for value in shaped}
    inputs = {name: numbers for name, dims in stated.items() if (numbers := _numbers(dims)) is not None}
    left_open = {size for dims in stated.values() for size in dims or () if not isinstance(size, int)} - {None}
    names = {name for node in nodes for name in node.input[:1] if name and name not in stated}
    names |= {node.output[0] for node in beside}
    if not inputs or all(_is_said(view.shapes.dims((MAIN, name)), left_open) for name in names):
        return
    from resizefix.shapes.walk import OldSizesError, SizeFlow  # most models' sizes are stated

    flow = SizeFlow(view, inputs)
    try:
        ends = [node.output[0] for node in beside]
        flow.work_out([*(name for node in nodes for name in (*node.input[:1], *node.output[:1]) if name), *ends])
    except OldSizesError:
        return  # nothing runs it
    for name in view.scopes.main.producers:
        before, made = view.shapes.dims((MAIN, name)), flow.old(name)
        if made is not None and _numbers(before) is None and _agrees(before, made):
            view.shapes.state((MAIN, name), made)


def fixed_values(view: ModelView, supposed: Mapping[str, int] | None = None) -> Values:
    """What holds at the sizes that the file fixes. `supposed`: the sizes that symbols are taken to have."""
    know_fixed_sizes(view)
    at = {} if supposed is None else supposed

    def sizes(definition: Definition) -> Sequence[Expression]:
        dims = view.shapes.dims(definition.key)
        if dims is None and definition.node is not None:
            known = values.follow(definition)  # what is folded says how long it is: inference does not fold
            dims = known.value.shape if isinstance(known, Known) and known.value is not None else None
        if dims is None:
            raise UntraceableError("origins.rank-of-shape-unknown", name=definition.name)
        found = [at.get(size) if isinstance(size, str) else size for size in dims]
        return [
            Size(definition.key, axis) if size is None else Number(size, "int64") for axis, size in enumerate(found)
        ]

    values = view.values(sizes)
    return values


def _numbers(dims: Dims | None) -> tuple[int, ...] | None:
    """The sizes if all are numbers."""
    numbers = tuple(size for size in dims or () if isinstance(size, int))
    return numbers if dims is not None and len(numbers) == len(dims) else None


def _is_said(dims: Dims | None, left_open: Set[object]) -> bool:
    """Whether each size is a number or one that the file leaves open."""
    return dims is not None and all(isinstance(size, int) or size in left_open for size in dims)


def _agrees(stated: Dims | None, made: tuple[int, ...]) -> bool:
    """Whether sizes are those that are stated, as far as those are numbers."""
    if stated is None:
        return True
    pairs = zip(stated, made, strict=False)
    return len(stated) == len(made) and all(size == other for size, other in pairs if isinstance(size, int))

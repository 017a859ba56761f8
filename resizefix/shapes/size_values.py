"""Values that follow from sizes of tensors: as expressions that hold at every size, or as numbers at some sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from resizefix.document.scopes import Definition
from resizefix.document.values import Array
from resizefix.shapes.expression import Expression, Number, Size, UntraceableError
from resizefix.shapes.fixed_sizes import know_fixed_sizes
from resizefix.shapes.model_view import ModelView
from resizefix.shapes.values import Values

if TYPE_CHECKING:
    from resizefix.shapes.axis_sizes import AxisSizes


def traced_values(axis_sizes: AxisSizes, given: Mapping[str, Array] | None = None) -> Values:
    """What holds at every size of the inputs: the sizes of tensors are `Size`s. `given` are values of graph inputs.

    What is said here is confirmed by `origins.measure`, which runs the chain in onnxruntime.
    """

    def sizes(definition: Definition) -> Sequence[Expression]:
        rank = axis_sizes.rank(definition.key)
        if rank is None:
            raise UntraceableError("origins.rank-of-shape-unknown", name=definition.name)
        return [Size(definition.key, axis) for axis in range(rank)]

    return axis_sizes.view.values(sizes, given)


def fixed_values(view: ModelView, supposed: Mapping[str, int] | None = None) -> Values:
    """What holds at the sizes that the file fixes. `supposed`: the sizes that symbols are taken to have."""
    know_fixed_sizes(view)
    at = supposed or {}

    def sizes(definition: Definition) -> Sequence[Expression]:
        dims = view.shapes.dims(definition.key)
        if dims is None:
            raise UntraceableError("origins.rank-of-shape-unknown", name=definition.name)
        found = [at.get(size) if isinstance(size, str) else size for size in dims]
        return [
            Size(definition.key, axis) if size is None else Number(size, "int64") for axis, size in enumerate(found)
        ]

    return view.values(sizes)

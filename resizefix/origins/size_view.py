"""One node in one case, as the rows of operators see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnx import NodeProto, TypeProto, helper

from resizefix.document.values import Array
from resizefix.origins.size_rows import Dims, UnknownSizesError

if TYPE_CHECKING:
    from resizefix.origins.size_flow import SizeFlow


class NodeView:
    """One node in one case, as the rows see it."""

    def __init__(self, flow: SizeFlow, node: NodeProto, opset: int, case: int) -> None:
        self._flow = flow
        self.node = node
        self.opset = opset
        self.case = case
        self._attributes: dict[str, Any] | None = None

    def __len__(self) -> int:
        return len(self.node.input)

    def dims(self, position: int) -> Dims:
        """The sizes of an input. Raises UnknownSizesError."""
        name = self.node.input[position] if position < len(self.node.input) else ""
        found = self._flow.dims(name, self.case) if name else None
        if found is None:
            raise UnknownSizesError
        return found

    def has(self, position: int) -> bool:
        """Whether an input is given."""
        return position < len(self.node.input) and bool(self.node.input[position])

    def old(self, position: int) -> Dims:
        """The sizes of an input with the old operands. Raises UnknownSizesError."""
        found = self._flow.old(self.node.input[position])
        if found is None:
            raise UnknownSizesError
        return found

    def value(self, position: int) -> Array:
        """The value of an input that lists sizes. Raises UnknownSizesError."""
        found = self.value_of(self.node.input[position]) if self.has(position) else None
        if found is None:
            raise UnknownSizesError
        return found

    def value_of(self, name: str) -> Array | None:
        """The value of an input by its name."""
        return self._flow.value(name, self.case)

    def type_of(self, name: str) -> TypeProto | None:
        """The type of an input by its name."""
        return self._flow.type_of(name, self.case)

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute's value."""
        if self._attributes is None:
            self._attributes = {found.name: helper.get_attribute_value(found) for found in self.node.attribute}
        return self._attributes.get(name, default)

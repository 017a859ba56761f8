"""One state of a document with its values and shapes, sizes of resize nodes included."""

from __future__ import annotations

from functools import cached_property

from resizefix.dialects.dialect import RESIZES
from resizefix.document.document import Document
from resizefix.document.scopes import DEFAULT_DOMAINS, Scope
from resizefix.document.values import Array, Dims
from resizefix.document.view import View
from resizefix.shapes.stored_shapes import Shapes
from resizefix.shapes.values import SizesOf, ValueOf, Values


class ModelView(View):
    """A document's nodes, names, constants and shapes, worked out when they are first asked for."""

    def __init__(self, document: Document) -> None:
        super().__init__(document.proto)
        self.document = document

    def __reduce__(self) -> tuple[type[ModelView], tuple[Document]]:
        """Between processes the document travels alone; what is known of it is worked out again."""
        return ModelView, (self.document,)

    @cached_property
    def constants(self) -> Values:
        """The values that nothing at run time can change."""
        return Values(self.document.array, self.scopes)

    def values(self, sizes: SizesOf, given: ValueOf | None = None) -> Values:
        """The values that follow from these sizes of tensors, over calls and into branches, too."""
        return Values(
            self.document.array, self.scopes, constants=self.constants, calls=self.calls, sizes=sizes, given=given
        )

    @cached_property
    def resizes(self) -> list[tuple[Scope, int]]:
        """Every Upsample and Resize by its scope and position there, in the order in which a reader of the file meets
        them: that of the sites."""
        found = [
            (scope, index)
            for scope in self.scopes.all
            for index, node in enumerate(scope.body.node)
            if node.op_type in RESIZES and node.domain in DEFAULT_DOMAINS  # for a hundred thousand nodes
        ]
        return sorted(found, key=lambda place: (*place[0].order, place[1]))

    def value(self, scope: Scope, name: str) -> Array | None:
        """The value of a tensor that nothing at run time can change; None for another."""
        return self.constants.array(scope, name)

    def dims(self, scope: Scope, name: str) -> Dims | None:
        """The sizes of what `name`, read in `scope`, refers to, as far as they are known."""
        home = self.scopes.definition(scope, name)
        return None if home is None else self.shapes.dims(home.key)

    def elem_type(self, scope: Scope, name: str) -> int | None:
        """Its element type."""
        home = self.scopes.definition(scope, name)
        return None if home is None else self.shapes.elem_type(home.key)

    @cached_property
    def shapes(self) -> Shapes:
        """Types and shapes, the stored ones and those that inference adds."""
        return Shapes(self.model)

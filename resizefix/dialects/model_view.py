"""One state of a document with its values and shapes, sizes of resize nodes included."""

from __future__ import annotations

from functools import cached_property

from resizefix.dialects.shapes import shapes_of
from resizefix.document.constants import Constants
from resizefix.document.document import Document
from resizefix.document.shapes import Shapes
from resizefix.document.view import View


class ModelView(View):
    """A document's nodes, names, constants and shapes, worked out when they are first asked for."""

    def __init__(self, document: Document) -> None:
        super().__init__(document.proto)
        self.document = document

    def __reduce__(self) -> tuple[type[ModelView], tuple[Document]]:
        """Between processes the document travels alone; what is known of it is worked out again."""
        return ModelView, (self.document,)

    @cached_property
    def constants(self) -> Constants:
        """The values that nothing at run time can change."""
        return Constants(self.document, self.scopes)

    @cached_property
    def shapes(self) -> Shapes:
        """Types and shapes, the stored ones and those that inference adds."""
        return shapes_of(self.model)

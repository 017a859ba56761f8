"""One state of a document with what is worked out about it, each thing once: for everybody who looks at the same state.

Like the `Scopes` in it, a snapshot answers for the document as it was: after an edit another one is taken.
"""

from __future__ import annotations

from functools import cached_property

from resizefix.dialects.shapes import shapes_of
from resizefix.document.constants import Constants
from resizefix.document.document import Document
from resizefix.document.scopes import Scopes
from resizefix.document.shapes import Shapes


class Snapshot:
    """A document's scopes, constants and shapes, worked out when they are first asked for."""

    def __init__(self, document: Document) -> None:
        self.document = document

    @cached_property
    def scopes(self) -> Scopes:
        """Every node with the names it can see."""
        return Scopes(self.document.proto)

    @cached_property
    def constants(self) -> Constants:
        """The values that nothing at run time can change."""
        return Constants(self.document, self.scopes)

    @cached_property
    def shapes(self) -> Shapes:
        """Types and shapes, the stored ones and those that inference adds."""
        return shapes_of(self.document.proto)

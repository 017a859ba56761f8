"""One state of a model with what is worked out about it, each thing once: for everyone who looks at the same state."""

from __future__ import annotations

from functools import cached_property

from onnx import ModelProto

from resizefix.document.call_resolver import CallResolver
from resizefix.document.scopes import Scopes


class View:
    """A model's nodes and names, worked out when they are first asked for; `ModelView` adds values and shapes.

    It answers for the model as it was then: after an edit, take another.
    """

    def __init__(self, model: ModelProto) -> None:
        self.model = model

    @cached_property
    def scopes(self) -> Scopes:
        """Every node with the names it can see."""
        return Scopes(self.model)

    @cached_property
    def calls(self) -> CallResolver:
        """What names are on the other side of a call or of a branch."""
        return CallResolver(self.scopes)

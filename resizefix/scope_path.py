"""The identity of a scope: which local function, with its overload, and which bodies of nodes in it.

Every table that tells scopes, functions or values apart uses these keys, in whichever copy of a model it looks.
"""

from __future__ import annotations

from typing import NamedTuple

from onnx import FunctionProto, NodeProto


class FunctionName(NamedTuple):
    """What tells a local function from all others (FunctionProto in onnx.proto); the overload since IR 10."""

    domain: str
    name: str
    overload: str = ""

    @classmethod
    def of(cls, function: FunctionProto) -> FunctionName:
        """The name of a function that the model has."""
        return cls(function.domain, function.name, function.overload)

    @classmethod
    def called_by(cls, node: NodeProto) -> FunctionName:
        """The name of the function that the node calls, if the model has one of that name."""
        return cls(node.domain, node.op_type, node.overload)

    def __str__(self) -> str:
        overload = f":{self.overload}" if self.overload else ""
        return f"function {self.domain}::{self.name}{overload}"


class BodyName(NamedTuple):
    """The node that holds a body, by what edits do not move, and which of its attributes the body is."""

    holder: str
    attribute: str

    def __str__(self) -> str:
        return f"{self.holder}.{self.attribute}"


class ScopePath(tuple[FunctionName | BodyName, ...]):
    """The way to a list of nodes: nothing for the main graph, else the local function, if any, and the bodies.

    It is the same in every copy of a model, and after edits that leave the holding nodes there.
    """

    __slots__ = ()

    @property
    def function(self) -> FunctionName | None:
        """The local function that it leads to, or into."""
        return self[0] if self and isinstance(self[0], FunctionName) else None

    @property
    def attribute(self) -> str | None:
        """The attribute of the holding node that the body is; None for the main graph and a function."""
        return self[-1].attribute if self and isinstance(self[-1], BodyName) else None

    @property
    def is_body(self) -> bool:
        """Whether it leads to a body (of If, Loop, Scan), which need not run when the model does."""
        return self.attribute is not None

    @property
    def outermost(self) -> ScopePath:
        """The main graph, or the function that it leads into."""
        return MAIN if self.function is None else ScopePath(self[:1])

    @property
    def visible(self) -> list[ScopePath]:
        """The scopes whose names are seen here, inside out."""
        if not self:
            return [self]
        return [ScopePath(self[:length]) for length in range(len(self), len(self.outermost) - 1, -1)]

    @property
    def steps(self) -> tuple[str, ...]:
        """As text, step by step: `("function d::f:overload", "If_3.then_branch")`."""
        return tuple(map(str, self))

    def __str__(self) -> str:
        return " / ".join(self.steps)


MAIN = ScopePath()
Key = tuple[ScopePath, str]  # tells a value from all others of a model

"""The row types of the table: an equivalence of forms along one axis, and an equivalence of whole nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from resizefix.diagnostics import Diagnostic
from resizefix.equivalences.index_map import Form
from resizefix.equivalences.resize_spec import Axis, ResizeSpec
from resizefix.interpolation import Interpolation


@dataclass(frozen=True)
class Equivalence:
    """A numbered fact: under `condition` two spellings compute the same, `because`.

    `exact`: bit for bit in onnxruntime. Otherwise `error_bound.spelling_bound` says how far two spellings lie apart.
    """

    number: int
    name: str
    condition: str
    because: str
    exact: bool = True

    @property
    def label(self) -> str:
        """How messages and documentation call it: "E5"."""
        return f"E{self.number}"


@dataclass(frozen=True)
class AxisEquivalence(Equivalence):
    """`alike(axis, form, interpolation)`: the forms that sample this axis as `form` does; empty where it says nothing.

    A whole node may take another form if every axis may, each by its own equivalence. `longest`: how long an axis may
    be whose length is not known; None: any.
    """

    alike: Callable[[Axis, Form, Interpolation], frozenset[Form]] = field(kw_only=True)
    longest: int | None = None


@dataclass(frozen=True)
class NodeEquivalence(Equivalence):
    """`rewrite(subject)`: what may stand in its place, or why nothing may."""

    rewrite: Callable[[ResizeSpec], tuple[ResizeSpec, ...] | Diagnostic] = field(kw_only=True)

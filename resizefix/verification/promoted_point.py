"""A point of the trial of a promotion: feeds, scales, and the original that holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from resizefix.document.document import Document
from resizefix.promotion import PromotedInput
from resizefix.runtimes.prepared_model import PreparedModel
from resizefix.scope_path import Key
from resizefix.shapes.model_view import ModelView
from resizefix.verification.bounds import half_units
from resizefix.verification.reference_model import Operand
from resizefix.verification.scale_points import ScalePoint
from resizefix.verification.trial import Point

_MOST_SAID = 8


@dataclass
class PromotedPoint(Point):
    """A point of the trial at some scales: the operands that they make in the original, which holds them."""

    scales: ScalePoint = field(kw_only=True)
    operands: Mapping[Key, Operand] = field(kw_only=True)
    prepared: PreparedModel | None = None

    @property
    def values(self) -> dict[str, tuple[float, ...]]:
        """The values of the promoted inputs."""
        return {source.name: tuple(value) for source, value in self.scales.values}

    @property
    def at(self) -> str:
        """The values of the inputs, or the first of them, as text."""
        values = self.values
        text = ", ".join(f"{name}={list(value)}" for name, value in islice(values.items(), _MOST_SAID))
        return text if len(values) <= _MOST_SAID else f"{text}, …"


def half_units_of(original: Document, inputs: Sequence[PromotedInput]) -> float:
    """How far outputs may differ for what these inputs resize in half precision before them."""
    view = ModelView(original)
    scopes = view.scopes
    sites = (driven for source in inputs for driven in source.sites)
    homes = (scopes.definition(scopes.by_path.get(driven.scope, scopes.main), driven.input) for driven in sites)
    return half_units(view.shapes.elem_type(home.key) for home in homes if home is not None)

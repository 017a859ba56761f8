"""Whether what a promoted model makes is what the original makes: bit for bit, or within the bounds of a level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from resizefix.dialects.model_view import ModelView
from resizefix.document.document import Document
from resizefix.promotion import PromotedInput
from resizefix.runtimes.inputs import Value
from resizefix.verification.bounds import Bound, half_units, relative_bounds, within
from resizefix.verification.compare import Comparison, compare

Outputs = Mapping[str, Value]


@dataclass(frozen=True)
class Judged:
    """A comparison, whether it passes, whether only as half precision may differ, and the bound that it passes by."""

    comparison: Comparison
    same: bool
    last_bits: bool
    bound: float


def judged(
    original: Document,
    inputs: Sequence[PromotedInput],
    expected: Outputs,
    found: Outputs,
    bounds: Mapping[str, Bound] | None,
) -> Judged:
    """Whether the outputs are the same: bit for bit without `bounds`, else within them; or but for the last bits of
    half precision."""
    comparison = compare(expected, found)
    same = comparison.bitwise if bounds is None else within(comparison, bounds)
    last_bits = False
    if not same:
        wider = relative_bounds(expected, _last_bits(original, inputs))
        wider = {name: max(bound, (bounds or wider)[name], key=_relative) for name, bound in wider.items()}
        differing = (difference.output for difference in comparison.differences if not difference.bitwise)
        same = last_bits = within(comparison, wider) and all(wider[name].relative for name in differing)
        bounds = wider if same else bounds
    return Judged(comparison, same, last_bits, max(map(_relative, (bounds or {}).values()), default=0.0))


def _last_bits(original: Document, inputs: Sequence[PromotedInput]) -> float:
    """How far outputs may differ for what is resized in half precision before them."""
    view = ModelView(original)
    scopes = view.scopes
    sites = (driven for source in inputs for driven in source.sites)
    homes = (scopes.definition(scopes.by_path.get(driven.scope, scopes.main), driven.input) for driven in sites)
    return half_units(view.shapes.elem_type(home.key) for home in homes if home is not None)


def _relative(bound: Bound) -> float:
    return bound.relative

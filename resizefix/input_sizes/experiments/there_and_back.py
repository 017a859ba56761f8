"""The old size again: a model of another size, converted back, must give the bits of the original.

A number of the new model that is no longer the one that follows from its size comes back as another number, or stays.
"""

from __future__ import annotations

from collections.abc import Callable

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.input_sizes.experiments.image_experiments import Original, first_wrong
from resizefix.input_sizes.refusal import KEEP, asked
from resizefix.verification.compare import compare, relative_bounds, within
from resizefix.verification.engine import Engine

_OTHER_ORDER = 1e-5  # what a formula that is worked out from the new numbers may differ by, relative to the largest


def require_same_back(engine: Engine, original: Original, back: Document, is_kept: Callable[[str], bool]) -> None:
    """Raises SizeRefusedError with the first node that comes back as something else, where an output shows it.

    `is_kept`: whether the user has decided about a node, by its label.
    """
    made = engine.run(back, original.feeds, extra_outputs=original.shown)
    outputs = [value.name for value in original.document.proto.graph.output]
    pairs = {name: compare({name: original.made[name]}, {name: made[name]}) for name in [*original.shown, *outputs]}
    wrong = {
        name
        for name, found in pairs.items()
        if not found.bitwise and not within(found, relative_bounds({name: made[name]}, _OTHER_ORDER))
    }
    if wrong.isdisjoint(outputs):
        same = all(pairs[name].bitwise for name in outputs)
        engine.tested.append(Diagnostic("verification.tested-back" if same else "verification.tested-near-back"))
        return
    label = first_wrong(original.document, wrong, is_kept)
    if label is not None:
        raise asked(label, None, "verification.other-bits-back", {KEEP: Diagnostic("verification.reading-not-back")})

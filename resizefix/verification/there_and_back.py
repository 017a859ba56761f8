"""The old size again: a model of another size, converted back, must give the bits of the original.

A number of the new model that is no longer the one that follows from its size comes back as another number, or stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.origins.input_sizes.refusal import KEEP, asked
from resizefix.runtimes.inputs import Value
from resizefix.verification.compare import compare
from resizefix.verification.engine import Engine
from resizefix.verification.image_experiments import Original, first_wrong


def require_same_bits(engine: Engine, original: Original, back: Document, is_kept: Callable[[str], bool]) -> None:
    """Raises SizeRefusedError with the first node that comes back as something else, where an output shows it.

    `is_kept`: whether the user has decided about a node, by its label.
    """
    made = engine.run(back, original.feeds, extra_outputs=original.shown)
    outputs = [value.name for value in original.document.proto.graph.output]
    if not _other_bits(original, made, outputs):
        engine.tested.append(Diagnostic("verification.tested-back"))
        return
    label = first_wrong(original.document, _other_bits(original, made, [*original.shown, *outputs]), is_kept)
    if label is not None:
        raise asked(label, None, "verification.other-bits-back", {KEEP: Diagnostic("verification.reading-not-back")})


def _other_bits(original: Original, made: Mapping[str, Value], names: Sequence[str]) -> set[str]:
    return {name for name in names if not compare({name: original.made[name]}, {name: made[name]}).bitwise}

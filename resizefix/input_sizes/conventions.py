"""The conventions that may decide what a number of the file follows, where nothing in the file does.

Each recognises what exporters write, is printed wherever it is used, and can be overruled at a node; `--assume none`
turns all of them into questions. A number that no convention knows is asked for.
"""

from resizefix.diagnostics import Diagnostic
from resizefix.input_sizes.refusal import READINGS

CONVENTIONS: dict[str, str] = {
    "grid-as-large-as-its-map": "origins.inferred-grid",
    "windows-of-one-size": "origins.inferred-split",
    "pool-over-the-whole-map": "origins.inferred-whole",
    "as-many-windows-on-both-axes": "origins.inferred-pool",
    "window-of-a-pool-stays": "origins.inferred-window",
    "resize-to-the-size-of-a-joined-map": "origins.inferred-map",
    "resize-to-a-share-of-the-input": "origins.inferred-size-of-input",
    "resize-to-whole-windows": "origins.inferred-windows",
    "resize-to-a-size-of-its-own": "origins.inferred-size",
    "cut-at-the-half": "origins.inferred-half",
    "cut-of-the-whole-axis": "origins.inferred-kept-of-input",
    "side-in-arithmetic": "origins.inferred-side",
    "divisor-as-large-as-the-map": "origins.input-size-number-follows",
    "shares-in-a-table-stay": "origins.inferred-numbers",
    "steps-in-pixels": "origins.inferred-step",
}
"""The name of each, and the code of the sentence that says what it took for granted."""


def sentence_of(convention: str, **said: object) -> str:
    """What a use of a convention says."""
    return Diagnostic(CONVENTIONS[convention], **said)


def against(reading: str) -> str:
    """What the reading means that a convention decides against; one that is no word of the table is a formula."""
    if reading in READINGS:
        return Diagnostic(READINGS[reading])
    return Diagnostic("origins.reading-formula", formula=reading)

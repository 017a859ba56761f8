"""The resolution of a file in one line, and as the JSON contract spells it."""

from __future__ import annotations

from typing import Any

from resizefix.library.resolution import Freedom, InputResolution
from resizefix.printable import printable
from resizefix.reports.json import fields
from resizefix.reports.wording import some_of


def resolution_line(found: InputResolution) -> str | None:
    """What to say of the input's height and width; None where no input has them."""
    if found.freedom is Freedom.NO_IMAGE or found.size is None:
        return None
    size = "x".join("?" if length is None else str(length) for length in found.size)
    named = some_of(found.nodes)
    if found.freedom is Freedom.FREE:
        return "resolution: not fixed by the file"
    if found.freedom is Freedom.FIXED:
        return f"resolution: fixed at {size}; resizefix input-size says whether it can change"
    if found.freedom is Freedom.IMPOSSIBLE:
        return f"resolution: {size}; resizefix input-size refuses another at {named}: {printable(found.reason or '')}"
    held = f", held by {named}" if named else " by the input's shape alone"
    return f"resolution: frozen at {size}{held}; resizefix input-size changes it"


def resolution_json(found: InputResolution) -> dict[str, Any]:
    """The field `resolution` of inspect."""
    return {
        **fields(found, "freedom", "input", "size"),
        "nodes": list(found.nodes[:100]),
        "node_count": len(found.nodes),
        "reason": None if found.reason is None else str(found.reason),
    }

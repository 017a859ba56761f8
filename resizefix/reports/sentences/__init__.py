"""Every sentence of errors, refusals and verifications: a table for each room, from codes to templates.

A code is the room's name, a dot and what it is about. The tables import nothing, so that every room may make a
`Diagnostic`; a room's is read when its first one is made.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache


def template(code: str) -> str:
    """The sentence of a code, as `str.format` takes it. Raises KeyError where no table has the code."""
    return _sentences(code.partition(".")[0])[code]


@cache
def _sentences(room: str) -> Mapping[str, str]:
    table: Mapping[str, str] = importlib.import_module(f"{__name__}.{room}").SENTENCES
    return table

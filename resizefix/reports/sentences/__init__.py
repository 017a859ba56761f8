"""Every sentence of errors, refusals and verifications: a table for each room, from codes to templates.

A code is the room's name, a dot and what it is about. The tables import nothing, so that every room may make a
`Diagnostic`; a room's is read when its first one is made.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache

_OF_PROGRAM = "cli"  # the room whose sentences only the command line says


@cache
def template(code: str, *, typed: bool = True) -> str:
    """The sentence of a code, as `str.format` takes it: for who types a command, or else for a caller in Python.

    Raises KeyError where no table has the code.
    """
    room = code.partition(".")[0]
    sentence = _sentences(room)[code]
    if typed or room == _OF_PROGRAM or "--" not in sentence:
        return sentence
    from resizefix.reports.sentences.python_words import in_python

    return in_python(sentence)


@cache
def _sentences(room: str) -> Mapping[str, str]:
    table: Mapping[str, str] = importlib.import_module(f"{__name__}.{room}").SENTENCES
    return table

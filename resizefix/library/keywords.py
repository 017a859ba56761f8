"""How a call is written: an argument that a call does not have is a TypeError, which proposes what was meant."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from resizefix.library.options import checks_of, command_of, options_of
from resizefix.near_words import nearest

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_MOST_LISTED = 12


def require_fitting(call: str, signature: inspect.Signature, models: Sequence[Any], options: Mapping[str, Any]) -> None:
    """Raises TypeError where the call does not take these arguments: a keyword that it does not have, for which the
    nearest is proposed; too many without a keyword, with the keyword whose values they fit; or one that is missing."""
    wrong = [name for name in options if name not in signature.parameters]
    if wrong:
        raise TypeError(_no_keyword(call, signature, wrong[0]))
    positional = [each for each in signature.parameters.values() if each.kind in _POSITIONAL]
    if len(models) > len(positional):
        raise TypeError(_too_many(call, [each.name for each in positional], models[len(positional)], options))
    try:
        signature.bind(*models, **options)
    except TypeError as error:
        raise TypeError(f"{call}(): {error}") from None


def _no_keyword(call: str, signature: inspect.Signature, name: str) -> str:
    known = list(signature.parameters)
    near = _typed_as(call, name) or nearest(name, known)
    if near in signature.parameters:
        return f"{call}() has no keyword {name!r}; did you mean {near}?"
    return f"{call}() has no keyword {name!r}; it has {_listed(known)}"


def _typed_as(call: str, name: str) -> str | None:
    """The keyword of an option that is typed as `name`: `for_` of `for`, `verify` of `no_verify`."""
    for row in options_of(command_of(call)):
        if not row.program and any(name == word.lstrip("-").replace("-", "_") for word in row.spellings):
            return row.name
    return None


def _too_many(call: str, positional: Sequence[str], value: Any, options: Mapping[str, Any]) -> str:
    taken = f"{call}() takes {' and '.join(positional)} without a keyword"
    if isinstance(value, str) and value.endswith(".onnx"):
        return f"{taken}, and no file to write; write the result with result.model.save({value!r})"
    name = next(_fitting(call, value, options), None)
    return f"{taken}; give {value!r} with one" if name is None else f"{taken}; did you mean {name}={value!r}?"


def _fitting(call: str, value: Any, options: Mapping[str, Any]) -> Iterator[str]:
    """The keywords whose values may be this one, in the order of the help."""
    for name, (kind, _) in checks_of(call).items():
        if name in options:
            continue
        try:
            kind.check(value)
        except Exception:  # whatever a foreign object's own methods raise
            continue
        yield name


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_LISTED
    return ", ".join(names) if more <= 1 else f"{', '.join(names[:_MOST_LISTED])} and {more} more"

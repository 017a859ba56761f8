"""How a call is written: an argument that a call does not have is a TypeError, which proposes what was meant."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from resizefix.library.options import checks_of, command_of, options_of
from resizefix.words import nearest

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_MOST_LISTED = 12
_ANY_TEXT = "any text"  # what is taken for a name, and for nothing else


def why_unbound(call: str, signature: inspect.Signature, models: Sequence[Any], options: Mapping[str, Any]) -> str:
    """Why the call does not take these arguments: a keyword that it does not have, for which the nearest is proposed;
    too many without a keyword, with the keyword whose values they fit; empty for another reason."""
    wrong = [name for name in options if name not in signature.parameters]
    if wrong:
        return _no_keyword(call, signature, wrong[0])
    positional = [each.name for each in signature.parameters.values() if each.kind in _POSITIONAL]
    if len(models) > len(positional):
        return _too_many(call, positional, models[len(positional) :], options)
    return ""


def _no_keyword(call: str, signature: inspect.Signature, name: str) -> str:
    keywords = list(signature.parameters)
    near = _typed_as(call, name) or nearest(name, keywords)
    if near in signature.parameters:
        return f"{call}() has no keyword {name!r}; did you mean {near}?"
    return f"{call}() has no keyword {name!r}; it has {_listed(keywords)}"


def _typed_as(call: str, name: str) -> str | None:
    """The keyword of an option that is typed as `name`: `for_` of `for`, `verify` of `no_verify`."""
    for row in options_of(command_of(call)):
        if not row.program and any(name == word.lstrip("-").replace("-", "_") for word in row.spellings):
            return row.name
    return None


def _too_many(call: str, positional: Sequence[str], values: Sequence[Any], options: Mapping[str, Any]) -> str:
    taken = f"{call}() takes {' and '.join(positional)} without a keyword"
    value = values[0]
    if isinstance(value, str) and value.endswith(".onnx"):
        return f"{taken}, and no file to write; write the result with result.model.save({value!r})"
    meant = next(_meant(call, values, options), None)
    if meant is None:
        return f"{taken}; give {value!r} with one of {_listed(list(checks_of(call)))}"
    return f"{taken}; did you mean {meant}?"


def _meant(call: str, values: Sequence[Any], options: Mapping[str, Any]) -> Iterator[str]:
    """What may be meant by values without a keyword, the likeliest first: KEY=VALUE of a command's words, then all
    values as one, then the first."""
    if isinstance(values[0], str):
        name, equals, word = values[0].partition("=")
        if equals and name in checks_of(call):
            yield f"{name}={word!r}"
    checks = {name: kind for name, (kind, _) in checks_of(call).items() if name not in options}
    # A keyword that takes any text says little about this one.
    names = sorted(checks, key=lambda name: _value(checks[name].check, _ANY_TEXT) is not None)
    for value in (tuple(values), values[0]) if len(values) > 1 else values:
        for name in names:
            if _value(checks[name].check, value) is not None:
                yield f"{name}={value!r}"
            elif isinstance(value, str) and (typed := _value(checks[name].read, value)) is not None:
                yield f"{name}={typed!r}"


def _value(read: Callable[[Any], Any] | None, value: Any) -> Any:
    """What is read of a value; None where it is not one of these."""
    try:
        return None if read is None else read(value)
    except Exception:  # whatever a foreign object's own methods raise
        return None


def _listed(names: Sequence[str]) -> str:
    rest = len(names) - _MOST_LISTED
    return ", ".join(names) if rest <= 1 else f"{', '.join(names[:_MOST_LISTED])} and {rest} more"

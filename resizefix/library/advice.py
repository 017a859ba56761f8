"""Options with which the same call changes a node that it refused: each candidate is tried before it is proposed.

Another command that helps where the scales of a node cannot change alone; it is tried before it is named.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from resizefix.diagnostics import Diagnostic, ResizefixError, code_of
from resizefix.document.document import Document
from resizefix.document.scopes import default_opset
from resizefix.library.options import call_of, with_words, words_as_options
from resizefix.library.result import AskedCall
from resizefix.outcome import Outcome, Status

if TYPE_CHECKING:
    from resizefix.library.result import Result


Words = tuple[str, ...]
"""Options as they are typed."""
_TRIED = 224  # a multiple of 32, 28 and 14, which the strides and patches of most networks are
_INLINE = ("--inline",)
_ALSO_VERIFIED = "--size"  # what an example of a size proves, that size alone proves


Candidates = Callable[[AskedCall, Outcome], Iterable[Words]]
"""The options that may help a refused outcome, the best first."""


def call_named(command: str) -> Callable[..., Any]:
    """The library's call of a command, whose room is loaded now."""
    call = call_of(command)
    return cast("Callable[..., Any]", getattr(importlib.import_module(f"resizefix.library.{call}"), call))


def proposed(_: AskedCall, outcome: Outcome) -> Iterable[Words]:
    """What the operation proposes itself."""
    return [outcome.retry_args] if outcome.retry_args else []


def with_size(asked: AskedCall, _: Outcome) -> Iterable[Words]:
    """A size for the image inputs that leave theirs open."""
    from resizefix.shapes.image_axes import open_images

    images = [] if asked.options.get("size") is not None else open_images(asked.document.proto)
    if images:
        height, width = (images[0].old(name) or _TRIED for name in ("height", "width"))
        yield ("--size", f"{height}x{width}")


def advise(
    call: Callable[..., Result[Any]], command: str, asked: AskedCall, candidates: Candidates, *, tells_why: bool = False
) -> tuple[Outcome, ...]:
    """The outcomes; a refused one has as `retry_args` its first candidate with which `call` changes the node.

    The call is made again with the candidate added to its options, without verification. Where no candidate helps, the
    outcome proposes nothing; with `tells_why` its reason ends with that of the last attempt.
    """
    attempts: dict[Words, Mapping[int, Outcome]] = {}
    enough = (Status.CHANGED, Status.UNCHANGED)

    def advised(outcome: Outcome) -> Outcome:
        why = outcome.reason
        for words in candidates(asked, outcome):
            if words not in attempts:
                attempts[words] = _attempt(call, command, asked, words)
            again = attempts[words].get(outcome.index)
            if again is not None and again.status in enough:
                return replace(outcome, retry_args=words)
            if again is not None and tells_why:
                why = f"{outcome.reason}, and {again.reason}"
        return replace(outcome, reason=why, retry_args=())

    outcomes = asked.result.outcomes
    return tuple(advised(one) if one.status is Status.REFUSED else one for one in outcomes)


def with_inlining(call: Callable[..., Result[Any]], command: str, asked: AskedCall) -> tuple[Outcome, ...]:
    """The outcomes; a refused one for which nothing else is proposed proposes `--inline` where `call` then works."""
    outcomes = asked.result.outcomes
    needy = [one for one in outcomes if one.status is Status.REFUSED and not one.retry_args]
    tried: Mapping[int, Outcome] = _attempt(call, command, asked, _INLINE) if needy else {}
    helped = {one.index for one in needy if one.index in tried and tried[one.index].status is not Status.REFUSED}
    return tuple(replace(one, retry_args=_INLINE) if one.index in helped else one for one in outcomes)


def _attempt(call: Callable[..., Result[Any]], command: str, asked: AskedCall, words: Words) -> Mapping[int, Outcome]:
    """The outcomes by index with these options added; no node is changed where the call gives no model to write."""
    options = with_words(command, asked.options, words)
    if _ALSO_VERIFIED not in words:
        options["verify"] = False
    try:
        result = call(asked.document, **options)
    except ResizefixError:
        return {}
    refused = {one.index: one for one in result.outcomes if one.status is Status.REFUSED}
    return {one.index: one for one in result.outcomes} if result.is_writable else refused


_COUPLED = ("library.coupled", "library.coupled-together")
_FIRST_WITH_SIZES = 11
_SET: tuple[tuple[str, ...], ...] = ((), ("--opset", "11"), ("--allow-inexact",), ("--opset", "11", "--allow-inexact"))


def with_other_commands(document: Document, outcomes: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """The outcomes; coupled ones say which command lets the node follow what it meets, or the model another size."""
    coupled = {one.index for one in outcomes if code_of(one.reason) in _COUPLED}
    if not coupled:
        return tuple(outcomes)
    commands = dict(_by_partner(document, coupled))
    left = coupled - commands.keys()
    if left and _takes_any_size(document):
        commands |= dict.fromkeys(left, ("input-size", "IN", "OUT", "any"))
    return tuple(one if one.index not in commands else _with_command(one, commands[one.index]) for one in outcomes)


def _with_command(refused: Outcome, words: tuple[str, ...]) -> Outcome:
    why = Diagnostic("library.coupled-instead", why=refused.reason, command=" ".join(words))
    return replace(refused, reason=why, instead=words)


def _by_partner(document: Document, indices: Collection[int]) -> Iterable[tuple[int, tuple[str, ...]]]:
    """The nodes that `set sizes=partner` changes, with the command."""
    left = set(indices)
    is_new = default_opset(document.proto.opset_import, fallback=1) >= _FIRST_WITH_SIZES
    for words in _SET:
        if not left:
            return
        if is_new and "--opset" in words:
            continue  # the same again
        for index in sorted(left & _changed(document, words).keys()):
            left.discard(index)
            yield index, ("set", "IN", "OUT", "sizes=partner", *words)


def _changed(document: Document, words: tuple[str, ...]) -> Mapping[int, Outcome]:
    try:
        result = call_named("set")(
            document, sizes="partner", verify=False, on_refusal="return", **words_as_options("set", words)
        )
    except ResizefixError:
        return {}
    return {one.index: one for one in result.outcomes if one.status is Status.CHANGED}


def _takes_any_size(document: Document) -> bool:
    """Whether the model can be given inputs of any size, which its nodes then follow."""
    try:
        result = call_named("input-size")(document, size="any", verify=False, on_refusal="return")
    except ResizefixError:
        return False
    return bool(result)  # else they are of any size already

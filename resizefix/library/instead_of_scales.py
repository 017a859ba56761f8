"""Another command that helps where the scales of a node cannot change alone; it is tried before it is named."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from resizefix.diagnostics import Diagnostic, code_of
from resizefix.document.document import Document
from resizefix.errors import ResizefixError
from resizefix.library.advice import call_named
from resizefix.library.options import words_as_options
from resizefix.outcome import Outcome, Status

_COUPLED = ("library.coupled", "library.coupled-together")
_SET: tuple[tuple[str, ...], ...] = ((), ("--opset", "11"), ("--allow-inexact",), ("--opset", "11", "--allow-inexact"))


def with_other_commands(document: Document, outcomes: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """The outcomes; coupled ones say which command lets the node follow what it meets, or the model another size."""
    coupled = {one.index for one in outcomes if code_of(one.reason) in _COUPLED}
    if not coupled:
        return tuple(outcomes)
    commands = dict(_by_partner(document, coupled))
    left = coupled - commands.keys()
    if left and _takes_any_size(document):
        commands |= dict.fromkeys(left, "resizefix input-size IN OUT any")
    return tuple(
        replace(one, reason=Diagnostic("library.coupled-instead", why=one.reason, command=commands[one.index]))
        if one.index in commands
        else one
        for one in outcomes
    )


def _by_partner(document: Document, indices: Collection[int]) -> Iterable[tuple[int, str]]:
    """The nodes that `set sizes=partner` changes, with the command."""
    left = set(indices)
    for words in _SET:
        if not left:
            return
        for index in sorted(left & _changed(document, words).keys()):
            left.discard(index)
            yield index, " ".join(("resizefix set IN OUT sizes=partner", *words))


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
    return bool(result.is_writable and result.changed)

"""All that a file leaves open at once: the questions, the readings that can be chosen, and a proposal for each.

A question is found where the work stops at it. It is answered by its first reading that leads on, and so the next one
is found, until the work comes to its end. Equal questions of several nodes, as of the blocks of a network, are one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from resizefix.diagnostics import Diagnostic, code_of
from resizefix.input_sizes.refusal import Choices, Reading, SizeRefusedError, args_of

_MOST_TRIES = 60
_SECONDS = 40.0

Work = Callable[[Choices], None]
"""Makes the model with these choices, or raises SizeRefusedError."""


@dataclass(frozen=True)
class Question:
    """Numbers that the file leaves open: the nodes that hold them, the readings, and which of these is proposed."""

    nodes: tuple[str, ...]
    value: Any
    why: Diagnostic
    readings: tuple[Reading, ...]
    proposed: str

    def args(self, name: str) -> tuple[str, ...]:
        """The options that choose a reading for all of the nodes."""
        return tuple(word for node in self.nodes for word in args_of(node, name))


@dataclass
class _Search:
    work: Work
    kind_of: Callable[[str], str]
    tries: int = 0
    until: float = field(default_factory=lambda: time.monotonic() + _SECONDS)

    def stop(self, choices: Choices) -> SizeRefusedError | None:
        """Where the work stops with these choices; None where it comes to its end."""
        self.tries += 1
        try:
            self.work(choices)
        except SizeRefusedError as error:
            return error
        return None

    @property
    def is_over(self) -> bool:
        return self.tries >= _MOST_TRIES or time.monotonic() > self.until

    def answered(self, choices: Choices, error: SizeRefusedError, asked: list[Question]) -> list[Question] | None:
        """The questions from this one on, each with the reading that leads to the end; None where none does."""
        looked_at = {node for question in asked for node in question.nodes}
        if not error.readings or error.node in looked_at or self.is_over:
            return None
        same = next((place for place, question in enumerate(asked) if self._is_same(question, error)), None)
        if same is not None:
            question = asked[same]
            asked = [*asked]
            asked[same] = replace(question, nodes=(*question.nodes, error.node))
            return self._led_on(choices.with_reading(error.node, question.proposed), asked)
        for reading in error.readings:
            question = Question((error.node,), error.value, error.reason, error.readings, reading.name)
            led = self._led_on(choices.with_reading(error.node, reading.name), [*asked, question])
            if led is not None:
                return led
        return None

    def _led_on(self, choices: Choices, asked: list[Question]) -> list[Question] | None:
        error = self.stop(choices)
        return asked if error is None else self.answered(choices, error, asked)

    def _is_same(self, question: Question, error: SizeRefusedError) -> bool:
        """Whether one answer may do for both. Of height and width, two nodes may hold one each."""
        if all(any(side in one.name for one in error.readings) for side in ("height", "width")):
            return False
        code = code_of(error.reason)
        alike = code == code_of(question.why) and question.value == error.value and question.readings == error.readings
        return alike and self.kind_of(question.nodes[0]) == self.kind_of(error.node)


def questions(work: Work, choices: Choices, first: SizeRefusedError, kind_of: Callable[[str], str]) -> list[Question]:
    """All that is to be asked where the work stopped at `first`; empty where no answer leads to its end.

    `kind_of` names the operator of a node. A reading with which the work fails is not among the offered ones.
    """
    search = _Search(work, kind_of)
    asked = search.answered(choices, first, []) or []
    return [_with_living_readings(search, choices, asked, question) for question in asked]


def _with_living_readings(search: _Search, choices: Choices, asked: list[Question], question: Question) -> Question:
    """The question with the readings that lead on: to the end, or to a question at another node."""
    living = []
    for reading in question.readings:
        if reading.name == question.proposed or search.is_over:
            living.append(reading)
            continue
        other = choices
        for one in asked:
            for node in one.nodes:
                other = other.with_reading(node, reading.name if one is question else one.proposed)
        error = search.stop(other)
        if error is None or (error.readings and error.node not in {node for one in asked for node in one.nodes}):
            living.append(reading)
    return replace(question, readings=tuple(living))


def proposal(asked: list[Question]) -> tuple[str, ...]:
    """The options that answer all questions as proposed."""
    return tuple(word for question in asked for word in question.args(question.proposed))

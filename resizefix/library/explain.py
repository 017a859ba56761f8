"""`resizefix.explain`: the cause of a runtime's message, the page about it, and the command that helps."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from resizefix.beside import beside, operand
from resizefix.dialects.model_view import ModelView
from resizefix.errors import ResizefixError, UsageError
from resizefix.interop import Model, opened
from resizefix.library.check import check
from resizefix.library.freeze_scales import freeze_scales
from resizefix.library.input_size import input_size
from resizefix.library.plans import Plans
from resizefix.library.promote_scales import promote_scales
from resizefix.library.repair import repair
from resizefix.library.result import Result
from resizefix.library.rewrite import legalize, trt_legacy
from resizefix.library.set_interpolation import set_interpolation
from resizefix.messages.message import SIZE, Fix, Message, wanted_size
from resizefix.messages.table import messages_in
from resizefix.messages.tensorrt import FREEZE, LEGACY
from resizefix.operations.sites import sites_in
from resizefix.outcome import Status as Happened
from resizefix.shell_words import quoted
from resizefix.targets.catalogue import TARGETS, target_named
from resizefix.targets.tensorrt import LEGACY_TARGETS
from resizefix.verification.verification import Status

_CALLS: Mapping[str, Callable[..., Result]] = {
    "promote-scales": promote_scales,
    "freeze-scales": freeze_scales,
    "trt-legacy": trt_legacy,
    "legalize": legalize,
    "repair": repair,
    "input-size": input_size,
    "set": set_interpolation,
}


@dataclass(frozen=True)
class Explanation:
    """One known message. `message` is its wording, `page` the documentation's file, `command` what to type.

    Without a model the command has MODEL and OUT for the files. With one it is exact and was tried; None: no command
    changes this model for this message, and `reason` is why the first was refused, if it was. `then` is a command for
    the file that `command` writes. `target` is the target whose rules were asked, with their answers for the model and
    for the file that `command` writes.
    """

    message: str
    runtime: str
    cause: str
    page: str
    command: str | None
    then: str | None = None
    reason: str | None = None
    target: str | None = None
    accepted_before: bool | None = None
    accepted_after: bool | None = None


@np.errstate(all="ignore")  # as `bounded`
def explain(message: str, model: Model | None = None) -> list[Explanation]:
    """The known messages that a text holds, the most specific first; an empty list where it holds none.

    Paste what the runtime printed: paths, numbers, names, colours and line breaks may be others. With a model, the
    commands are tried as they would run, verification included, and nothing is written. Raises UsageError for a
    message that is no text, UnreadableModelError for a model that cannot be read.
    """
    if not isinstance(message, str) or not message.strip():
        raise UsageError("library.message-is-text", value=repr(message))
    trials = None if model is None else _Trials(model)
    size = wanted_size(message)
    return [_explained(known, trials, size) for known in messages_in(message)]


def _explained(message: Message, trials: _Trials | None, size: str | None) -> Explanation:
    fixes = [tuple(size if word == SIZE and size else word for word in fix) for fix in message.fixes if _exists(fix)]
    found = Explanation(message.text, message.runtime, message.cause, message.page, None)
    if trials is not None:
        return trials.answered(found, [fix for fix in fixes if SIZE not in fix], message.then)
    return replace(found, command=_line(fixes[0][0], "MODEL", "OUT", fixes[0][1:])) if fixes else found


def _exists(fix: Fix) -> bool:
    """Whether this version has the command and the target."""
    target = _named_target(fix)
    try:
        known = target is None or target_named(target)
    except UsageError:
        return False
    return bool(known) and fix[0] in _CALLS and (target is None or fix[0] == "legalize")


def _out(fix: Fix, model: str | None, otherwise: str) -> str:
    """The name of the file that a fix writes; `otherwise` where the model has none."""
    return otherwise if model is None else beside(model, fix[0], _named_target(fix))


def _line(name: str, model: str, out: str, options: Sequence[str]) -> str:
    return " ".join(["resizefix", *(quoted(word) for word in (name, operand(model), out, *options))])


@dataclass(frozen=True)
class _Trial:
    """What one fix did: the options it was given, and the model that it made, None where it made none.

    `complete`: no node was refused. `retry_args` and `reason` are those of the first node that was.
    """

    words: tuple[str, ...]
    model: Any = None
    complete: bool = False
    retry_args: tuple[str, ...] = ()
    reason: str | None = None


@dataclass
class _Trials:
    """What fixes do to one model, each tried once."""

    model: Model
    _tried: dict[Fix, _Trial] = field(default_factory=dict)
    _verdicts: dict[str, bool | None] = field(default_factory=dict)

    def answered(self, found: Explanation, fixes: Sequence[Fix], then: Fix | None) -> Explanation:
        """The explanation with the first fix after which no node is refused and its target accepts the model, else
        with the first that changes it."""
        target = next(filter(None, map(_target_of, fixes)), None)
        found = replace(found, target=target, accepted_before=self._accepts(target))
        working = ((fix, self._trial(fix)) for fix in fixes)
        judged = ((fix, made, self._passes(fix, made, target)) for fix, made in working if made.model is not None)
        first = next(judged, None)
        if first is None:
            reasons = (self._tried[fix].reason for fix in fixes)
            return replace(found, reason=next(filter(None, reasons), None))
        fix, made, passes = first if first[2] is not False else next((one for one in judged if one[2]), first)
        target = _target_of(fix) or target
        path = os.fsdecode(self.model) if isinstance(self.model, (str, bytes, os.PathLike)) else None
        out = _out(fix, path, "OUT")
        found = replace(found, target=target, accepted_before=self._accepts(target), accepted_after=passes)
        rest = [one for one in fixes if one != fix] if passes is False else []
        if then is not None and "--set" in made.words:
            rest.append(then)
        second = next((one for one in rest if self._finishes(one, made, target)), None)
        return replace(
            found,
            command=_line(fix[0], path or "MODEL", out, made.words),
            then=None if second is None else _line(second[0], out, _out(second, path, "OUT2"), second[1:]),
        )

    def _finishes(self, fix: Fix, made: _Trial, target: str | None) -> bool:
        """Whether the fix does the rest of the work on what another one made."""
        after = _run(fix, fix[1:], made.model)
        return after.model is not None and self._passes(fix, after, target) is not False

    def _trial(self, fix: Fix) -> _Trial:
        """The options with which the fix changes every node, else those with which it changes some."""
        if fix not in self._tried:
            made = list[_Trial]()
            for words in self._options(fix):
                made.append(_run(fix, words, self.model))
                # A size is an example, and changes nothing of what is asked for; other options would.
                if made[-1].retry_args[:1] == ("--size",):
                    made.append(_run(fix, (*words, *made[-1].retry_args), self.model))
                if made[-1].complete:
                    break
            working = [one for one in made if one.model is not None]
            self._tried[fix] = next((one for one in working if one.complete), (working or made)[0])
        return self._tried[fix]

    def _options(self, fix: Fix) -> Iterator[tuple[str, ...]]:
        """The options to try: those of the fix, and for scales that are fed what to freeze them at."""
        yield fix[1:]
        if fix == FREEZE:
            view = ModelView(opened(self.model))
            sites = sites_in(view)
            plans = Plans(view, sites)
            settings = {site.index: setting for site in sites if (setting := plans.freezing(site))}
            given = dict.fromkeys(word for setting in settings.values() for word in setting[1::2])
            if given:
                yield tuple(word for setting in given for word in ("--set", setting))
            yield from ((*setting, "-n", f"#{index}") for index, setting in settings.items())

    def _accepts(self, target: str | None) -> bool | None:
        """Whether the target accepts the model as it is; None where there is no target."""
        if target is None:
            return None
        if target not in self._verdicts:
            self._verdicts[target] = _verdict(self.model, target)
        return self._verdicts[target]

    def _passes(self, fix: Fix, made: _Trial, target: str | None) -> bool | None:
        """Whether the fix reached every node, and the target accepts what it made; None where there is no target."""
        asked = _target_of(fix) or target
        if asked is None:
            return True if made.complete else None
        return made.complete and _verdict(made.model, asked)


def _verdict(model: Model, target: str) -> bool | None:
    try:
        return check(model, target=target).accepted
    except ResizefixError:
        return None


def _target_of(fix: Fix) -> str | None:
    """The target that a fix writes for."""
    if fix == LEGACY:
        return next(target.name for target in TARGETS if target in LEGACY_TARGETS)
    return _named_target(fix)


def _named_target(fix: Fix) -> str | None:
    return fix[fix.index("--target") + 1] if "--target" in fix else None


def _run(fix: Fix, words: tuple[str, ...], model: Model) -> _Trial:
    try:
        result = _CALLS[fix[0]](model, on_refusal="return", **_keywords(words))
    except ResizefixError as error:
        return _Trial(words, reason=str(error))
    refused = next((one for one in result.outcomes if one.status is Happened.REFUSED), None)
    # A new input size alone changes no node, and is verified.
    works = result.changed or result.verification.status is Status.PASSED
    made = result.model if works else None
    if refused is None:
        return _Trial(words, made, complete=works)
    return _Trial(words, made, False, refused.retry_args, f"{refused.node}: {refused.reason}")


def _keywords(words: Sequence[str]) -> dict[str, Any]:
    """Words of the command line as the options of the library's call."""
    found: dict[str, Any] = {}
    rest = list(words)
    while rest:
        name = rest.pop(0)
        if not name.startswith("-"):
            key, _, text = name.rpartition("=")
            found[key or "size"] = text if key or text == "any" else _height_and_width(text)
            continue
        value = rest.pop(0) if rest and not rest[0].startswith("-") else None
        if name == "-n":
            found["node"] = [value]
        elif name == "--set" and value is not None:
            key, _, numbers = value.rpartition("=")
            found.setdefault("set", {})[key] = [float(number) for number in numbers.split(",")]
        elif name == "--for":
            found["for_"] = value
        elif name == "--size" and value is not None:
            found["size"] = _height_and_width(value)
        else:
            read = value if value is None or not value.isdigit() else int(value)
            found[name.removeprefix("--").replace("-", "_")] = True if read is None else read
    return found


def _height_and_width(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split("x")))

"""`resizefix.explain`: the cause of a runtime's message, the page about it, and the command that helps."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from resizefix.beside import beside
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
from resizefix.operations.sites import sites_in
from resizefix.printable import printable
from resizefix.targets.catalogue import target_named
from resizefix.verification.verification import Status

# What each command calls, and the word in the name of the file that it would write.
_CALLS: Mapping[str, tuple[Callable[..., Result], str]] = {
    "promote-scales": (promote_scales, "promoted"),
    "freeze-scales": (freeze_scales, "frozen"),
    "trt-legacy": (trt_legacy, "trt-legacy"),
    "legalize": (legalize, "legal"),
    "repair": (repair, "repaired"),
    "input-size": (input_size, "resized"),
    "set": (set_interpolation, "set"),
}


@dataclass(frozen=True)
class Explanation:
    """One known message. `message` is its wording, `page` the documentation's file, `command` what to type.

    Without a model the command has MODEL and OUT for the files. With one it is exact and was tried; None: no command
    changes this model for this message.
    """

    message: str
    runtime: str
    cause: str
    page: str
    command: str | None


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
    return [
        Explanation(known.text, known.runtime, known.cause, known.page, _command(known, trials, size))
        for known in messages_in(message)
    ]


def _command(message: Message, trials: _Trials | None, size: str | None) -> str | None:
    fixes = [tuple(size if word == SIZE and size else word for word in fix) for fix in message.fixes if _exists(fix)]
    if trials is not None:
        return trials.command([fix for fix in fixes if SIZE not in fix])
    return _line(fixes[0][0], "MODEL", "OUT", fixes[0][1:]) if fixes else None


def _exists(fix: Fix) -> bool:
    """Whether this version has the command and the target."""
    name, *options = fix
    try:
        target = None if "--target" not in options else target_named(options[options.index("--target") + 1])
    except UsageError:
        return False
    return name in _CALLS and (target is None or name == "legalize")


def _line(name: str, model: str, out: str, options: Sequence[str]) -> str:
    return " ".join(["resizefix", *(shlex.quote(printable(word)) for word in (name, model, out, *options))])


@dataclass
class _Trials:
    """Which fixes change one model, each tried once."""

    model: Model
    _tried: dict[Fix, tuple[str, ...] | None] = field(default_factory=dict)
    _accepted: dict[Fix, bool] = field(default_factory=dict)

    def command(self, fixes: Sequence[Fix]) -> str | None:
        """The line of the first fix after which its target accepts the model, else of the first that works."""
        working = (fix for fix in fixes if self._words(fix) is not None)
        first = next(working, None)
        best = first if first is None or self._accepted[first] else next(filter(self._accepted.get, working), first)
        if best is None:
            return None
        path = os.fsdecode(self.model) if isinstance(self.model, (str, bytes, os.PathLike)) else None
        target = next((word for word, name in zip(best[1:], best, strict=False) if name == "--target"), None)
        out = "OUT" if path is None else beside(path, target or _CALLS[best[0]][1])
        return _line(best[0], path or "MODEL", out, self._words(best) or ())

    def _words(self, fix: Fix) -> tuple[str, ...] | None:
        """The options with which the fix works; None: it does not."""
        if fix not in self._tried:
            self._tried[fix] = next((words for words in self._options(fix) if self._works(fix, words)), None)
        return self._tried[fix]

    def _options(self, fix: Fix) -> Iterator[tuple[str, ...]]:
        """The options to try: those of the fix, and for scales that are fed what to freeze them at."""
        yield fix[1:]
        if fix == ("freeze-scales",):
            view = ModelView(opened(self.model))
            sites = sites_in(view)
            plans = Plans(view, sites)
            for site in sites:
                setting = plans.freezing(site)
                if setting:
                    yield (*setting, "-n", f"#{site.index}")

    def _works(self, fix: Fix, words: tuple[str, ...]) -> bool:
        try:
            result = _CALLS[fix[0]][0](self.model, **_keywords(words))
        except ResizefixError:
            return False
        # A new input size alone changes no node, and is verified.
        if not result.changed and result.verification.status is not Status.PASSED:
            return False
        target = words[words.index("--target") + 1] if "--target" in words else None
        self._accepted[fix] = target is None or check(result.model, target=target).accepted
        return True


def _keywords(words: Sequence[str]) -> dict[str, Any]:
    """Words of the command line as the options of the library's call."""
    found: dict[str, Any] = {}
    rest = list(words)
    while rest:
        name = rest.pop(0)
        if not name.startswith("-"):
            key, _, text = name.rpartition("=")
            found[key or "size"] = text if key or text == "any" else tuple(map(int, text.split("x")))
            continue
        value = rest.pop(0) if rest and not rest[0].startswith("-") else None
        if name == "-n":
            found["node"] = [value]
        elif name == "--set" and value is not None:
            key, _, numbers = value.rpartition("=")
            found.setdefault("set", {})[key] = [float(number) for number in numbers.split(",")]
        elif name == "--for":
            found["for_"] = value
        else:
            read = value if value is None or not value.isdigit() else int(value)
            found[name.removeprefix("--").replace("-", "_")] = True if read is None else read
    return found

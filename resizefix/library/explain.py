"""`resizefix.explain`: the cause of a runtime's message, the page about it, and the command that helps."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from resizefix.diagnostics import Diagnostic, UsageError
from resizefix.document.document import Document
from resizefix.interop import Model
from resizefix.library.bounded import checked
from resizefix.library.fix_trials import (
    FixTrial,
    FixTrials,
    fed_vector,
    fed_words,
    named_target,
    run,
    target_of,
    unfed,
    verdict,
)
from resizefix.library.options import CHANGING, call_of, checks_of
from resizefix.messages.message import ANY_SIZE, FED, FED_SIZE, RELEASES, REPAIR, RUNTIMES, Fix, Message
from resizefix.messages.pasted_text import FedSizes, fed_sizes, plain, speaker
from resizefix.messages.table import messages_in, near_miss, nearest_to
from resizefix.targets.catalogue import releases_with, row_named, target_named
from resizefix.words import operand, out_name, quoted

_TARGETS = {name: target for target, name in reversed(RUNTIMES.items())}
_TARGETS |= {"TensorRT": "tensorrt", "onnxruntime": "onnxruntime", "CoreML and NNAPI": "nnapi"}
_MOST_TRIED = 3  # commands that an answer without one names


@dataclass(frozen=True)
class Explanation:
    """One known message. `message` is its wording, `page` the documentation's file, `command` what to type.

    Without a model the command has MODEL and OUT for the files. With one it is exact and was tried; None: no command
    changes this model for this message. Then `reason` is why the first was refused, if it was, and `tried` has each
    with its reason. `then` is a command for the file that `command` writes. `target` is the target whose rules
    were asked, with their answers for the model and for the file that `command` writes. `cause_gone`: whether the cause
    of the message is gone in that file, by a run or by the target's rules; None: nothing here can tell. `rule_broken`:
    whether the model breaks the rule that the message is about; None: no rule stands for it, or there is no model.
    `distance` is that from the text, for a message that it does not hold: 0 is the same, 1 nothing alike.
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
    cause_gone: bool | None = None
    rule_broken: bool | None = None
    tried: tuple[tuple[str, str], ...] = ()
    distance: float | None = None


@checked
def explain(message: str, model: Model | None = None) -> list[Explanation]:
    """The known messages that a text holds, the most specific first; an empty list where it holds none.

    Where it holds none and is all but the same as one, that one, with its `distance`.

    Paste what the runtime printed: paths, numbers, names, colours and line breaks may be others, and the text may be
    cut off. With a model, the commands are tried as they would run, verification included, and nothing is written.
    Raises UsageError for a message that is no text, UnreadableModelError for a model that cannot be read.
    """
    if not isinstance(message, str) or not message.strip():
        raise UsageError("library.message-is-text", value=repr(message))
    fed = fed_sizes(message)
    trials = None if model is None else FixTrials(model, fed)
    letters = plain(message)
    if rows := messages_in(message):
        return [replace(_explained(row, trials, fed), message=row.wording_in(letters)) for row in rows]
    near = near_miss(message)
    return [] if near is None else [replace(_explained(near[0], trials, fed), distance=round(near[1], 2))]


def nearest_explanations(message: str) -> list[Explanation]:
    """The messages that are most like a text that holds none, the nearest first, each with its distance."""
    fed = fed_sizes(message)
    return [replace(_explained(row, None, fed), distance=round(distance, 2)) for row, distance in nearest_to(message)]


def speaking_target(message: str, explained: Sequence[Explanation] = ()) -> str | None:
    """The target of the runtime that speaks: of the first explanation, else the one whose name the text has."""
    first = next(iter(explained), None)
    if first is not None and (target := first.target or _TARGETS.get(first.runtime)) is not None:
        return target_named(target).name
    spoken = speaker(message)
    if spoken is None:
        return None
    released = None if spoken.release is None else row_named(f"{spoken.name}-{spoken.release}")
    return released or target_named(spoken.name).name


def cause_of(message: Message) -> str:
    """The cause, with the releases that the targets' rules say."""
    if RELEASES not in message.cause:
        return message.cause
    return message.cause.replace(RELEASES, releases_with(_TARGETS[message.runtime], message.rule))


def _explained(message: Message, trials: FixTrials | None, fed: FedSizes) -> Explanation:
    fixes = [fix for fix in message.fixes if _exists(fix) and not (fix == ANY_SIZE and 0 in fed.axes)]
    explanation = Explanation(message.text, message.runtime, cause_of(message), message.page, None)
    if trials is not None:
        return _answered(explanation, message, fixes, trials)
    if FED_SIZE in fixes and (vector := fed_vector(fed)) is not None:
        return replace(explanation, reason=vector)
    if _is_no_size(fixes, fed):
        return replace(explanation, reason=Diagnostic("library.fed-axis-is-no-size", axes=_axes(fed)))
    given = ((fix[0], fix[1:] if FED not in fix else fed_words(fed)) for fix in fixes)
    command = next((_line(name, "MODEL", "OUT", words) for name, words in given if words is not None), None)
    return replace(explanation, command=command)


def _is_no_size(fixes: Sequence[Fix], fed: FedSizes, document: Document | None = None) -> bool:
    """Whether the message is of an axis that is neither batch nor height nor width: no other size helps."""
    return bool(fed.axes) and any(FED in fix for fix in fixes) and fed_words(fed, document) is None


def _axes(fed: FedSizes) -> str:
    return ", ".join(map(str, sorted(fed.axes)))


def _exists(fix: Fix) -> bool:
    """Whether this version has the command, the target and what `set` is to change."""
    target = named_target(fix)
    try:
        there = target is None or target_named(target)
    except UsageError:
        return False
    keys = {word.partition("=")[0] for word in fix[1:]} if fix[0] == "set" else set()
    if fix[0] not in CHANGING or (keys and not keys <= checks_of(call_of(fix[0])).keys()):
        return False
    return bool(there) and (target is None or fix[0] == "legalize")


def _answered(explanation: Explanation, message: Message, fixes: Sequence[Fix], trials: FixTrials) -> Explanation:
    """The explanation with the first fix after which the cause is gone, else with the first that changes the model."""
    target = next((one for fix in fixes if (one := _judge(message, fix))), message.target)
    own = _TARGETS.get(message.runtime)
    broken = trials.breaks(own, message.rule) if own is not None and message.rule else None
    explanation = replace(explanation, target=target, accepted_before=trials.accepts(target), rule_broken=broken)
    if not fixes and (said := unfed(trials.fed, trials.document)) is not None:
        return replace(explanation, reason=said)
    if FED_SIZE in fixes and (vector := fed_vector(trials.fed, trials.document)) is not None:
        return replace(explanation, reason=vector)
    if _is_no_size(fixes, trials.fed, trials.document):
        return replace(explanation, reason=Diagnostic("library.fed-axis-is-no-size", axes=_axes(trials.fed)))
    path = os.fsdecode(trials.model) if isinstance(trials.model, (str, bytes, os.PathLike)) else None
    candidates, useless = _sorted_out(message, fixes, target, trials)
    if not candidates:
        tried = [
            (_line(fix[0], path or "MODEL", _out(fix, path, "OUT"), trials.trial(fix).words), reason)
            for fix, reason in useless
        ]
        return replace(
            explanation, reason=next((reason for _, reason in tried), None), tried=tuple(tried[:_MOST_TRIED])
        )
    fix, trial, gone = next((one for one in candidates if one[-1]), candidates[0])
    target = _judge(message, fix) or target
    explanation = replace(
        explanation,
        target=target,
        accepted_before=trials.accepts(target),
        accepted_after=trial.complete if target is None else verdict(trial.model, target),
        cause_gone=None if broken is False else gone,
    )
    rest = [one for one in fixes if one != fix] if gone is False else []
    if message.then is not None and "--set" in trial.words:
        rest.append(message.then)
    second = next((one for one in rest if _finishes(one, trial, _judge(message, one) or target, message, trials)), None)
    if second is None and fix != REPAIR and trials.needs_names(target):
        second = REPAIR
    out = _out(fix, path, "OUT")
    return replace(
        explanation,
        command=_line(fix[0], path or "MODEL", out, trial.words),
        then=None if second is None else _line(second[0], out, _out(second, path, "OUT2"), second[1:]),
    )


def _sorted_out(
    message: Message, fixes: Sequence[Fix], target: str | None, trials: FixTrials
) -> tuple[list[tuple[Fix, FixTrial, bool | None]], list[tuple[Fix, str]]]:
    """The fixes that change the model, what each made, whether the cause of the message is gone; and those that do not
    or that leave the message's cause, with the reason.

    No further one is tried after the first, where that may help, or after one that helps.
    """
    candidates: list[tuple[Fix, FixTrial, bool | None]] = []
    useless: list[tuple[Fix, str]] = []
    for fix in fixes:
        trial = trials.trial(fix)
        if trial.model is None:
            useless += [(fix, trial.reason)] if trial.reason is not None else []
            continue
        judge = _judge(message, fix)
        if judge is None and target_of(fix) is not None:
            gone = None if trial.complete else False  # another runtime's rules say nothing of this one's message
        else:
            gone = trials.cause_gone(fix, trial, judge or target, at_other_sizes=message.at_other_sizes)
        by_run = trial.complete and judge is None and target in (None, "onnxruntime")
        if gone is False and by_run and (trials.fed.axes or fix == REPAIR):
            useless.append((fix, Diagnostic("library.cause-still-there")))
            continue
        candidates.append((fix, trial, gone))
        if gone or candidates[0][-1] is None:
            break
    return candidates, useless


def _judge(message: Message, fix: Fix) -> str | None:
    """The target that a fix writes for, if it is one of the runtime that speaks."""
    own, target = _TARGETS.get(message.runtime), target_of(fix)
    if own is None or target is None or target_named(own).runtime != target_named(target).runtime:
        return None
    return target


def _finishes(fix: Fix, trial: FixTrial, target: str | None, message: Message, trials: FixTrials) -> bool:
    """Whether the fix does the rest of the work on what another one made, by the target's rules or by a run."""
    after = run(fix, fix[1:], trial.model) if FED not in fix else FixTrial(())
    if target is None:
        return trials.cause_gone(fix, after, None, at_other_sizes=message.at_other_sizes) is True
    return after.complete and verdict(after.model, target) is not False


def _out(fix: Fix, model: str | None, otherwise: str) -> str:
    """The name of the file that a fix writes; `otherwise` where the model has none."""
    return otherwise if model is None else out_name(model, fix[0], named_target(fix))


def _line(name: str, model: str, out: str, options: Sequence[str]) -> str:
    return " ".join(["resizefix", *(quoted(word) for word in (name, operand(model), out, *options))])

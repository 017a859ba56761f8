"""The command to type after an error: a message on a terminal ends with one where one is known to help."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from resizefix.diagnostics import Diagnostic, RefusedError, ResizefixError, UnreadableModelError, UsageError, code_of
from resizefix.reports.next_step import NextStep, repairing
from resizefix.words import nearest, operand, reads_and_writes

if TYPE_CHECKING:
    from resizefix.verification.verification import Run

_TARGETS = NextStep("see the names of all targets", ("check", "--target", "list"))
_WITH_TARGETS = frozenset({"check", "legalize", "trt-legacy"})
_NOT_THERE = ("document.no-such-file", "document.model-is-folder")
# What a command that changes resizes does not say by itself: what each of them is.
_CHANGING = frozenset({"promote-scales", "freeze-scales", "trt-legacy", "legalize", "repair", "set"})


def after_error(error: ResizefixError, command: str, model: str, typed: Sequence[str]) -> NextStep | None:
    """`typed` are the words of the call, without the program's name; empty where none were typed."""
    if error.retry_args and typed:
        return NextStep("do so", with_options(typed, error.retry_args))
    if isinstance(error, UnreadableModelError):
        diagnostic = error.diagnostic
        near = None
        if isinstance(diagnostic, Diagnostic) and diagnostic.code in _NOT_THERE:
            near = _near(diagnostic.arguments["path"])
        return None if near is None else NextStep(f"read {near}", ("inspect", operand(near)))
    if not isinstance(error, UsageError):
        return None
    if error.rule == "target":
        return NextStep(_TARGETS.purpose, (command, "--target", "list")) if command in _WITH_TARGETS else _TARGETS
    if error.rule == "node":
        return NextStep("see every resize", ("inspect", operand(model)))
    return _options(command)


def after_refusal(
    command: str, model: str, outcomes: Sequence[Mapping[str, Any]], typed: Sequence[str], *, already: bool
) -> NextStep | None:
    """After exit code 1: `repair` where a fault of a refused site is in the way, else the options that change
    one, else where every site is explained.

    `already`: nothing was needed, which --strict calls an error.
    """
    if command not in _CHANGING:
        return None
    if not already and command != "repair" and _repair_helps(model, outcomes):
        return repairing(model)
    retry = next((outcome["retry_args"] for outcome in outcomes if outcome["retry_args"]), None)
    if retry and typed and tuple(retry) != ("--allow-coupled",):  # which gives a model for the old scale only
        return NextStep("change what can be changed with these options", with_options(typed, retry))
    if already and typed:
        return NextStep("write a copy all the same", with_options(typed, ("--copy-unchanged",)))
    instead = next((outcome["instead"] for outcome in outcomes if outcome["instead"]), None)
    if instead:
        other, _, _, *words = instead
        return NextStep("do what the reason names", (*reads_and_writes(other, model), *words))
    if command != "legalize" and _has_type_without_kernel(model):
        words = (*reads_and_writes("legalize", model, "onnxruntime"), "--target", "onnxruntime")
        return NextStep("resize between casts to a type that onnxruntime has a kernel of, first", words)
    return NextStep("see every resize", ("inspect", operand(model), "-v"))


def after_refused_opset(
    model: str, outcomes: Sequence[Mapping[str, Any]], opset: int, typed: Sequence[str]
) -> NextStep | None:
    """`repair`, where a resize keeps the model from loading; else the same call with the opset before the first that an
    operator in the way cannot be raised to."""
    if any(outcome["instead"] for outcome in outcomes):
        return repairing(model) if _repair_helps(model, outcomes) else None
    if not os.path.isfile(model) or str(opset) not in typed:  # of stdin nothing is left to read
        return None
    from resizefix.document.scopes import default_opset
    from resizefix.interop import opened
    from resizefix.opsets.raising import raised_to, why_not_raised

    document = opened(model)
    current = default_opset(document.proto.opset_import, fallback=1)
    try:
        raised_to(document, opset)
    except RefusedError as error:
        refused = getattr(error.diagnostic, "arguments", {}).get("opset", 0)
        is_later = code_of(error.diagnostic) == "opsets.raise-refused" and current < refused - 1
        if is_later and why_not_raised(document, refused - 1) is None:
            place = len(typed) - 1 - typed[::-1].index(str(opset))
            words = (*typed[:place], str(refused - 1), *typed[place + 1 :])
            return NextStep("raise the model as far as it can be", words)
    return None


def _has_type_without_kernel(model: str) -> bool:
    """Whether a resize is of a type, as bfloat16, that onnxruntime has no kernel of and legalize casts."""
    if not os.path.isfile(model):  # of stdin nothing is left to read
        return False
    import resizefix
    from resizefix.targets.onnxruntime_target import ONNXRUNTIME

    try:
        return any(site.elem_type in ONNXRUNTIME.cast_types for site in resizefix.inspect(model))
    except ResizefixError:
        return False


def after_refused_size(model: str, options: Mapping[str, Any]) -> NextStep | None:
    """After a size that the resizes of a model do not lead to: the command by which each takes the size of the tensor
    that it meets, where both calls succeed. `options` are those of the call that was refused."""
    if not os.path.isfile(model):  # of stdin nothing is left to read
        return None
    import resizefix
    from resizefix.outcome import ModelOutcome

    try:
        followed = resizefix.set_interpolation(model, sizes="partner", verify=False, on_refusal="return")
        if followed.outcome is not ModelOutcome.CHANGED:
            return None
        resized = resizefix.input_size(followed.model, **{**options, "verify": False, "on_refusal": "return"})
    except ResizefixError:
        return None
    if resized.outcome is not ModelOutcome.CHANGED:
        return None
    words = (*reads_and_writes("set", model), "sizes=partner")
    return NextStep("let each resize take the size of the tensor that it meets, before input-size", words)


_ROUNDING = 1e-5  # the largest difference that rounding alone explains, as a part of an output's largest value


def after_small_difference(
    models: Sequence[str], settings: Mapping[str, Any], runs: Sequence[Run], typed: Sequence[str]
) -> NextStep | None:
    """After two models that differ by rounding alone: the same call with the tolerance of one digit above what was
    measured, for each number or for all, with which it passes."""
    relative = max((run.max_rel_diff for run in runs), default=0.0)
    if not 0 < relative <= _ROUNDING or not typed or not all(map(os.path.isfile, models)):
        return None
    import resizefix

    for option, largest in (("rtol", relative), ("atol", max(run.max_abs_diff for run in runs))):
        tolerance = f"1e{math.floor(math.log10(largest)) + 1}"
        allowed = {**settings, option: float(tolerance)}
        if allowed[option] > settings[option] and resizefix.verify(*models, **allowed).passed:
            words = with_options(typed, (f"--{option}", tolerance))
            return NextStep("allow the difference that was measured, which is one of rounding", words)
    return None


def with_options(typed: Sequence[str], options: Sequence[str]) -> tuple[str, ...]:
    """The typed words with more options, which must stand before `--`, in place of those for the same input."""
    names = {option for option in options if option.startswith("-")}
    given = tuple(f"{name}=" for option in options if (name := option.partition("=")[0]) != option)
    rest: list[str] = []
    words = iter(typed)
    for word in words:
        name, is_joined, value = word.partition("=") if word.startswith("--") else (word, "", "")
        said = [word]
        if name in names and not is_joined:
            value = next(words, "")
            said.append(value)
        if name not in names or not value.startswith(given):
            rest += said
    end = rest.index("--") if "--" in rest else len(rest)
    return (*rest[:end], *options, *rest[end:])


def _repair_helps(model: str, outcomes: Sequence[Mapping[str, Any]]) -> bool:
    """Whether `repair` fixes a fault of a refused site; of any where none was refused, as where verification fails."""
    if not os.path.isfile(model):  # of stdin nothing is left to read
        return False
    from resizefix.library.plans import repair_helps

    refused = [outcome for outcome in outcomes if outcome["status"] == "refused"] or outcomes
    try:
        return repair_helps(model, {outcome["index"] for outcome in refused if not outcome["retry_args"]})
    except ResizefixError:
        return False


_OF_THE_PROGRAM = ("version", "help")


def after_usage_error(error: click.ClickException, typed: Sequence[str], commands: Sequence[str]) -> NextStep | None:
    """After what click refuses; nothing after an error in the file of a target, which names the place."""
    reason = getattr(error.__cause__, "diagnostic", None)
    if isinstance(reason, Diagnostic) and reason.code.startswith("targets.file-"):
        return None
    context = getattr(error, "ctx", None)
    name = context.info_name if context is not None and context.parent is not None else None
    if isinstance(error, click.BadParameter) and error.param is not None and "--target" in error.param.opts:
        return NextStep(_TARGETS.purpose, (str(name), "--target", "list"))
    if name is None and typed and typed[0] in commands:
        name = typed[0]
    elif name is None and typed and not typed[0].startswith("-"):
        if typed[0] in _OF_THE_PROGRAM:
            return NextStep(f"see the {typed[0]}", (f"--{typed[0]}",))
        near = nearest(typed[0], commands)
        if near:
            return NextStep(f"call {near}", (near, *typed[1:]))
    return _options(name)


def _options(command: str | None) -> NextStep:
    return NextStep("see the options", (command, "--help") if command is not None else ("--help",))


def _near(model: str) -> str | None:
    """The model in the folder of a missing one whose name is close to its, or the only one in a folder given for a
    model."""
    is_folder = os.path.isdir(model)
    if os.path.lexists(model) and not is_folder:
        return None
    folder, name = (model, "") if is_folder else os.path.split(model)
    try:
        models = sorted(entry for entry in os.listdir(folder or ".") if entry.endswith(".onnx"))
    except OSError:
        return None
    if name:
        stems = {entry.removesuffix(".onnx"): entry for entry in models}
        near = nearest(name.removesuffix(".onnx"), stems)
        models = [] if near is None else [stems[near]]
    return os.path.join(folder, models[0]) if len(models) == 1 else None

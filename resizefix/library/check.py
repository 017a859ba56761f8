"""`resizefix.check`: whether a target takes the resizes of a model, rule by rule, and whether a real parser agrees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, overload

from resizefix.interop import Model, opened
from resizefix.library.bounded import checked
from resizefix.library.verdict import Verdict, Verdicts
from resizefix.operations.integer_inputs import violations_of_the_whole
from resizefix.shapes.stored_shapes import ModelView
from resizefix.targets.catalogue import target_named
from resizefix.targets.collect_facts import facts_in
from resizefix.targets.facts import SiteFacts
from resizefix.targets.onnxruntime_target import ONNXRUNTIME
from resizefix.targets.target import Target, Violation, judge

if TYPE_CHECKING:  # a parser of its own process is asked by few
    from resizefix.library.tensorrt_profile import Profile
    from resizefix.runtimes.runtime import LiveUnavailable
    from resizefix.runtimes.tensorrt import LiveVerdict


@overload
def check(
    model: Model,
    *,
    target: str,
    live: bool = ...,
    build: bool = ...,
    profile: Profile | None = ...,
    timeout: float = ...,
    runtime_python: Mapping[str, str] | None = ...,
) -> Verdict: ...
@overload
def check(
    model: Model,
    *,
    target: None = None,
    live: bool = ...,
    build: bool = ...,
    profile: Profile | None = ...,
    timeout: float = ...,
    runtime_python: Mapping[str, str] | None = ...,
) -> Verdicts: ...
@checked
def check(
    model: Model,
    *,
    target: str | None = None,
    live: bool = False,
    build: bool = False,
    profile: Profile | None = None,
    timeout: float = 300.0,
    runtime_python: Mapping[str, str] | None = None,
) -> Verdict | Verdicts:
    """Judge the model's resizes by the rules of `target`, and with `live` ask a real parser about the whole model.

    Without `target`, every target judges: `Verdicts`, a tuple with a verdict for each.

    `build` (which asks for `live` too) has TensorRT build the engine, with the optimization profile `profile`, `{input:
    {"min": [..], "opt": [..], "max": [..]}}`. Where the profile lacks an input, a range is chosen. `timeout` is that of
    one answer, in seconds. Targets that are runtimes (OpenVINO, OpenCV, …) run the model and each resize alone, and are
    compared with onnxruntime; `runtime_python` gives, by its name, the Python that has one. Where the parser or the
    runtime is not installed, the verdict is that of the rules. Raises UsageError where there is no such target, or the
    profile does not fit the model.
    """
    targets = () if target is None else (target,)
    verdicts = check_all(
        model, targets, live=live, build=build, profile=profile, timeout=timeout, runtime_python=runtime_python
    )
    return Verdicts(verdicts) if target is None else verdicts[0]


def check_all(
    model: Model | ModelView,
    targets: Sequence[str] = (),
    *,
    live: bool = False,
    build: bool = False,
    profile: Profile | None = None,
    timeout: float = 300.0,
    runtime_python: Mapping[str, str] | None = None,
) -> tuple[Verdict, ...]:
    """`check` for several targets (none: all), with the model read, parsed and built once; of a view, what it knows of
    its document is used."""
    judged: dict[str, Target] = {}
    asked: dict[str, str] = {}
    for name in targets:
        target = target_named(name)
        judged.setdefault(target.name, target)
        if not target.file and _is_between(name, target):
            asked.setdefault(target.name, name.strip().lower())
    if not judged:
        from resizefix.targets.catalogue import TARGETS  # with the rules of all runtimes

        judged = {target.name: target for target in TARGETS}
    view = model if isinstance(model, ModelView) else ModelView(opened(model))
    facts = facts_in(view)
    violations = {
        target.name: (
            *(broken for node in facts for broken in judge(target, node)),
            *(_not_loaded(view, target, facts) if target is ONNXRUNTIME else ()),
            *violations_of_the_whole(view, target),
        )
        for target in judged.values()
    }
    answers: Mapping[str, LiveVerdict | LiveUnavailable] = {}
    if live or build:
        from resizefix.library.live import live_verdicts

        answers = live_verdicts(
            view.document, list(violations), build=build, profile=profile, time_limit=timeout, pythons=runtime_python
        )
    return tuple(
        replace(_verdict(target, violations[name], answers.get(name)), asked=asked.get(name, ""))
        for name, target in judged.items()
    )


def _not_loaded(view: ModelView, target: Target, facts: Sequence[SiteFacts]) -> Iterator[Violation]:
    """What keeps the target from loading the model."""
    from resizefix.faults.table import faults_in, not_loaded  # other targets are asked by their rules

    for node, faults in zip(facts, faults_in(view), strict=True):
        yield from not_loaded(target, node.node, faults)


def _is_between(name: str, target: Target) -> bool:
    """Whether the name is that of a release which another one's row covers, and not of a runtime alone."""
    return name.strip().lower() not in (target.name, target.runtime)


def _verdict(
    target: Target, violations: tuple[Violation, ...], answer: LiveVerdict | LiveUnavailable | None
) -> Verdict:
    if answer is None:
        return Verdict(target, violations)
    from resizefix.runtimes.runtime import LiveUnavailable

    if isinstance(answer, LiveUnavailable):
        return Verdict(target, violations, None, answer.reason)
    return Verdict(target, violations, answer, answer.unanswered)

"""The command to type next. It succeeds: what it would do was planned, and its OUT is the name of no file."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from resizefix.words import operand, quoted, reads_and_writes

if TYPE_CHECKING:
    from resizefix.document.document import Document
    from resizefix.faults.fault import Fault
    from resizefix.library.verdict import Verdict
    from resizefix.operations.site import Site
    from resizefix.reports.survey import Survey, Surveyed
    from resizefix.targets.target import Target

_PROGRAM = "resizefix"
_MOST_NAMED = 3
_SHARED = "--shared"
_MODERN = "tensorrt-10"


class NextStep(NamedTuple):
    """What a command is for (after "to"), and its words behind the program's name."""

    purpose: str
    words: tuple[str, ...]

    @property
    def quoted(self) -> tuple[str, ...]:
        """The words of the line for a shell, the program's name first."""
        return (_PROGRAM, *(quoted(word) for word in self.words))

    @property
    def command(self) -> str:
        """The line for a shell."""
        return " ".join(self.quoted)


def next_step(model: str, survey: Survey) -> NextStep | None:
    """The most useful command for the model in the file `model`; None where none is known to succeed."""
    plans = survey.plans
    faults = [fault for surveyed in survey.sites for fault in surveyed.faults if fault.change is not None]
    if (faults or survey.reused_names) and plans.repairs:
        return repairing(model)
    options = {surveyed.site.index: plans.promotion(surveyed.site) for surveyed in survey.sites}
    # Named where others stay, and for those that need options of their own: what is not named goes the default way.
    named = [index for index, words in options.items() if words == ()]
    if named:
        some = not plans.all_run or (len(named) <= _MOST_NAMED and len(named) < len(survey.sites))
        return _promotion(model, named if some else [], len(named), ())
    for index, words in options.items():
        if words is not None and _SHARED not in words:
            return _promotion(model, [index], 1, words)
    together = [index for index, words in options.items() if words is not None and _SHARED in words]
    if together:
        return _promotion(model, together, len(together), (_SHARED,))
    for following in (_freezing, _rewriting_for_modern):
        for surveyed in survey.sites:
            step = following(model, surveyed, survey)
            if step is not None:
                return step
    if any(
        not fault.is_optional for surveyed in survey.sites for fault in surveyed.faults
    ):  # of which the report says what can be done
        return None
    if not survey.sites or _MODERN in survey.refusing or plans.mistakes_nodes(_MODERN):
        return None
    return NextStep(f"see the rules of {_MODERN}, which accepts them", ("check", operand(model), "--target", _MODERN))


def after_check(
    model: str, document: Document, verdicts: Sequence[Verdict], faults: Sequence[Fault] = ()
) -> NextStep | None:
    """The command that changes what the first target with one refuses; None where none is known to succeed.

    `model` is how the user named the document, `faults` are what is wrong with it. Names of dimensions come first: with
    them, no profile of a rewritten model builds.
    """
    from resizefix.faults.names import REUSED

    if any(fault.name == REUSED for fault in faults) and any(one.target.runtime == "tensorrt" for one in verdicts):
        return repairing(model)
    return _for_rules(model, document, verdicts) or _for_live(model, verdicts)


def _for_live(model: str, verdicts: Sequence[Verdict]) -> NextStep | None:
    """What `explain` answers to the first complaint of a real parser that it knows a command for."""
    refusals = [verdict.live for verdict in verdicts if verdict.live is not None and not verdict.live.taken]
    if not refusals or not os.path.isfile(model):  # of stdin nothing is left to read
        return None
    from resizefix.library.explain import explain

    for error in (error for live in refusals for error in live.errors):
        for one in explain(error.message, model) if error.message.strip() else ():
            if one.command is not None and one.cause_gone is not False:
                words = tuple(shlex.split(one.command)[1:])
                return NextStep("change what the parser complains of", words)
    return None


def _for_rules(model: str, document: Document, verdicts: Sequence[Verdict]) -> NextStep | None:
    from resizefix.reports.survey import Survey

    refusing = [verdict.target for verdict in verdicts if not verdict.accepted]
    if not refusing:
        return None
    survey = Survey(document)
    sites = [surveyed.site for surveyed in survey.sites]
    for target in refusing:
        options = survey.plans.shape_inputs(target)
        if options is not None:
            words = (*reads_and_writes("legalize", model, target.name), "--target", operand(target.typed), *options)
            return NextStep("feed integers where floats decide shapes", words)
        chosen = [site for site in sites if survey.plans.is_rewritable(site, target)]
        if chosen:
            accepts = survey.plans.taken_as_they_are(target)
            whole = len(chosen) == len(sites) or survey.plans.every_rewrite_passes
            whole = whole and all(accepts[site.index] for site in sites if site not in chosen)
            return rewriting(model, target, [] if whole else chosen, len(sites if whole else chosen))
        if survey.plans.has_legacy_form(target):
            return NextStep(f"write the model for {target.name}", reads_and_writes("trt-legacy", model))
    steps = (_freezing(model, surveyed, survey) for surveyed in survey.sites)
    freezing = next((step for step in steps if step is not None), None)
    return repairing(model) if freezing is None and survey.plans.repairs else freezing


def steps_of(model: str, surveyed: Surveyed, survey: Survey) -> list[NextStep]:
    """What can be done with one site; the rewrite is for the latest TensorRT that wants one, where those are asked."""
    site, steps, several = surveyed.site, [], len(survey.sites) > 1
    options = survey.plans.promotion(site)
    if options is not None and _SHARED not in options:
        steps.append(_promotion(model, [site.index] if several else [], 1, options))
    freezing = _freezing(model, surveyed, survey)
    if freezing is not None:
        steps.append(freezing)
    newest_first = list(reversed(surveyed.verdicts))
    for verdict in [verdict for verdict in newest_first if verdict.target.runtime == "tensorrt"] or newest_first:
        if not verdict.accepted and survey.plans.is_rewritable(site, verdict.target):
            return [*steps, rewriting(model, verdict.target, [site] if several else [], 1)]
    return steps


def repairing(model: str) -> NextStep:
    """The command that fixes what it can."""
    return NextStep("fix what a converter broke", reads_and_writes("repair", model))


def rewriting(model: str, target: str | Target, sites: Sequence[Site], number: int) -> NextStep:
    """The command that rewrites these sites, or all that it can where none are named; `number` of them."""
    patterns = _only(site.index for site in sites)
    whom = "it" if number == 1 else "them"
    name, typed = (target, target) if isinstance(target, str) else (target.name, target.typed)
    return NextStep(
        f"rewrite {whom} for {name}",
        (*reads_and_writes("legalize", model, name), "--target", operand(typed), *patterns),
    )


def _promotion(model: str, named: Sequence[int], number: int, options: tuple[str, ...]) -> NextStep:
    many = "one graph input" if _SHARED in options else "graph inputs"
    purpose = "make its scales a graph input" if number == 1 else f"make their scales {many}"
    return NextStep(purpose, (*reads_and_writes("promote-scales", model), *options, *_only(named)))


def _only(indices: Iterable[int]) -> tuple[str, ...]:
    return tuple(word for index in indices for word in ("-n", f"#{index}"))


def _freezing(model: str, surveyed: Surveyed, survey: Survey) -> NextStep | None:
    site = surveyed.site
    setting = survey.plans.freezing(site)
    if setting is None:
        return None
    only = _only([] if len(survey.sites) == 1 else [site.index])
    words = (*reads_and_writes("freeze-scales", model), *setting, *only)
    return NextStep(f"make its {site.extent.kind.value} constant{', for example' if setting else ''}", words)


def _rewriting_for_modern(model: str, surveyed: Surveyed, survey: Survey) -> NextStep | None:
    for verdict in surveyed.verdicts:
        if verdict.target.name == _MODERN and not verdict.accepted:
            is_rewritable = survey.plans.is_rewritable(surveyed.site, verdict.target)
            return rewriting(model, _MODERN, [surveyed.site], 1) if is_rewritable else None
    return None

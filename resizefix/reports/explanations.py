"""The explanations of a message for a person at a terminal, and the text that reports an unknown one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from resizefix.addresses import address, page_address
from resizefix.diagnostics import Diagnostic
from resizefix.messages.pasted_text import speaker
from resizefix.printable import printable
from resizefix.reports.screen import Screen, screen
from resizefix.version import __version__
from resizefix.words import operand, quoted

if TYPE_CHECKING:
    from resizefix.library.explain import Explanation
    from resizefix.library.fix_trials import Findings

_MOST_FAULTS = 2
_MOST_REPORTED = 2000  # letters of the message in a report: its end says most
_EXAMPLES = ("--set", "--size", "--prefer")


def show_explanations(explanations: Sequence[Explanation], model: str | None, findings: Findings | None) -> None:
    """Each message with its cause, page and command; the command stands alone on its line, to be copied."""
    out = screen(2)
    for number, one in enumerate(explanations):
        if number:
            out.line("")
        if one.distance is not None:
            out.wrapped(Diagnostic("cli.explain-near-miss", distance=f"{one.distance:.2f}"))
        out.wrapped((one.runtime, "bold"), f": {one.message}")
        out.below(one.cause)
        out.below(_page(one.page))
        out.below(_found(one, None if model is None else printable(model)))
        if one.tried and _is_accepted(one):
            out.below(Diagnostic("cli.explain-tried-too"))
        for command, reason in one.tried:
            out.line((f"    {command}", "bold"))
            out.below(printable(reason))
        if one.command is not None:
            out.line((f"    {one.command}", "bold"))
        if one.then is not None:
            out.below(Diagnostic("cli.explain-rest" if one.cause_gone is False else "cli.explain-then"))
            out.line((f"    {one.then}", "bold"))
    if findings is not None and model is not None:
        out.line("")
        _show_findings(out, findings, model)


def show_unknown(near: Sequence[Explanation], report: str, model: str | None, findings: Findings | None) -> None:
    """The nearest messages, what the model shows, and the text to report the message with."""
    out = screen(2)
    if near:
        out.wrapped(Diagnostic("cli.explain-nearest"))
    for one in near:
        out.wrapped((f"{one.distance:.2f} ", ""), (one.runtime, "bold"), f": {one.message}")
        out.below(one.cause)
        if one.command is not None:
            out.line((f"    {one.command}", "bold"))
    if findings is not None and model is not None:
        _show_findings(out, findings, model)
    out.wrapped(
        Diagnostic("cli.explain-report", where=_where(), model="MODEL" if model is None else quoted(operand(model)))
    )
    for line in report.splitlines():
        out.line(f"    {line}")


def report_text(message: str, findings: Findings | None) -> str:
    """What to send where a message is not known: the message, and what is known of the model."""
    said = printable(message.strip()[-_MOST_REPORTED:]).replace("\\n", "\n")
    lines = [f"resizefix {__version__}: explain does not know this message", said]
    spoken = speaker(message)
    runtime, release = ("?", None) if spoken is None else spoken
    lines.append(f"runtime and version: {runtime} {release or '?'}")
    if findings is not None:
        run = "runs" if findings.run_error is None else printable(findings.run_error)
        faults = ", ".join(dict.fromkeys(fault.fault for fault in findings.faults)) or "none"
        resizes = "1 resize" if findings.sites == 1 else f"{findings.sites} resizes"
        lines.append(f"model: {resizes}; faults: {faults}; onnxruntime: {run}")
    return "\n".join(lines)


def _where() -> str:
    issues = address("Issues")
    if issues is None:
        return Diagnostic("cli.explain-report-nowhere")
    return Diagnostic("cli.explain-report-at", address=issues)


def _page(page: str) -> str:
    published = page_address(page)
    if published is None:
        return Diagnostic("cli.explain-page", page=page)
    return Diagnostic("cli.explain-page-at", address=published)


def _show_findings(out: Screen, findings: Findings, model: str) -> None:
    out.wrapped(Diagnostic("cli.explain-findings", model=printable(model)))
    if findings.not_there:
        out.below(Diagnostic("cli.explain-not-there", nodes=printable(", ".join(findings.not_there))))
    for fault in findings.faults[:_MOST_FAULTS]:
        said = {"node": printable(fault.node), "because": fault.because, "fix": printable(fault.fix)}
        if fault.fault == "scales-batch-too":
            out.below(Diagnostic("cli.explain-scales-batch", model=quoted(operand(model)), **said))
        else:
            out.below(Diagnostic("cli.explain-fault", **said))
    if rest := len(findings.faults[_MOST_FAULTS:]):
        out.below(Diagnostic("cli.explain-more-faults", count=rest, model=quoted(operand(model))))
    if not findings.sites:
        out.below(Diagnostic("cli.explain-no-sites"))
    elif findings.because is not None:
        rejected = printable(findings.because)
        out.below(Diagnostic("cli.explain-check-rejected", target=findings.target, because=rejected))
    elif findings.accepted:
        out.below(Diagnostic("cli.explain-check-accepted", target=findings.target))
    if findings.run_error is None:
        out.below(Diagnostic("cli.explain-runs"))
    else:
        out.below(Diagnostic("cli.explain-does-not-run", why=printable(findings.run_error)))


def _found(one: Explanation, model: str | None) -> str:
    """What stands before the command, or in its place."""
    if one.command is None:
        return _without_command(one, model)
    if model is None:
        return Diagnostic("cli.explain-without-model")
    if one.rule_broken is False and one.accepted_before is False:
        return Diagnostic("cli.explain-another-rule", model=model, target=one.target)
    name = one.command.split()[1]
    if name == "input-size" and one.cause_gone is not None:
        fed = "any" not in one.command.split()
        if one.cause_gone:
            return Diagnostic("cli.explain-at-the-fed-size" if fed else "cli.explain-at-other-sizes")
        return Diagnostic("cli.explain-not-at-the-fed-size" if fed else "cli.explain-at-some-sizes")
    if one.cause_gone is False and one.then is None:
        if one.accepted_after is False and one.target is not None:
            return Diagnostic("cli.explain-a-part", target=one.target)
        return Diagnostic("cli.explain-not-gone")
    if _is_accepted(one):
        return Diagnostic("cli.explain-accepted-already", target=one.target, model=model)
    example = next((option for option in _EXAMPLES if f" {option} " in one.command), None)
    if one.cause_gone is False:
        return Diagnostic("cli.explain-first-example", option=example) if example else Diagnostic("cli.explain-first")
    if one.cause_gone:
        return Diagnostic("cli.explain-fix-example", option=example) if example else Diagnostic("cli.explain-fix")
    if example is None:
        return Diagnostic("cli.explain-may-fix", model=model)
    return Diagnostic("cli.explain-may-fix-example", option=example, model=model)


def _is_accepted(one: Explanation) -> bool:
    """Whether the rules of the runtime that speaks have nothing against the model."""
    return bool(one.accepted_before) and one.target != "onnxruntime"


def _without_command(one: Explanation, model: str | None) -> str:
    if model is None:
        return one.reason or Diagnostic("cli.explain-nothing-to-type")
    if _is_accepted(one):
        return Diagnostic("cli.explain-accepted", target=one.target, model=model)
    if one.tried:
        return Diagnostic("cli.explain-tried", model=model, file=quoted(operand(model)))
    if one.reason is not None:
        return Diagnostic("cli.explain-refused", model=model, reason=printable(one.reason))
    return Diagnostic("cli.explain-no-command", model=quoted(operand(model)))

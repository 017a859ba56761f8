"""Outcomes, verdicts and verifications for a person at a terminal; colour only where there is one."""

from __future__ import annotations

from collections.abc import Sequence, Set

from rich.console import Console
from rich.text import Text

from resizefix.library.check import Verdict
from resizefix.library.result import Result
from resizefix.opsets.verdict import Blocker
from resizefix.outcome import Status
from resizefix.reports.printable import printable
from resizefix.targets.tensorrt_live import LiveVerdict
from resizefix.verification.verification import Verification

_STYLES = {Status.CHANGED: "green", Status.UNCHANGED: "dim", Status.REFUSED: "yellow"}


def show_result(result: Result, *, texts: bool) -> None:
    """What was done to each site, what stands in the way, the new inputs and their old values, the proof."""
    console = _console()
    for outcome in result.outcomes:
        line = Text(f"{outcome.status.value:<9}", _STYLES[outcome.status])
        line.append(f" {printable(outcome.node)}", "default")
        if outcome.reason is not None:
            line.append(f": {printable(outcome.reason)}", "default")
        if outcome.max_abs_diff:
            line.append(f" (measured difference {outcome.max_abs_diff:.2g})", "default")
        console.print(line)
        if texts and outcome.status is Status.CHANGED:
            console.print(Text(f"  - {printable(outcome.before)}", "red"))
            for after in outcome.after:
                console.print(Text(f"  + {printable(after)}", "green"))
    _show_blockers(console, result.blockers)
    for source in result.inputs:
        value = ",".join(f"{number:g}" for number in source.value)
        kind = "optional input" if source.optional else "new input"
        tensor = f"{source.elem_type}{list(source.shape)}"
        console.print(Text(f"{kind} {printable(source.name)}: {tensor}; fed {value} the model is the old one"))
    show_verification(result.verification)


def _show_blockers(console: Console, blockers: Sequence[Blocker]) -> None:
    """One line for each operator and reason, with the nodes counted."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for blocker in blockers:
        groups.setdefault((blocker.op_type, blocker.reason, blocker.mend), []).append(blocker.node)
    for (op_type, reason, mend), nodes in groups.items():
        more = f" and {len(nodes) - 1} more" if len(nodes) > 1 else ""
        line = Text("blocked  ", "yellow").append(
            f" {printable(f'{op_type} {nodes[0]}')}{more}: {printable(f'{reason}; {mend}')}", "default"
        )
        console.print(line)


def show_profile(flags: str) -> None:
    """The command that builds the promoted model, on one line so that it can be copied."""
    console = _console()
    console.print("TensorRT needs an optimization profile; trtexec takes it so:")
    console.print(Text(printable(flags)), soft_wrap=True)


def show_verdicts(verdicts: Sequence[Verdict], *, chosen: str | None) -> None:
    """A line for each target, with the rules that are broken; `chosen` is marked."""
    console = _console()
    for verdict in verdicts:
        mark = "*" if verdict.target.name == chosen else " "
        word = Text("accepted", "green") if verdict.accepted else Text("rejected", "red")
        console.print(Text(f"{mark} {verdict.target.name:<13} ").append_text(word))
        for violation in verdict.violations:
            told = f"{violation.node}: {violation.because} [{violation.rule}; {violation.source}]"
            console.print(Text(f"    {printable(told)}", "default"))
            console.print(Text(f"      {printable(violation.mend)}", "dim"))
        if verdict.live is not None:
            _show_live(console, verdict.live, {violation.node for violation in verdict.violations})


def _show_live(console: Console, live: LiveVerdict, foreseen: Set[str]) -> None:
    """What a real parser said, and what an engine was built for; `foreseen`: the nodes that rules speak of."""
    word = Text("takes the model", "green") if live.taken else Text("refuses the model", "red")
    if live.accepted and live.built is not None:
        word.append(" and builds the engine" if live.built else ": it parses, but no engine is built", "default")
    console.print(Text(f"  live: {live.parser} ").append_text(word))
    for error in live.errors:
        where = f"{printable(error.node or error.op_type)}: " if error.node or error.op_type else ""
        console.print(Text(f"    {where}{printable(error.message, keep_lines=True)}", "default"))
    resizes = {error.node for error in live.errors if error.op_type in ("Resize", "Upsample")}
    if resizes - foreseen:
        console.print(Text("    no rule foresaw this of a resize; please report it, with the model", "yellow"))
    elif live.errors and not resizes:
        console.print(Text("    that is not about an Upsample or Resize", "dim"))
    for name, bounds in live.profile.items():
        ranges = " … ".join("x".join(map(str, bounds[bound])) for bound in ("min", "opt", "max"))
        chosen = " (chosen here)" if name in live.chosen else ""
        console.print(Text(f"    built for {printable(name)}: {ranges}{chosen}", "dim"))


def show_verification(verification: Verification) -> None:
    """The verdict, and what it rests on."""
    console = _console()
    style = {"passed": "green", "failed": "red", "skipped": "yellow"}[verification.status.value]
    line = Text(f"verification {verification.status.value}", style)
    if verification.runs:
        bitwise = sum(run.bitwise for run in verification.runs)
        worst = max(run.max_abs_diff for run in verification.runs)
        line.append(f": {bitwise} of {len(verification.runs)} runs bitwise equal", "default")
        if worst:
            line.append(f", largest difference {worst:.2g}", "default")
    if verification.reason is not None:
        line.append(f": {printable(verification.reason)}", "default")
    console.print(line)


def _console() -> Console:
    return Console(highlight=False, soft_wrap=False)

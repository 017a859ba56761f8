"""Outcomes, verdicts and verifications for a person at a terminal; colour only where there is one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.dialect import RESIZES
from resizefix.document.text import listed, number_text
from resizefix.library.result import Result
from resizefix.outcome import Outcome, Status
from resizefix.printable import printable
from resizefix.promotion import Freedom
from resizefix.reports import proof
from resizefix.reports.screen import Part, Screen, screen
from resizefix.reports.wording import grouped, live_verdict, reason, runs_of_targets, some_of
from resizefix.verification.verification import Verification, VerificationStatus
from resizefix.words import quoted

if TYPE_CHECKING:
    from resizefix.faults.fault import Fault
    from resizefix.library.fastest import Speed
    from resizefix.library.verdict import Verdict
    from resizefix.opsets.verdict import Blocker, OpsetStep
    from resizefix.reports.screen import Table
    from resizefix.targets.target import Target

_STYLES = {Status.CHANGED: "green", Status.UNCHANGED: "dim", Status.REFUSED: "yellow"}
_COLOURS = {"accepted": "green", "rejected": "red", "different": "yellow", "partly": "yellow"}
_SPEED_HEADINGS = ("node", "before", "ms", "after", "ms")
_MOST_TENSORS = 16  # of those that a file expects
_SHORT = 60  # characters of a reason that may be said again


def show_result(
    result: Result,
    *,
    texts: bool,
    sessions: bool = False,
    refused: Outcome | None = None,
    kept: bool = True,
    table: Table | None = None,
) -> None:
    """What was done to each site, what stands in the way, the new inputs and their old values, the verification.

    `texts`: with each node before and after; `sessions`: with the number of sessions. The outcome `refused` is left
    out: the error message is about it. `kept`: the changes are kept; otherwise nothing is written. `table`: what there
    was before and after.
    """
    out = screen(2)
    _show_outcomes(out, result, texts=texts, refused=refused, kept=kept)
    _show_blockers(out, result.blockers)
    _show_inputs(out, result)
    if table is not None:
        out.table(table)
    if kept or result.verification.status is not VerificationStatus.SKIPPED:
        show_verification(result.verification)
    for line in proof.coverage(result.verification, sessions=sessions):
        out.wrapped(line, hang=4)


def _show_outcomes(out: Screen, result: Result, *, texts: bool, refused: Outcome | None, kept: bool) -> None:
    """A line for each group of sites that are alike; a reason that is long is said once."""
    reasons: dict[str, str] = {}
    new = {source.name for source in result.inputs}  # holds numbers of a scale, not an image
    shown = [outcome for outcome in result.outcomes if outcome is not refused]
    for group in grouped(shown, lambda outcome: outcome.index if texts else _looks(outcome)):
        outcome = group[0]
        is_tried = outcome.status is Status.CHANGED and not kept
        why = outcome.fault if is_tried and outcome.fault and not texts else reason(outcome)
        first = reasons.setdefault(why, outcome.node)
        if len(why) > _SHORT and first != outcome.node:
            why = f"for the same reason as {first}"
        nodes = some_of([one.node for one in group])
        text = f"{nodes}: {printable(why)}" if why else nodes
        measured = ""
        if outcome.max_abs_diff and not outcome.node_diffs:
            shapes = {name: shape for name, shape in (outcome.measured_at or {}).items() if name not in new}
            measured = f" (measured difference {outcome.max_abs_diff:.2g} at {proof.shapes_text(shapes)})"
        word = "tried" if is_tried else outcome.status.value
        out.wrapped((f"{word:<9} ", _STYLES[outcome.status]), f"{text}{measured}", hang=4)
        for line in proof.measured_lines(outcome):
            out.below(line)
        if texts and outcome.status is Status.CHANGED:
            out.below((f"- {printable(outcome.before)}", "red"))
            for after in outcome.after:
                out.below((f"+ {printable(after)}", "green"))
    for line in proof.output_lines(result.outcomes):
        out.wrapped(line, hang=4)


def _show_inputs(out: Screen, result: Result) -> None:
    """The new inputs with their old values, those that are integers now, and a warning of scales that must stay."""
    for source in result.inputs:
        value = ",".join(map(number_text, source.value))
        kind = "optional input" if source.optional else "new input"
        tensor = f"{source.elem_type}{list(source.shape)}"
        out.wrapped(f"{kind} {printable(source.name)}: {tensor}; feed [{value}] to get the original behaviour", hang=4)
    for one in result.integer_inputs:
        said = "cli.integer-input" if one.denominator == 1 else "cli.input-of-numerators"
        said = Diagnostic(said, name=one.name, shape=list(one.shape), denominator=one.denominator)
        out.wrapped(printable(said), hang=4)
    promoted = {driven.label for source in result.inputs for driven in source.sites}
    for coupling in result.verification.coupling:
        if coupling.verdict is Freedom.COUPLED and coupling.node in promoted:
            where = f"another scale of {coupling.node} breaks the model at {coupling.breaks_at!r}"
            out.wrapped(("warning: ", "yellow"), printable(f"{where}; only the old value was verified"), hang=4)


def _looks(outcome: Outcome) -> Hashable:
    """What is said of an outcome besides the node's name."""
    return outcome.status, outcome.reason, outcome.max_abs_diff, outcome.node_diffs, outcome.retry_args


def _show_blockers(out: Screen, blockers: Sequence[Blocker]) -> None:
    """One line for each operator and reason, with the nodes counted."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for blocker in blockers:
        groups.setdefault((blocker.op_type, blocker.reason, blocker.fix), []).append(blocker.node)
    for (op_type, why, fix), nodes in groups.items():
        others = f" and {len(nodes) - 1} more" if len(nodes) > 1 else ""
        line = f"{printable(f'{op_type} {nodes[0]}')}{others}: {printable(f'{why}; {fix}')}"
        out.wrapped(("blocked   ", "yellow"), line, hang=4)


def show_steps(steps: Sequence[OpsetStep], *, whole: bool) -> None:
    """What became of other operators: one line for each with `whole`, else how many of each kind."""
    out = screen(2)
    if whole:
        for step in steps:
            out.wrapped(("rewritten ", "green"), printable(f"{step.op_type} {step.node}: {step.what}"), hang=4)
    elif steps:
        kinds = Counter(step.op_type for step in steps)
        named = ", ".join(f"{count} {op_type}" for op_type, count in sorted(kinds.items()))
        out.wrapped(("rewritten ", "green"), printable(named), hang=4)


def show_copy(reason: str, path: str | None) -> None:
    """That OUT is the model as it was, and why; no path: that it would be."""
    screen(2).wrapped(
        ("already   ", "dim"), f"{printable(reason)}; {_where(path)}{' as a copy' if path else ''}", hang=4
    )


def show_already(reason: str, path: str | None, *, in_place: bool) -> None:
    """That nothing was needed and OUT was not written, and how to get a copy; no path: of a dry run."""
    code = "cli.not-needed-dry" if path is None else "cli.not-needed-in-place" if in_place else "cli.not-needed"
    out = "standard output" if path == "-" else path
    screen(2).wrapped(("already   ", "dim"), printable(Diagnostic(code, reason=reason, out=out)), hang=4)


def _where(path: str | None) -> str:
    if path is None:
        return "nothing was written (--dry-run)"
    return "wrote the model to standard output" if path == "-" else f"wrote {printable(path)}"


def show_profile(flags: str, clashing: Sequence[str] = ()) -> None:
    """The command that builds the promoted model, on one line so that it can be copied; `clashing` are the names of
    dimensions that have two lengths in it."""
    out = screen(2)
    out.wrapped("TensorRT needs an optimization profile; the command for trtexec:")
    out.line((printable(flags), "bold"))
    if clashing:
        names = ", ".join(map(printable, clashing))
        out.wrapped((f"TensorRT takes no two lengths of one name, and the profile has two of {names}", "yellow"))


def show_verdicts(verdicts: Sequence[Verdict], *, chosen: str | None) -> None:
    """A line for each target, with the rules that are broken; among several `chosen` is marked."""
    out = screen(4)
    for verdict in verdicts:
        mark = "*" if verdict.target.name == chosen and len(verdicts) > 1 else " "
        name = f"{verdict.asked}, judged as {verdict.target.name}" if verdict.asked else verdict.target.name
        out.line(f"{mark} {name:<13} ", (verdict.word, _COLOURS[verdict.word]))
        for violation in verdict.violations:
            out.below(printable(f"{violation.node}: {violation.because} [{violation.rule}; {violation.source}]"))
            out.wrapped((printable(violation.fix), "dim"), indent=6)
        _show_live(out, verdict)


def _show_live(out: Screen, verdict: Verdict) -> None:
    """What a real parser said, and what an engine was built for."""
    live = verdict.live
    if live is None:
        return
    word = (live_verdict(live), "green" if live.taken else "red")
    built = ""
    if live.accepted and live.built is not None:
        built = " and builds the engine" if live.built else ": it parses, but no engine is built"
    out.wrapped(f"live: {live.parser} ", word, built, indent=2, hang=4)
    for error in live.errors:
        where = f"{printable(error.node or error.op_type)}: " if error.node or error.op_type else ""
        out.below(f"{where}{printable(error.message, keep_lines=True)}")
    resizes = {error.node for error in live.errors if error.op_type in RESIZES}
    if resizes - {violation.node for violation in verdict.violations}:
        out.below(("no built-in rule predicts this error of a resize; please report it with the model", "yellow"))
    elif feeding := [error.fed_by for error in live.errors if error.fed_by is not None]:
        out.below((f"this error is at a node that the resize {printable(feeding[0])} feeds", "dim"))
    elif live.errors and not resizes:
        out.below(("this error is not about an Upsample or Resize", "dim"))
    for node in live.nodes:
        if node.agrees:
            out.below(
                (f"{printable(node.node)} alone: right, within {node.max_rel_diff:.2g} of the largest value", "dim")
            )
    for name, bounds in live.profile.items():
        ranges = " … ".join("x".join(map(str, bounds[bound])) for bound in ("min", "opt", "max"))
        picked = " (chosen here)" if name in live.chosen else ""
        out.below((f"built for {printable(name)}: {ranges}{picked}", "dim"))


def show_verification(verification: Verification) -> None:
    """The verdict, and what it rests on."""
    style = {"passed": "green", "failed": "red"}.get(verification.status.value, "yellow")
    parts: list[Part] = [(proof.verdict(verification), style)]
    if verification.status is not VerificationStatus.FAILED:  # else the error message says why
        parts.append(proof.basis(verification))
    out = screen(2)
    out.wrapped(*parts, hang=4)
    for tensor, standing in proof.tensor_rows(verification)[:_MOST_TENSORS]:
        style = "red" if standing.startswith("differs") and not standing.endswith("allowed") else "green"
        out.wrapped(f"{tensor}  ", (standing, style), indent=2, hang=4)
    for node, given, output, standing in proof.site_rows(verification):
        style = "green" if standing == "right" else "red"
        out.wrapped(f"{node}  input {given}, output {output}  ", (standing, style), indent=2, hang=4)


def show_written(path: str | None) -> None:
    """Where the model was written; None: nowhere, as the user wished."""
    screen(2).line(_where(path))


def show_lost_targets(lost: Sequence[Target], accepting: Sequence[Target] | None = None) -> None:
    """A warning where targets no longer accept the resizes; `accepting` are those that would, promoted for TensorRT."""
    if not lost:
        return
    out = screen(2)
    verb = "no longer do" if len(lost) > 1 else "no longer does"
    out.wrapped(("warning: ", "yellow"), f"{_named(lost)} accepted the resizes before and {verb}", hang=4)
    if accepting is None:
        return
    others = [target for target in lost if target not in accepting]
    words = [f"promote with --for tensorrt ({_named(accepting)})"] if accepting else []
    words += [f"keep IN, whose scales are constants{f' ({_named(others)})' if accepting else ''}"] if others else []
    out.wrapped(f"to keep {'them' if len(lost) > 1 else 'it'}: {'; '.join(words)}", hang=4)


def _named(targets: Sequence[Target]) -> str:
    return listed(runs_of_targets([target.name for target in targets]))


def show_python(lines: Sequence[str]) -> None:
    """Lines of Python, unbroken so that they can be copied."""
    out = screen(2)
    if lines:
        out.line("to run it:")
    for line in lines:
        out.line(printable(f"  {line}"))


def show_faults(faults: Sequence[tuple[str, Fault]]) -> None:
    """What is broken or fragile in the resizes of a model, whatever the target."""
    out = screen(2)
    for node, fault in faults:
        out.wrapped((f"fault {fault.name} ", "yellow"), printable(f"{node}: {fault.because}; {fault.fix}"), hang=4)
    if any(fault.change is not None for _, fault in faults):
        out.line("resizefix repair fixes those with one possible meaning")


def show_optional_faults(faults: Sequence[tuple[str, Fault]]) -> None:
    """A warning of resizes that compute what the file says and not what the framework did, with how to have that."""
    others = [fault for _, fault in faults if fault.is_optional and fault.retry_args]
    if others:
        subject = "1 resize computes" if len(others) == 1 else f"{len(others)} resizes compute"
        screen(2).wrapped(
            ("warning: ", "yellow"),
            Diagnostic("cli.not-as-the-framework", subject=subject, args=" ".join(others[0].retry_args)),
            hang=4,
        )


def show_families(verdicts: Sequence[Verdict], *, every: bool) -> None:
    """A line for each runtime: which of its releases accept the resizes, and the rules that the others name.

    The TensorRT of before 8.0 is summed up in a line, unless `every` release is to be shown; then each rule that is
    broken follows, in words.
    """
    from resizefix.reports import families  # which judges, and few commands do

    out = screen(4)
    shown = [verdict for verdict in verdicts if every or not families.is_old(verdict.target)]
    lines = families.lines_of(shown)
    width = max(len(line.title) for line in lines)
    for line in lines:
        rules = f"  {line.rules}" if line.rules else ""
        out.wrapped(f"{line.title:<{width}}  ", (line.said, _COLOURS[line.word]), rules, hang=width + 2)
        for verdict in line.verdicts:
            _show_live(out, verdict)
    old = [verdict for verdict in verdicts if verdict not in shown]
    if old:
        out.wrapped((families.of_old(old), "dim"), hang=width + 2)
    if every:
        in_words: dict[str, str] = {}
        for violation in (violation for verdict in verdicts for violation in verdict.violations):
            in_words.setdefault(violation.rule, violation.because)
        if in_words:
            out.line("what the rules found:")
        for rule, because in in_words.items():
            out.wrapped(printable(f"{rule}: {because}"), indent=2, hang=4)
    out.line("check with --target NAME, or -v, prints each node and how to fix it")


def show_targets(covered: Mapping[str, str], judged: Mapping[str, str]) -> None:
    """Every target, and what its row stands for; and which row judges each of the other names that were asked for."""
    out = screen(2)
    width = max(map(len, covered))
    for name, covers in covered.items():
        out.line((name.ljust(width), "bold"), f"  {covers}")
    for name, row in judged.items():
        out.line(printable(f"{name} is judged as {row}"))


def show_new_target(path: str) -> None:
    """Where a new target's file lies, and how it is used."""
    out = screen(2)
    out.line(f"wrote {printable(path)}; change its rules to what your device does")
    out.line(f"to use it: resizefix check MODEL --target {quoted(path)}")


def _speeds(speed: Speed) -> list[tuple[str, str, str, str, str]]:
    """Each node alone before and after, then the whole model; nodes of equal cells are one row, and counted."""
    counted: dict[tuple[str, str, str, str], list[str]] = {}
    for row in speed.nodes:
        cells = (row.before.form, f"{row.before.ms:.3g}", row.after.form, f"{row.after.ms:.3g}")
        counted.setdefault(cells, []).append(printable(row.node))
    rows = [
        (names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} alike", *cells)
        for cells, names in counted.items()
    ]
    if speed.whole is not None:
        now = speed.whole.after_ms if speed.whole.kept else speed.whole.before_ms
        rows.append(("whole model", "", f"{speed.whole.before_ms:.3g}", "", f"{now:.3g}"))
    return rows


def show_left_out(target: str, because: Mapping[str, str]) -> None:
    """The nodes that were not selected, and why the target still refuses each."""
    out = screen(2)
    for node, why in because.items():
        said = Diagnostic("cli.left-out", target=target, node=node, why=why)
        out.wrapped(("still refused  ", "yellow"), printable(said), hang=4)


def show_speed(speed: Speed) -> None:
    """The table, columns aligned."""
    if not speed.nodes:
        return
    out = screen(2)
    out.line(f"times in {speed.runtime}, milliseconds; each node alone:")
    table: Sequence[Sequence[str]] = [_SPEED_HEADINGS, *_speeds(speed)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = [
            cell.rjust(width) if heading == "ms" else cell.ljust(width)
            for cell, width, heading in zip(row, widths, _SPEED_HEADINGS, strict=True)
        ]
        out.line(f"  {'  '.join(cells)}".rstrip())

"""A verification as text and as rows: what was run, and how far the two models differ; intended differences, too."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from operator import attrgetter
from pathlib import PurePath

from resizefix.document.text import counted, number_text
from resizefix.outcome import Outcome, TensorDifference
from resizefix.printable import printable
from resizefix.reports.wording import grouped, some_of, times
from resizefix.verification.verification import ExpectedTensor, Run, SiteDrift, Verification, VerificationStatus

HEADINGS = ("optimisation", "shapes", "fed", "result")
SITE_HEADINGS = ("resize", "input differs by", "output differs by", "result")
TENSOR_HEADINGS = ("tensor", "result")
_FAR = attrgetter("max_rel_diff")
_MOST_VALUES = 8  # of one input


def verdict(verification: Verification) -> str:
    """`verification passed`; with the runtimes, where they are two."""
    if verification.status is VerificationStatus.UNREFUTED:
        return "converted"
    where = f" (onnxruntime and {verification.runtime})" if verification.runtime is not None else ""
    if verification.expected is not None:
        where = f" (against {printable(verification.expected)})"
    return f"verification {verification.status.value}{where}"


def where(verification: Verification) -> str:
    """What one model was compared with, to stand behind its name: ` in openvino 2026`, ` against outputs.npz`."""
    if verification.expected is not None:
        return f" against {printable(verification.expected)}"
    return f" in {verification.runtime or 'another runtime'}"


def basis(verification: Verification) -> str:
    """What the verdict rests on, to stand behind it; begins with a colon where there is something.

    What was not refuted rests on its reason, which counts the experiments.
    A failure rests on its reason alone: the runs before it prove nothing.
    """
    if verification.status is VerificationStatus.UNREFUTED:
        return f"; {printable(verification.reason or '')}"
    parts = [] if verification.status is VerificationStatus.FAILED else _agreement(verification.runs)
    if verification.reason is not None:
        parts.append(printable(verification.reason))
    return f": {'; '.join(parts)}" if parts else ""


def coverage(verification: Verification, *, sessions: bool) -> list[str]:
    """What had no chance to disprove the result, which limits what "passed" means; with `sessions`, first what the
    verification cost, and what had a chance."""
    parts = {"not tested": verification.not_tested}
    lines = []
    if sessions and verification.sessions:
        opened = f"{counted(verification.sessions, 'session')} of onnxruntime opened"
        lines.append(f"{opened}, {verification.forward_passes:g} forward passes of the original")
        parts = {"tested": verification.tested, **parts}
    return lines + [f"{word}: {printable('; '.join(said))}" for word, said in parts.items() if said]


def _agreement(runs: Sequence[Run]) -> list[str]:
    """How many runs were bitwise equal, and how near the others came."""
    differing = [run for run in runs if not run.bitwise]
    bitwise = f"{len(runs) - len(differing)} of {counted(len(runs), 'run')} bitwise equal"
    if not differing:
        return [bitwise] if runs else []
    # What a rewrite comes near to is said of nodes as they stand; optimising adds sums in another order.
    as_they_stand = [run for run in differing if not run.optimized]
    within = _within(as_they_stand or differing)
    if as_they_stand and max(differing, key=_FAR) not in as_they_stand:
        within += f", optimised {_within(differing)}"
    return [within if len(differing) == len(runs) else f"{bitwise}, the others {within}"]


def _within(runs: Sequence[Run]) -> str:
    farthest = max(runs, key=_FAR)
    bound = f" (bound {farthest.bound:.2g})" if farthest.bound else ""
    return f"within {farthest.max_rel_diff:.2g} of the largest value{bound}"


def rows(verification: Verification) -> list[tuple[str, str, str, str]]:
    """A row for each run, as HEADINGS name its cells; runs that are alike are one row, and counted. All that comes from
    a file is printable."""
    runs = Counter(
        ("default level" if run.optimized else "disabled", shapes_text(run.shapes), _fed(run), _result(run))
        for run in verification.runs
    )
    return [
        (level, shapes, fed, result if count == 1 else f"{result}, in {count} runs")
        for (level, shapes, fed, result), count in runs.items()
    ]


def site_rows(verification: Verification) -> list[tuple[str, str, str, str]]:
    """A row for each resize in another runtime, as SITE_HEADINGS name its cells: parts of the largest value. Resizes of
    which the same is said are one row."""
    groups = grouped(verification.sites, _said_of)
    return [(some_of([site.node for site in group]), *_said_of(group[0])) for group in groups]


def _said_of(site: SiteDrift) -> tuple[str, str, str]:
    return _part(site.input_rel_diff), _part(site.max_rel_diff), _standing(site)


def tensor_rows(verification: Verification) -> list[tuple[str, str]]:
    """A row for each output that was expected, and each further tensor that differs; TENSOR_HEADINGS name its cells."""
    shown = (each for each in verification.tensors if each.is_output or each.differs)
    return [(printable(each.tensor), _against(each)) for each in shown]


def _against(tensor: ExpectedTensor) -> str:
    if tensor.difference.bitwise:
        return "bitwise equal"
    if not math.isfinite(tensor.max_abs_diff):
        return "differs in more than numbers"
    allowed = "" if tensor.differs else ", which is allowed"
    return f"differs by up to {tensor.max_abs_diff:.3g}{allowed}"


def _part(relative: float) -> str:
    if not math.isfinite(relative):
        return "more than numbers"
    return f"{relative:.2g}" if relative else "0"


def _standing(site: SiteDrift) -> str:
    words = _right_or_not(site)
    return f"{words}; in a body, run alone" if site.alone else words


def _right_or_not(site: SiteDrift) -> str:
    if not site.differs:
        return "right"
    words = "the first that differs" if site.first else "differs"
    return f"{words}: {printable(site.because)} [{site.rule}]" if site.because else words


def shapes_text(shapes: Mapping[str, Sequence[int]]) -> str:
    """`x 1×3×32×48; n scalar`: what inputs were fed, by shape."""
    return "; ".join(f"{printable(name)} {times(shape) or 'scalar'}" for name, shape in shapes.items())


def _fed(run: Run) -> str:
    values = [f"{name} = {PurePath(path).name}" for name, path in run.files.items()]
    for name, given in run.values.items():
        shown = ", ".join(
            number_text(value) if isinstance(value, float) else str(value) for value in given[:_MOST_VALUES]
        )
        values.append(f"{name} = {shown}{', …' if len(given) > _MOST_VALUES else ''}")
    return printable("; ".join(values)) or "random values"


def _result(run: Run) -> str:
    if run.bitwise:
        return "bitwise equal" + (" to the original with these sizes" if run.reference == "sizes" else "")
    if not math.isfinite(run.max_abs_diff):
        return "differs in more than numbers"
    allowed = f"; {run.bound:.2g} allowed" if run.bound else ""
    return f"differs by up to {run.max_abs_diff:.2g} ({run.max_rel_diff:.2g} of the largest value{allowed})"


def measured_lines(outcome: Outcome) -> list[str]:
    """A line for each feed: how far the node is from what it was."""
    if outcome.exact:
        return []
    return [f"at the node, {printable(diff.feed)}: {difference_text(diff)}" for diff in outcome.node_diffs]


def output_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """A line for each output and feed, once for all nodes: they were changed together."""
    changed = [outcome for outcome in outcomes if outcome.output_diffs]
    if all(outcome.exact for outcome in changed):
        return []
    return [
        f"output {printable(diff.tensor)}, {printable(diff.feed)}: {difference_text(diff)}"
        for diff in changed[0].output_diffs
    ]


def difference_text(diff: TensorDifference) -> str:
    """`differs by up to 0.5 (0.16 × the largest value), 0.02 on average`."""
    if not math.isfinite(diff.max_abs_diff):
        return "differs in more than numbers"
    if diff.max_abs_diff == 0:
        return "no difference"
    share = f" ({diff.max_abs_diff / diff.largest:.2g} × the largest value)" if diff.largest else ""
    return f"differs by up to {diff.max_abs_diff:.3g}{share}, {diff.mean_abs_diff:.2g} on average"

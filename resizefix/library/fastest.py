"""`legalize --fastest`: of all forms that compute the same, the one measured fastest in the target's runtime.

Each node is cut out with its sizes, and its forms take turns. What is fastest there is put into the model, which is
measured against the one before, in both orders. It stays only where the whole model is faster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.model_view import ModelView
from resizefix.document.document import Document
from resizefix.document.shapes import Key
from resizefix.errors import RefusedError, UsageError
from resizefix.library.live_runtimes import seconds_left
from resizefix.library.node_times import NodeTimes, Stopwatch, Timer, Values
from resizefix.library.speed import GAIN, FormTime, NodeSpeed, Speed, WholeSpeed, ratio
from resizefix.operations.candidates import LegalizeAs, candidates, why_left_alone
from resizefix.operations.legalize import legalizers
from resizefix.operations.replacement import Allowance, Replacement
from resizefix.operations.rewriter import Rewritten, rewrite
from resizefix.operations.site import Site
from resizefix.outcome import Outcome, Status
from resizefix.runtimes.catalogue import ROWS, RUNTIMES
from resizefix.runtimes.inputs import model_inputs
from resizefix.runtimes.runtime import Runtime
from resizefix.targets.target import Target
from resizefix.verification.conditions import Conditions
from resizefix.verification.progress import Progress

_ROUNDS, _SECONDS = 10, 2.0  # rounds at least, and the seconds in which there may be more
_MOST_PARTS = 4  # of the choice that are tried where the whole of it does not make the model faster
_LEAST_STEP = 0.98  # the part of the time that one more of them must leave


@dataclass(frozen=True, eq=False)
class Fastest:
    """The document with the fastest forms, each site's outcome, and what was measured."""

    made: Rewritten
    speed: Speed


def fastest(
    view: ModelView,
    sites: Sequence[Site],
    made: Rewritten,
    target: Target,
    allowance: Allowance,
    conditions: Conditions,
    *,
    python: str | None = None,
    timer: Timer | None = None,
) -> Fastest:
    """The fastest forms of the sites of `view`'s document; `made` is what `legalize` makes without measuring.

    Raises UsageError for a target whose runtime cannot be asked, RefusedError where a size is open that decides the
    times, and where the model does not run.
    """
    row = RUNTIMES.get(target.name)
    if row is None:
        known = ", ".join(row.name for row in ROWS if row.target == row.name)
        raise UsageError("library.fastest-not-run-here", target=target.name, known=known)
    require_sizes(view.document, conditions)
    with Runtime(row, python=python, time_limit=seconds_left(conditions)) as runtime:
        watch = Stopwatch(runtime, timer or Runtime.time, conditions, row.title)
        return _Choice(view, sites, made, NodeTimes(view, target, allowance, watch)).of_all()


def require_sizes(document: Document, conditions: Conditions) -> None:
    """Raises RefusedError for an input with an open size other than the batch: times hang on it. What `--shape` gives
    is known, and so are sizes of the same name elsewhere."""
    inputs = [entry for entry in model_inputs(document.proto) if not entry.has_default]
    known = {dim for entry in inputs if entry.name in conditions.shapes for dim in entry.shape or () if dim is not None}
    for entry in inputs:
        sizes = (None,) if entry.shape is None else entry.shape[1:]
        if entry.name not in conditions.shapes and not all(isinstance(size, int) or size in known for size in sizes):
            raise RefusedError("library.fastest-open-size", name=entry.name, type_text=entry.type_text)


@dataclass(frozen=True, eq=False)
class _Whole:
    """The model with chosen forms: the part of the time that it takes, both times, and the model."""

    chosen: Mapping[Key, str]
    part: float
    speed: WholeSpeed
    made: Rewritten


@dataclass(frozen=True, eq=False)
class _Choice:
    """The forms of the sites of one model; `made` has those that it has without measuring."""

    view: ModelView
    sites: Sequence[Site]
    made: Rewritten
    times: NodeTimes

    def of_all(self) -> Fastest:
        paired = zip(self.sites, self.made.outcomes, strict=True)
        nodes = self.times.cut([site for site, outcome in paired if outcome.status is not Status.REFUSED])
        values = self.times.values(nodes)
        progress = Progress(self.times.watch.conditions.tell)
        progress.expect(len(nodes) + 1)
        speeds: dict[Key, NodeSpeed] = {}
        groups: dict[object, list[Key]] = {}
        for node in nodes:
            progress.done(f"measuring {node.site.label}")
            speed = self.times.speed(node, values)
            if speed is not None:
                speeds[node.site.key] = speed
                if speed.after != speed.before:
                    groups.setdefault(self.times.kind(node, values), []).append(node.site.key)
        progress.done("measuring the whole model")
        whole = self._settled(speeds, list(groups.values()), values)
        kept = whole.chosen if whole is not None and whole.speed.kept else {}
        made = self.made if whole is None or not kept else whole.made
        paired = zip(self.sites, made.outcomes, strict=True)
        outcomes = tuple(self._timed(site, outcome, speeds.get(site.key), kept, whole) for site, outcome in paired)
        rows = tuple(one if key in kept else replace(one, after=one.before) for key, one in speeds.items())
        measured = Speed(self.times.watch.title, rows, None if whole is None else whole.speed)
        return Fastest(replace(made, outcomes=outcomes), measured)

    def _settled(
        self, speeds: Mapping[Key, NodeSpeed], groups: Sequence[Sequence[Key]], values: Values
    ) -> _Whole | None:
        """The model with all forms that are faster alone; where that is not faster, with some of them: those that save
        most are tried first."""

        def saved(keys: Sequence[Key]) -> float:
            return sum(speeds[key].before.ms - speeds[key].after.ms for key in keys)

        ordered = sorted(groups, key=saved, reverse=True)
        if not ordered:
            return None
        first = best = self._tried({key: speeds[key].after.form for keys in ordered for key in keys}, values)
        if first.part > GAIN and len(ordered) > 1:
            best = replace(first, chosen={}, part=1.0)
            for keys in ordered[:_MOST_PARTS]:
                more = self._tried({**best.chosen, **{key: speeds[key].after.form for key in keys}}, values)
                best = more if more.part <= best.part * _LEAST_STEP else best
        if best.part > GAIN:
            return first
        return replace(best, speed=replace(best.speed, kept=True))

    def _tried(self, chosen: Mapping[Key, str], values: Values) -> _Whole:
        """The model with these forms, in both orders; in neither may it be slower: the first may be placed better."""
        operation = LegalizeAs(self.times.target, self.times.allowance, chosen)
        after = rewrite(self.view, self.sites, operation)
        parts: list[float] = []
        old: list[float] = []
        new: list[float] = []
        for order in (("before", "after"), ("after", "before")):
            documents = {"before": self.made.document, "after": after.document}
            answer = self.times.watch.time({name: documents[name] for name in order}, values, _ROUNDS, _SECONDS)
            if not answer.models or not all(model.times for model in answer.models):
                why = answer.reason or next((model.reason for model in answer.models if model.reason), "")
                raise RefusedError("library.fastest-does-not-run", why=why)
            found = dict(zip(order, answer.models, strict=True))
            parts.append(ratio(found["before"].times, found["after"].times))
            old += found["before"].times
            new += found["after"].times
        speed = WholeSpeed(min(old) * 1e3, min(new) * 1e3, kept=False)
        part = ratio(old, new) if max(parts) < 1 else max(parts)
        return _Whole(chosen, part, speed, after)

    def _timed(
        self, site: Site, outcome: Outcome, speed: NodeSpeed | None, kept: Mapping[Key, str], whole: _Whole | None
    ) -> Outcome:
        """The outcome with what was measured of the site."""
        if outcome.status is Status.REFUSED:
            return outcome
        if speed is None:
            said = why_left_alone(site) or self._why_nothing(site)
        elif site.key in kept:
            said = Diagnostic("library.fastest-chosen", before=_ms(speed.before.ms), after=_ms(speed.after.ms))
        elif speed.after != speed.before and whole is not None:
            times = {"before": _ms(whole.speed.before_ms), "after": _ms(whole.speed.after_ms)}
            said = Diagnostic("library.fastest-alone-only", form=speed.after.form, **times)
        else:
            said = f"{_why_kept(speed)}{self._near(site)}"
        reason = f"{outcome.reason}; {said}" if outcome.status is Status.CHANGED and outcome.reason else said
        return replace(outcome, reason=reason)

    def _why_nothing(self, site: Site) -> str:
        """What is said of a site of which nothing was measured."""
        times = self.times
        if self._forms(site, times.allowance):
            return Diagnostic("library.fastest-not-alone", runtime=times.watch.title)
        return f"{Diagnostic('library.fastest-no-other-form')}{self._near(site)}"

    def _forms(self, site: Site, allowance: Allowance) -> Mapping[str, Replacement]:
        return candidates(legalizers(self.view, [site], self.times.target, allowance)[0])

    def _near(self, site: Site) -> str:
        """Which forms would be timed with --allow-inexact."""
        times = self.times
        if times.allowance.inexact:
            return ""
        known = self._forms(site, times.allowance)
        every = self._forms(site, replace(times.allowance, inexact=True))
        near = ", ".join(name for name in every if name not in known)
        return f"; {Diagnostic('library.fastest-inexact-too', forms=near)}" if near else ""


def _why_kept(speed: NodeSpeed) -> str:
    others: list[FormTime] = [one for one in speed.measured if one != speed.before]
    if not others:
        return Diagnostic("library.fastest-others-fail", before=_ms(speed.before.ms))
    return Diagnostic(
        "library.fastest-already", before=_ms(speed.before.ms), form=others[0].form, after=_ms(others[0].ms)
    )


def _ms(milliseconds: float) -> str:
    return f"{milliseconds:.3g} ms"

"""`legalize --fastest`: of all forms that compute the same, the one measured fastest in the target's runtime.

Each node is cut out with its sizes, and its forms take turns. What is fastest there is put into the model, which is
measured against the one before, in both orders. It stays only where the whole model is faster.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter

import numpy as np

from resizefix.diagnostics import Diagnostic, RefusedError, UsageError
from resizefix.document.document import Document
from resizefix.document.edits import Replacement
from resizefix.library.live import seconds_left
from resizefix.operations.candidates import AS_IT_IS, LegalizeAs, candidates, form_now, why_left_alone
from resizefix.operations.legalize import legalizers
from resizefix.operations.replacement import Allowance
from resizefix.operations.rewriter import Rewritten, rewrite
from resizefix.operations.site import Site
from resizefix.operations.sites import sites_in
from resizefix.outcome import Outcome, Status
from resizefix.runtimes.catalogue import ROWS, RUNTIMES
from resizefix.runtimes.inputs import Value, model_inputs
from resizefix.runtimes.limits import BrokenOffError
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError
from resizefix.runtimes.runtime import LiveUnavailable, ModelToTime, Runtime, TimedModel, Timings
from resizefix.scope_path import Key
from resizefix.shapes.stored_shapes import ModelView
from resizefix.targets.target import Target
from resizefix.verification.extraction import Extraction
from resizefix.verification.in_runtime import cut_out, fed, judged, values_in, write_sizes
from resizefix.verification.verification import Conditions, Progress

Values = Mapping[str, Value]
# Rounds at least, and the seconds in which there may be more.
_OF_A_MODEL, _OF_A_NODE = (10, 2.0), (5, 0.5)
_MOST_PARTS = 4  # of the choice that are tried where the whole of it does not make the model faster
_LEAST_STEP = 0.98  # the part of the time that one more of them must leave
GAIN = 0.95
"""The part of the time that a form or a model may take at most to be called faster."""


@dataclass(frozen=True)
class FormTime:
    """A form by name, and its fastest run in milliseconds."""

    form: str
    ms: float


@dataclass(frozen=True)
class NodeSpeed:
    """A node alone, at the sizes that it has in the model: the form that it had, the one that it has now, and every
    form that was measured, the fastest first."""

    index: int
    node: str
    before: FormTime
    after: FormTime
    measured: tuple[FormTime, ...]


@dataclass(frozen=True)
class WholeSpeed:
    """The whole model: milliseconds with the old forms and with those that are fastest alone; `kept`: the latter stay,
    since the model is at least 5 % faster with them."""

    before_ms: float
    after_ms: float
    kept: bool


@dataclass(frozen=True)
class Speed:
    """What was measured in `runtime` (its title and version); `whole` is None where no form was faster alone."""

    runtime: str
    nodes: tuple[NodeSpeed, ...]
    whole: WholeSpeed | None = None


def milliseconds(model: TimedModel) -> float:
    """Its fastest run."""
    return min(model.times) * 1e3


def ratio(before: Sequence[float], after: Sequence[float]) -> float:
    """The part of the time that `after` takes, by the fastest runs and by the rounds in the middle: the worse of both.

    Rounds are those in which both ran, so that what slows the machine down falls on both.
    """
    by_round = [new / old for old, new in zip(before, after, strict=False) if old > 0]  # one may have left early
    if not by_round:
        return 1.0
    return max(min(after) / min(before), statistics.median(by_round))


@dataclass(frozen=True)
class CutNode:
    """One site to measure: the model of that node alone, and its forms by name, the first the one that it has."""

    site: Site
    cut: Document
    forms: tuple[str, ...]


@dataclass
class NodeTimes:
    """Models put into the runtime's folder and timed there, and nodes of one of them, each measured alone; those that
    are alike are measured once. `title` is the runtime's, with its version once it has answered."""

    view: ModelView
    target: Target
    allowance: Allowance
    runtime: Runtime
    conditions: Conditions
    title: str
    _known: dict[object, NodeSpeed | None] = field(default_factory=dict)

    def time(
        self, models: Mapping[str, Document], values: Values, rounds: int, seconds: float, *, shown: bool = False
    ) -> Timings:
        """The times of the models by name, in that order. Raises UsageError where the runtime cannot be asked,
        TimeIsUpError."""
        self.conditions.limits.left()
        asked = []
        for number, document in enumerate(models.values()):
            path = self.runtime.folder / f"timed-{number}.onnx"
            document.save(path, overwrite=True)
            outputs = tuple(value.name for value in document.proto.graph.output)
            asked.append(ModelToTime(path, fed(document, values), outputs, shown))
        answer = self.runtime.time(asked, rounds, seconds)
        self.conditions.limits.left()  # a runtime that ran out of time says nothing of the models
        if isinstance(answer, LiveUnavailable):
            raise UsageError("library.runtime-cannot-be-asked", why=answer.reason)
        self.title = answer.runtime
        return answer

    def cut(self, sites: Sequence[Site]) -> list[CutNode]:
        """Those of the sites that have another form, cut out."""
        extraction = Extraction(self.view, self.view)
        nodes = []
        for legalizer in legalizers(self.view, sites, self.target, self.allowance):
            site, now = legalizer.site, form_now(legalizer)
            if now is None:
                continue
            names = [name for name in candidates(legalizer) if name != now and not now.startswith(f"{name} for ")]
            if names:
                cut = cut_out(self.view.document, extraction, site.key, site.input)
                nodes.append(CutNode(site, cut, (now, *names)))
        return nodes

    def values(self, cuts: Sequence[CutNode]) -> Values:
        """What the model is fed, its outputs, and what the nodes are fed and give in it.

        Raises RefusedError where onnxruntime does not run the model.
        """
        if not cuts:
            return {}
        wanted = {entry.name for one in cuts for entry in model_inputs(one.cut.proto)}
        wanted |= {one.site.output for one in cuts}
        try:
            return values_in(self.view.document, wanted, self.conditions)
        except (CannotLoadError, CannotRunError, BrokenOffError) as error:
            raise RefusedError("library.fastest-does-not-run", why=error) from error

    def kind(self, node: CutNode, values: Values) -> object:
        """What nodes have in common that are measured once: all but names and numbers."""
        site = node.site.read
        fed_shapes = (values.get(entry.name) for entry in model_inputs(node.cut.proto))
        shapes = tuple((value.shape, value.dtype.str) for value in fed_shapes if isinstance(value, np.ndarray))
        return site.interpolation, site.extent.kind, site.values, site.origin.kind, shapes, node.forms

    def speed(self, node: CutNode, values: Values) -> NodeSpeed | None:
        """What was measured of the node; None where it did not run alone in the form that it has."""
        kind = self.kind(node, values)
        if kind not in self._known:
            self._known[kind] = self._measured(node, values)
        speed = self._known[kind]
        return None if speed is None else replace(speed, index=node.site.index, node=node.site.label)

    def _measured(self, node: CutNode, values: Values) -> NodeSpeed | None:
        write_sizes(node.cut.proto, values)
        models = self._models(node)
        if not models:
            return None
        answer = self.time(models, values, *_OF_A_NODE, shown=True)
        if not answer.models or not answer.models[0].times:
            return None
        first, output = answer.models[0], node.site.output
        computed = values.get(output)  # by onnxruntime, in the whole model
        own = FormTime(node.forms[0], milliseconds(first))
        others = [
            (FormTime(name, milliseconds(one)), ratio(first.times, one.times))
            for name, one in list(zip(models, answer.models, strict=True))[1:]
            if one.times and computed is not None and judged(output, computed, one.outputs.get(output))[1]
        ]
        faster = [form for form, part in others if part <= GAIN]
        measured = sorted([own, *(form for form, _ in others)], key=attrgetter("ms"))
        best = min(faster, key=attrgetter("ms"), default=own)
        return NodeSpeed(node.site.index, node.site.label, own, best, tuple(measured))

    def _models(self, node: CutNode) -> dict[str, Document]:
        """The node alone in each of its forms; without those that it does not have alone. Empty where it has not even
        the first alone."""
        view = ModelView(node.cut)
        sites = [site for site in sites_in(view) if site.output == node.site.output]
        if not sites:
            return {}
        (legalizer,) = legalizers(view, sites, self.target, self.allowance)
        now, forms = form_now(legalizer), candidates(legalizer)
        if now != node.forms[0]:
            return {}
        models = {AS_IT_IS: node.cut} if now == AS_IT_IS else {now: self._as(view, sites, {})}
        for name in node.forms[1:]:
            if name in forms:
                models[name] = self._as(view, sites, {sites[0].key: name})
        return models

    def _as(self, view: ModelView, sites: Sequence[Site], chosen: Mapping[Key, str]) -> Document:
        return rewrite(view, sites, LegalizeAs(self.target, self.allowance, chosen)).document


def fastest(
    view: ModelView,
    sites: Sequence[Site],
    rewritten: Rewritten,
    target: Target,
    allowance: Allowance,
    conditions: Conditions,
    *,
    python: str | None = None,
) -> tuple[Rewritten, Speed]:
    """The model with the fastest forms of the sites of `view`'s document, and what was measured; `rewritten` is
    what `legalize` makes without measuring.

    Raises UsageError for a target whose runtime cannot be asked, RefusedError where a size is open that decides the
    times, and where the model does not run.
    """
    row = RUNTIMES.get(target.name)
    if row is None:
        names = ", ".join(row.name for row in ROWS if row.target == row.name)
        raise UsageError("library.fastest-not-run-here", target=target.name, known=names)
    require_sizes(view.document, conditions)
    with Runtime(row, python=python, time_limit=seconds_left(conditions)) as runtime:
        times = NodeTimes(view, target, allowance, runtime, conditions, row.title)
        return _Choice(view, sites, rewritten, times).of_all()


def require_sizes(document: Document, conditions: Conditions) -> None:
    """Raises RefusedError for an input with an open size other than the batch: times hang on it. What `--shape` gives
    is known, and so are sizes of the same name elsewhere."""
    inputs = [entry for entry in model_inputs(document.proto) if not entry.has_default]
    dims = {dim for entry in inputs if entry.name in conditions.shapes for dim in entry.shape or () if dim is not None}
    for entry in inputs:
        sizes = (None,) if entry.shape is None else entry.shape[1:]
        if entry.name not in conditions.shapes and not all(isinstance(size, int) or size in dims for size in sizes):
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

    def of_all(self) -> tuple[Rewritten, Speed]:
        paired = zip(self.sites, self.made.outcomes, strict=True)
        nodes = self.times.cut([site for site, outcome in paired if outcome.status is not Status.REFUSED])
        values = self.times.values(nodes)
        progress = Progress(self.times.conditions.tell)
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
        chosen = whole.chosen if whole is not None and whole.speed.kept else {}
        rewritten = self.made if whole is None or not chosen else whole.made
        paired = zip(self.sites, rewritten.outcomes, strict=True)
        outcomes = tuple(self._timed(site, outcome, speeds.get(site.key), chosen, whole) for site, outcome in paired)
        rows = tuple(one if key in chosen else replace(one, after=one.before) for key, one in speeds.items())
        measured = Speed(self.times.title, rows, None if whole is None else whole.speed)
        return replace(rewritten, outcomes=outcomes), measured

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
                trial = self._tried({**best.chosen, **{key: speeds[key].after.form for key in keys}}, values)
                best = trial if trial.part <= best.part * _LEAST_STEP else best
        if best.part > GAIN:
            return first
        return replace(best, speed=replace(best.speed, kept=True))

    def _tried(self, chosen: Mapping[Key, str], values: Values) -> _Whole:
        """The model with these forms, in both orders; in neither may it be slower: the first may be placed better."""
        operation = LegalizeAs(self.times.target, self.times.allowance, chosen)
        after = rewrite(self.view, self.sites, operation)
        parts, old, new = list[float](), list[float](), list[float]()
        for order in (("before", "after"), ("after", "before")):
            documents = {"before": self.made.document, "after": after.document}
            answer = self.times.time({name: documents[name] for name in order}, values, *_OF_A_MODEL)
            if not answer.models or not all(model.times for model in answer.models):
                why = answer.reason or next((model.reason for model in answer.models if model.reason), "")
                raise RefusedError("library.fastest-does-not-run", why=why)
            timings = dict(zip(order, answer.models, strict=True))
            parts.append(ratio(timings["before"].times, timings["after"].times))
            old += timings["before"].times
            new += timings["after"].times
        speed = WholeSpeed(min(old) * 1e3, min(new) * 1e3, kept=False)
        part = ratio(old, new) if max(parts) < 1 else max(parts)
        return _Whole(chosen, part, speed, after)

    def _timed(
        self, site: Site, outcome: Outcome, speed: NodeSpeed | None, chosen: Mapping[Key, str], whole: _Whole | None
    ) -> Outcome:
        """The outcome with what was measured of the site."""
        if outcome.status is Status.REFUSED:
            return outcome
        if speed is None:
            said = why_left_alone(site) or self._why_nothing(site)
        elif site.key in chosen:
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
        if self._forms(site, self.times.allowance):
            return Diagnostic("library.fastest-not-alone", runtime=self.times.title)
        return f"{Diagnostic('library.fastest-no-other-form')}{self._near(site)}"

    def _forms(self, site: Site, allowance: Allowance) -> Mapping[str, Replacement]:
        return candidates(legalizers(self.view, [site], self.times.target, allowance)[0])

    def _near(self, site: Site) -> str:
        """Which forms would be timed with --allow-inexact."""
        times = self.times
        if times.allowance.inexact:
            return ""
        allowed = self._forms(site, times.allowance)
        every = self._forms(site, replace(times.allowance, inexact=True))
        near = ", ".join(name for name in every if name not in allowed)
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

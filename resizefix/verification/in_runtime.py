"""A model in another runtime, compared with onnxruntime without optimisation: its outputs, and every resize in it.

What a runtime computes is right within a part of the tensor's largest value: kernels add up in other orders. Types are
not compared: OpenCV and MNN have few, and give whole numbers as others. A resize may be run alone, too: cut out with
its sizes, and fed what onnxruntime fed it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from onnx import ModelProto, helper

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.document.values import set_shape
from resizefix.outcome import Differences, ErrorBound, TensorDifference
from resizefix.runtimes.inputs import Feeds, TensorInput, Value, model_inputs
from resizefix.runtimes.limits import BrokenOffError
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError
from resizefix.runtimes.runtime import Ending, LiveUnavailable, NodeAnswer, Runtime, RuntimeAnswer
from resizefix.scope_path import Key
from resizefix.shapes.stored_shapes import ModelView
from resizefix.verification.compare import SIDES, Sides, allows, compare, part
from resizefix.verification.engine import Engine, run_of
from resizefix.verification.extraction import Extraction
from resizefix.verification.fitting import Fitted, MemoryBudget, fit_feeds
from resizefix.verification.signatures import Feeding, NotComparableError, common_inputs, output_names
from resizefix.verification.trial import Outputs, Point, Side, Trial
from resizefix.verification.verification import (
    Conditions,
    ResizePlace,
    SiteDrift,
    Verification,
    VerificationStatus,
    site_drifts,
)
from resizefix.verification.views import PlaneView, views_of

RIGHT_WITHIN = 1e-4
"""The largest difference from onnxruntime, as a part of a tensor's largest value, that is called right."""
_RIGHT = part(RIGHT_WITHIN, Diagnostic("verification.other-operators"))


def watched_runs(
    document: Document,
    tensors: Sequence[str],
    inputs: Sequence[TensorInput],
    hints: Mapping[str, object],
    conditions: Conditions,
    runs: int = 1,
) -> list[Fitted]:
    """`runs` feeds of consecutive seeds and what the model makes of them, with `tensors` of its main graph beside its
    outputs. Raises CannotLoadError, CannotRunError, BrokenOffError, UsageError."""
    engine = Engine(conditions)
    session = engine.open(document, optimized=False, extra_outputs=tensors)
    budget = MemoryBudget(document, conditions.limits)
    seeds = range(conditions.seed, conditions.seed + runs)
    return [fit_feeds(session, engine.feeder(inputs, hints, seed=seed), budget=budget) for seed in seeds]


def values_in(document: Document, tensors: Collection[str], conditions: Conditions) -> dict[str, Value]:
    """What the model is fed, its outputs, and those of `tensors` that nodes of its main graph make. Raises what
    `watched_runs` raises."""
    made_inside = {name for node in document.proto.graph.node for name in node.output}
    inputs = model_inputs(document.proto)
    (run,) = watched_runs(document, sorted(made_inside.intersection(tensors)), inputs, {}, conditions)
    return {**run.outputs, **run.feeds}


def cut_out(document: Document, extraction: Extraction, key: Key, data: str) -> Document:
    """A model of one node, which resizes `data`. OpenCV looks at who has written a file: that is as in the document."""
    cut = extraction.extract({key: data})[0]
    for name in ("producer_name", "producer_version", "domain", "model_version"):
        setattr(cut.proto, name, getattr(document.proto, name))
    return cut


def watched_tensors(document: Document, places: Sequence[ResizePlace]) -> list[str]:
    """The inputs and outputs of those resizes that stand in the main graph; in bodies nothing can be looked at."""
    made_inside = {name for node in document.proto.graph.node for name in node.output}
    names = (name for place in places if not place.key[0].steps for name in (place.data, place.key[1]))
    return [name for name in dict.fromkeys(names) if name in made_inside]


def with_outputs(document: Document, results: Mapping[str, Value]) -> Document:
    """A copy with every tensor of `results` as an output, of the type and the sizes that it had: some runtimes take no
    output without them."""
    copy = document.copy()
    present = {value.name for value in copy.proto.graph.output}
    for name, value in results.items():
        if name not in present and isinstance(value, np.ndarray):
            copy.proto.graph.output.append(
                helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
            )
    return copy


def write_sizes(model: ModelProto, values: Mapping[str, Value]) -> None:
    """Fix inputs and outputs to the sizes of these values."""
    for value in (*model.graph.input, *model.graph.output):
        sized = values.get(value.name)
        if isinstance(sized, np.ndarray):
            set_shape(value, sized.shape)
            value.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(sized.dtype)


def fed(document: Document, feeds: Feeds) -> dict[str, Value]:
    """Those of `feeds` that the model has an input for, in its order."""
    return {entry.name: feeds[entry.name] for entry in model_inputs(document.proto) if entry.name in feeds}


def verify_in_runtime(
    before: Document,
    after: Document,
    runtime: Runtime,
    places: Sequence[ResizePlace],
    conditions: Conditions,
    allowed: ErrorBound = _RIGHT,
    feeding: Feeding | None = None,
) -> Verification | LiveUnavailable:
    """Whether `after` computes in the runtime what `before` does in onnxruntime; they may be one document.

    `places` are the resizes of `before`; those in the main graph whose tensors `after` has too are compared one by one.
    What is `allowed` of absolute or relative differences takes the place of `RIGHT_WITHIN`.
    Inputs and outputs go together as in `verify`. A model that one of the two does not run fails with that as the
    reason. Raises UsageError for names, shapes and feeds that do not fit.
    """
    feeding = feeding or Feeding()
    own = {name for node in after.proto.graph.node for name in node.output}
    tensors = [name for name in watched_tensors(before, places) if name in own]
    engine = Engine(conditions)
    try:
        inputs, hints = common_inputs(before, after, feeding)
        renamed = output_names(before, after)
        fitted = watched_runs(before, tensors, inputs, hints, conditions, feeding.runs or 1)
    except (NotComparableError, CannotLoadError, CannotRunError, BrokenOffError) as error:
        return engine.verdict(str(error))
    points = [Point(one.feeds, before={False: one.outputs}) for one in fitted]
    allowed = allowed if allowed.is_elementwise else _RIGHT
    return _InRuntime(before, after, runtime, engine, points, renamed, allowed, feeding).verification(places, tensors)


@dataclass
class _InRuntime:
    """Two models, of which the one after answers in the runtime, at all points at once: it is loaded once."""

    before: Document
    after: Document
    runtime: Runtime
    engine: Engine
    points: Sequence[Point]
    renamed: Mapping[str, str]
    allowed: ErrorBound
    feeding: Feeding
    wrong: str | None = None
    views: tuple[PlaneView, ...] = ()

    @property
    def _expected(self) -> list[Outputs]:
        return [point.outputs(Side.BEFORE, optimized=False) for point in self.points]

    def verification(self, places: Sequence[ResizePlace], tensors: Sequence[str]) -> Verification | LiveUnavailable:
        whole = self._run(())
        if isinstance(whole, LiveUnavailable):
            return whole
        # The file as it is says whether it runs, and what it gives: more outputs keep nodes from being fused.
        inside = self._run(tensors) if tensors else whole
        drifts: tuple[SiteDrift, ...] = ()
        if isinstance(inside, RuntimeAnswer) and inside.results:
            results = inside.results
            drifts = site_drifts(self.before, places, results[0], lambda name: self._differences(name, results))
        why = self._why(whole, drifts, looked=bool(tensors))
        if why is None and tensors and not drifts:
            unseen = inside.reason if isinstance(inside, LiveUnavailable) else inside.message
            self.engine.notes.append(Diagnostic("verification.resizes-not-looked-at", why=unseen))
        return replace(self.engine.verdict(why), runtime=whole.runtime, sites=drifts, views=self.views)

    def _run(self, tensors: Sequence[str]) -> RuntimeAnswer | LiveUnavailable:
        model = with_outputs(self.after, {name: self._expected[0][name] for name in tensors}) if tensors else self.after
        return _run(self.runtime, model, [point.feeds for point in self.points])

    def _why(self, whole: RuntimeAnswer, drifts: Sequence[SiteDrift], *, looked: bool) -> str | None:
        """What speaks against the model in the runtime; None: nothing."""
        if whole.ending is not Ending.RAN:
            said = {"runtime": whole.runtime, "ending": whole.ending, "why": whole.message}
            return Diagnostic("verification.runtime-did-not-run-model", **said)
        for point, results in zip(self.points, whole.results, strict=True):
            point.after[False] = results
        trial = Trial.of(self.engine, self.before, self.after)
        sides = Sides("in onnxruntime", f"in {whole.runtime}")
        replace(trial, judge=lambda point, _: self._judge(point, sides)).level(self.points, optimized=False)
        if self.wrong is None and any(drift.differs for drift in drifts):
            self.wrong = Diagnostic("verification.outputs-agree-resizes-differ")
        return None if self.wrong is None else _reason(self.wrong, drifts, whole.runtime, looked)

    def _judge(self, point: Point, sides: Sides) -> None:
        """Note whether the outputs are right, and how they differ where the first is not."""
        plain, in_runtime = (point.outputs(side, optimized=False) for side in Side)
        before = {name: plain[name] for name in self.renamed.values()}
        after = {self.renamed[name]: value for name, value in in_runtime.items()}
        if self.feeding.files and point is self.points[0]:
            self.views = views_of(", ".join(self.feeding.files.values()), before, after)
        comparison = compare_values(before, after, sides)
        self.engine.runs.append(run_of(comparison, point.feeds, bound=RIGHT_WITHIN, fed=self.feeding))
        named = ((each, before[each.tensor], after[each.tensor]) for each in comparison.tensors)
        if self.wrong is None and not all(is_right(*each, self.allowed) for each in named):
            self.wrong = comparison.reason

    def _differences(self, name: str, results: Sequence[Mapping[str, Value]]) -> tuple[list[TensorDifference], bool]:
        """How a tensor differs on each feed on which the runtime gave it, and whether it is right on all."""
        pairs = (
            (point.outputs(Side.BEFORE, optimized=False), its) for point, its in zip(self.points, results, strict=True)
        )
        judgements = [judged(name, plain[name], its[name], self.allowed) for plain, its in pairs if name in its]
        return [difference for difference, _ in judgements], all(right for _, right in judgements)


def _reason(wrong: str, drifts: Sequence[SiteDrift], runtime: str, looked: bool) -> str:
    first = next((drift for drift in drifts if drift.first), None)
    if first is not None:
        return Diagnostic("verification.first-resize-that-differs", runtime=runtime, node=first.node, why=wrong)
    if not drifts:
        if looked:
            return Diagnostic("verification.resizes-could-not-be-compared", runtime=runtime, why=wrong)
        return Diagnostic("verification.runtime-differs", runtime=runtime, why=wrong)
    return Diagnostic("verification.no-resize-begins-difference", runtime=runtime, why=wrong)


def judged(name: str, before: Value, after: Value, allowed: ErrorBound = _RIGHT) -> tuple[TensorDifference, bool]:
    """How one tensor differs, and whether it is right."""
    (difference,) = compare_values({name: before}, {name: after}).tensors
    return difference, is_right(difference, before, after, allowed)


def is_right(difference: TensorDifference, before: Value, after: Value, allowed: ErrorBound = _RIGHT) -> bool:
    """Whether a tensor that differs so is right."""
    pair = {difference.tensor: before}, {difference.tensor: after}
    return difference.bitwise or allows(allowed, *pair, Differences((difference,)))


def compare_values(before: Mapping[str, Value], after: Mapping[str, Value], sides: Sides = SIDES) -> Differences:
    """`compare`, with the numbers of `after` in the types of `before`: 1.0 for 1 is no difference."""
    return compare(before, {name: _as_type(before.get(name), value) for name, value in after.items()}, sides)


def _as_type(before: Value, after: Value) -> Value:
    if not isinstance(before, np.ndarray) or not isinstance(after, np.ndarray) or before.dtype == after.dtype:
        return after
    with np.errstate(all="ignore"):
        cast = after.astype(before.dtype)
        # A fraction where a whole number belongs stays, and is a difference.
        return cast if before.dtype.kind == "f" or np.array_equal(cast.astype(after.dtype), after) else after


def nodes_in_runtime(
    document: Document, runtime: Runtime, places: Sequence[ResizePlace], conditions: Conditions
) -> tuple[NodeAnswer, ...] | LiveUnavailable:
    """What the runtime makes of each resize alone, whatever else the model holds.

    A node that onnxruntime does not run either has no answer (`ending` None), and `message` says why.
    """
    if not places:
        return ()
    view = ModelView(document)
    extraction = Extraction(view, view)
    cuts = {place: cut_out(document, extraction, place.key, place.data) for place in places}
    wanted = {entry.name for place, cut in cuts.items() if not place.key[0].steps for entry in model_inputs(cut.proto)}
    try:
        values = values_in(document, wanted, conditions)  # what onnxruntime feeds the nodes in the whole model
    except (CannotLoadError, CannotRunError, BrokenOffError):
        values = {}
    answers: list[NodeAnswer] = []
    for place, cut in cuts.items():
        answer = _alone(cut, place, runtime, conditions, {} if place.key[0].steps else values)
        if isinstance(answer, LiveUnavailable):
            return answer
        answers.append(answer)
    return tuple(answers)


def with_bodies(
    whole: Verification, document: Document, runtime: Runtime, places: Sequence[ResizePlace], conditions: Conditions
) -> Verification | LiveUnavailable:
    """What was found of a model, with its resizes in bodies (of If, Loop, Scan, functions), each run alone: no tensor
    in there is an output of the model."""
    inside = [place for place in places if place.key[0].steps]
    if not inside or whole.runtime is None:
        return whole
    answers = nodes_in_runtime(document, runtime, inside, conditions)
    if isinstance(answers, LiveUnavailable):
        return answers
    ran = [answer for answer in answers if answer.ending is Ending.RAN]
    wrong = next((answer for answer in ran if not answer.agrees), None)
    begun = any(site.first for site in whole.sites)
    drifts = tuple(
        SiteDrift(
            answer.node,
            answer.difference,
            0.0,
            not answer.agrees,
            first=answer is wrong and not begun,
            alone=True,
        )
        for answer in ran
        if answer.difference is not None
    )
    whole = replace(whole, sites=(*whole.sites, *drifts))
    if whole.passed and wrong is not None:
        reason = Diagnostic("verification.outputs-agree-body-differs", node=wrong.node, runtime=whole.runtime)
        return replace(whole, status=VerificationStatus.FAILED, reason=reason)
    left = next((answer for answer in answers if answer.ending is not Ending.RAN), None)
    if left is None or whole.reason is not None:
        return whole
    return replace(whole, reason=Diagnostic("verification.body-not-looked-at", node=left.node, why=left.message))


def _alone(
    cut: Document, place: ResizePlace, runtime: Runtime, conditions: Conditions, values: Mapping[str, Value]
) -> NodeAnswer | LiveUnavailable:
    label, output = place.label, place.key[1]
    try:
        run = Engine(conditions).fit(cut, fed(cut, values), shapes={})
    except (CannotLoadError, CannotRunError, BrokenOffError) as error:
        return NodeAnswer(label, output, None, str(error))
    model = cut.copy()
    write_sizes(model.proto, {**run.feeds, **run.outputs})
    answer = _run(runtime, model, [run.feeds])
    if isinstance(answer, LiveUnavailable):
        return answer
    if answer.ending is not Ending.RAN:
        return NodeAnswer(label, output, answer.ending, answer.message)
    before, after = run.outputs[output], answer.results[0][output]
    difference, right = judged(output, before, after)
    same_shape = isinstance(before, np.ndarray) and before.shape == after.shape
    return NodeAnswer(label, output, answer.ending, difference.reason or "", difference, right, same_shape)


def _run(runtime: Runtime, model: Document, feeds: Sequence[Feeds]) -> RuntimeAnswer | LiveUnavailable:
    """What the runtime does with the model on each of the feeds."""
    path = runtime.folder / "model.onnx"
    model.save(path, overwrite=True)
    return runtime.run(path, [fed(model, one) for one in feeds], [value.name for value in model.proto.graph.output])

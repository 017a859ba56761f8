"""Each resize of a model alone in another runtime: cut out with its sizes, and fed what onnxruntime fed it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.model_view import ModelView
from resizefix.document.document import Document
from resizefix.runtimes.answers import Ending, LiveUnavailable, NodeAnswer
from resizefix.runtimes.inputs import Value, model_inputs
from resizefix.runtimes.limits import BrokenOffError
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError
from resizefix.runtimes.runtime import Runtime
from resizefix.verification.conditions import Conditions
from resizefix.verification.engine import Engine
from resizefix.verification.extraction import Extraction
from resizefix.verification.fitting import Fitted, fit_feeds
from resizefix.verification.in_runtime import judged
from resizefix.verification.verification import SiteDrift, Status, Verification
from resizefix.verification.watched import ResizePlace, cut_out, fed, values_in, write_sizes


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
    values = _values(document, cuts, conditions)
    answers: list[NodeAnswer] = []
    for place, cut in cuts.items():
        found = _Alone(cut, place, runtime, conditions).answer(values)
        if isinstance(found, LiveUnavailable):
            return found
        answers.append(found)
    return tuple(answers)


def with_bodies(
    found: Verification, document: Document, runtime: Runtime, places: Sequence[ResizePlace], conditions: Conditions
) -> Verification | LiveUnavailable:
    """What was found of a model, with its resizes in bodies (of If, Loop, Scan, functions), each run alone: no tensor
    in there is an output of the model."""
    inside = [place for place in places if place.key[0].steps]
    if not inside or found.runtime is None:
        return found
    answers = nodes_in_runtime(document, runtime, inside, conditions)
    if isinstance(answers, LiveUnavailable):
        return answers
    ran = [answer for answer in answers if answer.ending is Ending.RAN]
    wrong = next((answer for answer in ran if not answer.agrees), None)
    begun = any(site.first for site in found.sites)
    drifts = tuple(
        SiteDrift(
            answer.node,
            answer.output,
            math.inf if answer.max_abs_diff is None else answer.max_abs_diff,
            math.inf if answer.max_rel_diff is None else answer.max_rel_diff,
            0.0,
            not answer.agrees,
            first=answer is wrong and not begun,
            alone=True,
        )
        for answer in ran
    )
    found = replace(found, sites=(*found.sites, *drifts))
    if found.passed and wrong is not None:
        reason = Diagnostic("verification.outputs-agree-body-differs", node=wrong.node, runtime=found.runtime)
        return replace(found, status=Status.FAILED, reason=reason)
    left = next((answer for answer in answers if answer.ending is not Ending.RAN), None)
    if left is None or found.reason is not None:
        return found
    return replace(found, reason=Diagnostic("verification.body-not-looked-at", node=left.node, why=left.message))


def _values(document: Document, cuts: Mapping[ResizePlace, Document], conditions: Conditions) -> Mapping[str, Value]:
    """What onnxruntime feeds the cut nodes in the whole model; nothing where it does not run that."""
    wanted = {entry.name for place, cut in cuts.items() if not place.key[0].steps for entry in model_inputs(cut.proto)}
    try:
        return values_in(document, wanted, conditions)
    except (CannotLoadError, CannotRunError, BrokenOffError):
        return {}


@dataclass(frozen=True)
class _Alone:
    cut: Document
    place: ResizePlace
    runtime: Runtime
    conditions: Conditions

    def answer(self, values: Mapping[str, Value]) -> NodeAnswer | LiveUnavailable:
        label, output = self.place.label, self.place.key[1]
        try:
            run = self._in_onnxruntime({} if self.place.key[0].steps else values)
        except (CannotLoadError, CannotRunError, BrokenOffError) as error:
            return NodeAnswer(label, output, None, str(error))
        model = self.cut.copy()
        write_sizes(model.proto, {**run.feeds, **run.outputs})
        path = self.runtime.folder / "node.onnx"
        model.save(path, overwrite=True)
        names = [value.name for value in model.proto.graph.output]
        answer = self.runtime.run(path, [fed(model, run.feeds)], names)
        if isinstance(answer, LiveUnavailable):
            return answer
        if answer.ending is not Ending.RAN:
            return NodeAnswer(label, output, answer.ending, answer.message)
        before, after = run.outputs[output], answer.results[0][output]
        difference, right = judged(output, before, after)
        return NodeAnswer(
            label,
            output,
            answer.ending,
            difference.reason or "",
            difference.max_abs_diff,
            difference.max_rel_diff,
            right,
            same_shape=isinstance(before, np.ndarray) and before.shape == after.shape,
        )

    def _in_onnxruntime(self, values: Mapping[str, Value]) -> Fitted:
        inputs = model_inputs(self.cut.proto)
        hints = {entry.name: values[entry.name] for entry in inputs if entry.name in values}
        engine = Engine(self.conditions)
        return fit_feeds(engine.open(self.cut, optimized=False), engine.feeder(inputs, hints, shapes={}))

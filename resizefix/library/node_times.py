"""A node cut out of a model with its sizes, and its forms timed against each other in a runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from resizefix.dialects.model_view import ModelView
from resizefix.document.document import Document
from resizefix.document.shapes import Key
from resizefix.errors import RefusedError, UsageError
from resizefix.library.speed import GAIN, FormTime, NodeSpeed, milliseconds, ratio
from resizefix.operations.candidates import AS_IT_IS, LegalizeAs, candidates, form_now
from resizefix.operations.legalize import legalizers
from resizefix.operations.replacement import Allowance
from resizefix.operations.rewriter import rewrite
from resizefix.operations.site import Site
from resizefix.operations.sites import sites_in
from resizefix.runtimes.answers import LiveUnavailable, TimedModel, Timings
from resizefix.runtimes.inputs import Value, model_inputs
from resizefix.runtimes.limits import BrokenOffError
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError
from resizefix.runtimes.runtime import ModelToTime, Runtime
from resizefix.targets.target import Target
from resizefix.verification.conditions import Conditions
from resizefix.verification.extraction import Extraction
from resizefix.verification.in_runtime import judged
from resizefix.verification.watched import cut_out, fed, values_in, write_sizes

Timer = Callable[[Runtime, Sequence[ModelToTime], int, float], Timings | LiveUnavailable]
"""What times models: `Runtime.time`."""
Values = Mapping[str, Value]
_ROUNDS, _SECONDS = 5, 0.5  # rounds at least, and the seconds in which there may be more


@dataclass
class Stopwatch:
    """Models put into the runtime's folder and timed there; `title` is the runtime's, once it has answered."""

    runtime: Runtime
    timer: Timer
    conditions: Conditions
    title: str = ""

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
        answer = self.timer(self.runtime, asked, rounds, seconds)
        self.conditions.limits.left()  # a runtime that ran out of time says nothing of the models
        if isinstance(answer, LiveUnavailable):
            raise UsageError("library.runtime-cannot-be-asked", why=answer.reason)
        self.title = answer.runtime
        return answer


@dataclass(frozen=True)
class CutNode:
    """One site to measure: the model of that node alone, and its forms by name, the first the one that it has."""

    site: Site
    cut: Document
    forms: tuple[str, ...]


@dataclass
class NodeTimes:
    """Nodes of one model, each measured alone; those that are alike are measured once."""

    view: ModelView
    target: Target
    allowance: Allowance
    watch: Stopwatch
    _known: dict[object, NodeSpeed | None] = field(default_factory=dict)

    def cut(self, sites: Sequence[Site]) -> list[CutNode]:
        """Those of the sites that have another form, cut out."""
        extraction = Extraction(self.view, self.view)
        found = []
        for legalizer in legalizers(self.view, sites, self.target, self.allowance):
            site, now = legalizer.site, form_now(legalizer)
            if now is None:
                continue
            names = [name for name in candidates(legalizer) if name != now and not now.startswith(f"{name} for ")]
            if names:
                cut = cut_out(self.view.document, extraction, site.key, site.input)
                found.append(CutNode(site, cut, (now, *names)))
        return found

    def values(self, cuts: Sequence[CutNode]) -> Values:
        """What the model is fed, its outputs, and what the nodes are fed and give in it.

        Raises RefusedError where onnxruntime does not run the model.
        """
        if not cuts:
            return {}
        wanted = {entry.name for one in cuts for entry in model_inputs(one.cut.proto)}
        wanted |= {one.site.output for one in cuts}
        try:
            return values_in(self.view.document, wanted, self.watch.conditions)
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
        known = self._known[kind]
        if known is None:
            return None
        return NodeSpeed(node.site.index, node.site.label, known.before, known.after, known.measured)

    def _measured(self, node: CutNode, values: Values) -> NodeSpeed | None:
        write_sizes(node.cut.proto, values)
        models = self._models(node)
        if not models:
            return None
        answer = self.watch.time(models, values, _ROUNDS, _SECONDS, shown=True)
        if not answer.models or not answer.models[0].times:
            return None
        first = answer.models[0]
        own = FormTime(node.forms[0], milliseconds(first))
        others = [
            (FormTime(name, milliseconds(one)), ratio(first.times, one.times))
            for name, one in list(zip(models, answer.models, strict=True))[1:]
            if one.times and _is_right(node.site.output, one, values)
        ]
        faster = [form for form, part in others if part <= GAIN]
        measured = sorted([own, *(form for form, _ in others)], key=_by_time)
        best = min(faster, key=_by_time, default=own)
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
        found = {AS_IT_IS: node.cut} if now == AS_IT_IS else {now: self._as(view, sites, {})}
        for name in node.forms[1:]:
            if name in forms:
                found[name] = self._as(view, sites, {sites[0].key: name})
        return found

    def _as(self, view: ModelView, sites: Sequence[Site], chosen: Mapping[Key, str]) -> Document:
        return rewrite(view, sites, LegalizeAs(self.target, self.allowance, chosen)).document


def _by_time(form: FormTime) -> float:
    return form.ms


def _is_right(output: str, model: TimedModel, values: Values) -> bool:
    """Whether the node gives in the runtime what onnxruntime computes in the whole model."""
    before, after = values.get(output), model.outputs.get(output)
    if before is None or after is None:
        return False
    return judged(output, before, after)[1]

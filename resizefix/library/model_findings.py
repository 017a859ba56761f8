"""What a model shows by itself, to complete what a message says: faults, a target's verdict, a run in onnxruntime."""

from __future__ import annotations

from dataclasses import dataclass

from resizefix.errors import ResizefixError
from resizefix.faults.dimension_names import known_names
from resizefix.faults.table import faults_in
from resizefix.interop import Model, opened
from resizefix.library.check import check
from resizefix.library.model_runs import why_not_run
from resizefix.operations.sites import sites_in
from resizefix.shapes.model_view import ModelView
from resizefix.targets.target import taken


@dataclass(frozen=True)
class ShownFault:
    """A fault of one resize, or of a name of a dimension, that `resizefix repair` knows."""

    node: str
    fault: str
    because: str
    fix: str


@dataclass(frozen=True)
class Findings:
    """What the model shows.

    `sites` is how many resizes it has. `target` is that of the runtime that speaks; `accepted` whether it accepts the
    resizes, None without a target. `because` is the first reason against. `run_error` is why onnxruntime does not run
    the model, None where it does.
    """

    sites: int
    faults: tuple[ShownFault, ...]
    target: str | None
    accepted: bool | None
    because: str | None
    run_error: str | None


def model_findings(model: Model, target: str | None) -> Findings:
    """The faults of the model, what the target's rules say of it, and whether onnxruntime runs it.

    Raises UnreadableModelError for a model that cannot be read.
    """
    document = opened(model)
    view = ModelView(document)
    sites = sites_in(view)
    faults = tuple(
        ShownFault(site.label, fault.name, str(fault.because), str(fault.fix))
        for site, found in zip(sites, faults_in(view), strict=True)
        for fault in found
        if fault.change is not None or fault.stops_loading
    )
    faults += tuple(
        ShownFault(one.name, one.fault.name, str(one.fault.because), str(one.fault.fix))
        for one in known_names(document)
    )
    name, accepted, because = _judged(document, target)
    return Findings(len(sites), faults, name, accepted, because, why_not_run(document))


def _judged(document: Model, target: str | None) -> tuple[str | None, bool | None, str | None]:
    if target is None:
        return None, None, None
    try:
        verdict = check(document, target=target)
    except ResizefixError:
        return target, None, None
    broken = next(iter(verdict.violations), None)
    because = None if broken is None else f"{broken.node}: {broken.because}"
    return verdict.target.name, taken(verdict.violations) and verdict.accepted, because

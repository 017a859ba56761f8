"""Faults that keep onnxruntime from loading a model, as violations of its rules, which judge a node by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from resizefix.dialects.model_view import ModelView
from resizefix.faults.fault import Fault
from resizefix.faults.table import faults_in
from resizefix.targets.onnxruntime_target import ONNXRUNTIME
from resizefix.targets.target import Target, Violation

_SOURCE = "measured on onnxruntime 1.32.0, which does not load such a model"


def stops_loading(view: ModelView) -> bool:
    """Whether a fault of a resize keeps onnxruntime from loading the model, whatever else is changed in it."""
    return any(fault.stops_loading for faults in faults_in(view) for fault in faults)


def not_loaded(target: Target, node: str, faults: Iterable[Fault]) -> Iterator[Violation]:
    """A violation for each of the node's faults with which the target does not load the model."""
    for fault in faults if target is ONNXRUNTIME else ():
        if fault.stops_loading:
            fix = f"repair the node: {fault.fix}" if fault.change is not None else fault.fix
            yield Violation(node=node, rule=f"fault-{fault.name}", because=fault.because, source=_SOURCE, fix=fix)

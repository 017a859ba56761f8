"""What the faults of a model's resizes mean for everything else: which come first, and what does not load."""

from collections.abc import Iterable, Iterator, Sequence

from resizefix.diagnostics import Diagnostic
from resizefix.faults.fault import Fault
from resizefix.targets.onnxruntime_target import ONNXRUNTIME
from resizefix.targets.target import Target, Violation


def repaired_first(faults: Sequence[Sequence[Fault]]) -> list[bool]:
    """Of each resize of a model with these faults, whether `repair` comes before any other change: it has a fault that
    `repair` fixes, or a fault of any keeps onnxruntime from loading the model."""
    stopped = any(fault.stops_loading for found in faults for fault in found)
    return [stopped or any(fault.change is not None for fault in found) for found in faults]


def not_loaded(target: Target, node: str, faults: Iterable[Fault]) -> Iterator[Violation]:
    """A violation for each of the node's faults with which the target does not load the model."""
    for fault in faults if target is ONNXRUNTIME else ():
        if fault.stops_loading:
            fix = Diagnostic("faults.repair-node", fix=fault.fix) if fault.change is not None else fault.fix
            source = Diagnostic("faults.measured")
            yield Violation(node=node, rule=f"fault-{fault.name}", because=fault.because, source=source, fix=fix)

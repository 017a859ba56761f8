"""A fault of one resize node, and the edit that removes it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from resizefix.diagnostics import Diagnostic
from resizefix.document.edits import NodeEdit

if TYPE_CHECKING:
    from resizefix.faults.resize_node import ResizeNode


class Fault(NamedTuple):
    """One fault. `because` says what is wrong, `fix` what `repair` does or what you can do.

    `change` is None where the intended meaning is not certain; then `fix` names the readings, and `retry_args` are
    options with which `repair` takes one of them. `keeps_numbers` is False for a fault of a model that runs today and
    computes something that was not intended. `stops_loading`: onnxruntime loads no model with it, and its rules for
    single nodes do not see it. `is_optional`: the file computes what it says, and another reading may be wanted: it is
    named and left as it is, until `retry_args` ask for it.
    """

    name: str
    because: Diagnostic
    fix: Diagnostic
    change: NodeEdit | None = None
    keeps_numbers: bool = True
    retry_args: tuple[str, ...] = ()
    stops_loading: bool = False
    is_optional: bool = False


class Preferences(NamedTuple):
    """What you decide where a file admits two readings: which operand counts ("scales" or "sizes"), and how a node
    without coordinates samples ("half_pixel" or "asymmetric"); whether identities are removed; and the framework whose
    numbers are wanted ("pytorch")."""

    extent: str | None = None
    remove_identity: bool = False
    coordinates: str | None = None
    framework: str | None = None


Finder = Callable[["ResizeNode", Preferences], "Fault | None"]

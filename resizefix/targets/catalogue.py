"""All targets by the names that `--target` takes."""

from __future__ import annotations

from resizefix.errors import UsageError
from resizefix.targets.onnxruntime_target import ONNXRUNTIME
from resizefix.targets.target import Target
from resizefix.targets.tensorrt import TENSORRT_TARGETS

TARGETS: tuple[Target, ...] = (*TENSORRT_TARGETS, ONNXRUNTIME)


def target_named(name: str) -> Target:
    """The target of that name. Raises UsageError, which lists them all."""
    for target in TARGETS:
        if target.name == name:
            return target
    raise UsageError(f"there is no target {name!r}; there are {', '.join(target.name for target in TARGETS)}")

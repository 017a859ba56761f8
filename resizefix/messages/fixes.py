"""The commands that rows name as fixes."""

from __future__ import annotations

from resizefix.messages.message import FED, Fix


def legalize(target: str) -> Fix:
    """The command that rewrites a model for a target."""
    return ("legalize", "--target", target)


LEGACY: Fix = ("trt-legacy",)
REPAIR: Fix = ("repair",)
FREEZE: Fix = ("freeze-scales",)
PROMOTE: Fix = ("promote-scales",)
TOGETHER: Fix = ("promote-scales", "--shared")
FOR_TENSORRT: Fix = ("promote-scales", "--for", "tensorrt")
NEWEST = legalize("tensorrt-10")
ORT = legalize("onnxruntime")
GATHER: Fix = ("set", "form=gather")
MATMUL: Fix = ("set", "form=matmul")
OTHER_OPERATORS = (MATMUL, GATHER)
PARTNER: Fix = ("set", "sizes=partner")
ANY_SIZE: Fix = ("input-size", "any")
FED_SIZE: Fix = ("input-size", FED)

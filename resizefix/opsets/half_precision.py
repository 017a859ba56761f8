"""Operators that onnxruntime computes by ONNX's function body in half precision, at some opsets alone.

Its CPU has no float16 kernel of them: it computes them in float32 between Casts of its own, except at the opsets below.
There it puts the operators of the function body in their place, which round to float16 at other points: Relu becomes
Max, which has such a kernel. Read off the graphs that onnxruntime 1.32.0 runs with optimisation disabled.
"""

from __future__ import annotations

from collections.abc import Sequence

from onnx import NodeProto, TensorProto

from resizefix.dialects.model_view import ModelView
from resizefix.document.scopes import DEFAULT_DOMAINS, Scope

_FROM_18_ON = range(18, 1000)
# The opsets with the function body.
BODY_OPSETS: dict[str, range] = {
    **dict.fromkeys(("LeakyRelu", "PRelu"), range(16, 19)),
    **dict.fromkeys(("Relu", "Elu", "Selu", "ThresholdedRelu", "Softplus", "Softsign", "Mish"), range(18, 19)),
    **dict.fromkeys(("HardSigmoid", "HardSwish", "ReduceL2", "ReduceLogSumExp"), range(18, 19)),
    **dict.fromkeys(("ReduceL1", "ReduceLogSum", "ReduceSumSquare"), _FROM_18_ON),
}


def first_computed_otherwise(view: ModelView, before: int, after: int) -> NodeProto | None:
    """The first node that onnxruntime computes in another way at opset `after` than at `before`; None: there is none.

    Local functions have an opset of their own, and are passed over.
    """
    moved = {name for name, opsets in BODY_OPSETS.items() if (before in opsets) != (after in opsets)}
    for scope in view.scopes.all:
        nodes: Sequence[NodeProto] = () if scope.in_function else scope.body.node
        for node in nodes:
            if node.op_type in moved and node.domain in DEFAULT_DOMAINS and _is_half(view, scope, node):
                return node
    return None


def _is_half(view: ModelView, scope: Scope, node: NodeProto) -> bool:
    return bool(node.input) and view.elem_type(scope, node.input[0]) == TensorProto.FLOAT16

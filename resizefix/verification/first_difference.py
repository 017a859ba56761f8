"""The node at which two models of the same nodes part: the first whose outputs differ though its inputs agree."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import NodeProto

from resizefix.document.document import Document
from resizefix.errors import UsageError
from resizefix.runtimes.limits import BrokenOffError
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError
from resizefix.verification.compare import compare
from resizefix.verification.conditions import Conditions
from resizefix.verification.engine import Engine


def first_differing_node(before: Document, after: Document, conditions: Conditions) -> NodeProto | None:
    """That node of the main graph of `before`, without optimisation; None: there is none, or they do not run so.

    To look at a tensor can move the Casts that onnxruntime puts around half precision, so that nothing differs.
    """
    made = [name for node in after.proto.graph.node for name in node.output if name]
    shared = {name for node in before.proto.graph.node for name in node.output} & set(made)
    hidden = sorted(shared - {value.name for value in before.proto.graph.output})
    engine = Engine(conditions)
    try:
        fitted = engine.fit(before, extra_outputs=hidden)
        found = compare(fitted.outputs, engine.run(after, fitted.feeds, extra_outputs=hidden))
    except (CannotLoadError, CannotRunError, BrokenOffError, UsageError):
        return None
    differing = {difference.output for difference in found.differences if not difference.bitwise}
    nodes: Sequence[NodeProto] = before.proto.graph.node
    parting = (node for node in nodes if differing & set(node.output) and not differing & set(node.input))
    return next(parting, None)

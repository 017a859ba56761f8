"""The whole model in opset 8: constants first, then node by node by the rows of the table."""

import onnx
from onnx import ModelProto, TensorProto

from resizefix.diagnostics import Diagnostic
from resizefix.document.scopes import DEFAULT_DOMAINS, default_opset
from resizefix.error_bound import ErrorBound
from resizefix.opsets.constants import constants_to_initializers
from resizefix.opsets.folding import Unread, fold
from resizefix.opsets.ir3 import IR3, to_ir3
from resizefix.opsets.lowering import lower_nodes
from resizefix.opsets.preparation import inline_functions, sort_nodes, spell_default_domain
from resizefix.opsets.verdict import Blocker, Downgrade, Step
from resizefix.shapes.node_inference import ValueOf

OPSET = 8

_INLINE = Diagnostic("opsets.fix-inline-or-remove")
# onnxruntime runs float16 operators in float32 where a version has no float16 kernel, and drops the casts in between.
_HALF = ErrorBound(exact=False, bound=2e-3, note=Diagnostic("opsets.half-is-rounded"))


def downgrade(model: ModelProto, *, value_of: ValueOf) -> Downgrade:
    """Rewrite `model`, in place, as a model of opset 8 that computes the same.

    Upsample nodes must already stand in the form of Upsample-7 (one input, `scales` attribute), and no Resize may be
    left: those are the caller's work and blockers here. Initializers may be references into another file: they are
    moved, and only small ones are read, through `value_of`. Operators of other domains stay as they are. A model of
    opset 8 or older is left alone. Stored shapes of values that remain are kept; none are added.

    Returns every blocker there is, not the first alone; with blockers the model is of no further use.
    """
    if default_opset(model.opset_import, fallback=1) <= OPSET:
        return Downgrade((), ())
    unread = Unread(model)
    steps = [*inline_functions(model), *spell_default_domain(model), *sort_nodes(model)]
    blockers = [
        Blocker(f"{function.domain}::{function.name}", function.name, 0, Diagnostic("opsets.not-inlined"), _INLINE)
        for function in model.functions
    ]
    if blockers:
        return Downgrade(tuple(blockers), tuple(steps))
    steps += constants_to_initializers(model, value_of)
    knowledge, folded = fold(model, value_of, unread)
    written, blockers = lower_nodes(model, knowledge, OPSET)
    steps += [*folded, *written]
    if knowledge.holds(TensorProto.FLOAT16):
        steps.append(Step(model.graph.name, "", 0, Diagnostic("opsets.step-holds-half"), _HALF))
    kept = [
        onnx.helper.make_opsetid(e.domain, e.version) for e in model.opset_import if e.domain not in DEFAULT_DOMAINS
    ]
    del model.opset_import[:]
    model.opset_import.extend([onnx.helper.make_opsetid("", OPSET), *kept])
    unread.remove(model)
    if model.ir_version <= IR3 and not blockers:
        return Downgrade((), (*steps, *to_ir3(model).steps))
    return Downgrade(tuple(blockers), tuple(steps))

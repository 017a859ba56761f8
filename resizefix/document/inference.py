"""onnx's shape inference, kept from what makes it fail, and from what fills the memory.

With `data_prop` onnx also follows the values of vectors, so that it knows what a Reshape with computed sizes makes.
Of every vector that one of a few operators reads it makes a list of as many elements, whatever type they have and
whether it knows one of them or not (onnx/shape_inference/implementation.h, DataPropagationContextImpl::getInputData,
1.23). A file says 2⁴⁰ elements in a few bytes. So types are inferred first, without values; then those nodes that read
a vector which is long, or whose length is not known, are given to onnx under a domain where the operators infer types
as they always do and follow no values (`unfollowed`).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import onnx
from onnx import ModelProto, defs, helper, shape_inference

from resizefix.document.scopes import DEFAULT_DOMAINS, bodies
from resizefix.document.vectors import FOLLOWED, Place, Vectors, node_at

_UNFOLLOWED = "resizefix.unfollowed"


def infer_shapes(model: ModelProto) -> ModelProto:
    """A copy with every type and shape that onnx can derive; the model itself where it cannot."""
    model = _with_default_domain(model)
    by_types = _inferred(model, follow_values=False)
    if by_types is None:
        return model
    vectors = Vectors(by_types)
    if vectors.unfollowed is None or not vectors.wants_values:
        return by_types
    followed = _elsewhere(model, vectors.unfollowed) if vectors.unfollowed else model
    by_values = _inferred(followed, follow_values=True)
    if by_values is None:
        return by_types
    for place in vectors.unfollowed:
        changed, original = node_at(by_values, place), node_at(model, place)
        changed.op_type = original.op_type
        changed.ClearField("domain")
        if original.HasField("domain"):
            changed.domain = original.domain
    for holder in (by_values, *by_values.functions) if vectors.unfollowed else ():
        del holder.opset_import[-1]
    return by_values


def _inferred(model: ModelProto, *, follow_values: bool) -> ModelProto | None:
    try:
        return shape_inference.infer_shapes(model, data_prop=follow_values)
    except (shape_inference.InferenceError, onnx.checker.ValidationError, ValueError, RuntimeError, MemoryError):
        return None


def _with_default_domain(model: ModelProto) -> ModelProto:
    """A copy that writes the default domain as the empty string, where the model has its other name, which inference
    does not know; else the model itself."""
    if not any(node.domain == "ai.onnx" for _, body in bodies(model) for node in body.node):
        return model
    copy = ModelProto()
    copy.CopyFrom(model)
    for _, body in bodies(copy):
        for node in body.node:
            node.domain = "" if node.domain in DEFAULT_DOMAINS else node.domain
    for holder in (copy, *copy.functions):
        for entry in holder.opset_import:
            entry.domain = "" if entry.domain in DEFAULT_DOMAINS else entry.domain
    return copy


def _elsewhere(model: ModelProto, places: Iterable[Place]) -> ModelProto:
    """A copy where the nodes at these places are of the domain whose operators follow no values."""
    _register_operators()
    copy = ModelProto()
    copy.CopyFrom(model)
    for place in places:
        node = node_at(copy, place)
        node.domain, node.op_type = _UNFOLLOWED, _unfollowed(node.op_type)
    for holder in (copy, *copy.functions):
        versions = [entry.version for entry in holder.opset_import if entry.domain in ("", "ai.onnx")]
        holder.opset_import.append(helper.make_opsetid(_UNFOLLOWED, max(versions, default=1)))
    return copy


def _unfollowed(operator: str) -> str:
    """A name of its own: onnx.reference refuses to work where two domains have operators of one name."""
    return f"Unfollowed{operator}"


@cache
def _register_operators() -> None:
    """The operators once more, in another domain, with the type inference that they have and without the other."""
    for schema in defs.get_all_schemas_with_history():
        if schema.domain == "" and schema.name in FOLLOWED:
            without = defs.OpSchema(
                _unfollowed(schema.name),
                _UNFOLLOWED,
                schema.since_version,
                inputs=schema.inputs,
                outputs=schema.outputs,
                type_constraints=[
                    (entry.type_param_str, entry.allowed_type_strs, entry.description)
                    for entry in schema.type_constraints
                ],
                attributes=list(schema.attributes.values()),
            )
            without.set_type_and_shape_inference_function(schema.get_type_and_shape_inference_function())
            defs.register_schema(without)

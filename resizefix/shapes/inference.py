"""onnx's shape inference, kept from what makes it fail, and from what fills the memory.

With `data_prop` onnx also follows the values of vectors, so that it knows what a Reshape with computed sizes makes.
Of every vector that one of a few operators reads it makes a list of as many elements, whatever type they have and
whether it knows one of them or not (onnx/shape_inference/implementation.h, DataPropagationContextImpl::getInputData,
1.23). A file says 2⁴⁰ elements in a few bytes. So types are inferred first, without values; then those nodes that read
a vector which is long, or whose length is not known, are given to onnx under a domain where the operators infer types
as they always do and follow no values (`unfollowed`).

A Slice of an axis of negative size ends the process (std::clamp asserts, onnx 1.23). A file may say -1 of a size that
is open; what an invalid node makes may be negative, too. The first are left out of what onnx is given. For the second,
Slice nodes are of the other domain as well, where they ask for the sizes before onnx's function does; only those that
may cut a vector of sizes are not, once types are known.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import cache
from typing import Any

import onnx
from onnx import ModelProto, TypeProto, defs, helper, shape_inference

from resizefix.document.scopes import DEFAULT_DOMAINS, bodies
from resizefix.document.validity import open_negative_sizes
from resizefix.document.values import has_negative_size, known_types
from resizefix.shapes.vectors import FOLLOWED, Place, Vectors, node_at, places_of

_UNFOLLOWED = "resizefix.unfollowed"


def infer_shapes(model: ModelProto) -> ModelProto:
    """A copy with every type and shape that onnx can derive; the model itself where it cannot."""
    model, slices = _given(model)
    by_types = _inferred(model, slices, follow_values=False)
    if by_types is None:
        return model
    vectors = Vectors(by_types)
    if vectors.unfollowed is None or not vectors.wants_values:
        return by_types
    elsewhere = vectors.unfollowed.union(_of_many_axes(by_types, slices))
    by_values = _inferred(model, elsewhere, follow_values=True)
    return by_types if by_values is None else by_values


def infer_without_values(model: ModelProto) -> ModelProto:
    """What `infer_shapes` finds before it follows values, in a twentieth of the time."""
    model, slices = _given(model)
    return _inferred(model, slices, follow_values=False) or model


def _given(model: ModelProto) -> tuple[ModelProto, list[Place]]:
    """What onnx is given, and where Slice nodes are in it."""
    model = _with_default_domain(model)
    slices = list(places_of(model, "Slice"))
    return (open_negative_sizes(model) if slices else model), slices


def _inferred(model: ModelProto, elsewhere: Collection[Place], *, follow_values: bool) -> ModelProto | None:
    """A copy with what onnx derives, without following values through the nodes `elsewhere`; None where it fails."""
    given = _elsewhere(model, elsewhere) if elsewhere else model
    try:
        made: ModelProto = shape_inference.infer_shapes(given, data_prop=follow_values)
    except (shape_inference.InferenceError, onnx.checker.ValidationError, ValueError, RuntimeError, MemoryError):
        return None
    for place in elsewhere:
        changed, original = node_at(made, place), node_at(model, place)
        changed.op_type = original.op_type
        changed.ClearField("domain")
        if original.HasField("domain"):
            changed.domain = original.domain
    for holder in (made, *made.functions) if elsewhere else ():
        del holder.opset_import[-1]
    return made


def _of_many_axes(typed: ModelProto, places: Iterable[Place]) -> list[Place]:
    """The nodes at these places whose output is known to be no vector; values are followed through vectors alone."""
    kinds = {name: kind for _, body in bodies(typed) for name, kind in known_types(body).items()} if places else {}
    made = {place: kinds.get(name) for place in places for name in node_at(typed, place).output[:1]}
    return [place for place, kind in made.items() if kind is not None and len(kind.tensor_type.shape.dim) > 1]


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
            infer = schema.get_type_and_shape_inference_function()
            without.set_type_and_shape_inference_function(_sliced(infer) if schema.name == "Slice" else infer)
            defs.register_schema(without)


def _sliced(infer: Callable[[Any], None]) -> Callable[[Any], None]:
    """onnx's inference of Slice for sizes that a tensor can have; of others the rank stays."""

    def guarded(context: Any) -> None:
        given = context.get_input_type(0) if context.get_num_inputs() else None
        try:
            if given is None or not has_negative_size(given):
                infer(context)
                return
        except (shape_inference.InferenceError, ValueError, RuntimeError):
            return  # as where onnx calls it itself: this node alone is passed over
        kind = TypeProto()
        kind.CopyFrom(given)
        for dim in kind.tensor_type.shape.dim:
            dim.Clear()
        context.set_output_type(0, kind)

    return guarded

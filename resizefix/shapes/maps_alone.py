"""Whether all that a model does is to filter one image and to resize it by whole factors: then no number in it follows
the image's size, and sizes need not be followed to know that."""

import numpy as np
from onnx import AttributeProto, NodeProto

from resizefix.diagnostics import RefusedError
from resizefix.dialects.dialect import RESIZES, dialect_of
from resizefix.dialects.read import read
from resizefix.document.scopes import is_operator
from resizefix.scope_path import MAIN
from resizefix.shapes.image_axes import ImageInput
from resizefix.shapes.stored_shapes import ModelView

_CHANNELS_FIRST = {"batch": 0, "height": 2, "width": 3}
_ACTIVATIONS = ("Relu", "LeakyRelu", "Elu", "Sigmoid", "Tanh", "Identity")
# How many numbers each has for height and width; "group" is one number.
_OF_CONV = {"kernel_shape": 2, "strides": 2, "dilations": 2, "pads": 4}
_OF_RESIZE = frozenset(
    {"mode", "coordinate_transformation_mode", "nearest_mode", "cubic_coeff_a", "exclude_outside", "antialias"}
)


def is_maps_alone(view: ModelView, image: ImageInput) -> bool:
    """Whether no number of a model follows its image, which has this fixed size."""
    model, graph = view.model, view.model.graph
    # tf2onnx writes the pads that "SAME" makes of a size as numbers.
    if len(graph.input) != 1 or model.functions or model.producer_name == "tf2onnx":
        return False
    if dict(image.axes) != _CHANNELS_FIRST or None in image.dims[1:]:
        return False
    ranks = {tensor.name: len(tensor.dims) for tensor in graph.initializer}
    maps = {image.name}
    for node in graph.node:
        if is_operator(node, "Constant") and len(node.output) == 1:
            continue
        if len(node.output) != 1 or not node.input or node.input[0] not in maps or not _keeps(view, node, ranks):
            return False
        maps.add(node.output[0])
    return all(output.name in maps for output in graph.output)


def _keeps(view: ModelView, node: NodeProto, ranks: dict[str, int]) -> bool:
    """Whether a node makes a map of its first input, by weights and factors alone."""
    if any(attribute.ref_attr_name or not attribute.type for attribute in node.attribute):
        return False
    if is_operator(node, "Conv"):
        return len(node.input) > 1 and ranks.get(node.input[1]) == 4 and all(map(_is_even, node.attribute))
    if is_operator(node, *RESIZES):
        return _is_by_whole_factors(view, node)
    return is_operator(node, *_ACTIVATIONS)


def _is_even(attribute: AttributeProto) -> bool:
    """Whether a convolution's attribute is well formed and pads both ends alike: uneven pads may follow the size."""
    if attribute.name == "group":
        return True
    numbers = list(attribute.ints)
    return len(numbers) == _OF_CONV.get(attribute.name) and (attribute.name != "pads" or numbers[:2] == numbers[2:])


def _is_by_whole_factors(view: ModelView, node: NodeProto) -> bool:
    scope = view.scopes.by_path[MAIN]
    try:
        operands = read(node, dialect_of(node.op_type, scope.opset)).operands
    except RefusedError:
        return False
    if not operands.scales or operands.sizes or any(each.name not in _OF_RESIZE for each in node.attribute):
        return False
    definition = view.scopes.definition(scope, operands.scales)
    found = None if definition is None else view.constants.constant(definition)
    if found is None or found.chain or found.value.shape != (4,) or found.value.dtype != np.float32:
        return False
    scales = found.value
    is_whole = np.isfinite(scales) & (scales >= 1) & (scales == np.floor(scales))
    return bool(np.all(is_whole) and np.all(scales[:2] == 1))

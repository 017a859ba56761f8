"""Every fault, in the order in which they are looked for: what decides which operator a node is comes first."""

from resizefix.faults import (
    attributes,
    channels,
    conversions,
    extents,
    framework,
    half_arithmetic,
    operators,
    two_extents,
    types,
    whole_numbers,
)
from resizefix.faults.fault import Fault, Finder, Preferences
from resizefix.faults.resize_node import NodeSurroundings, ResizeNode
from resizefix.shapes.operand import MISFITS
from resizefix.shapes.stored_shapes import ModelView

FINDERS: tuple[Finder, ...] = (
    conversions.duplicate_output,
    # the spelling of attributes, which the others read
    attributes.wrong_type,
    attributes.align_corners,
    conversions.quantised_scales,
    # the version of the operator
    operators.upsample_beyond_9,
    operators.upsample_of_another_version,
    whole_numbers.sizes_as_scales,
    operators.two_inputs_beyond_10,
    operators.too_new_for_the_model,
    attributes.misspelt_value,
    attributes.of_another_opset,
    # operands: quantised, absent, of another type, in another file
    conversions.quantised_extent,
    operators.missing_operand,
    types.empty_operand,
    types.mixed_chain,
    types.scales_of_another_type,
    types.rounded_to_half,
    types.sizes_of_another_type,
    half_arithmetic.half_arithmetic,
    conversions.external_extent,
    # what they say
    whole_numbers.not_a_vector,
    two_extents.both_extents,
    extents.no_extent,
    extents.short_extent,
    extents.impossible,
    extents.nearly_one,
    extents.lost_pixel,
    channels.lost_channels,
    extents.frozen_batch,
    conversions.lost_asymmetric,
    # the tensors around it
    types.half_a_cast_pair,
    types.stale_type,
    extents.identity,
    # what the framework computed
    framework.differs_from_pytorch,
)
# Those that look at the operator, its version and the attributes alone.
_OF_ATTRIBUTES: frozenset[Finder] = frozenset(
    {attributes.wrong_type, attributes.align_corners, attributes.misspelt_value, attributes.of_another_opset}
)
_OF_ALL_ELSE = tuple(find for find in FINDERS if find not in _OF_ATTRIBUTES)


def resize_nodes(view: ModelView) -> list[ResizeNode]:
    """The resize nodes of a model, in the order of its sites."""
    surroundings = NodeSurroundings(view)
    return [ResizeNode(surroundings, scope, index) for scope, index in view.resizes]


def faults_in(view: ModelView) -> list[list[Fault]]:
    """The faults of every site of a model, in the order of the sites."""
    return [faults_of(node) for node in resize_nodes(view)]


def faults_of(node: ResizeNode) -> list[Fault]:
    """Every fault that shows in the node as it is; the fix of one may make another visible."""
    sound = node.surroundings.sound
    written = node.node.op_type, node.opset, *[one.SerializeToString() for one in node.node.attribute]
    finders = _OF_ALL_ELSE if written in sound else FINDERS
    found = [(find, fault) for find in finders if (fault := _shown(find, node, Preferences())) is not None]
    if not any(find in _OF_ATTRIBUTES for find, _ in found):
        sound.add(written)
    return [fault for _, fault in found]


def first_fault(node: ResizeNode, preferences: Preferences) -> Fault | None:
    """The fault to be fixed first."""
    return next((fault for find in FINDERS if (fault := _shown(find, node, preferences)) is not None), None)


def _shown(find: Finder, node: ResizeNode, preferences: Preferences) -> Fault | None:
    """The fault that a finder sees; none in a node without the inputs, or of the ranks, that it is about."""
    try:
        return find(node, preferences)
    except MISFITS:
        return None

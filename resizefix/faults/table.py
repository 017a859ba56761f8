"""Every fault, in the order in which they are looked for: what decides which operator a node is comes first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from resizefix.diagnostics import Diagnostic
from resizefix.faults import (
    attributes,
    conversions,
    extent_operands,
    extents,
    framework,
    half_arithmetic,
    names,
    operators,
    types,
)
from resizefix.faults.fault import Fault, Finder, Preferences
from resizefix.faults.resize_node import NodeSurroundings, ResizeNode
from resizefix.shapes.operand import MISFITS
from resizefix.shapes.stored_shapes import ModelView

if TYPE_CHECKING:
    from resizefix.targets.target import Target, Violation


class FaultRow(NamedTuple):
    """Who finds a fault, and the names it has.

    One `of_attributes` looks at the operator, its version and the attributes alone. One `on_request` is repaired only
    where an option asks for it, as the file computes what it says. `has_converter`: a converter is known that makes it,
    and its file stands in fixtures/broken.
    """

    find: Finder
    names: tuple[str, ...]
    of_attributes: bool = False
    on_request: bool = False
    has_converter: bool = True


ROWS: tuple[FaultRow, ...] = (
    FaultRow(conversions.duplicate_output, (conversions.DUPLICATE_OUTPUT,)),
    FaultRow(names.duplicate_name, (conversions.DUPLICATE_OUTPUT,)),
    # the spelling of attributes, which the others read
    FaultRow(attributes.wrong_type, (attributes.TYPE,), of_attributes=True),
    FaultRow(attributes.align_corners, (attributes.UNKNOWN,), of_attributes=True),
    FaultRow(conversions.quantised_scales, (conversions.QUANTISED_EXTENT,)),
    # the version of the operator
    FaultRow(operators.upsample_beyond_9, (operators.WRONG_OPSET,)),
    FaultRow(operators.upsample_of_another_version, (operators.WRONG_OPSET,)),
    FaultRow(extent_operands.sizes_as_scales, (operators.OPERAND_SPELLING,)),
    FaultRow(operators.two_inputs_beyond_10, (operators.OPERAND_SPELLING, operators.WRONG_OPSET)),
    FaultRow(operators.too_new_for_the_model, (operators.WRONG_OPSET,)),
    FaultRow(attributes.misspelt_value, (attributes.SPELLING,), of_attributes=True),
    FaultRow(attributes.of_another_opset, (attributes.UNKNOWN,), of_attributes=True),
    # operands: quantised, absent, of another type, in another file
    FaultRow(conversions.quantised_extent, (conversions.QUANTISED_EXTENT,)),
    FaultRow(operators.missing_operand, (operators.OPERAND_SPELLING,)),
    FaultRow(types.empty_operand, (types.EMPTY_OPERAND,)),
    FaultRow(types.mixed_chain, (types.FLOAT16_EXTENT,)),
    FaultRow(types.scales_of_another_type, (types.FLOAT16_EXTENT, types.OPERAND_TYPE)),
    FaultRow(types.rounded_to_half, (types.FLOAT16_EXTENT,)),
    FaultRow(types.sizes_of_another_type, (types.OPERAND_TYPE,)),
    FaultRow(half_arithmetic.half_arithmetic, (half_arithmetic.HALF_ARITHMETIC,)),
    FaultRow(conversions.external_extent, (conversions.EXTERNAL_EXTENT,)),
    # what they say
    FaultRow(extent_operands.not_a_vector, (extent_operands.EXTENT_SHAPE,)),
    FaultRow(extent_operands.both_extents, (extent_operands.BOTH_EXTENTS,)),
    FaultRow(extent_operands.repeated_axis, (extent_operands.REPEATED_AXIS,), has_converter=False),
    FaultRow(extents.no_extent, (extents.NO_EXTENT,)),
    FaultRow(extents.short_extent, (extents.SHORT_EXTENT,)),
    FaultRow(extents.impossible, (extents.PLACEHOLDER, extents.IMPOSSIBLE)),
    FaultRow(extents.nearly_one, (extents.UNIT_SCALE,)),
    FaultRow(extents.lost_pixel, (extents.LOST_PIXEL,)),
    FaultRow(extent_operands.lost_channels, (extent_operands.LOST_CHANNELS,)),
    FaultRow(extents.frozen_batch, (extents.FROZEN_BATCH,)),
    FaultRow(conversions.lost_asymmetric, (conversions.LOST_ASYMMETRIC,)),
    # the tensors around it
    FaultRow(types.half_a_cast_pair, (types.CAST_PAIR,)),
    FaultRow(types.stale_type, (types.STALE_TYPE,)),
    FaultRow(extents.identity, (extents.IDENTITY,), on_request=True),
    # what the framework computed
    FaultRow(framework.differs_from_pytorch, (framework.DIFFERS, framework.MAY_DIFFER), on_request=True),
)
"""What finds the faults of a node, in the order in which they are looked for."""


def resize_nodes(view: ModelView) -> list[ResizeNode]:
    """The resize nodes of a model, in the order of its sites."""
    surroundings = NodeSurroundings(view)
    return [ResizeNode(surroundings, scope, index) for scope, index in view.resizes]


def faults_in(view: ModelView) -> list[list[Fault]]:
    """The faults of every site of a model, in the order of the sites."""
    return [faults_of(node) for node in resize_nodes(view)]


def named_faults(view: ModelView) -> list[tuple[str, Fault]]:
    """The faults of a model's resizes, each with the label of its node."""
    labels = [scope.body.node[place].name or f"#{index}" for index, (scope, place) in enumerate(view.resizes)]
    return [(label, fault) for label, faults in zip(labels, faults_in(view), strict=True) for fault in faults]


def faults_of(node: ResizeNode) -> list[Fault]:
    """Every fault that shows in the node as it is; the fix of one may make another visible."""
    sound = node.surroundings.sound
    written = node.node.op_type, node.opset, *[one.SerializeToString() for one in node.node.attribute]
    rows = [row for row in ROWS if not row.of_attributes or written not in sound]
    shown = [(row, fault) for row in rows if (fault := _shown(row.find, node, Preferences())) is not None]
    if not any(row.of_attributes for row, _ in shown):
        sound.add(written)
    return [fault for _, fault in shown]


def first_fault(node: ResizeNode, preferences: Preferences) -> Fault | None:
    """The fault to be fixed first."""
    return next((fault for row in ROWS if (fault := _shown(row.find, node, preferences)) is not None), None)


def _shown(find: Finder, node: ResizeNode, preferences: Preferences) -> Fault | None:
    """The fault that a finder sees; none in a node without the inputs, or of the ranks, that it is about."""
    try:
        return find(node, preferences)
    except MISFITS:
        return None


def repaired_first(faults: Sequence[Sequence[Fault]]) -> list[bool]:
    """Of each resize of a model with these faults, whether `repair` comes before any other change: it has a fault that
    `repair` fixes, or a fault of any keeps onnxruntime from loading the model."""
    stopped = any(fault.stops_loading for site_faults in faults for fault in site_faults)
    return [stopped or any(fault.change is not None for fault in site_faults) for site_faults in faults]


def not_loaded(target: Target, node: str, faults: Iterable[Fault]) -> Iterator[Violation]:
    """A violation for each of the node's faults with which the target does not load the model."""
    from resizefix.targets.onnxruntime_target import ONNXRUNTIME  # who asks for verdicts has the rules
    from resizefix.targets.target import Violation

    for fault in faults if target is ONNXRUNTIME else ():
        if fault.stops_loading:
            fix = Diagnostic("faults.repair-node", fix=fault.fix) if fault.change is not None else fault.fix
            source = Diagnostic("faults.measured")
            yield Violation(node=node, rule=f"fault-{fault.name}", because=fault.because, source=source, fix=fix)

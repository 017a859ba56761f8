"""Everything a target's rule may look at for one Upsample/Resize node: how it is written, where its extent comes from.

Parsers judge the text of a file, not its meaning, and dispatch on the model's opset, not on the operator's version.
So these facts keep spellings (`mode="bilinear"`, a trailing `''` input) that the canonical form drops on purpose.
Attributes that are not written have the ONNX default here, which every parser read so far uses too.

What an Upsample/Resize node says by itself: its attributes, and which of its operands gives the extent.

What is computed from sizes that the file leaves open, where those are usual ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from onnx import AttributeProto, NodeProto, TensorProto

from resizefix.diagnostics import RefusedError
from resizefix.dialects.dialect import dialect_of
from resizefix.dialects.read import read
from resizefix.document.scopes import Scope
from resizefix.document.text import counted
from resizefix.document.values import Dims
from resizefix.interpolation import ExtentKind
from resizefix.shapes.stored_shapes import ModelView, fixed_values


class OperandSource(str, Enum):
    """Where the operand that gives the extent comes from, as finely as any parser tells sources apart.

    The values are the words for a sentence: "they come from an initializer".
    """

    ATTRIBUTE = "an attribute"
    INITIALIZER = "an initializer"
    # From IR 4 on a default that the caller may override.
    INITIALIZER_AND_INPUT = "an initializer that is also a graph input"
    CONSTANT = "a Constant node"  # with the attribute `value`
    CONSTANT_LIST = "a Constant node with a list attribute"  # value_floats, value_ints and the like
    FOLDED = "nodes that compute with constants alone"
    SHAPE = "nodes that compute with the shapes of tensors"  # and constants
    INTEGER_INPUT = "an integer graph input"  # a small int32/int64 graph input, fed straight to the node
    INTEGER_INPUT_COMPUTED = "nodes that compute with an integer graph input"
    INTEGER_INPUT_DIVIDED = "the quotient of an integer graph input"  # Cast to float, then divided by a constant
    OTHER_INPUT = "a graph input that is not int32 or int64"  # of rank ≤1
    DATA = "the values of a tensor"
    # An input of a loop's body, or of a local function that is called in several ways.
    UNKNOWN = "a value that is not known here"
    ABSENT = "no operand"


class Roi(str, Enum):
    """What stands in the `roi` position of a Resize-11 or later."""

    ABSENT = "absent"  # the node has fewer inputs
    UNNAMED = "unnamed"  # ''
    EMPTY = "empty"  # a tensor without elements
    TENSOR = "tensor"


@dataclass(frozen=True, kw_only=True)
class SiteFacts:
    """One node's facts. None means "not known" in the lower half, where a fact may need the rest of the model."""

    node: str
    op_type: str
    opset: int  # that the model (or function) imports
    ir_version: int
    producer_name: str = ""  # of the model: OpenCV reads files of `pytorch` otherwise
    names_its_domain: bool = False  # "ai.onnx", which is the same as none
    attributes: frozenset[str] = frozenset()  # names of those written
    mode: str = "nearest"
    coordinate_transformation_mode: str = "half_pixel"
    nearest_mode: str = "round_prefer_floor"
    cubic_coeff_a: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False
    keep_aspect_ratio_policy: str = "stretch"
    axes: tuple[int, ...] | None = None
    n_inputs: int = 1
    reads_ahead: bool = False  # a node that makes one of the others stands behind it, against the standard
    roi: Roi = Roi.ABSENT
    roi_values: tuple[float, ...] | None = None  # where nothing at run time changes them
    unnamed_scales: bool = False  # '' in the `scales` position of a Resize-11 or later
    trailing_empty_input: bool = False  # the last input is ''
    extent: ExtentKind | None = None  # None: the node names neither scales nor sizes
    both_extents: bool = False  # it names scales and sizes, and neither is empty
    empty_sizes: bool = False  # a tensor without elements where sizes belong, together with scales
    empty_constant: bool = False  # one of its inputs is the output, without elements, of a Constant node
    enclosing: frozenset[str] = frozenset()  # "If", "Loop", "Scan", "function": what holds the node
    calls_functions: bool = False  # the model calls local functions, here or elsewhere
    initializers_are_inputs: bool = True  # every initializer of the graph is also listed as a graph input
    unreadable: str | None = None  # why the dialect refuses the node; None: valid ONNX

    source: OperandSource = OperandSource.UNKNOWN  # of the extent
    values: tuple[float, ...] | None = None  # of the extent, where nothing at run time changes them
    hidden_at: str = ""  # where it meets a tensor whose length TensorRT does not see to be equal, if it does
    static_values: tuple[float, ...] | None = None  # of one that is computed from sizes, where these are fixed
    usual_values: tuple[tuple[tuple[int, ...], tuple[float, ...]], ...] = ()
    """Of one that is computed from sizes that are open: the input's shape and what is computed, at usual sizes."""
    computed_by: frozenset[str] = frozenset()  # the operators that it is computed by
    length: int | None = None  # number of elements of the extent
    operand_rank: int | None = None
    operand_type: int | None = None  # TensorProto.DataType of the extent's tensor
    rank: int | None = None
    input_shape: tuple[int | None, ...] | None = None  # None: dynamic
    output_shape: tuple[int | None, ...] | None = None
    elem_type: int | None = None
    casts_behind: bool = False  # it resizes an input of the model, and what it gives is read by Casts alone
    is_at_the_edges: bool = False  # it resizes an input of the model, and what it gives is an output and nothing else

    def __post_init__(self) -> None:
        if self.input_shape is not None and self.rank != len(self.input_shape):
            raise ValueError(f"rank {self.rank} with input_shape {self.input_shape}")

    @property
    def is_static(self) -> bool:
        """Every size of the input is known before run time."""
        return self.input_shape is not None and not self.is_open

    @property
    def is_open(self) -> bool:
        """Some size of the input is known to be decided at run time."""
        return None in (self.input_shape or ())

    @property
    def has_open_image(self) -> bool:
        """Some size behind batch and channels is."""
        return None in (self.input_shape or ())[2:]

    @property
    def is_computable(self) -> bool:
        """By how much each axis is resized is known: by scales, or by sizes of an input that has known ones."""
        is_known = self.known_values is not None
        if self.by_sizes and is_known:
            return self.input_shape is not None and None not in self.input_shape[min(2, len(self.input_shape) - 1) :]
        return is_known or bool(self.usual_values)

    @property
    def shown_input_shape(self) -> str:
        """`1×3×?×?`, for a person."""
        return "×".join("?" if size is None else str(size) for size in self.input_shape or ())

    @property
    def counted_inputs(self) -> str:
        """How many inputs the node has, for messages."""
        return counted(self.n_inputs, "input")

    @property
    def counted_extent(self) -> str:
        """How many scales or sizes the node reads, for messages."""
        return f"{self.extent_name} of {counted(self.length or 0, 'number')}"

    @property
    def counted_axes(self) -> str:
        """What an extent has one value each of: the listed axes, else all of the input."""
        return f"an input of rank {self.rank_name}" if self.axes is None else f"the axes {list(self.axes)}"

    @property
    def is_upsample(self) -> bool:
        """Upsample, of any version."""
        return self.op_type == "Upsample"

    @property
    def is_hybrid(self) -> bool:
        """Upsample in the form of old tutorials: opset 9 or later, the attribute `scales`, and no second input."""
        return self.is_upsample and self.opset >= 9 and self.n_inputs == 1 and "scales" in self.attributes

    @property
    def bodies(self) -> str:
        """What kinds of bodies the node stands in, for messages."""
        return ", ".join(sorted(self.enclosing))

    @property
    def by_scales(self) -> bool:
        """The extent is scales (attribute or input)."""
        return self.extent is ExtentKind.SCALES

    @property
    def by_sizes(self) -> bool:
        """The extent is sizes."""
        return self.extent is ExtentKind.SIZES

    @property
    def extent_name(self) -> str:
        """For messages: "scales", "sizes", or "extent" where the node names neither."""
        return "extent" if self.extent is None else self.extent.value

    @property
    def denominator_option(self) -> str:
        """For messages: what `legalize --shape-inputs` is given for scales, behind a space."""
        return f" --denominator {DENOMINATOR}" if self.by_scales else ""

    @property
    def type_name(self) -> str:
        """The element type of the tensor to resize, for messages."""
        return _type_name(self.elem_type)

    @property
    def operand_type_name(self) -> str:
        """The element type of the extent's tensor, for messages."""
        return _type_name(self.operand_type)

    @property
    def rank_name(self) -> str:
        """How many axes the tensor to resize has, for messages."""
        return "unknown" if self.rank is None else str(self.rank)

    @property
    def has_coordinates(self) -> bool:
        """The node has the coordinate attributes: Resize from opset 11 on. Before, everything is asymmetric."""
        return not self.is_upsample and self.opset >= 11

    @property
    def is_old_resize(self) -> bool:
        """Resize-10, which has no coordinate attributes."""
        return not self.is_upsample and not self.has_coordinates

    @property
    def coordinates(self) -> str | None:
        """The coordinate transformation mode; None where the node has none."""
        return self.coordinate_transformation_mode if self.has_coordinates else None

    @property
    def crops(self) -> bool:
        """The coordinate mode is tf_crop_and_resize."""
        return self.coordinates == "tf_crop_and_resize"

    @property
    def has_idle_roi(self) -> bool:
        """It has a roi of numbers that its coordinate mode does not read."""
        return self.roi is Roi.TENSOR and not self.crops

    @property
    def listed_axes(self) -> tuple[int, ...]:
        """The axes that the extent has a value each of: those that are listed, else all; none of an unknown rank."""
        return tuple(range(self.rank or 0)) if self.axes is None else self.axes

    @property
    def known_values(self) -> tuple[float, ...] | None:
        """The extent's values where they are constants, or computed from sizes that are fixed."""
        return self.static_values if self.values is None else self.values

    @property
    def axes_are_trivial(self) -> bool:
        """No axes, or 0, 1, …, rank-1: the operand has one element per dimension, in order."""
        return self.axes is None or (self.axes == tuple(range(len(self.axes))) and self.rank in (None, len(self.axes)))

    @property
    def axes_in_order(self) -> bool:
        """`axes_are_trivial`, counted from the front or from the end."""
        if self.axes is None or not self.rank:
            return self.axes_are_trivial
        from_the_end = tuple(range(-self.rank, 0))
        counted = tuple(axis + self.rank if axis in from_the_end else axis for axis in self.axes)
        return counted == tuple(range(self.rank))

    @property
    def full_scales(self) -> tuple[float, ...] | None:
        """The scales with one value per axis of the input, 1 for axes not listed. None: not known, or sizes."""
        if not self.by_scales or self.values is None or self.axes is None:
            return self.values if self.by_scales else None
        rank = self.rank
        if rank is None or len(self.values) != len(self.axes) or any(not -rank <= axis < rank for axis in self.axes):
            return None
        full = [1.0] * rank
        for axis, scale in zip(self.axes, self.values, strict=True):
            full[axis] = scale
        return tuple(full)

    @property
    def scaled_sizes(self) -> tuple[tuple[float, int | None], ...]:
        """Scale and size of each axis of the input, as far as both are known of the node."""
        return tuple(zip(self.full_scales or (), self.input_shape or (), strict=False))

    @property
    def resized_axes(self) -> tuple[int, ...] | None:
        """The axes that are known to change: scale other than 1, or a size other than the input's static one."""
        if self.full_scales is not None:
            return tuple(axis for axis, scale in enumerate(self.full_scales) if scale != 1)
        shape = self.input_shape
        if not self.by_sizes or self.values is None or shape is None:
            return None
        listed = self.axes if self.axes is not None else tuple(range(len(self.values)))
        if any(not -len(shape) <= axis < len(shape) for axis in listed):
            return None
        pairs = zip(listed, self.values, strict=False)
        return tuple(sorted(axis % len(shape) for axis, size in pairs if shape[axis] not in (None, size)))


def _type_name(elem_type: int | None) -> str:
    type_numbers = TensorProto.DataType.values()
    return TensorProto.DataType.Name(elem_type).lower() if elem_type in type_numbers else "an unknown type"


DENOMINATOR = 16
"""Of scales that an integer input gives to TensorRT, which builds a division by a power of two."""
_FLAGS = ("exclude_outside", "antialias")
_TEXTS = ("mode", "coordinate_transformation_mode", "nearest_mode", "keep_aspect_ratio_policy")


def reads_ahead(node: NodeProto, producers: Mapping[str, int]) -> bool:
    """Whether a node that makes an operand besides the tensor stands behind this one; `producers`: their places."""
    places = [producers[name] for name in node.input[1:] if name in producers]
    return bool(places and node.output) and max(places) > producers.get(node.output[0], max(places))


def extent_of(
    node: NodeProto, opset: int, written: dict[str, AttributeProto], empty_scales: bool, empty_sizes: bool
) -> tuple[ExtentKind | None, str, tuple[float, ...]]:
    """The operand that gives the extent, or the values of the attribute that does."""
    operands = list(node.input) + [""] * 4
    if node.op_type == "Resize" and opset >= 11:
        if operands[3] and not empty_sizes:
            return ExtentKind.SIZES, operands[3], ()
        if operands[2] and not empty_scales:
            return ExtentKind.SCALES, operands[2], ()
        return None, "", ()
    if operands[1] and (opset >= 9 or "scales" not in written):
        return ExtentKind.SCALES, operands[1], ()
    if "scales" in written:
        return ExtentKind.SCALES, "", tuple(written["scales"].floats)
    if {"height_scale", "width_scale"} <= written.keys():
        return ExtentKind.SCALES, "", (1.0, 1.0, written["height_scale"].f, written["width_scale"].f)
    return None, "", ()


def spellings(written: dict[str, AttributeProto]) -> dict[str, Any]:
    """The attributes as they are written. One that the calls of a local function give unlike is left at its default."""
    given = {name: attribute for name, attribute in written.items() if not attribute.ref_attr_name}
    spelled: dict[str, Any] = {}
    for name in given:
        if name in _TEXTS:
            spelled[name] = given[name].s.decode("utf-8", errors="replace")
        elif name in _FLAGS:
            spelled[name] = bool(given[name].i)
        elif name == "cubic_coeff_a":
            spelled[name] = given[name].f
        elif name == "axes":
            spelled[name] = tuple(given[name].ints) or None  # an empty list is no list to every parser read so far
    return spelled


def why_unreadable(node: NodeProto, opset: int) -> str | None:
    """Why the dialect refuses the node; None: it does not."""
    try:
        read(node, dialect_of(node.op_type, opset))
    except RefusedError as refusal:
        return str(refusal)
    return None


def enclosing(scope: Scope) -> frozenset[str]:
    """The operators whose bodies a scope stands in, and "function"."""
    pairs = set()
    current: Scope | None = scope
    while current is not None:
        if current.parent is not None and current.owner is not None:
            pairs.add(current.parent.body.node[current.owner].op_type)
        elif current.in_function:
            pairs.add("function")
        current = current.parent
    return frozenset(pairs)


_USUAL_SIZES = (7, 10, 16, 25)


def usual_values(
    view: ModelView, dims: Dims, scope: Scope, name: str
) -> tuple[tuple[tuple[int, ...], tuple[float, ...]], ...]:
    """What `name` is where the open ones of `dims` are usual sizes, each with all of these; nothing where an open size
    has no symbol, or other sizes decide, too."""
    if None in dims or all(isinstance(size, int) for size in dims):
        return ()
    values_found = []
    for batch, usual in enumerate(_USUAL_SIZES, 1):
        supposed = {size: usual + axis if axis else batch for axis, size in enumerate(dims) if isinstance(size, str)}
        value = fixed_values(view, supposed).array(scope, name)
        if value is None or value.dtype.kind not in "fiu":
            return ()
        sizes = tuple(size if isinstance(size, int) else supposed[size] for size in dims if size is not None)
        values_found.append((sizes, tuple(map(float, value.ravel()))))
    return tuple(values_found)

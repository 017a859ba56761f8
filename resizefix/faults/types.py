"""Element types that a conversion to another precision left behind.

onnxconverter-common, onnxruntime's float16 tool and ModelOpt turn scales into float16, which no version of Resize
takes, put a Cast on one side of a node alone, or leave stored types that are no longer true.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import TYPE_CHECKING

import numpy as np
from onnx import NodeProto, TensorProto, helper

from resizefix.diagnostics import Diagnostic
from resizefix.document.edits import NodeEdit
from resizefix.document.scopes import DEFAULT_DOMAINS
from resizefix.document.text import numbers_text
from resizefix.document.values import HALF, Array
from resizefix.faults.fault import Fault, Preferences
from resizefix.faults.operators import left_out
from resizefix.faults.resize_node import FLOAT, FLOAT16, INT64, ONE_TYPE, SAME_TYPE, Operand, ResizeNode, sizes_at
from resizefix.shapes.output_size import kernel_length

if TYPE_CHECKING:  # it loads `decimal`, and few scales are rounded
    from fractions import Fraction

FLOAT16_EXTENT = "float16-extent"
OPERAND_TYPE = "operand-type"
EMPTY_OPERAND = "empty-operand"
STALE_TYPE = "stale-type"
CAST_PAIR = "cast-pair"
_BITS_OF_A_PLAIN_FACTOR = 4  # 2, 1.5, 0.25, 1.625: not the result of rounding
_LARGEST_DENOMINATOR = 16
_NO_NUMBERS = (
    TensorProto.STRING,
    TensorProto.COMPLEX64,
    TensorProto.COMPLEX128,
)  # onnxruntime casts these to no number
_HALF_DTYPES = tuple(np.dtype(helper.tensor_dtype_to_np_dtype(half)) for half in HALF)


def empty_operand(node: ResizeNode, _: Preferences) -> Fault | None:
    """Empty scales or sizes that onnxruntime does not see to be empty: behind a Cast, in float16, or fed.

    An empty roi does no harm: nothing reads it, and it may be of any floating-point type.
    """
    for what, place in node.places.items():
        operand = node.operands.get(place)
        if what == "roi" or operand is None or not operand.is_empty:
            continue
        is_typed = operand.elem_type == (INT64 if what == "sizes" else FLOAT)
        if operand.is_direct and operand.value is not None and is_typed:
            continue
        because = Diagnostic("faults.empty-behind-cast", what=what)
        if not is_typed and (operand.is_direct or operand.value is None):
            because = Diagnostic("faults.empty-of-type", what=what, kind=_type_name(operand.elem_type))
        elif operand.value is None:
            because = Diagnostic("faults.empty-when-fed", what=what)
        name, initializers = left_out(node) if what == "scales" else ("", [])
        change = NodeEdit(node.with_input(place, name), initializers=initializers)
        fix = Diagnostic("faults.reads-empty-float32" if name else "faults.operand-removed")
        return Fault(EMPTY_OPERAND, because, fix, change, stops_loading=True)
    return None


def scales_of_another_type(node: ResizeNode, _: Preferences) -> Fault | None:
    """Scales that are not float32, constant or computed."""
    operand = node.operands.get(node.places["scales"]) if node.opset >= 9 else None  # an attribute before
    if operand is None or operand.elem_type in (None, FLOAT) or operand.is_empty:
        return None
    name = FLOAT16_EXTENT if operand.elem_type in HALF else OPERAND_TYPE
    because = Diagnostic("faults.scales-type", kind=_type_name(operand.elem_type))
    if operand.elem_type in _NO_NUMBERS:
        return Fault(name, because, Diagnostic("faults.no-numbers"))
    if operand.value is None or not (operand.value.dtype.kind in "fiu" or operand.value.dtype in _HALF_DTYPES):
        return _cast(node, operand, FLOAT, name, because)
    value = _unrounded(node, operand.value)
    if isinstance(value, Diagnostic):
        return Fault(name, because, value)
    fix = _become(operand.value, value, f"float32 {numbers_text(value)}")
    return _replaced(node, operand, value, name, because, fix)


def rounded_to_half(node: ResizeNode, _: Preferences) -> Fault | None:
    """Scales that went through float16 and lost digits: 1.2 stored as 1.2001953."""
    operand = node.operands.get(node.places["scales"])
    if operand is None or operand.value is None or operand.is_direct or operand.elem_type != FLOAT or operand.is_empty:
        return None
    was_half = any(node.type_of(name) == FLOAT16 for _, link in node.chain(operand.name) for name in link.input if name)
    if not was_half or operand.value.dtype != np.float32:
        return None
    if not np.array_equal(operand.value, operand.value.astype(np.float16).astype(np.float32)):
        return None
    stored = operand.value.astype(np.float16)
    value = _unrounded(node, stored)
    because = Diagnostic("faults.scales-rounded", scales=numbers_text(operand.value))
    if isinstance(value, Diagnostic):
        return Fault(FLOAT16_EXTENT, because, value, keeps_numbers=False)
    if np.array_equal(value, operand.value):
        return None
    fix = _become(stored, value, numbers_text(value))
    return _replaced(node, operand, value, FLOAT16_EXTENT, because, fix)._replace(keeps_numbers=False)


def _become(stored: Array, scales: Array, value: str) -> Diagnostic:
    if stored.dtype in _HALF_DTYPES and not np.array_equal(scales, stored.astype(np.float32)):
        return Diagnostic("faults.become-unrounded", value=value, dtype=stored.dtype.name)
    return Diagnostic("faults.become", value=value)


def _unrounded(node: ResizeNode, value: Array) -> Array | Diagnostic:
    """The float32 scales that were rounded to what is stored, or why they are not known."""
    if value.dtype not in _HALF_DTYPES:
        return value.astype(np.float32)
    factors = []
    for axis, half in zip(node.axes_of(value.size), value.reshape(-1), strict=True):
        scale = _factor(node, axis, half)
        if isinstance(scale, Diagnostic):
            return scale
        factors.append(scale)
    return np.array(factors, np.float32)


def _factor(node: ResizeNode, axis: int | None, half: np.generic) -> float | Diagnostic:
    """The factor that a float16 or bfloat16 was rounded from, or why it is not known."""
    rounded = half.dtype.type
    exact = float(half) if np.isfinite(float(half)) else 0.0
    if exact <= 0:
        return float(half)
    numerator, _ = exact.as_integer_ratio()
    bits = numerator.bit_length() - (numerator & -numerator).bit_length() + 1
    if bits <= _BITS_OF_A_PLAIN_FACTOR:
        return float(half)
    size, out = stored_pair(node, axis)
    fraction = plain_fraction(float(half), lambda factor: bool(rounded(factor) == half))
    plain = float(str(half)) if fraction is None else float(fraction)  # else the shortest decimal number
    if size is None or out is None:
        return plain
    if rounded(out / size) == half:
        return out / size
    if kernel_length(plain, size) == out:  # the output is the integer part of the product
        return plain
    return Diagnostic("faults.rounded-or-stored", factor=out / size, axis=axis)


def plain_fraction(near: float, fits: Callable[[float], bool]) -> "Fraction | None":
    """The fraction next to a number with the smallest denominator that fits; None where no small one does."""
    from fractions import Fraction

    for denominator in range(1, _LARGEST_DENOMINATOR + 1):
        numerator = round(near * denominator)
        if numerator > 0 and fits(numerator / denominator):
            return Fraction(numerator, denominator)
    return None


def stored_pair(node: ResizeNode, axis: int | None) -> tuple[int | None, int | None]:
    """The size of an axis of X and that of the output, as the file states them."""
    (size,), (out,) = sizes_at([axis], node.input_dims), sizes_at([axis], node.stored_dims)
    return (size, out) if isinstance(size, int) and isinstance(out, int) and size > 0 else (None, None)


def sizes_of_another_type(node: ResizeNode, _: Preferences) -> Fault | None:
    """Sizes that are not int64."""
    place = node.places.get("sizes")
    operand = None if place is None else node.operands.get(place)
    if operand is None or operand.elem_type in (None, INT64) or operand.is_empty:
        return None
    because = Diagnostic("faults.sizes-type", kind=_type_name(operand.elem_type))
    if operand.elem_type in _NO_NUMBERS:
        return Fault(OPERAND_TYPE, because, Diagnostic("faults.no-numbers"))
    if operand.value is None:
        return _cast(node, operand, INT64, OPERAND_TYPE, because)
    whole = operand.value.astype(np.int64)
    if not np.array_equal(whole, operand.value):
        return Fault(OPERAND_TYPE, because, Diagnostic("faults.not-whole", sizes=numbers_text(operand.value)))
    return _replaced(node, operand, whole, OPERAND_TYPE, because, Diagnostic("faults.become", value="int64"))


def _cast(node: ResizeNode, operand: Operand, to: int, name: str, because: Diagnostic) -> Fault:
    fresh = node.names.fresh(f"{operand.name}_{_type_name(to)}")
    cast = helper.make_node("Cast", [operand.name], [fresh], name=fresh, to=to)
    change = NodeEdit(node.with_input(operand.position, fresh), before=[cast])
    return Fault(name, because, Diagnostic("faults.cast", kind=_type_name(to)), change)


def _replaced(
    node: ResizeNode, operand: Operand, value: Array, name: str, because: Diagnostic, fix: Diagnostic
) -> Fault:
    what = "sizes" if value.dtype == np.int64 else "scales"
    return Fault(name, because, fix, node.with_constant(operand.position, what, value))


def mixed_chain(node: ResizeNode, _: Preferences) -> Fault | None:
    """A float16 constant together with float32 values in the arithmetic of scales or sizes."""
    for index, link in _operand_chain(node):
        if link.domain not in DEFAULT_DOMAINS or link.op_type not in ONE_TYPE:
            continue
        types = {name: node.type_of(name) for name in link.input if name}
        if set(types.values()) != {FLOAT, FLOAT16}:
            continue
        halves = [name for name, elem_type in types.items() if elem_type == FLOAT16]
        operands = [node._operand(0, name) for name in halves]
        label = link.name or link.output[0]
        because = Diagnostic("faults.mixed-types", operator=link.op_type, label=label)
        changed, tensors = deepcopy(link), []
        for operand in operands:
            if operand.value is None:
                fix = Diagnostic("faults.half-not-constant")
                return Fault(FLOAT16_EXTENT, because, fix, stops_loading=True)
            tensors.append(node.constant("operand", operand.value.astype(np.float32)))
            for place, name in enumerate(link.input):
                if name == operand.name:
                    changed.input[place] = tensors[-1].name
        change = NodeEdit(others={index: changed}, initializers=tensors)
        return Fault(FLOAT16_EXTENT, because, Diagnostic("faults.constants-float32"), change, stops_loading=True)
    return None


def stale_type(node: ResizeNode, _: Preferences) -> Fault | None:
    """A stored type of the output, or of a tensor of the operands' chain, that the nodes contradict."""
    # By name, what decides the type; where none is stored, no chain is followed to know it.
    sources = {name: name for _, link in _operand_chain(node) for name in link.output[:1]}
    if node.node.input and node.output:
        sources[node.output] = node.x
    stored = {name: source for name, source in sources.items() if node.stored_type(name) is not None}
    types = {name: elem_type for name, source in stored.items() if (elem_type := node.type_of(source)) is not None}
    wrong = {name: elem_type for name, elem_type in types.items() if node.stored_type(name) != elem_type}
    for value in node.scope.body.output if wrong else ():
        wrong.pop(value if isinstance(value, str) else value.name, None)
    if not wrong:
        return None
    first = next(iter(wrong))
    said = _type_name(node.stored_type(first))
    because = Diagnostic("faults.stored-type", name=first, stored=said, kind=_type_name(wrong[first]))
    fix = Diagnostic("faults.stored-type-corrected")
    return Fault(STALE_TYPE, because, fix, NodeEdit(types=wrong), stops_loading=True)


def half_a_cast_pair(node: ResizeNode, _: Preferences) -> Fault | None:
    """The input is cast to float32 and the output is read as float16: the Cast back is missing."""
    # The operator is asked first: to know a type, a long chain may have to be followed.
    source = node.definition(node.x) if node.node.input else None
    cast = None if source is None else source.node
    if cast is None or cast.op_type != "Cast" or node.type_of(node.x) != FLOAT:
        return None
    if node.type_of(cast.input[0]) != FLOAT16:
        return None
    definition = node.definition(node.output)
    readers = [] if definition is None else node.view.scopes.readers(definition)
    if not any(_wants_half(node, reader.node) for reader in readers):
        return None
    because = Diagnostic("faults.half-a-cast-pair")
    fresh = node.names.fresh(f"{node.output}_float32")
    changed = node.rewritten()
    changed.output[0] = fresh
    back = helper.make_node("Cast", [fresh], [node.output], name=f"{fresh}_cast", to=FLOAT16)
    change = NodeEdit(changed, after=[back], types={node.output: FLOAT16})
    return Fault(CAST_PAIR, because, Diagnostic("faults.cast-follows"), change, stops_loading=True)


def _wants_half(node: ResizeNode, reader: NodeProto | None) -> bool:
    if reader is None or reader.domain not in DEFAULT_DOMAINS or reader.op_type not in ONE_TYPE:
        return False
    others = [name for name in list(reader.input)[: ONE_TYPE[reader.op_type]] if name and name != node.output]
    return any(node.type_of(name) == FLOAT16 for name in others)


def _operand_chain(node: ResizeNode) -> list[tuple[int, NodeProto]]:
    followed = SAME_TYPE | {"Cast", "Shape", "Constant", "ConstantOfShape"}
    chain = (link for name in node.node.input[1:] if name for link in node.chain(name))
    return [(index, link) for index, link in chain if link.op_type in followed - {"Resize", "Upsample", "Conv"}]


def _type_name(elem_type: int | None) -> str:
    if elem_type is None:
        return "unknown"
    name: str = TensorProto.DataType.Name(elem_type).lower()
    return {"float": "float32", "double": "float64"}.get(name, name)

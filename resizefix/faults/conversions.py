"""What a converter left that runs, or loads, and is not what was exported."""

from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from operator import lt

import numpy as np
from onnx import NodeProto, TensorProto

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.dialect import is_resize
from resizefix.document.edits import NodeEdit
from resizefix.document.payloads import THRESHOLD
from resizefix.document.scopes import Definition
from resizefix.document.text import numbers_text
from resizefix.document.values import Array
from resizefix.faults.fault import Fault, Preferences
from resizefix.faults.operators import simple_rounding
from resizefix.faults.resize_node import Operand, ResizeNode
from resizefix.faults.types import plain_fraction, stored_pair
from resizefix.shapes.operand import attribute_of
from resizefix.shapes.output_size import kernel_length

LOST_ASYMMETRIC = "lost-asymmetric"
QUANTISED_EXTENT = "quantised-extent"
DUPLICATE_OUTPUT = "duplicate-output"
EXTERNAL_EXTENT = "external-extent"


def lost_asymmetric(node: ResizeNode, _: Preferences) -> Fault | None:
    """A Resize-10 that onnx.version_converter raised to 11 without its coordinates.

    The adapter (onnx/version_converter/adapters/resize_10_11.h) gives the node a constant roi [0,…,1,…] and no
    attribute, so that opset 11's default half_pixel takes the place of Resize-10's asymmetric.
    """
    if node.node.op_type != "Resize" or node.opset < 11 or set(node.attributes) - {"mode"}:
        return None
    roi = node.operands.get(1)
    if roi is None or roi.value is None or roi.value.dtype.kind != "f" or 2 not in node.operands:
        return None
    half, rest = divmod(roi.value.size, 2)
    if not half or rest or not np.array_equal(roi.value.reshape(-1), np.repeat([0.0, 1.0], half)):
        return None
    put = {"coordinate_transformation_mode": "asymmetric"}
    rounding = simple_rounding(node.operands[2].value)
    because = Diagnostic("faults.converted-from-10")
    if node.attributes.get("mode", "nearest") == "nearest":
        if rounding is None:
            fix = Diagnostic("faults.no-rounding-to-convert")
            return Fault(LOST_ASYMMETRIC, because, fix, keeps_numbers=False)
        put["nearest_mode"] = rounding
    written = ", ".join(f"{name}={value}" for name, value in put.items())
    fix = Diagnostic("faults.attributes-written", attributes=written)
    return Fault(LOST_ASYMMETRIC, because, fix, NodeEdit(node.rewritten(put=put)), keeps_numbers=False)


def quantised_extent(node: ResizeNode, _: Preferences) -> Fault | None:
    """QuantizeLinear and DequantizeLinear on the arithmetic of scales or sizes, which saturates them."""
    if node.scope.producers.keys().isdisjoint(node.node.input[1:]):
        return None
    others: dict[int, NodeProto] = {}
    changed = node.rewritten()
    for position, name in enumerate(node.node.input):
        if position and name:
            changed.input[position] = _before_quantising(node, name)
            for index, link in node.chain(name):
                if link.op_type in ("QuantizeLinear", "DequantizeLinear"):
                    continue
                straight = deepcopy(link)
                for place, source in enumerate(link.input):
                    straight.input[place] = _before_quantising(node, source)
                if straight != link:
                    others[index] = straight
    if not others and changed == node.node:
        return None
    because = Diagnostic("faults.extent-quantised")
    fix = Diagnostic("faults.extent-unquantised")
    return Fault(QUANTISED_EXTENT, because, fix, NodeEdit(changed, others=others, resized=True), keeps_numbers=False)


def _before_quantising(node: ResizeNode, name: str) -> str:
    """The tensor that a DequantizeLinear of a QuantizeLinear stands for; any other name as it is."""
    definition = node.definition(name)
    if definition is None or definition.node is None or definition.node.op_type != "DequantizeLinear":
        return name
    source = node.definition(definition.node.input[0])
    if source is None or source.node is None or source.node.op_type != "QuantizeLinear":
        return name
    return _before_quantising(node, source.node.input[0])


def duplicate_output(node: ResizeNode, _: Preferences) -> Fault | None:
    """Names written by several nodes: a converter that names its Casts after nodes without a name.

    Where each name has as many readers as writers, the k-th writer and the k-th reader belong together. A Cast that was
    written twice keeps its readers, wherever it stands.
    """
    body = node.scope.body
    if not node.scope.disputed:
        return None
    own = {name for name in (*node.node.input, *node.node.output) if name} | _behind_its_inputs(node)
    casts = {out for link in body.node if link.op_type == "Cast" for out in link.output}
    written = Counter(name for link in body.node for name in link.output if name)
    double = {name for name, count in written.items() if count > 1}
    writers_of = {name: [index for index, link in enumerate(body.node) if name in link.output] for name in double}
    twice = {name for name, indices in writers_of.items() if len({_bytes(body.node[index]) for index in indices}) == 1}
    if not own & double and not (node.is_first and double and double <= twice & casts):
        return None
    because = Diagnostic("faults.output-twice", name=min(own & double or double))
    outside = {value if isinstance(value, str) else value.name for value in body.output}
    others: dict[int, NodeProto] = {}
    parted: list[str] = []
    for name in sorted(double):
        writers, alike = writers_of[name], name in twice
        readers = [index for index, link in enumerate(body.node) for read in link.input if read == name]
        near = all(name in casts or is_resize(body.node[index]) for index in writers)
        paired = len(writers) == len(readers) and name not in outside
        paired &= not alike or all(map(lt, writers, readers))
        if not near or not (paired or alike):
            return Fault(DUPLICATE_OUTPUT, because, Diagnostic("faults.readers-unpaired"), stops_loading=True)
        for place, writer in enumerate(writers[1:], start=1):
            fresh = node.names.fresh(name)
            _rename(others, body.node, writer, "output", name, fresh)
            if paired:
                _rename(others, body.node, readers[place], "input", name, fresh)
        if not alike:
            parted.append(name)  # what is stored of it is true of one of the tensors, and it is not known of which
    names = Counter(link.name for link in body.node if link.name)
    for index, link in sorted(others.items()):
        if names[link.name] > 1 and link.op_type == "Cast":
            link.name = node.names.fresh(link.name)
        others[index] = link
    fix = Diagnostic("faults.writers-renamed" if own & double else "faults.copies-renamed")
    return Fault(DUPLICATE_OUTPUT, because, fix, NodeEdit(others=others, forgotten=parted), stops_loading=True)


def _bytes(node: NodeProto) -> bytes:
    text: bytes = node.SerializeToString(deterministic=True)
    return text


def _behind_its_inputs(node: ResizeNode) -> set[str]:
    """What the arithmetic of its operands reads, and what a Cast before the node does."""
    sources = {source for name in node.node.input[1:] if name for _, link in node.chain(name) for source in link.input}
    for name in node.node.input[:1]:
        definition = node.definition(name)
        if definition is not None and definition.node is not None and definition.node.op_type == "Cast":
            sources |= set(definition.node.input)
    return sources


def _rename(
    others: dict[int, NodeProto], nodes: Sequence[NodeProto], index: int, side: str, old: str, new: str
) -> None:
    names = getattr(others.setdefault(index, deepcopy(nodes[index])), side)
    for place, name in enumerate(names):
        if name == old:
            names[place] = new


# Factors that are meant without a stored shape: 2, 1.5, 1.25, 1/3.
_PLAIN = 4
_ROUNDING = 1 + 1e-3  # the step and the product are float32


def quantised_scales(node: ResizeNode, _: Preferences) -> Fault | None:
    """Scales that a DequantizeLinear makes of stored integers, and that rounding moved.

    onnxruntime's quantiser takes the scales of an Upsample that it is asked to quantise for weights: 1 becomes
    1.0000153 in 16 bits and 0.996 in 8, so that a channel is lost. The step says how far a factor was moved, the stored
    shapes which factor it was.
    """
    place = 1 if set(node.operands) == {1} else node.places["scales"]
    operand = node.operands.get(place)
    read = None if operand is None else _dequantised(node, operand)
    if read is None:
        return None
    scales, step = read
    axes = node.axes_of(len(scales))
    factors = [_quantised_factor(node, axis, scale, step) for axis, scale in zip(axes, scales.tolist(), strict=True)]
    because = Diagnostic("faults.scales-quantised", scales=numbers_text(scales))
    if any(scale is None for scale in factors):
        fix = Diagnostic("faults.factor-unknown", half=step / 2)
        return Fault(QUANTISED_EXTENT, because, fix, keeps_numbers=False)
    value = np.array(factors, np.float32)
    if np.array_equal(value, scales) and (node.rank is None or None not in axes):
        return None  # it runs as it is; too few of them are another fault, which is seen of a constant alone
    change = node.with_constant(place, "scales", value, resized=True)
    fix = Diagnostic("faults.become", value=numbers_text(value))
    return Fault(QUANTISED_EXTENT, because, fix, change, keeps_numbers=False)


def _dequantised(node: ResizeNode, operand: Operand) -> tuple[Array, float] | None:
    """The vector that a DequantizeLinear makes of stored integers, and the distance of two values that it can make."""
    source = node.definition(operand.name)
    if source is None or source.node is None or source.node.op_type != "DequantizeLinear":
        return None
    stored, step, *zero = [None if not name else node.value_of(name) for name in source.node.input]
    if stored is None or step is None or step.size != 1 or stored.ndim != 1 or stored.dtype.kind not in "iu":
        return None
    origin = zero[0] if zero else None
    offset = 0 if origin is None else int(origin.reshape(-1)[0])
    factor = np.float32(step.reshape(-1)[0])
    return (stored.astype(np.int64) - offset).astype(np.float32) * factor, abs(float(factor))


def _quantised_factor(node: ResizeNode, axis: int | None, scale: float, step: float) -> float | None:
    """The factor that was rounded to this scale; None where it is not certain."""
    half = step / 2 * _ROUNDING
    low, high = scale - half, scale + half
    plain = plain_fraction((low + high) / 2, lambda factor: low <= factor <= high)
    size, out = stored_pair(node, axis)
    if size is None or out is None:
        return None if plain is None or plain.denominator > _PLAIN else float(plain)
    fits = plain is not None and kernel_length(float(plain), size) == out
    if plain is not None and fits and plain.denominator <= _PLAIN:
        return float(plain)
    if abs(out / size - scale) <= half:
        return out / size
    return float(plain) if plain is not None and fits else None


def external_extent(node: ResizeNode, _: Preferences) -> Fault | None:
    """Constant scales or sizes whose values stand in a data file, as `onnx.save_model(size_threshold=0)` leaves them.

    onnxruntime infers the output's shape from them before it opens that file, and does not load the model.
    """
    where = node.places
    for what in ("scales", "sizes"):
        operand = node.operands.get(where.get(what, -1))
        stored = None if operand is None else _stored(node.definition(operand.name))
        if operand is None or operand.value is None or stored is None:
            continue
        # Longer payloads of any model are references in memory.
        if stored.data_location != TensorProto.EXTERNAL or operand.value.nbytes >= THRESHOLD:
            continue
        change = node.with_constant(operand.position, what, operand.value)
        because = Diagnostic("faults.extent-external", what=what)
        return Fault(EXTERNAL_EXTENT, because, Diagnostic("faults.extent-in-model"), change, stops_loading=True)
    return None


def _stored(definition: Definition | None) -> TensorProto | None:
    """The initializer, or the tensor of a Constant node."""
    if definition is None or definition.tensor is not None:
        return None if definition is None else definition.tensor
    if definition.node is None or definition.node.op_type != "Constant":
        return None
    tensor: TensorProto | None = attribute_of(definition.node, "value")
    return tensor

"""What a converter left that runs, or loads, and is not what was exported."""

from __future__ import annotations

from collections import Counter

import numpy as np
from onnx import NodeProto

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.dialect import is_resize
from resizefix.document.edits import Change
from resizefix.faults.fault import Fault, Preferences
from resizefix.faults.operators import SINCE_11, simple_rounding
from resizefix.faults.resize_node import ResizeNode

LOST_ASYMMETRIC = "lost-asymmetric"
QUANTISED_EXTENT = "quantised-extent"
DUPLICATE_OUTPUT = "duplicate-output"


def lost_asymmetric(node: ResizeNode, _: Preferences) -> Fault | None:
    """A Resize-10 that onnx.version_converter raised to 11 without its coordinates.

    The adapter (onnx/version_converter/adapters/resize_10_11.h) gives the node a constant roi [0,…,1,…] and no
    attribute, so that opset 11's default half_pixel takes the place of Resize-10's asymmetric.
    """
    if node.node.op_type != "Resize" or node.opset < 11 or set(node.attributes) & SINCE_11:
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
    return Fault(LOST_ASYMMETRIC, because, fix, Change(node.rewritten(put=put)), keeps_numbers=False)


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
                straight = NodeProto()
                straight.CopyFrom(link)
                for place, source in enumerate(link.input):
                    straight.input[place] = _before_quantising(node, source)
                if straight != link:
                    others[index] = straight
    if not others and changed == node.node:
        return None
    because = Diagnostic("faults.extent-quantised")
    fix = Diagnostic("faults.extent-unquantised")
    return Fault(QUANTISED_EXTENT, because, fix, Change(changed, others=others, resized=True), keeps_numbers=False)


def _before_quantising(node: ResizeNode, name: str) -> str:
    """The tensor that a DequantizeLinear of a QuantizeLinear stands for; any other name as it is."""
    made = node.definition(name)
    if made is None or made.node is None or made.node.op_type != "DequantizeLinear":
        return name
    source = node.definition(made.node.input[0])
    if source is None or source.node is None or source.node.op_type != "QuantizeLinear":
        return name
    return _before_quantising(node, source.node.input[0])


def duplicate_output(node: ResizeNode, _: Preferences) -> Fault | None:
    """Names written by several nodes: a converter that names its Casts after nodes without a name.

    Where each name has as many readers as writers, the k-th writer and the k-th reader belong together.
    """
    body = node.scope.body
    if not node.scope.disputed:
        return None
    own = {name for name in (*node.node.input, *node.node.output) if name} | _behind_its_inputs(node)
    casts = {out for link in body.node if link.op_type == "Cast" for out in link.output}
    written = Counter(name for link in body.node for name in link.output if name)
    double = {name for name, count in written.items() if count > 1}
    if not own & double:
        return None
    because = Diagnostic("faults.output-twice", name=min(own & double))
    outside = {value if isinstance(value, str) else value.name for value in body.output}
    others: dict[int, NodeProto] = {}
    stored: dict[str, int] = {}
    for name in sorted(double):
        writers = [index for index, link in enumerate(body.node) if name in link.output]
        readers = [index for index, link in enumerate(body.node) for read in link.input if read == name]
        alike = all(body.node[index] == body.node[writers[0]] for index in writers)
        near = all(name in casts or is_resize(body.node[index]) for index in writers)
        paired = len(writers) == len(readers) and name not in outside
        if not near or not (paired or alike):
            return Fault(DUPLICATE_OUTPUT, because, Diagnostic("faults.readers-unpaired"), stops_loading=True)
        for place, writer in enumerate(writers[1:], start=1):
            fresh = node.names.fresh(name)
            _rename(others, body.node, writer, "output", name, fresh)
            if paired:
                _rename(others, body.node, readers[place], "input", name, fresh)
            found = node.stored_type(name)
            if found is not None:
                stored[fresh] = found
    names = Counter(link.name for link in body.node if link.name)
    for index, link in sorted(others.items()):
        if names[link.name] > 1 and link.op_type == "Cast":
            link.name = node.names.fresh(link.name)
        others[index] = link
    fix = Diagnostic("faults.writers-renamed")
    return Fault(DUPLICATE_OUTPUT, because, fix, Change(others=others), stops_loading=True)


def _behind_its_inputs(node: ResizeNode) -> set[str]:
    """What the arithmetic of its operands reads, and what a Cast before the node does."""
    found = {source for name in node.node.input[1:] if name for _, link in node.chain(name) for source in link.input}
    for name in node.node.input[:1]:
        made = node.definition(name)
        if made is not None and made.node is not None and made.node.op_type == "Cast":
            found |= set(made.node.input)
    return found


def _rename(others: dict[int, NodeProto], nodes: object, index: int, side: str, old: str, new: str) -> None:
    if index not in others:
        others[index] = NodeProto()
        others[index].CopyFrom(nodes[index])  # type: ignore[index]
    names = getattr(others[index], side)
    for place, name in enumerate(names):
        if name == old:
            names[place] = new

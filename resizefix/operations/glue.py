"""The few nodes between a new input and the operand it drives: the ones for the axes that stay, joined with the input.

Those of float inputs stand in the outermost scope, which every inner one sees; those that read the shape of the resized
tensor stand beside the node. They use only operators and forms that exist since opset 7 (Constant with `value`, Concat,
Gather, Cast, Shape, Mul, Div).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from onnx import NodeProto, TensorProto, helper, numpy_helper

from resizefix.document.names import FreshNames
from resizefix.promotion import Driven, Form
from resizefix.scope_path import ScopePath


class Place(NamedTuple):
    """Before which node new ones must stand: the scope's path and the position in it."""

    path: ScopePath
    position: int


class Glue:
    """Collects nodes by the place where they must stand; equal ones are made once."""

    def __init__(self, names: FreshNames) -> None:
        self._names = names
        self._made: dict[tuple[object, ...], str] = {}
        self.nodes: dict[Place, list[NodeProto]] = {}

    def operand(self, source: str, driven: Driven, place: Place) -> str:
        """The tensor that the site reads when the input `source` is fed: `source` itself where it holds every entry."""
        everything = driven.entries == tuple(range(len(driven.base)))
        direct = everything and (driven.form is not Form.FACTOR or len(driven.base) == 1)
        if direct and driven.denominator is None:
            return source
        key = (source, driven.form, driven.entries, len(driven.base), place.path)
        if key not in self._made:
            if driven.denominator is not None:  # whole numbers, fed as the scales of a node without sizes
                source = self._node("Cast", [source], f"{source}_float", place, to=TensorProto.FLOAT)
            self._made[key] = source if direct else self._join(source, driven, place, np.ones(1, np.float32))
        return self._made[key]

    def sizes(self, source: str, driven: Driven, here: Place) -> str:
        """The sizes that are the resized tensor's shape times what `source` is fed, over the denominator.

        TensorRT wants it so: Shape × numerator ÷ denominator in int64 is accepted and built, float quotients are not.
        """
        denominator = np.full(1, driven.denominator, np.int64)
        shape = self._node("Shape", [driven.input], f"{source}_shape", here)
        if driven.axes is not None:
            axes = self._constant(f"{source}_axes", np.array(driven.axes, np.int64), here)
            shape = self._node("Gather", [shape, axes], f"{source}_lengths", here, axis=0)
        everything = driven.form is Form.SPATIAL and driven.entries == tuple(range(len(driven.base)))
        factors = source if everything else self._join(source, driven, here, denominator)
        sizes = self._node("Mul", [shape, factors], f"{source}_sizes", here)
        if driven.denominator == 1:
            return sizes
        divisor = self._constant(f"{source}_denominator", denominator, here)
        return self._node("Div", [sizes, divisor], f"{source}_quotient", here)

    def empty_scales(self, place: Place) -> str:
        """The empty tensor that Resize-11 wants as `scales` where `sizes` are given."""
        key = ("no scales", place.path)
        if key not in self._made:
            self._made[key] = self._constant("no_scales", np.zeros(0, np.float32), place)
        return self._made[key]

    def _join(self, source: str, driven: Driven, place: Place, one: npt.NDArray[np.generic]) -> str:
        first, last = driven.entries[0], driven.entries[-1]
        contiguous = driven.entries == tuple(range(first, last + 1))
        if driven.form is Form.SPATIAL and not contiguous:
            stay = self._constant(f"{source}_one", one, place)
            choices = self._node("Concat", [stay, source], f"{source}_choices", place, axis=0)
            index = [driven.entries.index(k) + 1 if k in driven.entries else 0 for k in range(len(driven.base))]
            indices = self._constant(f"{source}_indices", np.array(index, np.int64), place)
            return self._node("Gather", [choices, indices], f"{source}_vector", place, axis=0)
        parts: list[str] = []
        position = 0
        while position < len(driven.base):
            if position not in driven.entries:
                count = next((k for k in driven.entries if k > position), len(driven.base)) - position
                parts.append(self._constant(f"{source}_ones", one.repeat(count), place))
                position += count
            else:
                parts.append(source)
                position += 1 if driven.form is Form.FACTOR else len(driven.entries)
        return self._node("Concat", parts, f"{source}_vector", place, axis=0)

    def _constant(self, wanted: str, value: npt.NDArray[np.generic], place: Place) -> str:
        output = self._names.fresh(wanted)
        tensor = numpy_helper.from_array(value, output)
        self._append(
            helper.make_node("Constant", [], [output], name=self._names.fresh(f"{output}_Constant"), value=tensor),
            place,
        )
        return output

    def _node(self, op_type: str, inputs: Sequence[str], wanted: str, place: Place, **attributes: int) -> str:
        output = self._names.fresh(wanted)
        node = helper.make_node(op_type, inputs, [output], name=self._names.fresh(f"{output}_{op_type}"))
        node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
        self._append(node, place)
        return output

    def _append(self, node: NodeProto, place: Place) -> None:
        self.nodes.setdefault(place, []).append(node)

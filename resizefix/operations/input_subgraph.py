"""The few nodes between a new input and the operand it drives: the ones for the axes that stay, joined with the input.

Those of float inputs stand in the outermost scope, which every inner one sees; those that read the shape of the resized
tensor stand beside the node. They use only operators and forms that exist since opset 7 (Constant with `value`, Concat,
Gather, Cast, Shape, Mul, Div).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from onnx import NodeProto, TensorProto

from resizefix.document.node_builder import FreshNames, NodeBuilder
from resizefix.promotion import Form, InputBinding
from resizefix.scope_path import ScopePath


class Place(NamedTuple):
    """Before which node new ones must stand: the scope's path and the position in it."""

    path: ScopePath
    position: int


class InputSubgraph:
    """Collects nodes by the place where they must stand; equal ones are made once."""

    def __init__(self, names: FreshNames) -> None:
        self._names = names
        self._made: dict[tuple[object, ...], str] = {}
        self._builders: dict[Place, NodeBuilder] = {}

    @property
    def nodes(self) -> dict[Place, list[NodeProto]]:
        """The new nodes of each place, in order."""
        return {place: builder.nodes for place, builder in self._builders.items()}

    def operand(self, source: str, driven: InputBinding, place: Place) -> str:
        """The tensor that the site reads when the input `source` is fed: `source` itself where it holds every entry."""
        everything = driven.entries == tuple(range(len(driven.base)))
        direct = everything and (driven.form is not Form.FACTOR or len(driven.base) == 1)
        if direct and driven.denominator is None:
            return source
        key = (source, driven.form, driven.entries, len(driven.base), place.path)
        if key not in self._made:
            if driven.denominator is not None:  # whole numbers, fed as the scales of a node without sizes
                source = self._at(place).add("Cast", source, wanted=f"{source}_float", to=TensorProto.FLOAT)
            self._made[key] = source if direct else self._join(source, driven, place, np.ones(1, np.float32))
        return self._made[key]

    def sizes(self, source: str, driven: InputBinding, here: Place) -> str:
        """The sizes that are the resized tensor's shape times what `source` is fed, over the denominator.

        TensorRT wants it so: Shape × numerator ÷ denominator in int64 is accepted and built, float quotients are not.
        """
        denominator, builder = np.full(1, driven.denominator, np.int64), self._at(here)
        shape = builder.add("Shape", driven.input, wanted=f"{source}_shape")
        if driven.axes is not None:
            axes = builder.constant_node(np.array(driven.axes, np.int64), f"{source}_axes")
            shape = builder.add("Gather", shape, axes, wanted=f"{source}_lengths", axis=0)
        everything = driven.form is Form.SPATIAL and driven.entries == tuple(range(len(driven.base)))
        factors = source if everything else self._join(source, driven, here, denominator)
        sizes = builder.add("Mul", shape, factors, wanted=f"{source}_sizes")
        if driven.denominator == 1:
            return sizes
        divisor = builder.constant_node(denominator, f"{source}_denominator")
        return builder.add("Div", sizes, divisor, wanted=f"{source}_quotient")

    def empty_scales(self, place: Place) -> str:
        """The empty tensor that Resize-11 wants as `scales` where `sizes` are given."""
        key = ("no scales", place.path)
        if key not in self._made:
            self._made[key] = self._at(place).constant_node(np.zeros(0, np.float32), "no_scales")
        return self._made[key]

    def _join(self, source: str, driven: InputBinding, place: Place, one: npt.NDArray[np.generic]) -> str:
        builder, entries = self._at(place), driven.entries
        if driven.form is Form.SPATIAL and entries != tuple(range(entries[0], entries[-1] + 1)):
            stay = builder.constant_node(one, f"{source}_one")
            choices = builder.add("Concat", stay, source, wanted=f"{source}_choices", axis=0)
            index = [entries.index(k) + 1 if k in entries else 0 for k in range(len(driven.base))]
            indices = builder.constant_node(np.array(index, np.int64), f"{source}_indices")
            return builder.add("Gather", choices, indices, wanted=f"{source}_vector", axis=0)
        parts: list[str] = []
        position = 0
        while position < len(driven.base):
            if position not in entries:
                count = next((k for k in entries if k > position), len(driven.base)) - position
                parts.append(builder.constant_node(one.repeat(count), f"{source}_ones"))
                position += count
            else:
                parts.append(source)
                position += 1 if driven.form is Form.FACTOR else len(entries)
        return builder.add("Concat", *parts, wanted=f"{source}_vector", axis=0)

    def _at(self, place: Place) -> NodeBuilder:
        fresh = self._names.fresh
        return self._builders.setdefault(
            place, NodeBuilder(fresh, 7, "", lambda op_type, output: fresh(f"{output}_{op_type}"))
        )

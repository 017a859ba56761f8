"""Any size: every constant that follows the input is computed when the model runs, with as few nodes as possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from onnx import NodeProto, helper

from resizefix.document.document import Document
from resizefix.document.edits import (
    FreshNames,
    NodeBuilder,
    add_initializer,
    insert_nodes,
    remove_attribute,
    remove_unread,
    set_input,
)
from resizefix.document.scopes import names_in
from resizefix.document.text import node_text
from resizefix.document.values import Dims, rename_symbols
from resizefix.input_sizes.boxes import ask_for_centres
from resizefix.input_sizes.following import Following
from resizefix.input_sizes.operands import Place
from resizefix.input_sizes.refusal import refuse
from resizefix.input_sizes.writing.fixed import Resized, names_of_open, set_inputs
from resizefix.input_sizes.writing.size_nodes import Samples, SizeNodes
from resizefix.input_sizes.writing.table_nodes import TableNodes
from resizefix.outcome import Outcome, Status
from resizefix.scope_path import MAIN, Key
from resizefix.shapes.expression import Dim
from resizefix.shapes.operand import attribute_of
from resizefix.shapes.output_size import windows
from resizefix.shapes.reading import COMPUTED, ResizeUse
from resizefix.shapes.stored_shapes import rederive

_WHOLE = {"AveragePool": "ReduceMean", "MaxPool": "ReduceMax"}
_AXES_AS_OPERAND = 18


def made_dynamic(document: Document, found: Following) -> Resized:
    """A copy of the model for inputs of any size. Raises SizeRefusedError where an attribute would have to follow."""
    return _Dynamic(document, found).run()


class _Dynamic:
    def __init__(self, document: Document, found: Following) -> None:
        self.found, self.flow = found, found.flow
        self.made = document.copy()
        self.graph = self.made.proto.graph
        self.names = FreshNames(names_in(self.made.proto))
        self.samples = Samples(found)
        self.builder = NodeBuilder(self.names.fresh, self.flow.operands.opset, "")
        self.sizes = SizeNodes(found, self.builder, self.samples)
        self.unread: list[Key] = []
        self.before: dict[int, str] = {}
        self.after: dict[int, tuple[NodeProto, ...]] = {}
        self.exact = True
        for _, dim, most in self.flow.limits:
            lengths = self.samples.of(dim)
            if lengths is not None and (lengths.max() > most or lengths.min() < 0):
                raise refuse(_, "origins.input-size-pad-side", amount=int(lengths.max()))
        for label, _, stride, _ in self.flow.centres:
            raise ask_for_centres(label, stride)

    def run(self) -> Resized:
        resizes = {use.node: use for use in self.flow.resizes}
        for image in self.flow.images:
            self.sizes.know(image.name, self.flow.dims[image.name])
        inserted: list[tuple[int, list[NodeProto]]] = []
        for index, node in enumerate(self.graph.node):
            old = node_text(node)
            self._step(index, node, resizes.get(index))
            if self.builder.nodes or node_text(node) != old:
                self.before[index] = old
                self.after[index] = (*self.builder.nodes, node)
                inserted.append((index, list(self.builder.nodes)))
                self.builder.nodes.clear()
            for name in node.output:
                self.sizes.know(name, self.flow.dims.get(name))
        texts = {index: tuple(node_text(node) for node in nodes) for index, nodes in self.after.items()}
        for index, nodes in reversed(inserted):
            insert_nodes(self.graph, index, nodes)
        for tensor in self.builder.initializers:
            add_initializer(self.made.proto, tensor)
        remove_unread(self.made.proto, self.unread)
        symbols = self._symbols()
        set_inputs(self.made, self.found, symbols)
        rederive(self.made.proto, self._shapes(symbols))
        self._name_symbols(symbols)
        outcomes = tuple(
            Outcome(index, self.flow.labels[index], Status.CHANGED, None, text, texts[index], exact=self.exact)
            for index, text in self.before.items()
        )
        return Resized(self.made, outcomes, frozenset(self.before), exact=self.exact)

    def _symbols(self) -> dict[str, str]:
        taken = {d.dim_param for v in [*self.graph.input, *self.graph.output, *self.graph.value_info]
                 for d in v.type.tensor_type.shape.dim}  # fmt: skip
        names = FreshNames(taken)
        return {name: names.fresh(name) for name in self.found.sizes.symbols}

    def _name_symbols(self, symbols: Mapping[str, str]) -> None:
        """Shapes that were derived again have symbols of their own."""
        image = self.flow.images[0]
        value = next(value for value in self.graph.input if value.name == image.name)
        derived = [dim.dim_param for dim in value.type.tensor_type.shape.dim]
        rename_symbols(self.made.proto, {derived[image.axes[name]]: wanted for name, wanted in symbols.items()})
        set_inputs(self.made, self.found, symbols)

    def _shapes(self, symbols: Mapping[str, str]) -> dict[Key, Dims | None]:
        shapes: dict[Key, Dims | None] = {}
        names = names_of_open(self.found)
        for name, dims in self.flow.dims.items():
            if dims is None:
                continue
            found = [self.found.sizes.resolve(dim) for dim in dims]
            if all(dim.kind == "const" for dim in found):
                continue
            shapes[MAIN, name] = tuple(
                symbols[str(dim.data)] if dim.kind == "symbol" else names.get(dim, self.samples.number(dim))
                for dim in found
            )
        return shapes

    def _step(self, index: int, node: NodeProto, resize: ResizeUse | None) -> None:
        label = self.flow.labels[index]
        self._attributes(index, node)
        if resize is not None and self._resize(resize, node):
            return
        for position in range(len(node.input)):
            place = Place(index, position)
            name = self._operand(place, node, label)
            if name is not None:
                self.unread.append((MAIN, node.input[position]))
                set_input(node, position, name)

    def _operand(self, place: Place, node: NodeProto, label: str) -> str | None:
        tables = TableNodes(self.found, self.builder, self.sizes, self.samples, label)
        if place in self.found.tables:
            self.exact = self.exact and place.node not in self.found.approximate
            return tables.table(self.found.tables[place])
        if place in self.found.scalars:
            return tables.scalar(self.found.scalars[place])
        use = self.flow.operands.lists.get(place)
        if use is None or all(dim is None or self.samples.number(dim) is not None for dim in use.dims):
            return None
        dims = [
            self.found.sizes.const(int(value)) if dim is None else dim
            for dim, value in zip(use.dims, use.array.flat, strict=True)
        ]
        if place.position == 1 and node.op_type == "Reshape":
            return self._shape(place, node, dims, label)
        made = self.sizes.vector(dims, label)
        if use.array.dtype != np.int64:
            made = self.builder.as_type(made, use.array.dtype)
        return self.builder.reshape(made, []) if use.array.ndim == 0 else made

    def _shape(self, place: Place, node: NodeProto, dims: list[Dim], label: str) -> str:
        """The sizes of a Reshape: numbers, 0 for a size that stays in its place and -1 for one more, if that does."""
        source = self.flow.dims_of(Place(place.node, 0), node.input[0]) or ()
        listed: list[int] = []
        open_axes: list[int] = []
        zero = False
        for axis, dim in enumerate(dims):
            number = self.samples.number(dim)
            if number is None and axis < len(source) and self._equal(dim, source[axis]):
                listed.append(0)
                zero = True
            else:
                listed.append(-1 if number is None else number)
                open_axes += [axis] if number is None or number == -1 else []
        if len(open_axes) > 1:
            return self.sizes.vector(dims, label)
        if zero and len([value for value in listed if value == 0]) == 1 and not open_axes:
            listed[listed.index(0)] = -1
            zero = False
        if zero:
            remove_attribute(node, "allowzero")
        return self.builder.value(listed, f"{node.input[1]}_any", np.int64)

    def _equal(self, one: Dim, other: Dim) -> bool:
        left, right = self.samples.of(one), self.samples.of(other)
        return left is not None and right is not None and bool(np.array_equal(left, right))

    def _attributes(self, index: int, node: NodeProto) -> None:
        uses = {use: dim for use, dim in self.flow.attributes.items() if use.node == index}
        if all(self.samples.number(dim) is not None for dim in uses.values()):
            return
        if {use.name for use in uses} == {"pads"} and node.op_type != "Pad":
            kept = [attribute for attribute in node.attribute if attribute.name not in ("pads", "auto_pad")]
            del node.attribute[:]
            node.attribute.extend([*kept, helper.make_attribute("auto_pad", "SAME_UPPER")])
            return
        dims = self.flow.dims_of(Place(index, 0), node.input[0]) or ()
        if {use.name for use in uses} == {"output_shape"}:  # the sizes that the strides make anyway
            remove_attribute(node, "output_shape")
            self._pad_output(node, dims[2:])
            return
        kernel = {use.axis: dim for use, dim in uses.items() if use.name == "kernel_shape"}
        pads = windows(partial(attribute_of, node), len(dims) - 2).pads
        ends = zip(pads[: len(dims) - 2], pads[len(dims) - 2 :], strict=True)
        wholes = [self.flow.sizes.plus(dim, sum(end)) for dim, end in zip(dims[2:], ends, strict=True)]
        whole = [axis for axis, dim in enumerate(wholes) if axis in kernel and self._equal(kernel[axis], dim)]
        maker = _WHOLE.get(node.op_type)
        if maker is None or len(whole) != len(kernel) or len(node.output) != 1:
            raise refuse(self.flow.labels[index], "origins.input-size-attribute", name=next(iter(uses)).name)
        del node.attribute[:]
        if len(whole) == len(dims) - 2:
            node.op_type = f"Global{node.op_type}"
        else:
            node.op_type = maker
            self._reduce(node, [2 + axis for axis in whole])
        self.exact = self.exact and maker == "ReduceMax"

    def _pad_output(self, node: NodeProto, dims: Sequence[Dim]) -> None:
        """Let a ConvTranspose make what it listed: so many samples more than its windows reach."""
        kernel, moves = self.flow.operands.shape_of(node.input[1])[2:], windows(partial(attribute_of, node), len(dims))
        more = [
            (made.old or 0) - ((dim.old or 0) - 1) * moves.strides[axis] - moves.extent(axis, kernel[axis])
            for axis, (made, dim) in enumerate(zip((self.flow.dims[node.output[0]] or ())[2:], dims, strict=True))
        ]
        if any(more):
            remove_attribute(node, "output_padding")
            node.attribute.append(helper.make_attribute("output_padding", more))

    def _reduce(self, node: NodeProto, axes: list[int]) -> None:
        """The axes of a reduction: an operand since opset 18."""
        if self.flow.operands.opset >= _AXES_AS_OPERAND:
            node.input.append(self.builder.value(axes, "axes", np.int64))
        else:
            node.attribute.append(helper.make_attribute("axes", axes))

    def _resize(self, use: ResizeUse, node: NodeProto) -> bool:
        """Sizes as scales, where a whole factor says the same; scales as sizes. Whether the operand is done with."""
        if use.position == COMPUTED or all(
            self.samples.number(after) is not None and not use.is_scale for _, _, after in use.axes
        ):
            return False
        if use.position is None:
            raise refuse(use.label, "origins.input-size-attribute", name="scales")
        if use.is_scale:
            return self._scales_as_sizes(use, node)
        factors = {axis: self._factor(before, after) for axis, before, after in use.axes}
        if any(factor is None for factor in factors.values()):
            return False
        scales = [float(factors.get(axis) or 1) for axis in use.listed]
        self.unread.append((MAIN, node.input[use.position]))
        set_input(node, 2, self.builder.value(scales, f"{node.output[0]}_scales", np.float32))
        set_input(node, 3, "")
        return True

    def _factor(self, before: Dim, after: Dim) -> int | None:
        small, large = self.samples.of(before), self.samples.of(after)
        if small is None or large is None or not np.all(small > 0):
            return None
        factor = int(large[0] // small[0])
        return factor if factor >= 1 and np.array_equal(large, small * factor) else None

    def _scales_as_sizes(self, use: ResizeUse, node: NodeProto) -> bool:
        candidates = [self.flow.solver.candidates.get(after) for _, _, after in use.axes]
        stays = all(
            kept and self._equal(kept[0], after) for kept, (_, _, after) in zip(candidates, use.axes, strict=True)
        )
        if stays:
            return True
        dims = self.flow.dims.get(node.output[0])
        source = self.flow.dims_of(Place(use.node, 0), node.input[0])
        assert dims is not None
        assert source is not None
        assert use.position is not None
        if node.op_type != "Resize" or self.flow.operands.opset < 11:
            large, small = (
                self.builder.as_type(self.sizes.vector([of[axis] for axis in use.listed], use.label), np.float32)
                for of in (dims, source)
            )
            self.unread.append((MAIN, node.input[use.position]))
            set_input(node, use.position, self.builder.add("Div", large, small, wanted="scales"))
            return True
        sizes = self.sizes.vector([dims[axis] for axis in use.listed], use.label)
        self.unread.append((MAIN, node.input[2]))
        # Before opset 13 the scales may be empty, but not left out.
        set_input(node, 2, "" if self.flow.operands.opset >= 13 else self.builder.value([], "no_scales", np.float32))
        set_input(node, 3, sizes)
        return True

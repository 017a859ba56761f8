"""The walk through a static model: every size as a function of the input's, every constant by what it follows."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from onnx import GraphProto, NodeProto, numpy_helper

from resizefix.document.scopes import DEFAULT_DOMAINS, node_label, reads
from resizefix.input_sizes.conventions import against, sentence_of
from resizefix.input_sizes.node_reading import NodeReading
from resizefix.input_sizes.operands import Place, SizedOperands
from resizefix.input_sizes.refusal import FOLLOW, KEEP, Assumed, Choices, args_of, asked, refuse
from resizefix.input_sizes.solver import Solver
from resizefix.input_sizes.tables import may_be_grid
from resizefix.scope_path import MAIN
from resizefix.shapes.expression import Dim
from resizefix.shapes.image_axes import ImageInput
from resizefix.shapes.operand import MISFITS, attribute_of, value_of_node
from resizefix.shapes.reading import DimList, MisfitError, Notes, UnknownRankError, axis_of
from resizefix.shapes.sizes import Sizes
from resizefix.shapes.stored_shapes import ModelView
from resizefix.shapes.table import OPERATORS, why_incomplete

_DOMAINS = (*DEFAULT_DOMAINS, "com.microsoft")
_BY_LISTS = frozenset({"Resize", "Upsample", "Reshape", "Expand", "Tile", "ConstantOfShape", "Range"})
MOST_IN_A_TABLE = 1 << 24
# torch writes a Pad in front of an average pool (before 2.0) and of the Gather nodes of unfold, whatever it pads.
_PADDED_AHEAD = frozenset({"AveragePool", "Gather"})


class PadUse(NamedTuple):
    """An axis that a node pads by numbers of the file: the size before and after it, and the two amounts."""

    node: str
    dim: Dim
    before: Dim
    after: Dim
    made: Dim
    is_written: bool
    """Whether an exporter writes such a node in front of what reads it, also where it pads nothing."""

    @property
    def total(self) -> int:
        """How much it pads in the file."""
        return (self.before.old or 0) + (self.after.old or 0)


class RemainderRule(NamedTuple):
    """Amounts that could be those that a window wants at the old size: at a size that leaves the same remainder by the
    window's `step` they are the same in any case. `uneven`: the file pads by one more behind."""

    node: str
    dim: Dim
    step: int
    uneven: bool = False


class Flow(Notes):
    """Sizes of all tensors of the main graph, and the constants among its operands that may follow the input."""

    def __init__(
        self, view: ModelView, images: list[ImageInput], symbols: dict[str, int], choices: Choices, tied: bool
    ) -> None:
        super().__init__()
        self.view, self.images, self.choices = view, images, choices
        self.assumed: list[Assumed] = []
        """The uses of conventions."""
        self.conventional: set[str] = set()
        """The nodes about which a convention decided."""
        self.sizes = Sizes(symbols, tied=tied)
        self.solver = Solver(self.sizes)
        self.operands = SizedOperands(view, self.sizes, keep_overridable=choices.keeps_overridable)
        self.dims: dict[str, DimList | None] = {}
        self.pads: list[PadUse] = []
        self.limits: list[tuple[str, Dim, int]] = []
        self.remainders: list[RemainderRule] = []
        self.readings: list[tuple[str, Dim, Dim]] = []
        """Nodes whose size follows the input, or the map that is resized: only where both are equal is it known."""
        self.wished: list[tuple[str, Dim, Dim]] = []
        """Nodes that make the first size, where the second may have been wished: they must be equal."""
        self.centres: list[tuple[str, Dim, float, Dim]] = []
        """Tables of centres of so many cells of so many pixels of a side, made for sizes that these divide."""
        self.adaptive: set[int] = set()
        self.kept: set[tuple[str, int]] = set()
        """The axes of resizes, by the node's label, whose size stays since nothing says that it follows."""
        self.nodes = view.model.graph.node
        self.labels = [node_label(node, index) for index, node in enumerate(self.nodes)]
        self._moving: set[str] = set()

    def walk(self) -> None:
        """Follow the sizes from the inputs to the outputs. Raises SizeRefusedError."""
        self._enter()
        for index, node in enumerate(self.nodes):
            self._require_valid(index, node)
            if node.output and self.operands.is_constant(node.output[0]):
                continue
            try:
                self._step(index, node)
            except MISFITS as error:
                label = self.labels[index]
                raise refuse(label, "origins.input-size-misfit-node", operator=node.op_type) from error
        self.solver.settle()

    def _require_valid(self, index: int, node: NodeProto) -> None:
        """Raises SizeRefusedError also where nothing follows the input: every pass looks at all nodes."""
        why, main = why_incomplete(node, self.operands.opset), self.view.scopes.main
        if why is not None:
            raise refuse(self.labels[index], "origins.input-size-incomplete", why=why)
        for name in node.output:
            if not main.makes_alone(name):
                raise refuse(self.labels[index], "origins.input-size-made-twice", name=name)

    def keeps(self, label: str) -> bool:
        """Whether the user has said that the numbers of a node stay as they are."""
        return self.choices.of(label) == "keep"

    def assume(
        self, label: str, convention: str, *, reading: str = FOLLOW, others: Sequence[str] = (KEEP,), **said: object
    ) -> None:
        """A use of a convention at a node, which takes `reading`; `others` are those that it decides against.

        Nothing is assumed where the user has chosen. Raises SizeRefusedError where conventions may not decide.
        """
        self.conventional.add(label)
        if self.choices.of(label) is not None or label in self.choices.proven:
            return
        meaning = sentence_of(convention, label=label, **said)
        if not self.choices.assumes:
            readings = {reading: meaning, **{other: against(other) for other in others}}
            raise asked(label, None, "origins.input-size-convention", readings, convention=convention)
        ways = [args_of(label, other) for other in others] or [()]
        uses = [Assumed(label, convention, meaning, args) for args in ways]
        self.assumed += [use for use in uses if use not in self.assumed]

    def is_open(self, dim: Dim) -> bool:
        """Whether nothing has decided what an unknown is."""
        return self.sizes.resolve(dim).kind == "var"

    def bind(self, dim: Dim, to: Dim) -> None:
        """Decide what an unknown is; one that is known stays."""
        unknown = self.sizes.resolve(dim)
        if unknown.kind == "var":
            self.solver.bind(unknown, to)

    def dims_of(self, place: Place, name: str) -> DimList | None:
        """The sizes of what a node reads; None where nothing is known of them."""
        if self.operands.is_constant(name):
            known = place in self.operands.tables
            dims = self.operands.table(place, name).dims
            if not known:
                for axis, dim in enumerate(dims):
                    if dim.kind == "var":
                        self.solver.may_follow[dim] = partial(self._may_follow, place, name, axis)
            return dims
        return self.dims.get(name)

    def _may_follow(self, place: Place, name: str, axis: int, lengths: tuple[int, ...]) -> bool:
        if self.choices.interpolate and self.nodes[place.node].op_type == "Add":
            return True
        array = self.operands.array(name)
        return array is not None and array.size <= MOST_IN_A_TABLE and may_be_grid(array, axis, lengths)

    def padded(self, n: NodeReading, dim: Dim, before: Dim, after: Dim) -> Dim:
        """The size of a padded axis: amounts that are numbers may follow from the size they lead to."""
        if before.old is None or after.old is None or dim.old is None:
            return self.sizes.opaque()
        if all(self.sizes.resolve(amount) is self.sizes.const(0) for amount in (before, after)):
            return dim
        for unknown in dict.fromkeys([*self.sizes.unknowns(before), *self.sizes.unknowns(after)]):
            if unknown not in (before, after):
                self.solver.bind(unknown, self._of_amount(n, unknown, dim))
        if any(map(self.sizes.varies, (before, after))):
            for amount in (before, after):  # the other one is computed of the size
                self.bind(amount, self.sizes.const(amount.old or 0))
        if self.sizes.fixed(dim) is not None or not (self.is_open(before) or self.is_open(after)):
            return self.sizes.total([before, dim, after])
        made = self.sizes.var(before.old + dim.old + after.old)
        self.solver.candidates[made] = [self.sizes.plus(dim, before.old + after.old)]
        ahead = {reader.op_type for reader in self.operands.readers(n.node.output[0])}
        self.pads.append(PadUse(n.label, dim, before, after, made, bool(ahead) and ahead <= _PADDED_AHEAD))
        return made

    def _of_amount(self, n: NodeReading, unknown: Dim, dim: Dim) -> Dim:
        """What a number is that amounts are computed of: one equal to the size that is padded is that size.

        One that this size is subtracted from is how long it becomes, as a canvas does, or follows it, as torch writes
        what "SAME" wants. Raises SizeRefusedError until the user says which.
        """
        sizes = self.sizes
        if unknown.old == dim.old and sizes.varies(dim):
            return dim
        label = self._reduced_by(unknown, dim) if sizes.varies(dim) else None
        said = None if label is None else self.choices.of(label)
        if label is None or said == KEEP:
            return sizes.const(unknown.old or 0)
        if said is None:
            meanings = {FOLLOW: against(FOLLOW), KEEP: against(KEEP)}
            raise asked(label, unknown.old, "origins.input-size-number", meanings, value=unknown.old)
        strides = [attribute_of(node, "strides") or [1] for node in self.operands.readers(n.node.output[0])]
        self.remainders.append(RemainderRule(label, dim, max((max(each) for each in strides), default=1)))
        return sizes.plus(dim, (unknown.old or 0) - (dim.old or 0))

    def _reduced_by(self, unknown: Dim, dim: Dim) -> str | None:
        """The Sub node, if any, that takes a size from a number of the file."""
        for place, use in self.operands.lists.items():
            node = self.nodes[place.node]
            held = (self.sizes.resolve(one) for one in use.dims if one is not None)
            if node.op_type == "Sub" and place.position == 0 and any(one is unknown for one in held):
                other = self.operands.known(Place(place.node, 1), node.input[1])
                if other is not None and dim in [self.operands.dim(one) for one in other.elements.flat]:
                    return self.labels[place.node]
        return None

    def moving_sizes(self) -> set[Dim]:
        """Every size of a tensor that follows the input."""
        return {self.sizes.resolve(dim) for dims in self.dims.values() for dim in dims or () if self.sizes.varies(dim)}

    def makers(self) -> Iterator[tuple[Dim, str]]:
        """Every size that follows the input, with the node that makes the tensor, or the input."""
        seen: set[Dim] = set()
        made = [(image.name, image.name) for image in self.images]
        made += [(name, self.labels[index]) for index, node in enumerate(self.nodes) for name in node.output]
        for name, label in made:
            for dim in self.dims.get(name) or ():
                found = self.sizes.resolve(dim)
                if found not in seen and found.kind != "const":
                    seen.add(found)
                    yield found, label

    def is_filled(self, name: str) -> bool:
        """Whether every sample of a tensor is the same number other than 0."""
        maker = self.operands.maker(name)
        if maker is None or maker.op_type != "ConstantOfShape":
            return False
        value = attribute_of(maker, "value")
        return value is not None and bool(np.all(numpy_helper.to_array(value) != 0))

    def is_moving(self, name: str) -> bool:
        """Whether a tensor is computed from an image, so far as the walk has come."""
        return name in self._moving

    def is_read(self, name: str) -> bool:
        """Whether anything depends on a tensor."""
        return bool(self.view.scopes.readers_of((MAIN, name)))

    def _enter(self) -> None:
        names = {image.name: image for image in self.images}
        for value in self.view.model.graph.input:
            if value.name in self.operands.initializers:
                continue
            known = self.view.shapes.dims((MAIN, value.name))
            if known is None:
                self.dims[value.name] = None
                continue
            image = names.get(value.name)
            axes = {} if image is None else {axis: name for name, axis in image.axes.items()}
            self.dims[value.name] = tuple(
                self._side(image, axes[axis])
                if image is not None and axes.get(axis) in self.sizes.symbols
                else self._stated(False, size)
                for axis, size in enumerate(known)
            )
            if image is not None:
                self._moving.add(value.name)

    def _side(self, image: ImageInput, symbol: str) -> Dim:
        """An axis of an image that changes, as a share of the first one's."""
        share, whole = image.share(symbol), self.sizes.symbol(symbol)
        return self.sizes.quotient(
            self.sizes.product([whole, self.sizes.const(share.numerator)]), self.sizes.const(share.denominator)
        )

    def _step(self, index: int, node: NodeProto) -> None:
        follows = any(name in self._moving for name in node.input)
        if follows:
            self._moving.update(name for name in node.output if name)
        held = self.view.scopes.held.get((MAIN, index), [])
        if held or node.domain not in _DOMAINS:
            captured = {name for scope in held for name, _ in reads(scope)}
            if follows or captured & self._moving:
                self._branch(index, node)
            else:
                self.dims.update(zip(node.output, self._stored(node), strict=True))
            return
        n = NodeReading(self, index, node, self.labels[index])
        found = self._sized(n, follows)
        given = self.dims_of(Place(index, 0), node.input[0]) if node.input and node.input[0] else None
        self.operands.compute(index, node, given)
        for name in node.output:
            if name in self.operands.values:
                found = [tuple(self.sizes.const(size) for size in self.operands.values[name].shape)]
        for name, dims in zip(node.output, found, strict=False):
            self.dims[name] = dims
            for dim in dims or ():
                self.solver.note(dim)

    def _branch(self, index: int, node: NodeProto) -> None:
        """The sizes that an If gives whose branch is the same at every size. Raises SizeRefusedError."""
        branch = _taken(self.operands, index, node)
        inner = None if branch is None else _only_node(branch)
        dims = None if inner is None else self.dims.get(inner.input[0])
        made = _dims_after(self.operands, branch, inner, dims) if branch and inner and dims else None
        if made is None and node.domain not in _DOMAINS and self.view.scopes.called(node) is None:
            raise refuse(self.labels[index], "origins.input-size-operator", operator=node.op_type)
        if made is None:
            raise refuse(self.labels[index], "origins.input-size-body", operator=node.op_type)
        self._moving.update(node.output)
        self.dims[node.output[0]] = tuple(made)

    def _sized(self, n: NodeReading, follows: bool) -> list[DimList | None]:
        """The sizes of the outputs; unknown ones where nothing is known of an input."""
        node = n.node
        operator = OPERATORS.get(node.op_type)
        if operator is None:
            if not follows:
                return self._stored(node)
            known = self.operands.known(Place(n.index, 0), node.input[0]) if node.input and node.input[0] else None
            if known is not None:
                return [None] * len(node.output)
            raise refuse(n.label, "origins.input-size-operator", operator=node.op_type)
        try:
            return list(operator.sizes(n))
        except UnknownRankError as error:
            if not follows:
                return self._stored(node, node.op_type in _BY_LISTS)
            sized = all(self.dims.get(name) is not None for name in node.input if name in self._moving)
            if sized and not any(self._is_fed(name) for name in list(node.input)[1:]):
                misfits = isinstance(error, MisfitError)
                code = "origins.input-size-misfit-node" if misfits else "origins.input-size-operator"
                raise n.refuse(code, operator=node.op_type) from None
            return [None] * len(node.output)

    def _is_fed(self, name: str) -> bool:
        """Whether an operand depends on the values of an input of the model, and not on shapes alone."""
        pending, seen = [name], {name}
        while pending:
            current = pending.pop()
            node = self.operands.maker(current)
            if node is None and current and not self.operands.is_constant(current):
                return True
            if node is not None and node.op_type not in ("Shape", "Size"):
                pending += [read for read in node.input if read not in seen]
                seen.update(node.input)
        return False

    def _stored(self, node: NodeProto, by_list: bool = False) -> list[DimList | None]:
        """What the file says of outputs that do not follow the input; but a list of sizes that is not known may."""
        found = [self.view.shapes.dims((MAIN, name)) if name else None for name in node.output]
        return [None if dims is None else tuple(map(partial(self._stated, by_list), dims)) for dims in found]

    def _stated(self, by_list: bool, size: object) -> Dim:
        return self.sizes.const(size) if isinstance(size, int) and not by_list else self.sizes.opaque()


# An If whose condition is the same at every size of the input, as torch writes `squeeze(1)`.


def _taken(operands: SizedOperands, index: int, node: NodeProto) -> GraphProto | None:
    """The branch that an If takes at every size; None where that is not known."""
    known = operands.known(Place(index, 0), node.input[0]) if node.op_type == "If" and node.input else None
    if known is None or known.value is None or known.value.size != 1:
        return None
    wanted = "then_branch" if bool(known.value.flat[0]) else "else_branch"
    branch: GraphProto | None = attribute_of(node, wanted)
    return branch


def _only_node(branch: GraphProto) -> NodeProto | None:
    """The one node of a branch that gives its output, where all others are constants and none holds a size."""
    nodes = [node for node in branch.node if node.op_type != "Constant"]
    whole = len(nodes) == len(branch.output) == 1 and list(nodes[0].output) == [branch.output[0].name]
    return nodes[0] if whole and nodes[0].op_type in ("Squeeze", "Identity") else None


def _dims_after(operands: SizedOperands, branch: GraphProto, node: NodeProto, dims: DimList) -> list[Dim] | None:
    """The sizes that the node of a branch makes; None where its axes are no constants."""
    if node.op_type == "Identity":
        return list(dims)
    axes = _dropped_axes(operands, branch, node)
    if axes is None:
        return None
    gone = {axis_of(axis, len(dims)) for axis in axes}
    return [dim for axis, dim in enumerate(dims) if axis not in gone]


def _dropped_axes(operands: SizedOperands, branch: GraphProto, node: NodeProto) -> list[int] | None:
    written = attribute_of(node, "axes")
    if written is not None:
        return list(written)
    name = node.input[1] if len(node.input) > 1 else ""
    inner = next((constant for constant in branch.node if name in constant.output), None)
    if inner is not None:
        array = value_of_node(inner, operands.view.document)
    else:
        array = operands.array(name) if operands.is_constant(name) else None
    return None if array is None else [int(axis) for axis in np.ravel(array)]

"""Numbers as large as the image or the map that meet other values than positions: `exp(t) / W`, `flow / ((W - 1) / 2)`.

The file does not say whether such a number is a size. It is one where the same number has been found to follow the
input elsewhere in the model, or where it has no other use ((W - 1) / 2 = 31.5). Pixels that are scaled by
255 are no sizes. All else is refused with both readings, and the user's choice decides.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from fractions import Fraction
from functools import cached_property
from itertools import islice, pairwise
from math import prod

import numpy as np
from onnx import NodeProto

from resizefix.document.values import Array
from resizefix.input_sizes.conventions import against
from resizefix.input_sizes.flow import Flow
from resizefix.input_sizes.operands import Place
from resizefix.input_sizes.own_numbers import is_own, is_share_of_pixels
from resizefix.input_sizes.refusal import FOLLOW, KEEP, asked, refuse
from resizefix.input_sizes.scalar_use import USUAL, ScalarUse, alike, distinct, formula, in_turn, is_written, reading
from resizefix.input_sizes.taints import Taint
from resizefix.shapes.expression import Dim

SMALL = 4  # numbers up to here stand for themselves
_LONGEST_LIST = 8
_MOST_ORDERS = 8  # of sizes in a list that are offered
_MOST_BOXES = 64  # numbers: the sizes of half as many anchors
_LARGEST_BOX = 4  # times the image
_WHOLE = 1e-4
_DIVIDING = frozenset({"Div", "Mul", "Reciprocal"})
_SHIFTING = frozenset(
    {"Add", "Sum", "Sub", "Mod", "Min", "Max", "Clip", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"}
)
_ADDING = frozenset({"Add", "Sub", "Sum"})
_OF_PIXELS = (255.0, 127.5)
_TO_PIXELS = _DIVIDING | frozenset(
    {"Sub", "Add", "Clip", "Cast", "Transpose", "Identity", "Squeeze", "Unsqueeze", "Split", "Slice", "Concat"}
    | {"Gather", "Reshape", "QuantizeLinear", "DequantizeLinear"}
)


class PlainNumbers:
    """Collects the numbers in the order of the nodes, and decides when all others are known."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.sizes = flow.sizes
        self._pixels = {image.name for image in flow.images}
        self._suspects: dict[Place, tuple[str, tuple[ScalarUse, ...], bool]] = {}
        """Of each its node, what it may be, and whether it divides a sum over the map by how many were summed."""

    @property
    def pixels(self) -> frozenset[str]:
        """The tensors that hold pixels of the image, scaled or not."""
        return frozenset(self._pixels)

    @property
    def uncounted(self) -> set[Place]:
        """The numbers that divide no sum by how many were summed."""
        return {place for place, (*_, is_count) in self._suspects.items() if not is_count}

    def is_short_list(self, place: Place, name: str) -> bool:
        """Whether an operand is a few numbers that may be sizes, as [W, H, W, H]."""
        operands = self.flow.operands
        if not operands.is_constant(name) or place in operands.lists:
            return False
        count = int(np.prod(operands.shape_of(name), dtype=object))
        return 1 < count <= _LONGEST_LIST or (1 < count <= _MOST_BOXES and self._are_pixel_shares(operands.array(name)))

    def _are_pixel_shares(self, array: Array | None) -> bool:
        """Whether these are whole pixels over the image's height or width, or in turn over both: boxes of 10, 13."""
        if (
            array is None
            or array.dtype.kind != "f"
            or array.size < 2
            or np.any(array <= 0)
            or np.any(array >= _LARGEST_BOX)
        ):
            return False
        sides = [dim.old or 1 for dim in self.sizes.sides]
        both = [self.flow.images[0].old(name) or 1 for name in ("height", "width")]
        turns = [both, both[::-1]] if array.size % 2 == 0 else []
        for turn in [[side] for side in sides] + turns:
            places = np.resize(turn, array.size)
            pixels = array.astype(np.float64).ravel() * places
            shares = zip(np.round(pixels), places, strict=True)
            fractions = {Fraction(int(number), int(side)).denominator for number, side in shares}
            if np.all(np.abs(pixels - np.round(pixels)) < _WHOLE) and len(fractions) > 1 and max(fractions) > USUAL:
                return True
        return False

    def look(self, meeting: int, place: Place, taint: Taint) -> None:
        """Remember a number that may be a size. Raises SizeRefusedError for lists that hold some sizes."""
        nodes = self.flow.nodes
        node, array = nodes[meeting], self.flow.operands.array(nodes[place.node].input[place.position])
        pixels = self._are_pixels(node)
        label = self.flow.labels[place.node]
        if array is None or array.dtype.kind not in "fiu" or place in self._suspects or self.flow.keeps(label):
            return
        own = self.flow.dims.get(node.output[0]) or ()
        sides = self._sides(node, array, label, {*own, *taint.along}, taint)
        if sides is not None:
            self._suspects[place] = label, (sides,), False
            return
        listed = array.size > 1 and array.min() > SMALL and any(map(self.flow.is_moving, node.input))
        if not any(self.sizes.varies(dim) for dim in own) and not taint and not listed:
            return
        shares = array.size > 1 and node.op_type == "Mul" and self._are_pixel_shares(array)
        if shares and self.flow.choices.of(label) is None:
            raise refuse(label, "origins.input-size-numbers", numbers=array.ravel()[:_LONGEST_LIST].tolist())
        inner = nodes[place.node]
        counts = self._counts(node, inner, array, own, taint)
        if counts:
            found = counts
        elif array.size == 1:
            found = self._uses(node, array, own)
        else:
            found = self._list_uses(node, array, label, taint)
        is_of_pixels = pixels or float(array.flat[0]) in _OF_PIXELS or is_share_of_pixels(array)
        own_number = is_of_pixels or is_own(self.flow, node, inner, array, self._suspects)
        if found and not (own_number and self.flow.choices.of(label) != "follow"):
            self._suspects[place] = label, found, bool(counts)

    def look_at_count(self, meeting: int, place: Place, taint: Taint) -> None:
        """Remember a number by which positions are multiplied or divided, if it is how many values were summed."""
        nodes, label = self.flow.nodes, self.flow.labels[place.node]
        node, array = nodes[meeting], self.flow.operands.array(nodes[place.node].input[place.position])
        if array is None or array.size > 1 or array.dtype.kind != "f" or node.op_type not in _DIVIDING:
            return
        own = self.flow.dims.get(node.output[0]) or ()
        counts = () if self.flow.keeps(label) else self._counts(node, nodes[place.node], array, own, taint)
        if counts:
            self._suspects[place] = label, counts, True

    def _are_pixels(self, node: NodeProto) -> bool:
        """Whether a node works on the pixels of the input themselves."""
        read = [name for name in node.input if name and not self.flow.operands.is_constant(name)]
        found = bool(read) and all(name in self._pixels for name in read)
        if found and node.op_type in _TO_PIXELS:
            self._pixels.update(node.output)
        return found

    def _uses(self, node: NodeProto, array: Array, own: tuple[Dim, ...]) -> tuple[ScalarUse, ...]:
        whole, shares = self.sizes.sides, self.sizes.sides
        if node.op_type in _DIVIDING:
            moving = [dim for dim in own if self.sizes.varies(dim)]
            maps = [pair for pair in pairwise(own) if self._are_sides(*pair)]
            area = [self.sizes.product(pair) for pair in maps] or [self.sizes.product(moving)] * (len(moving) > 1)
            volume = [self.sizes.product(own[1:])] if area and len(own) > 2 else []
            shares = [*shares, *moving, *area, *volume, self.sizes.product(self._image)]
            counts = [*area, *(dim for dim in moving if self.sizes.resolve(dim).kind == "product")]
            whole = [*self.sizes.sides, *counts] if node.op_type == "Mul" else shares
        elif node.op_type not in _SHIFTING:
            return ()
        found: list[ScalarUse] = []
        for form in ("whole", "half", "reciprocal", "two over") if node.op_type in _DIVIDING else ("whole",):
            for dim in whole if form in ("whole", "half") else shares:
                for less in (0, 1):
                    use = reading(dim, less, form, array) if (dim.old or 0) - less > SMALL else None
                    found += [] if use is None else [use]
        return tuple(distinct(self.sizes, found))

    def _sides(self, node: NodeProto, array: Array, label: str, near: set[Dim], taint: Taint) -> ScalarUse | None:
        """A list that holds the width and the height of one map in turn, as [W, H, W, H]: no other use of two such
        numbers is known; `near` are sizes of the values that it meets. Two equal numbers may have one, unless they
        divide values on a map of such sides. Raises SizeRefusedError for several maps or sides."""
        if node.op_type not in _DIVIDING | _ADDING or array.size < 2 or array.size % 2 or array.size > _LONGEST_LIST:
            return None
        found: list[ScalarUse] = []
        along = self._counted(node, array, taint)
        atoms = {atom for dim in near for atom in self.sizes.atoms(dim)}
        for pair in self._maps:
            for order in (pair, pair[::-1]):
                for form in ("whole", "reciprocal", "half", "two over"):
                    for less in (0, 1):
                        dims = order * (array.size // 2)
                        least = min(dim.old or 0 for dim in pair) - less
                        use = ScalarUse(dims, less, form, array)
                        inside = atoms.issuperset(atom for dim in pair for atom in self.sizes.atoms(dim))
                        divided = inside and not along and (node.op_type, form) != ("Mul", "whole")
                        divided &= node.op_type in _DIVIDING
                        square = pair[0].old == pair[1].old and not self._are_along(dims, along)
                        if least < 2 or (square and not divided) or use.array.dtype.kind != "f":
                            continue
                        if np.array_equal(use.make(lambda dim: dim.old or 0), array):
                            found.append(use)
        plain = [use for use in found if use.form in ("whole", "reciprocal")]
        apart = distinct(self.sizes, [use for use in found if atoms.issuperset(use.dims)] or plain or found)
        if not apart and self._are_levels(array):
            raise refuse(label, "origins.input-size-numbers", numbers=array.ravel().tolist())
        return self._one_of(label, apart) if apart else None

    def _are_levels(self, array: Array) -> bool:
        """Whether each two numbers are the sides of a map, as those of several levels are listed."""
        sides = {(one.old, other.old) for one, other in self._maps}
        pairs = [(int(one), int(other)) for one, other in array.reshape(-1, 2)] if array.size > 2 else []
        whole = bool(np.all(array == np.floor(array))) and len(set(pairs)) > 1
        return whole and (all(pair in sides for pair in pairs) or all(pair[::-1] in sides for pair in pairs))

    def _one_of(self, label: str, uses: Sequence[ScalarUse]) -> ScalarUse:
        """The only use of a list, or that which the user chose. Raises SizeRefusedError where it is to be chosen."""
        if len(uses) == 1:
            return uses[0]
        named = {formula(self.sizes, use): use for use in reversed(uses)}
        chosen = named.get(self.flow.choices.of(label) or "")
        if chosen is None:
            numbers = uses[0].array.ravel().tolist()
            meanings = {name: against(name) for name in (KEEP, *reversed(named))}
            raise asked(label, numbers, "origins.input-size-numbers", meanings, numbers=numbers)
        return chosen

    @cached_property
    def _maps(self) -> list[tuple[Dim, Dim]]:
        """Height and width of every map of the model, and of the image."""
        found = [self._image]
        for dims in self.flow.dims.values():
            for one, other in pairwise(dims or ()):
                pair = self.sizes.resolve(one), self.sizes.resolve(other)
                if pair not in found and None not in (one.old, other.old) and self._are_sides(*pair):
                    found.append(pair)
        return found

    @cached_property
    def _image(self) -> tuple[Dim, Dim]:
        """Height and width of the input; a side that stays is a number."""
        sizes, (image, *_) = self.sizes, self.flow.images
        height, width = (
            sizes.symbol(name) if name in sizes.symbols else sizes.const(image.old(name) or 1)
            for name in ("height", "width")
        )
        return height, width

    def _are_sides(self, height: Dim, width: Dim) -> bool:
        """Whether these are the sides of a map, of which at least one follows the input."""
        sizes = self.sizes
        if sizes.are_sides(height, width) or len(sizes.sides) != 1:
            return sizes.are_sides(height, width)
        moves, stays, whole = (
            (height, width, self._image[1]) if "height" in sizes.symbols else (width, height, self._image[0])
        )
        stride = sizes.stride(moves)
        return stride is not None and abs((sizes.fixed(stays) or 0) * stride - (whole.old or 0)) < stride

    def _counts(
        self, node: NodeProto, inner: NodeProto, array: Array, own: tuple[Dim, ...], taint: Taint
    ) -> tuple[ScalarUse, ...]:
        """A sum over a map is divided by how many values it has, with or without its channels, or by the root of that:
        `inner` is what reads the number."""
        if node.op_type not in _DIVIDING or not np.all(array == array.flat[0]):
            return ()
        form = "reciprocal" if node.op_type == "Mul" and inner.op_type not in ("Pow", "Sqrt") else "whole"
        for summed in taint.summed:
            for dim in self._multiples(summed, own):
                for less in (0, 1):
                    use = reading(dim, less, form, array) if (dim.old or 0) > SMALL else None
                    if use is not None:
                        return (use,)
        return ()

    def _multiples(self, summed: Dim, own: tuple[Dim, ...]) -> list[Dim]:
        """What was summed over, times the channels that are left, or the part of it that follows the input, where that
        is not its root as well."""
        sizes = self.sizes
        moving = sizes.product([atom for atom in sizes.atoms(summed) if sizes.fixed(atom) is None])
        fixed = [dim.old or 1 for dim in own if sizes.fixed(dim) is not None and (dim.old or 0) > 1]
        counts = sorted({*fixed, int(np.prod(fixed))})
        parts = [] if (moving.old or 0) ** 2 == summed.old else [moving]
        return [summed, *parts, *(sizes.product([summed, sizes.const(count)]) for count in counts)]

    def _list_uses(self, node: NodeProto, array: Array, label: str, taint: Taint) -> tuple[ScalarUse, ...]:
        """A list whose numbers are all sizes of the image, or 0 and 1."""
        if node.op_type not in _DIVIDING | _SHIFTING:
            return ()
        beside = self._side_by_side(node, array, taint)
        found: list[ScalarUse] = []
        for form in ("whole", "reciprocal", "half", "two over"):
            for less in (0, 1):
                columns = [
                    self._behind(value, dims, form, less, 2 if sure else 2 * SMALL)
                    for value, (dims, sure) in zip(array.ravel(), beside, strict=True)
                ]
                moves = any(self.sizes.varies(dim) for column in columns for dim in column)
                known = [bool(column) or value in (0, 1) for column, value in zip(columns, array.flat, strict=True)]
                told = all(known) or any(column and sure for column, (_, sure) in zip(columns, beside, strict=True))
                if not moves or (form in ("half", "two over") and not told):
                    continue
                if not all(known):
                    raise refuse(label, "origins.input-size-numbers", numbers=array.ravel().tolist())
                either: list[list[Dim | None]] = [[*column] or [None] for column in columns]
                orders = islice(in_turn(either), _MOST_ORDERS)
                found.append(self._one_of(label, [ScalarUse(dims, less, form, array) for dims in orders]))
        return tuple(found)

    def _counted(self, node: NodeProto, array: Array, taint: Taint) -> tuple[Set[Dim], ...]:
        """For each number of a list, the sizes along which its coordinate counts, if several coordinates stand side by
        side; else empty."""
        own = self.flow.dims.get(node.output[0]) or ()
        known, held = taint.channels, [axis for axis, length in enumerate(array.shape) if length > 1]
        aligned = known is not None and held == [known.axis - len(own) + array.ndim]
        if known is None or not aligned or len(known.along) != array.size or node.op_type not in _DIVIDING:
            return ()
        return known.along

    def _lines(self, dims: Iterable[Dim]) -> list[str]:
        """The sides of the input that sizes follow."""
        return [name for name in self.sizes.symbols for dim in dims if self.sizes.follows(dim, name)]

    def _are_along(self, dims: Sequence[Dim], along: Sequence[Set[Dim]]) -> bool:
        """Whether each size follows the side of the input along which the coordinate of its number counts."""
        return len(along) == len(dims) and all(
            self._lines([dim]) == self._lines(lines) for dim, lines in zip(dims, along, strict=True)
        )

    def _side_by_side(self, node: NodeProto, array: Array, taint: Taint) -> list[tuple[list[Dim], bool]]:
        """For each number of a list, the sizes that it may be. If several coordinates stand side by side, only those
        along which its own coordinate counts, and True."""
        own = [dim for dim in self.flow.dims.get(node.output[0]) or () if self.sizes.varies(dim)]
        every = [*self._image, *(() if taint.is_pixel else (*taint.along, *own))]
        made: list[tuple[list[Dim], bool]] = []
        for along in self._counted(node, array, taint):
            images = [dim for dim in self.sizes.sides if str(dim.data) in self._lines(along)]
            made.append(([*along, *images], True) if along else (every, False))
        return made or [(every, False)] * array.size

    def _behind(self, value: np.generic, dims: list[Dim], form: str, less: int, least: int) -> list[Dim]:
        made: list[Dim] = []
        for dim in dims:
            large = (dim.old or 0) - less > least
            fits = large and reading(dim, less, form, np.array([value])) is not None
            if fits and not any(self.sizes.same(dim, other) for other in made):
                made.append(dim)
        return made

    def decide(
        self, certain: Mapping[Place, ScalarUse], doubtful: dict[Place, Sequence[ScalarUse]]
    ) -> dict[Place, ScalarUse]:
        """The numbers that are sizes; `doubtful` gets single ones of which the file does not say it, and what they may
        be. Raises SizeRefusedError for lists of such numbers."""
        made: dict[Place, ScalarUse] = {}
        for place, (label, uses, is_count) in self._suspects.items():
            if place in certain or place in doubtful:
                continue
            chosen = uses[0] if is_count else self._chosen(place, label, uses, certain)
            array = uses[0].array
            shown = array.item() if array.size == 1 else array.ravel().tolist()
            if chosen is None and array.size == 1:
                doubtful[place] = uses
                continue
            made[place] = chosen or self._one_of(label, uses)
            doubted = array.size > 1 and (self._are_points_of_fixed(place) or bool(np.any((array == 0) | (array == 1))))
            if doubted and self.flow.choices.of(label) is None:
                readings = {name: against(name) for name in (KEEP, FOLLOW)}
                raise asked(label, shown, "origins.input-size-numbers", readings, numbers=shown)
            if array.size > 1:
                self.flow.assume(label, "divisor-as-large-as-the-map", value=shown)
        return made

    def _are_points_of_fixed(self, place: Place) -> bool:
        """Whether a list divides what a table of a map of fixed size was added to: the image may decide the steps of
        such points, or not."""
        node, operands = self.flow.nodes[place.node], self.flow.operands
        if node.op_type not in _DIVIDING or any(map(self.sizes.varies, self.flow.dims.get(node.output[0]) or ())):
            return False
        makers = [maker for name in node.input if (maker := operands.maker(name)) is not None]
        read = [name for maker in makers if maker.op_type in _SHIFTING for name in maker.input]
        return any(operands.is_constant(name) and prod(operands.shape_of(name)) > _LONGEST_LIST for name in read)

    def _chosen(
        self, place: Place, label: str, uses: tuple[ScalarUse, ...], certain: Mapping[Place, ScalarUse]
    ) -> ScalarUse | None:
        nodes = self.flow.nodes
        kinds = {nodes[place.node].op_type}
        if kinds < _DIVIDING and all(use.dim.kind == "product" for use in uses):
            kinds = set(_DIVIDING)  # a count is the same number, whether it multiplies or divides
        like = [use for at, use in certain.items() if nodes[at.node].op_type in kinds]
        agreeing = []
        for use in uses:
            beside = [other for other in like if (other.less, len(other.dims)) == (use.less, len(use.dims))]
            agreeing += [use] if any(alike(self.sizes, use, other) for other in beside) else []
        # Of height and width, another node that divides by the one does not say that this one does.
        sides = {tuple(self._lines(dim for dim in use.dims if dim is not None)) for use in uses}
        if len(agreeing) == 1 and len(sides) == 1:
            return agreeing[0]
        if len(uses) > 1:
            return None
        (use,) = uses
        odd = use.form == "half" and use.less == 1 and (use.dim.old or 0) % 2 == 0
        share = use.form in ("reciprocal", "two over") and use.less == 1 and not is_written(use.array)
        counted = use.form == "whole" and use.dim.kind == "product" and (use.dim.old or 1).bit_count() > 1
        listed = len(use.dims) > 1
        return use if odd or share or listed or counted else None

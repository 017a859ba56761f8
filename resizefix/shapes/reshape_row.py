"""Reshape: which of the new sizes follow the input is read off the order of the elements.

A Reshape keeps the order of the elements. So the factors of the old sizes, the outermost first, are dealt out to the
new sizes from the left: each takes as many as its number says. Where a factor must be divided among two, one of the two
is fixed and the other follows; a `Split` remembers it until something decides.
"""

import math

import numpy as np

from resizefix.shapes.expression import Dim
from resizefix.shapes.reading import DimList, NodeSizes, UnknownRankError, axis_of


def reshape(n: NodeSizes) -> list[DimList]:
    """Reshape, with the sizes as an operand, or as an attribute (opset 1)."""
    dims = n.dims(0)
    given = n.listed(1) if n.has(1) else [n.const(value) for value in n.attribute("shape", [])]
    if n.sizes.are_numbers:
        return [_of_numbers(n, dims, [dim.old or 0 for dim in given])]
    if any(dim.old is None for dim in dims):
        behind = _behind_open_axis(n, dims, given)
        return [behind or tuple(dim if dim.old and dim.old > 0 else n.sizes.opaque() for dim in given)]
    keeps_zero = n.attribute("allowzero", 0)
    fixed_by: list[Dim | None] = []
    for axis, listed in enumerate(given):
        if listed.old == 0:
            n.require(listed, "origins.listed-sizes")
        dim = n.sizes.resolve(listed)
        number = n.sizes.fixed(dim) if dim.kind == "const" else None
        if number == 0 and not keeps_zero:
            fixed_by.append(dims[axis])
        else:
            fixed_by.append(None if number == -1 else dim)
    lengths = _lengths(n, dims, fixed_by)
    parts = dealt(n, dims, lengths)
    for wanted, part in zip(fixed_by, parts, strict=True):
        if wanted is not None:
            n.meet(wanted, part)
    return [tuple(n.sizes.resolve(dim) for dim in parts)]


def _of_numbers(n: NodeSizes, dims: DimList, wanted: list[int]) -> DimList:
    """The new sizes where all are numbers: 0 is that of the same axis, and -1 what is left."""
    count = math.prod(dim.old or 0 for dim in dims)
    if not n.attribute("allowzero", 0):
        wanted = [(dims[axis].old or 0) if size == 0 else size for axis, size in enumerate(wanted)]
    if -1 in wanted:
        rest = math.prod(size for size in wanted if size != -1)
        if not rest or count % rest:
            raise n.misfit(0, 1)
        wanted[wanted.index(-1)] = count // rest
    if math.prod(wanted) != count or min(wanted, default=0) < 0:
        raise n.misfit(0, 1)
    return tuple(map(n.const, wanted))


def _behind_open_axis(n: NodeSizes, dims: DimList, given: list[Dim]) -> DimList | None:
    """The new sizes where the first axis is a batch that the file leaves open, by itself or with windows: what stands
    behind it is dealt out by itself. None where that is not so."""
    atoms = [atom for dim in dims for atom in n.sizes.atoms(dim)]
    if not given or not atoms or atoms[0].kind != "opaque" or any(atom.old is None for atom in atoms[1:]):
        return None
    first, rest, numbers = n.sizes.resolve(given[0]), tuple(atoms[1:]), [dim.old for dim in given[1:]]
    left = [place for place, number in enumerate(numbers) if number == -1]
    if any(number is None or number == 0 for number in numbers) or len(left) > 1:
        return None
    whole, product = (int(np.prod([dim or 1 for dim in many])) for many in ([dim.old for dim in rest], numbers))
    product = abs(product)
    merged = first.old == -1 and not left
    if whole % product or (not merged and (first.old or 1) != 1) or (not merged and not left and whole != product):
        return None
    lengths = [whole // product if number == -1 else number or 1 for number in numbers]
    parts = dealt(n, rest, [whole // product, *lengths] if merged and whole != product else lengths)
    for wanted, part in zip(given[1:], parts[len(parts) - len(lengths) :], strict=True):
        if wanted.old != -1:
            n.meet(wanted, part)
    outer = parts[: len(parts) - len(lengths)]
    return (n.sizes.product([atoms[0], *outer]), *(n.sizes.resolve(dim) for dim in parts[len(outer) :]))


def _lengths(n: NodeSizes, dims: DimList, given: list[Dim | None]) -> list[int]:
    """The old numbers of the new sizes, that of the one which is left out computed."""
    whole = 1
    for dim in dims:
        whole *= dim.old or 0
    product = 1
    for size in given:
        if size is not None:
            if size.old is None:
                raise UnknownRankError
            product *= size.old
    if product == 0 or whole % product:
        raise UnknownRankError
    return [whole // product if size is None else size.old or 0 for size in given]


def dealt(n: NodeSizes, dims: DimList, lengths: list[int]) -> list[Dim]:
    """The new sizes, made of the factors of the old ones. Raises SizeRefusedError where they do not fit together."""
    sizes = n.sizes
    left = [atom for dim in dims for atom in sizes.atoms(dim)]
    groups = _first_of_one(n, dims, lengths, left)
    for place, length in list(enumerate(lengths))[len(groups) :]:
        taken: list[Dim] = []
        need = length
        inside = length == 1 and 0 < place < len(lengths) - 1 and left
        if inside and left[0].old == lengths[place + 1] > 1 and n.sizes.fixed(left[0]) is None:
            # One window of n, or n samples on an axis of their own: the other factors of the model may tell.
            outer, inner = _divided(n, left.pop(0), 1, lengths[place + 1])
            groups.append([outer])
            left.insert(0, inner)
            continue
        one_follows = lengths[place + 1 : place + 2] == [1]
        while left and (
            need > 1 or (left[0].old == 1 and not taken) or (left[0].old == 1 < length and not one_follows)
        ):
            if need == 1 and taken and _is_behind(n, left, length, lengths[place + 1 :]):
                break
            atom = left.pop(0)
            size = atom.old or 1
            if need % size == 0:
                taken.append(atom)
                need //= size
            elif size % need == 0:
                outer, inner = _divided(n, atom, need, size // need)
                taken.append(outer)
                left.insert(0, inner)
                need = 1
            else:
                taken.append(_shared(n, atom, need, left))
                need = 1
        groups.append(taken)
    if left and groups:
        groups[-1] += left
    for taken in groups[:1]:
        _note_leading(n, taken)
    return [sizes.product(taken) for taken in groups]


def _first_of_one(n: NodeSizes, dims: DimList, lengths: list[int], left: list[Dim]) -> list[list[Dim]]:
    """The first new size where that is 1, as one image that stays one is: of fewer 1 than stand in front of the old
    sizes, it may be the side of a map of one sample, too. Empty where the first old size is no such image."""
    if len(lengths) < 2 or lengths[0] != 1 or not dims or n.sizes.fixed(dims[0]) != 1:
        return []
    fewer = _leading_ones(lengths) < _leading_ones([dim.old or 0 for dim in dims])
    if not fewer or not left or left[0].old != 1 or n.sizes.fixed(left[0]) is not None:
        return [[]]
    outer, inner = _divided(n, left.pop(0), 1, 1)
    left.insert(0, inner)
    return [[outer]]


def _leading_ones(lengths: list[int]) -> int:
    return next((place for place, length in enumerate(lengths) if length != 1), len(lengths))


def _is_behind(n: NodeSizes, left: list[Dim], length: int, later: list[int]) -> bool:
    """Whether what became 1 is a part of the next size and not of this one: both are the same in the file. The two
    parts of a size that was divided before become one again."""
    if all(one == 1 for one in later):
        return False
    pairs = ([n.sizes.resolve(part) for part in split.parts] for split in n.splits)
    return left[:2] in list(pairs) or n.joins_next(left[0], length, math.prod(later))


def _divided(n: NodeSizes, atom: Dim, outer: int, inner: int) -> tuple[Dim, Dim]:
    if n.sizes.fixed(atom) is not None:
        return n.const(outer), n.const(inner)
    return n.divided(atom, outer, inner)


def _shared(n: NodeSizes, atom: Dim, need: int, left: list[Dim]) -> Dim:
    """Numbers whose factors lie across each other, as 6·4 and 8·3: only fixed ones can be dealt out."""
    together = [atom]
    size = atom.old or 1
    while size % need and left:
        together.append(left.pop(0))
        size *= together[-1].old or 1
    if size % need:
        raise UnknownRankError
    if any(n.sizes.varies(part) for part in together):
        raise n.refuse("origins.input-size-reshape", old=[part.old for part in together], new=need)
    for part in together:
        n.require(part, "origins.reshape-sizes")
    left.insert(0, n.const(size // need))
    return n.const(need)


def _note_leading(n: NodeSizes, taken: list[Dim]) -> None:
    if len(taken) < 2:
        return
    for split in n.splits:
        for position, part in enumerate(split.parts):
            if n.sizes.resolve(part) in taken:
                split.leading.append(position == 0)


def flatten(n: NodeSizes) -> list[DimList]:
    """Two axes: all before `axis`, and the rest."""
    dims = n.dims(0)
    axis = n.attribute("axis", 1)
    axis = axis if axis == len(dims) else axis_of(axis, len(dims))
    return [(n.sizes.product(dims[:axis]), n.sizes.product(dims[axis:]))]


ROWS = {"Reshape": reshape, "Flatten": flatten}

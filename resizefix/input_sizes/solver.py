"""Where sizes must be equal: unknowns are bound there, and what cannot be equal is refused.

An unknown is a number of the file that may follow the input, or a factor of a size that a Reshape splits. It is bound
by the first size that it must equal. Sizes that are known must be equal but for rounding; where they are, the meeting
is kept: at a given size of the input it may fail, which is a rule about the input's size (`rules.py`).
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.input_sizes.refusal import refuse
from resizefix.shapes.expression import Dim
from resizefix.shapes.reading import Split
from resizefix.shapes.sizes import Sizes


class Solver:
    """Binds unknowns as the walk through the model meets them."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self.meetings: list[tuple[str, Dim, Dim]] = []
        """Nodes at which two sizes must be equal."""
        self.splits: list[Split] = []
        self.candidates: dict[Dim, list[Dim]] = {}
        self.seen: dict[int, list[Dim]] = {}
        self.may_follow: dict[Dim, Callable[[tuple[int, ...]], bool]] = {}
        """For an axis of a constant tensor: whether its numbers could be positions on axes of these lengths."""
        self._deferred: list[tuple[str, Dim, Dim]] = []
        self._by_part: dict[Dim, list[Split]] = {}

    # ---- equal sizes ----

    def meet(self, node: str, one: Dim, other: Dim) -> None:
        """These are equal whenever the model runs. Raises SizeRefusedError."""
        sizes = self.sizes
        one, other = sizes.resolve(one), sizes.resolve(other)
        if one is other or sizes.is_opaque(one) or sizes.is_opaque(other):
            return
        same = sizes.same(one, other)
        if same:
            self.meetings.append((node, one, other))
        elif self._is_weight(one, other) or self._is_weight(other, one):
            self.require(node, one, "origins.numbers-of-constant")
            self.require(node, other, "origins.numbers-of-constant")
        elif (one.kind == "var" and self.bind(one, other)) or (other.kind == "var" and self.bind(other, one)):
            return
        elif same is False:
            self._conflict(node, one, other)
        elif not self._by_parts(node, one, other) and not self._by_candidates(node, one, other):
            self._deferred.append((node, one, other))

    def _is_weight(self, axis: Dim, other: Dim) -> bool:
        """Whether this is an axis of a constant that is no table, and the other may be fixed."""
        may_follow = self.may_follow.get(axis)
        if may_follow is None or other in self.may_follow or not self.sizes.unknowns(other):
            return False
        factors = tuple(atom.old or 0 for atom in self.sizes.atoms(other))
        # Of shuffled pixels and of patches, several factors together are the height or the width of a map.
        sides = ((math.prod(factors[:cut]), math.prod(factors[cut:])) for cut in range(1, len(factors)))
        return not any(may_follow(lengths) for lengths in (factors, *sides))

    def is_weight(self, axis: Dim) -> bool:
        """Whether this is an axis of a constant whose numbers cannot be positions on it."""
        axis = self.sizes.resolve(axis)
        may_follow = self.may_follow.get(axis)
        return may_follow is not None and not may_follow((axis.old or 0,))

    def require(self, node: str, dim: Dim, what: str) -> None:
        """It has the size that weights (`what`, the code of a sentence) give it. Raises SizeRefusedError."""
        sizes = self.sizes
        if sizes.is_opaque(dim) or sizes.fixed(dim) is not None:
            return
        for unknown in sizes.unknowns(dim):
            self.bind(unknown, sizes.const(unknown.old or 0))
        if sizes.fixed(dim) is None:
            said = {"what": Diagnostic(what), "old": dim.old, "formula": describe(sizes, dim)}
            raise refuse(node, "origins.input-size-weights", **said)

    def _conflict(self, node: str, one: Dim, other: Dim) -> None:
        sizes = self.sizes
        fixed = next((size for size in (one, other) if sizes.fixed(size) is not None), None)
        moving = one if fixed is other else other
        if fixed is not None:
            raise refuse(node, "origins.input-size-fixed-partner", old=fixed.old, formula=describe(sizes, moving))
        said = {"one": describe(sizes, one), "other": describe(sizes, other)}
        raise refuse(node, "origins.input-size-conflict", old=one.old, **said)

    def _by_parts(self, node: str, one: Dim, other: Dim) -> bool:
        sizes = self.sizes
        for size in (one, other):
            if sizes.fixed(size) is not None:
                self.require(node, other if size is one else one, "origins.fixed-operand")
                return True
        if one.kind == other.kind and one.kind in ("joined", "total"):
            pairs = [sizes.resolve(part) for part in one.parts], [sizes.resolve(part) for part in other.parts]
        else:
            pairs = sizes.atoms(one), sizes.atoms(other)
        left = [part for part in pairs[0] if not any(sizes.same(part, twin) for twin in pairs[1])]
        right = [part for part in pairs[1] if not any(sizes.same(part, twin) for twin in pairs[0])]
        if [one] == left and [other] == right:
            return False
        if len(left) != len(right) or [part.old for part in left] != [part.old for part in right]:
            return self._one_left(left, right, sizes) if one.kind not in ("joined", "total") else False
        for part, twin in zip(left, right, strict=True):
            self.meet(node, part, twin)
        return True

    def _one_left(self, left: Sequence[Dim], right: Sequence[Dim], sizes: Sizes) -> bool:
        for here, there in ((left, right), (right, left)):
            if len(here) == 1 and here[0].kind == "var":
                rest = sizes.product(there)
                if rest.old == here[0].old:
                    return self.bind(here[0], rest)
            open_parts = [part for part in here if part.kind == "var"]
            known = sizes.product(there)
            if len(open_parts) == 1 and not sizes.unknowns(known):
                # One factor is unknown, and all others are numbers: it is what they leave.
                number = sizes.fixed(sizes.product([part for part in here if part is not open_parts[0]]))
                if number and known.old == number * (open_parts[0].old or 0):
                    return self.bind(open_parts[0], sizes.quotient(known, sizes.const(number)))
        return False

    def _by_candidates(self, node: str, one: Dim, other: Dim) -> bool:
        """With one unknown left, the reading of it is looked for that makes the two equal."""
        unknowns = {*self.sizes.unknowns(one), *self.sizes.unknowns(other)}
        if len(unknowns) != 1:
            return False
        if all(map(self.sizes.unknowns, (one, other))):  # equal but for rounding, whatever it is
            self.meetings.append((node, one, other))
            return True
        unknown = unknowns.pop()
        for candidate in self.readings(unknown):
            if self._would_agree(unknown, candidate, one, other):
                self.bind(unknown, candidate)
                self.meetings.append((node, one, other))
                return True
        return False

    def readings(self, unknown: Dim) -> list[Dim]:
        """What an unknown may be: what its node proposes, sizes of the input or of other tensors. That it is fixed
        suits all that it meets: this is what is left in the end."""
        sizes, old = self.sizes, unknown.old or 0
        symbols = [sizes.symbol(name) for name in sizes.symbols if sizes.symbols[name] == old and name != "batch"]
        return [*self.candidates.get(unknown, ()), *symbols, *self.seen.get(old, ())]

    def _would_agree(self, unknown: Dim, candidate: Dim, one: Dim, other: Dim) -> bool:
        sizes = self.sizes
        if any(part is unknown for part in sizes.behind(candidate)) or sizes.unknowns(candidate):
            return False
        sizes.bound[unknown] = candidate
        memo: dict[Dim, np.ndarray] = {}
        left, right = sizes.at(one, sizes.regime, memo), sizes.at(other, sizes.regime, memo)
        del sizes.bound[unknown]
        return left is not None and right is not None and np.array_equal(left, right)

    # ---- unknowns ----

    def bind(self, unknown: Dim, dim: Dim) -> bool:
        """Let an unknown be `dim`; what a split says of the other part follows."""
        dim = self.sizes.resolve(dim)
        if unknown is dim:
            return True
        if not self.sizes.bind(unknown, dim):
            return False
        for split in self._by_part.pop(unknown, ()):
            if dim.kind == "var":
                self._by_part.setdefault(dim, []).append(split)
            else:
                self._complete(split, unknown)
        return True

    def _complete(self, split: Split, known: Dim) -> None:
        # The part that is known may have become one with an unknown of another split before.
        first, other, whole, known = map(self.sizes.resolve, (*split.parts, split.whole, known))
        other = other if first is known else first
        if whole.kind == "var" and other.kind == "var" and other.old == 1 and self.sizes.varies(known):
            # A length that is not known is what became of it, and the 1 is an axis of its own.
            self.bind(other, self.sizes.const(1))
            self.bind(whole, known)
        elif other.kind == "var":
            self.bind(other, self.sizes.quotient(split.whole, known))

    def split(self, node: str, whole: Dim, outer: int, inner: int) -> Split:
        """The two factors of a size; the same for all that is split in the same way."""
        whole = self.sizes.resolve(whole)
        for found in self.splits:
            same = found.whole is whole or self.sizes.same(found.whole, whole)
            if same and found.parts[0].old == outer and found.parts[1].old == inner:
                return found
        parts = self.sizes.var(outer), self.sizes.var(inner)
        made = Split(node, whole, parts)
        self.splits.append(made)
        for part in parts:
            self._by_part.setdefault(part, []).append(made)
        if self.sizes.fixed(whole) is not None:
            self.bind(parts[0], self.sizes.const(outer))
        elif self._holds_rows(whole, inner) and not self._holds_rows(whole, outer):
            self.bind(parts[1], self.sizes.const(inner))
        return made

    def _holds_rows(self, whole: Dim, length: int) -> bool:
        """Whether each of several joined maps is whole rows of this length at every size, by what is fixed in it."""
        parts = whole.parts if whole.kind == "joined" else ()
        held = [[self.sizes.fixed(atom) for atom in self.sizes.atoms(part)] for part in parts]
        return bool(held) and all(math.prod(number or 1 for number in numbers) % length == 0 for numbers in held)

    def _outer_factors(self, split: Split) -> Dim | None:
        """The outer part, where the whole has turned out to be a product that is divided between two factors."""
        atoms = self.sizes.atoms(split.whole)
        for count in range(1, len(atoms)):
            outer = self.sizes.product(atoms[:count])
            if outer.old == split.parts[0].old:
                return outer
        return None

    def note(self, dim: Dim) -> None:
        """A size of a tensor of the model that follows the input."""
        dim = self.sizes.resolve(dim)
        if dim.old is not None and dim.old > 1 and self.sizes.varies(dim):
            known = self.seen.setdefault(dim.old, [])
            if len(known) < 8 and not any(self.sizes.same(dim, other) for other in known):
                known.append(dim)

    def settle(self) -> None:
        """Meet once more what could not be said before."""
        for split in self.splits:
            part = self.sizes.resolve(split.parts[0])
            if part.kind != "var":
                continue
            outer = self._outer_factors(split)
            if self.sizes.fixed(split.whole) is not None:
                self.bind(part, self.sizes.const(part.old or 0))
            elif outer is not None:
                self.bind(part, outer)
        while self._deferred:
            pending, self._deferred = self._deferred, []
            for meeting in pending:
                self.meet(*meeting)
            if len(self._deferred) >= len(pending):
                break


def describe(sizes: Sizes, dim: Dim) -> str:
    """A size in words: what it is here, and which sizes of the input it follows."""
    if sizes.lengths(dim) is None:
        return "not known"
    moved = [name for name in sizes.symbols if sizes.follows(dim, name)]
    return Diagnostic("origins.size-follows", old=dim.old, sides=" and the ".join(moved)) if moved else str(dim.old)

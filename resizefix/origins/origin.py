"""Provenance: where the scales or sizes of one node come from. What they mean is `Interpolation`'s business."""

from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import islice
from typing import NamedTuple, overload


class OriginKind(str, Enum):
    """The words of the JSON contract."""

    ATTRIBUTE = "attribute"
    INITIALIZER = "initializer"
    CONSTANT = "constant"  # a Constant node, in any of its spellings
    COMPUTED = "computed"  # folded from constants and input shapes
    GRAPH_INPUT = "graph-input"  # the caller feeds it, with or without a default
    RUNTIME = "runtime"  # depends on tensor data

    @property
    def is_constant(self) -> bool:
        """Whether it is a constant that the node itself reads."""
        return self in (OriginKind.ATTRIBUTE, OriginKind.INITIALIZER, OriginKind.CONSTANT)


class Others(Sequence[str]):
    """The readers of a constant but for one node, said without a list of its own for each of thousands of nodes."""

    __slots__ = ("_all", "_without")

    def __init__(self, everybody: Sequence[str] = (), without: Sequence[int] = ()) -> None:
        """`without`: the places of the node among `everybody`."""
        self._all, self._without = everybody, frozenset(without)

    def __len__(self) -> int:
        return len(self._all) - len(self._without)

    def __iter__(self) -> Iterator[str]:
        return (label for place, label in enumerate(self._all) if place not in self._without)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...

    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice) and index.start is None and (index.stop or 0) > 0 and index.step is None:
            return tuple(islice(self, index.stop))
        return tuple(self)[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


class Origin(NamedTuple):
    """`name` is the operand's tensor, or the graph input behind it; `shared_by` the other nodes that read the same
    constant; `chain` the operators between the operand and where it comes from, last first.

    For a computed operand: `says` is what the output size follows, in words; `recovered_scales` are the float32 scales
    that give its sizes, if every axis is a constant multiple, and `right_under_every_rule` says whether they do so in
    every runtime and at every size. `reason` says why no constant stands for the operand (it completes "its scales …"),
    or why its value is not known.
    """

    kind: OriginKind
    name: str | None = None
    shared_by: Sequence[str] = ()
    chain: tuple[str, ...] = ()
    recovered_scales: tuple[float, ...] | None = None
    reason: str | None = None
    says: str | None = None
    right_under_every_rule: bool | None = None

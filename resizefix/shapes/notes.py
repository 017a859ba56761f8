"""What rows note about the numbers of nodes: those that may follow the model's input, and what they must suit.

Whoever decides about such numbers reads the notes after the walk. Of sizes that are plain numbers nothing is noted.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from resizefix.shapes.expression import Dim

DimList = tuple[Dim, ...]


class AttributeUse(NamedTuple):
    """A number in an attribute of a node that may follow the input: entry `axis` of `name`."""

    node: int
    name: str
    axis: int


class ResizeUse(NamedTuple):
    """A resize whose output's sizes are numbers of the file.

    `axes` has, for each axis that may follow the input, its position, the size before and the size after. `position` is
    that of the operand, None for an attribute, COMPUTED where nodes make it; `is_scale`: it holds scales.
    """

    node: int
    label: str
    position: int | None
    is_scale: bool
    axes: tuple[tuple[int, Dim, Dim], ...]
    listed: tuple[int, ...]
    """The axes that the operand lists."""


COMPUTED = -1


@dataclass
class Split:
    """A size that a Reshape divides in two: one of `parts` is fixed, and which one is not known at first."""

    node: str
    whole: Dim
    parts: tuple[Dim, Dim]
    leading: list[bool] = field(default_factory=list)
    """For each time that a part became one with the first axis of a tensor: whether it was the outer one."""


class Notes:
    """The notes of one walk; nodes are named by their labels."""

    def __init__(self) -> None:
        self.attributes: dict[AttributeUse, Dim] = {}
        self.samplings: list[tuple[str, DimList, DimList]] = []
        """Nodes that sample a map at a grid: the sides of both."""
        self.positions: list[tuple[str, Dim, DimList]] = []
        """Nodes that read an axis at constant positions: it, and the sizes of the table of positions."""
        self.resizes: list[ResizeUse] = []
        self.cuts: list[tuple[str, Dim, Dim, Dim]] = []
        self.few: list[Dim] = []
        """The ends of cuts that take a few first samples."""
        self.tails: list[tuple[str, Dim, Dim, Dim]] = []
        """Cuts up to the end of an axis: where they begin, the axis, and how much is left."""
        self.even_pads: list[tuple[str, Dim, int, int, int]] = []
        self.padded_outputs: list[tuple[str, DimList]] = []
        """Transposed convolutions that pad one side of their output alone, so that it has a wished size."""
        self.uneven_windows: list[tuple[str, Dim]] = []
        self.quotients: list[tuple[str, Dim, Dim]] = []
        self.halves: list[tuple[str, Dim, Dim]] = []
        self.scattered: list[tuple[str, DimList, DimList]] = []
        """Nodes that write at positions which no image decides: the sizes of the data and of the positions."""
        self.chosen: list[tuple[str, Dim, Dim]] = []
        """Nodes that choose some of an axis: how long it is, and how many."""
        self.shared_out: list[tuple[str, Dim, int]] = []
        """Nodes that cut an axis into so many even parts."""
        self.windows: list[tuple[str, DimList]] = []
        """Pools of a few samples that tile their map, and how many windows there are."""
        self.whole_pools: list[tuple[str, tuple[int, ...]]] = []
        """Pools whose window is as large as their map, on some axis at least: the windows."""
        self.pools: list[tuple[int, str, tuple[Dim, ...], tuple[Dim, ...]]] = []

"""Fresh names: never one that is taken anywhere in the model, in any scope."""

from __future__ import annotations


class FreshNames:
    """Gives out names that collide with none of `taken` and none given before."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = set(taken)
        self._counts: dict[str, int] = {}  # up to which all numbers behind a name are taken

    def fresh(self, wanted: str) -> str:
        """`wanted`, or `wanted_1`, `wanted_2`, … : the first that is free."""
        name = wanted
        count = self._counts.get(wanted, 0)
        while name in self._taken:
            count += 1
            name = f"{wanted}_{count}"
        self._taken.add(name)
        self._counts[wanted] = count
        return name

    def is_free(self, name: str) -> bool:
        """Whether `name` is still to be had."""
        return name not in self._taken

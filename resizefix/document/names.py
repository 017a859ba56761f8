"""Fresh names: never one that is taken anywhere in the model, in any scope."""

from __future__ import annotations


class FreshNames:
    """Gives out names that collide with none of `taken` and none given before."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = set(taken)

    def fresh(self, wanted: str) -> str:
        """`wanted`, or `wanted_1`, `wanted_2`, … : the first that is free."""
        name = wanted
        count = 0
        while name in self._taken:
            count += 1
            name = f"{wanted}_{count}"
        self._taken.add(name)
        return name

    def is_free(self, name: str) -> bool:
        """Whether `name` is still to be had."""
        return name not in self._taken

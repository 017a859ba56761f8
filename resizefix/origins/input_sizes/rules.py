"""Sizes of the input at which sizes that must be equal are: "multiples of 32", and the nearest to a wished one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from resizefix.diagnostics import Diagnostic
from resizefix.origins.input_sizes.dim import Dim
from resizefix.origins.input_sizes.flow import Flow

Lengths = npt.NDArray[np.int64]
_AROUND = 512  # sizes on each side of the wished one that are looked at


@dataclass(frozen=True)
class Broken:
    """A node at which two sizes differ, or one is nothing, and how."""

    node: str
    why: str


@dataclass(frozen=True)
class SizeRule:
    """For each symbol, the sizes near the wished one that fit, and their common step (1: any)."""

    fitting: Mapping[str, tuple[int, ...]]
    steps: Mapping[str, int]
    text: str


def broken_at(flow: Flow, symbols: Mapping[str, int]) -> Broken | None:
    """The first node that fails at a size of the input; None where none is seen to."""
    point = {name: np.array([value], np.int64) for name, value in symbols.items()}
    memo: dict[Dim, Lengths] = {}
    for meeting in flow.solver.meetings:
        one, other = (flow.sizes.at(dim, point, memo) for dim in meeting.sizes)
        if one is not None and other is not None and one[0] != other[0]:
            why = Diagnostic("origins.input-size-apart", one=int(one[0]), other=int(other[0]))
            return Broken(meeting.node, why)
    for node, first, second in flow.readings:
        one, other = (flow.sizes.at(dim, point, memo) for dim in (first, second))
        if one is not None and other is not None and one[0] != other[0]:
            return Broken(node, Diagnostic("origins.input-size-two-shares", one=int(one[0]), other=int(other[0])))
    for node, first, second in flow.wished:
        one, other = (flow.sizes.at(dim, point, memo) for dim in (first, second))
        if one is not None and other is not None and one[0] != other[0]:
            why = Diagnostic("origins.input-size-wished", made=int(one[0]), wished=int(other[0]))
            return Broken(node, why)
    for rule in flow.parities:
        found = flow.sizes.at(rule.dim, point, memo)
        if found is not None and (found[0] - (rule.dim.old or 0)) % rule.step:
            return Broken(rule.node, rule.why(int(found[0])))
    for node, before, after in flow.quotients:
        size, made = (flow.sizes.at(dim, point, memo) for dim in (before, after))
        if size is not None and made is not None and not _makes(size, made)[0]:
            return Broken(node, Diagnostic("origins.input-size-quotient", size=int(size[0]), made=int(made[0])))
    for node, dim, most in flow.limits:
        found = flow.sizes.at(dim, point, memo)
        if found is not None and not 0 <= found[0] <= most:
            return Broken(node, Diagnostic("origins.input-size-pad-side", amount=int(found[0])))
    for dim, node in flow.makers():
        found = flow.sizes.at(dim, point, memo)
        if found is not None and found[0] < 1 and (dim.old or 0) >= 1:
            return Broken(node, Diagnostic("origins.input-size-empty", length=int(found[0])))
    for part, node in _quotients(flow):
        if _leaves(flow, part, point, memo)[0]:
            whole, divisor = (flow.sizes.at(size, point, memo) for size in part.parts)
            if whole is not None and divisor is not None:
                why = Diagnostic("origins.input-size-remainder", whole=int(whole[0]), divisor=int(divisor[0]))
                return Broken(node, why)
    return None


def _quotients(flow: Flow) -> Iterator[tuple[Dim, str]]:
    """Every division that must leave no remainder, with the node whose output needs it first."""
    looked: set[Dim] = set()
    for dim, node in flow.makers():
        pending = [dim]
        while pending:
            part = flow.sizes.resolve(pending.pop())
            if part not in looked:
                looked.add(part)
                pending += part.parts
                if part.kind == "quotient":
                    yield part, node


def _makes(size: Lengths, made: Lengths) -> npt.NDArray[np.bool_]:
    """Whether the float32 quotient of two sizes makes the one of the other, in kernel and inference of onnxruntime."""
    with np.errstate(all="ignore"):
        scales = made.astype(np.float32) / size.astype(np.float32)
        kernel = (scales * size.astype(np.float32)).astype(np.int64)
        inferred = np.floor(scales.astype(np.float64) * size).astype(np.int64)
        return np.asarray((kernel == made) & (inferred == made))


def _leaves(flow: Flow, dim: Dim, sizes: Mapping[str, Lengths], memo: dict[Dim, Lengths]) -> npt.NDArray[np.bool_]:
    """Where a division leaves a remainder."""
    whole, divisor = (flow.sizes.at(part, sizes, memo) for part in dim.parts)
    if whole is None or divisor is None:
        return np.zeros(next(iter(sizes.values())).shape, bool)
    return np.asarray(whole % np.where(divisor == 0, 1, divisor) != 0)


def _fits(flow: Flow, sizes: Mapping[str, Lengths]) -> npt.NDArray[np.bool_]:
    memo: dict[Dim, Lengths] = {}
    good = np.ones(next(iter(sizes.values())).shape, bool)
    for meeting in flow.solver.meetings:
        one, other = (flow.sizes.at(dim, sizes, memo) for dim in meeting.sizes)
        if one is not None and other is not None:
            good &= one == other
    for _, first, second in [*flow.readings, *flow.wished]:
        one, other = (flow.sizes.at(dim, sizes, memo) for dim in (first, second))
        if one is not None and other is not None:
            good &= one == other
    for rule in flow.parities:
        found = flow.sizes.at(rule.dim, sizes, memo)
        if found is not None:
            good &= (found - (rule.dim.old or 0)) % rule.step == 0
    for _, before, after in flow.quotients:
        size, made = (flow.sizes.at(dim, sizes, memo) for dim in (before, after))
        if size is not None and made is not None:
            good &= _makes(size, made)
    for _, dim, most in flow.limits:
        found = flow.sizes.at(dim, sizes, memo)
        if found is not None:
            good &= (found >= 0) & (found <= most)
    for dim, _ in flow.makers():
        found = flow.sizes.at(dim, sizes, memo)
        if found is not None and (dim.old or 0) >= 1:
            good &= found >= 1
    for part, _ in _quotients(flow):
        good &= ~_leaves(flow, part, sizes, memo)
    return good


def rule_of(flow: Flow, symbols: Mapping[str, int]) -> SizeRule:
    """The sizes that fit around a wished one, each symbol by itself with the others as they are in the file."""
    fitting: dict[str, tuple[int, ...]] = {}
    steps: dict[str, int] = {}
    said: list[str] = []
    for name, wished in symbols.items():
        around = np.arange(max(1, wished - _AROUND), wished + _AROUND + 1, dtype=np.int64)
        sizes = {other: np.full(around.shape, flow.sizes.symbols[other], np.int64) for other in symbols}
        sizes[name] = around
        fits = _fits(flow, sizes)
        good = [int(size) for size in around[fits]]
        below = [size for size in good if size <= wished][-1:]
        above = [size for size in good if size >= wished][:1]
        fitting[name] = tuple(dict.fromkeys([*below, *above]))
        steps[name] = _period(fits[around >= wished])  # below, a map may be too small for the network
        if fitting[name] != (wished,):
            nearest = " and ".join(str(size) for size in fitting[name]) or "none"
            whole = steps[name] > 1 and all(size % steps[name] == 0 for size in good)
            code = "origins.input-size-rule" if whole else "origins.input-size-nearest"
            said.append(Diagnostic(code, symbol=name, step=steps[name], nearest=nearest))
    return SizeRule(fitting, steps, ". ".join(said) or Diagnostic("origins.input-size-no-rule"))


def _period(fits: npt.NDArray[np.bool_]) -> int:
    """After how many sizes those that fit recur; 0 where they do not."""
    for period in range(1, len(fits) // 2):
        if np.array_equal(fits[period:], fits[:-period]):
            return period
    return 0

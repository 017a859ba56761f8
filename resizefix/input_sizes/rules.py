"""Sizes of the input at which sizes that must be equal are: "multiples of 32", and the nearest to a wished one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from resizefix.diagnostics import Diagnostic
from resizefix.input_sizes.flow import Flow
from resizefix.shapes.expression import Dim
from resizefix.shapes.output_size import Scales, inference_lengths, kernel_lengths
from resizefix.shapes.sizes import Lengths

_AROUND = 512  # sizes on each side of the wished one that are looked at


class BrokenSizeRule(NamedTuple):
    """A node at which two sizes differ, or one is nothing, and how."""

    node: str
    why: str


class SizeRule(NamedTuple):
    """For each symbol, after how many sizes the fitting ones recur (1: all fit, 0: never), and the rule as text.

    `multiples`: by the symbol the step, above 1, of which every multiple fits; `alone`: nothing else fits.
    """

    steps: Mapping[str, int]
    text: str
    multiples: Mapping[str, int]
    alone: bool


class _Condition(NamedTuple):
    """What must hold at a node: `holds` says where of the lengths of `dims`, `why` what is wrong with some of them."""

    node: str
    dims: Sequence[Dim]
    holds: Callable[..., npt.NDArray[np.bool_]]
    why: Callable[..., Diagnostic]


_WHY: dict[str, Callable[..., Diagnostic]] = {
    "apart": lambda one, other: Diagnostic("origins.input-size-apart", one=one, other=other),
    "two-shares": lambda one, other: Diagnostic("origins.input-size-two-shares", one=one, other=other),
    "wished": lambda made, wished: Diagnostic("origins.input-size-wished", made=made, wished=wished),
    "uneven": lambda old, new: Diagnostic("origins.input-size-parity", old=old, new=new),
    "even": lambda old, new: Diagnostic("origins.input-size-same", old=old, new=new),
    "quotient": lambda size, made: Diagnostic("origins.input-size-quotient", size=size, made=made),
    "pad-side": lambda amount: Diagnostic("origins.input-size-pad-side", amount=amount),
    "empty": lambda length: Diagnostic("origins.input-size-empty", length=length),
    "remainder": lambda whole, divisor: Diagnostic("origins.input-size-remainder", whole=whole, divisor=divisor),
}


def _conditions(flow: Flow) -> Iterator[_Condition]:
    """All that must hold at a size of the input, in the order in which it is said."""
    for why, pairs in (("apart", flow.solver.meetings), ("two-shares", flow.readings), ("wished", flow.wished)):
        for node, *pair in pairs:
            yield _Condition(node, pair, np.equal, _WHY[why])
    for node, dim, step, uneven in flow.remainders:
        holds = partial(_leaves_remainder, dim.old or 0, step)
        yield _Condition(node, [dim], holds, partial(_WHY["uneven" if uneven else "even"], dim.old))
    for node, *pair in flow.quotients:
        yield _Condition(node, pair, _makes, _WHY["quotient"])
    for node, dim, most in flow.limits:
        yield _Condition(node, [dim], partial(_is_up_to, most), _WHY["pad-side"])
    for dim, node in flow.makers():
        if (dim.old or 0) >= 1:
            yield _Condition(node, [dim], partial(np.less_equal, 1), _WHY["empty"])
    for part, node in _quotients(flow):
        yield _Condition(node, part.parts, _divides, _WHY["remainder"])


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
        scales: Scales = np.divide(made, size, dtype=np.float32)
        return np.asarray((kernel_lengths(scales, size) == made) & (inference_lengths(scales, size) == made))


def _leaves_remainder(old: int, step: int, lengths: Lengths) -> npt.NDArray[np.bool_]:
    return np.asarray((lengths - old) % step == 0)


def _is_up_to(most: int, amount: Lengths) -> npt.NDArray[np.bool_]:
    return np.asarray((amount >= 0) & (amount <= most))


def _divides(whole: Lengths, divisor: Lengths) -> npt.NDArray[np.bool_]:
    return np.asarray(whole % np.where(divisor == 0, 1, divisor) == 0)


def _looked_at(
    flow: Flow, sizes: Mapping[str, Lengths]
) -> Iterator[tuple[_Condition, list[Lengths], npt.NDArray[np.bool_]]]:
    """The conditions whose lengths are known at these sizes of the input, the lengths, and where they hold."""
    memo: dict[Dim, Lengths] = {}
    for condition in _conditions(flow):
        found = [flow.sizes.at(dim, sizes, memo) for dim in condition.dims]
        lengths = [length for length in found if length is not None]
        if len(lengths) == len(found):
            yield condition, lengths, condition.holds(*lengths)


def point_of(symbols: Mapping[str, int]) -> dict[str, Lengths]:
    """One size of the input, as `Sizes.at` takes many."""
    return {name: np.array([value], np.int64) for name, value in symbols.items()}


def broken_at(flow: Flow, symbols: Mapping[str, int]) -> BrokenSizeRule | None:
    """The first node that fails at a size of the input; None where none is seen to."""
    for condition, lengths, holds in _looked_at(flow, point_of(symbols)):
        if not holds[0]:
            return BrokenSizeRule(condition.node, condition.why(*(int(length[0]) for length in lengths)))
    return None


def rule_of(flow: Flow, symbols: Mapping[str, int]) -> SizeRule:
    """The sizes that fit around a wished one, each symbol by itself with the others as they are in the file."""
    steps: dict[str, int] = {}
    multiples: dict[str, int] = {}
    said: list[str] = []
    alone = True
    for name, wished in symbols.items():
        around = np.arange(max(1, wished - _AROUND), wished + _AROUND + 1, dtype=np.int64)
        sizes = {other: np.full(around.shape, flow.sizes.symbols[other], np.int64) for other in symbols}
        sizes[name] = around
        fits = np.ones(around.shape, bool)
        for _, _, holds in _looked_at(flow, sizes):
            fits &= holds
        # below the wished size, a map may be too small for the network
        step = steps[name] = _period(fits[around >= wished])
        good, code = around[fits], "origins.input-size-nearest"
        if step > 1 and fits[(around >= wished) & (around % step == 0)].all():
            whole = good[good % step == 0]
            code = "origins.input-size-rule" if len(whole) == len(good) else "origins.input-size-multiples"
            alone &= len(whole) == len(good)
            multiples[name] = step
            good = good if wished in good else whole
        below, above = good[good <= wished][-1:], good[good >= wished][:1]
        fitting = list(dict.fromkeys([*below.tolist(), *above.tolist()]))
        if fitting != [wished]:
            nearest = " and ".join(map(str, fitting)) or "none"
            said.append(Diagnostic(code, symbol=name, step=step, nearest=nearest))
    return SizeRule(steps, ". ".join(said) or Diagnostic("origins.input-size-no-rule"), multiples, alone)


def _period(fits: npt.NDArray[np.bool_]) -> int:
    """After how many sizes those that fit recur; 0 where they do not."""
    for period in range(1, len(fits) // 2):
        if np.array_equal(fits[period:], fits[:-period]):
            return period
    return 0

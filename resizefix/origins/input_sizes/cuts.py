"""Cuts of axes that nothing has decided: where they begin, and how much they keep."""

from __future__ import annotations

from resizefix.diagnostics import Diagnostic
from resizefix.origins.input_sizes.choices import Choices
from resizefix.origins.input_sizes.dim import Dim, Sizes
from resizefix.origins.input_sizes.flow import Flow
from resizefix.origins.input_sizes.refusal import refuse


def halves(flow: Flow, choices: Choices, inferred: list[str]) -> None:
    """Cuts that begin at half of an axis."""
    for label, start, dim in flow.halves:
        if flow.is_open(start) and choices.of(label) != "keep":
            flow.bind(start, flow.sizes.quotient(dim, flow.sizes.const(2)))
            inferred.append(Diagnostic("origins.inferred-half", label=label, old=dim.old))


def tails(flow: Flow, choices: Choices, inferred: list[str]) -> None:
    """Cuts up to the end of an axis whose length nothing has decided."""
    for label, start, dim, length in flow.tails:
        if flow.is_open(length):
            if choices.of(label) != "keep":
                raise refuse(label, "origins.input-size-cut", old=dim.old, numbers=[(dim.old or 0) - (length.old or 0)])
            flow.bind(length, flow.sizes.plus(dim, -(start.old or 0)))


def cuts(flow: Flow, choices: Choices, inferred: list[str], *, refusing: bool = True) -> None:
    """Those whose length has one reading. Raises SizeRefusedError for any other if `refusing`; else these stay open."""
    sizes = flow.sizes
    halved = {sizes.resolve(dim) for _, _, dim in flow.halves}
    for label, dim, first, length in flow.cuts:
        if not flow.is_open(length):
            continue
        begin, old, whole = first.old or 0, length.old or 0, dim.old or 0
        said = choices.of(label)
        target: Dim | None = None
        if said == "keep" or sizes.fixed(dim) is not None:
            target = sizes.const(old)
        elif begin == 0 and (symbol := _equal_symbol(sizes, dim, old)) is not None:
            target = symbol
        elif begin + old == whole:
            flow.bind(length, sizes.minus(dim, first))
            continue
        elif begin > 0 and whole - begin - old == begin:
            target = sizes.plus(dim, -2 * begin)
        elif begin == 0 and 2 * old == whole and (sizes.resolve(dim) in halved or said == "follow"):
            target = sizes.quotient(dim, sizes.const(2))
        if target is None and not refusing:
            continue
        if target is None:
            raise refuse(label, "origins.input-size-cut", old=whole, numbers=[begin, begin + old])
        flow.bind(length, target)
        code = "origins.inferred-kept" if said == "keep" else "origins.inferred-kept-of-input"
        inferred.append(Diagnostic(code, label=label, old=old))


def _equal_symbol(sizes: Sizes, dim: Dim, old: int) -> Dim | None:
    """The size of the input that an axis follows, if it is `old`."""
    return next((side for side in sizes.sides if side.old == old and sizes.follows(dim, side.data)), None)

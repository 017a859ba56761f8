"""Resizes to sizes of the file that stay, and are as likely to follow the map: shares of it, its longer side."""

from collections.abc import Callable
from fractions import Fraction

from resizefix.input_sizes.conventions import against
from resizefix.input_sizes.flow import Flow
from resizefix.input_sizes.refusal import KEEP, asked, refuse

_SMALL = 4
_ROUNDED_SHARES = (
    *(Fraction(1, parts) for parts in (2, 3, 4, 5, 6, 8)),
    Fraction(2, 3),
    Fraction(3, 4),
    Fraction(3, 2),
)
_ONE_OFF = [
    *((Fraction(1, parts), 1) for parts in (1, 2, 4, 8)),
    *((share, -1) for share in (Fraction(1), Fraction(2), Fraction(1, 2))),
    (Fraction(2), 1),
    *((share, 0) for parts in (2, 4, 8) for share in (Fraction(parts), Fraction(1, parts))),
]
"""What is left of a size, and what is added to that."""


def _one_side_alone(flow: Flow) -> None:
    """A resize by one factor of which another node fixes one side: only the other side would follow the input."""
    for use in flow.resizes:
        moving = [(before, after) for _, before, after in use.axes if flow.sizes.varies(before)]
        factors = {Fraction(after.old or 0, before.old or 1) for before, after in moving}
        held = {flow.sizes.fixed(after) is not None for _, after in moving}
        if len(factors) == 1 and len(held) == 2 and not flow.keeps(use.label):
            factor, made = f"{float(factors.pop()):.4g}", [after.old for _, after in moving]
            raise refuse(use.label, "origins.input-size-resize-factor", sizes=made, factor=factor)


def _one_off_a_share(flow: Flow) -> None:
    """A resize to sizes of the file which are a usual share or multiple of the map, or one more or less, where one side
    alone changes and so no other rule has asked."""
    for use in flow.resizes:
        if any(axis == 0 and before.old != after.old for axis, before, after in use.axes):
            continue  # the file says another batch than it has: that is looked at first
        kept = [(before, after) for axis, before, after in use.axes if axis and (use.label, axis) in flow.kept]
        held = [(before.old or 0, after.old or 0) for before, after in kept]
        moves = any(flow.sizes.varies(before) for before, _ in kept)
        off = [{share for share, more in _ONE_OFF if int(old * share) + more == new > _SMALL} for old, new in held]
        rounded = [{share for share in _ROUNDED_SHARES if abs(old * share - new) < 1 < new} for old, new in held]
        off = [one | other for one, other in zip(off, rounded, strict=True)] if len(held) > 1 else off
        shares = [Fraction(new, old or 1) for old, new in held]
        of_each = len(set(shares)) > 1 and all(1 in share.as_integer_ratio() and share != 1 for share in shares)
        of_each |= len(held) > 1 and set(shares) == {1, 2}
        common = set.intersection(*off) if off else set()
        if moves and (common or of_each) and not use.is_scale and flow.choices.of(use.label) is None:
            said = {
                "sizes": [new for _, new in held],
                "share": str(max(common)) if common else " and ".join(map(str, shares)),
            }
            raise asked(use.label, said["sizes"], "origins.input-size-resize-one-off", {KEEP: against(KEEP)}, **said)


def _squared(flow: Flow) -> None:
    """A resize to a square whose side is one of the map's, as of the longer one."""
    for use in flow.resizes:
        sides = [(before, flow.sizes.fixed(after)) for axis, before, after in use.axes if axis]
        lengths = {after for _, after in sides}
        olds = {before.old for before, _ in sides}
        moves = any(flow.sizes.varies(before) for before, _ in sides) and flow.choices.of(use.label) is None
        if moves and len(olds) > 1 and len(lengths) == 1 and lengths <= olds and not use.is_scale:
            sizes = [after for _, after in sides]
            raise asked(use.label, sizes, "origins.input-size-resize-map", {KEEP: against(KEEP)}, sizes=sizes)


RESIZE_READINGS: tuple[Callable[[Flow], None], ...] = (_one_side_alone, _one_off_a_share, _squared)
"""Each raises SizeRefusedError for such a resize."""

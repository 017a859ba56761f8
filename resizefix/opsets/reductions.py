"""Many values become one: in windows, whose ceil_mode becomes padding, and along axes, which go back into an attribute.

With ceil_mode the last window may reach past the end. Where the size is fixed, it is known by how much; where it is
not, padding by stride - 1 more makes the floor of the new size the ceiling of the old one. Both are the same operation
as long as no window lies in padding alone: the padding must stay smaller than the kernel, as every runtime demands.
"""

from typing import Any

from onnx import TensorProto

from resizefix.opsets.site import OpsetRow, OpsetSite
from resizefix.opsets.verdict import OLDER_EXPORT, Blocked
from resizefix.outcome import ErrorBound

_GONE = ("ceil_mode", "dilations")
# onnxruntime has two kernels for AveragePool that round the mean differently: one for version 19 and later, and for
# ceil_mode with count_include_pad; one for all else.
_ONE_ROUNDING = ErrorBound(exact=False, bound=2e-7)


def padding_that_does_not_count(site: OpsetSite) -> None:
    """MaxPool, where padding never wins, and LpPool, where it adds nothing."""
    _refuse_dilations(site)
    if _rounds_up(site):
        site.copy_node(without=[*_GONE, "auto_pad"], pads=_lengthened(site, _pads(site)))
    else:
        site.copy_node(without=_GONE)


def average_pool(site: OpsetSite) -> None:
    """AveragePool-7 counts all padding or none; what ceil_mode adds is never counted (onnxruntime 1.31, torch)."""
    counted = site.attribute("count_include_pad", 0)
    if counted and site.attribute("ceil_mode", 0):
        site.error = _ONE_ROUNDING
    if not _rounds_up(site):
        site.copy_node(without=_GONE)
        return
    pads = _pads(site)
    lengthened = _lengthened(site, pads)
    if not counted or lengthened == pads:
        site.copy_node(without=[*_GONE, "auto_pad"], pads=lengthened)
        return
    # The padding that counts is made real; what is left is not counted.
    half = len(pads) // 2
    padded = site.add("Pad", site.data, mode="constant", pads=[0, 0, *pads[:half], 0, 0, *pads[half:]], value=0.0)
    rest = [0] * half + [after - before for before, after in zip(pads[half:], lengthened[half:], strict=True)]
    site.copy_node(inputs=[padded], without=[*_GONE, "auto_pad"], pads=rest, count_include_pad=0)


def undilated_average(site: OpsetSite) -> None:
    """AveragePool-10 has no dilations, and a kernel of its own that rounds otherwise."""
    _refuse_dilations(site)
    site.error = _ONE_ROUNDING
    site.copy_node(without=["dilations"])


def unindexed(site: OpsetSite) -> None:
    """MaxPool-1 gives no indices, and so cares for no storage_order."""
    if site.output(1):
        raise Blocked("opsets.indices-are-used", OLDER_EXPORT)
    site.copy_node(outputs=[site.output()], without=["storage_order"])


_DILATIONS_SINCE = {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}


def _refuse_dilations(site: OpsetSite) -> None:
    if any(dilation != 1 for dilation in site.attribute("dilations", ())):
        raise Blocked(
            "opsets.no-dilations",
            OLDER_EXPORT,
            operator=site.node.op_type,
            dilations_since=_DILATIONS_SINCE[site.node.op_type],
        )


def _rounds_up(site: OpsetSite) -> bool:
    # auto_pad SAME_* rounds up by itself, in every version.
    return bool(site.attribute("ceil_mode", 0)) and site.attribute("auto_pad", "NOTSET") in ("NOTSET", "VALID")


def _pads(site: OpsetSite) -> list[int]:
    kernel = site.attribute("kernel_shape")
    explicit = site.attribute("auto_pad", "NOTSET") == "NOTSET"
    return list(site.attribute("pads", [0] * 2 * len(kernel))) if explicit else [0] * 2 * len(kernel)


def _lengthened(site: OpsetSite, pads: list[int]) -> list[int]:
    """`pads` with as much more at the end as ceil_mode reaches past it."""
    kernel = site.attribute("kernel_shape")
    half = len(kernel)
    strides = site.attribute("strides", [1] * half)
    dims = site.dims(site.data) or (None,) * (half + 2)
    longer = list(pads)
    for axis in range(half):
        begin, end = pads[axis], pads[half + axis]
        end = _end(dims[axis + 2], begin, end, kernel[axis], strides[axis])
        if end >= kernel[axis]:
            raise Blocked(
                "opsets.ceil-mode-needs-padding", "opsets.fix-ceil-mode", axis=axis + 2, end=end, kernel=kernel[axis]
            )
        longer[half + axis] = end
    return longer


def _end(size: int | None, begin: int, end: int, kernel: int, stride: int) -> int:
    """The padding at the end that makes the floor what ceil_mode gives; it drops a window that starts past the data."""
    if size is None:
        return end + stride - 1
    windows = -(-(size + begin + end - kernel) // stride) + 1
    if (windows - 1) * stride >= size + begin:
        windows -= 1
    return max(end, (windows - 1) * stride + kernel - size - begin)


# With nothing to reduce these return their input; the others would still apply their function to each element, and
# what onnxruntime and the specification do there is not the same.
_IDENTITY_ON_NOTHING = frozenset({"ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"})


def axes_as_attribute(site: OpsetSite) -> None:
    """Axes: an input since 18 (ReduceSum: 13); none means all, or none with noop_with_empty_axes."""
    axes = site.ints("axes", 1)
    if not axes and site.attribute("noop_with_empty_axes", 0):
        if site.node.op_type not in _IDENTITY_ON_NOTHING:
            raise Blocked("opsets.noop-not-defined", "opsets.fix-name-axes")
        site.add("Identity", site.data, into=site.output())
        return
    attributes: dict[str, Any] = {"axes": axes} if axes else {}
    site.copy_node(inputs=[site.data], without=["axes", "noop_with_empty_axes"], **attributes)


def axes_from_the_front(site: OpsetSite) -> None:
    """Negative axes came with 11."""
    axes = site.attribute("axes")
    attributes: dict[str, Any] = {"axes": site.nonnegative(axes, site.data)} if axes else {}
    site.copy_node(**attributes)


def small_integers(site: OpsetSite) -> None:
    """ReduceMax-12, -20 and ReduceMin: small integers and bool, which int32 holds, and the result is one of them."""
    kind = site.dtype(site.data)
    if kind.kind not in "iub" or kind.itemsize >= 4 or (site.since_version > 12 and kind.kind != "b"):
        site.copy_node()
        return
    as_int32 = site.fresh("int32")
    site.copy_node(inputs=[site.cast(site.data, TensorProto.INT32), *site.node.input[1:]], outputs=[as_int32])
    site.add("Cast", as_int32, into=site.output(), to=site.elem_type(site.data))


def by_a_kernel(site: OpsetSite) -> None:
    """ReduceLogSum-28 and ReduceLogSumExp-28: onnxruntime computes them by other operators, which round otherwise."""
    site.error = _ONE_ROUNDING
    site.copy_node()


def first_of_equals(site: OpsetSite) -> None:
    """ArgMax and ArgMin: the last of equal elements since 12."""
    if site.attribute("select_last_index", 0):
        raise Blocked("opsets.no-select-last", "opsets.fix-select-first")
    site.copy_node(without=["select_last_index"])


def axis_from_the_front(site: OpsetSite) -> None:
    """ArgMax and ArgMin: negative axis since 11."""
    site.copy_node(axis=site.axis(0, site.data))


# Sources: docs/Changelog.md, the section of each version named. Reductions: 28 took integers away from two.
_REDUCED = {11: axes_from_the_front, 18: axes_as_attribute}
_SMALL = {12: small_integers, 20: small_integers}
ROWS: tuple[OpsetRow, ...] = (
    OpsetRow(
        "MaxPool", {8: unindexed, 10: padding_that_does_not_count}, (11, 12, 22)
    ),  # 10: ceil_mode; 12: int8, uint8
    OpsetRow("AveragePool", {10: average_pool, 19: undilated_average}, (11, 22)),  # 10: ceil_mode; 19: dilations
    OpsetRow("LpPool", {18: padding_that_does_not_count}, (11, 22)),  # 18: ceil_mode, dilations
    *(OpsetRow(f"Reduce{name}", _REDUCED, (13,)) for name in ("L1", "L2", "Mean", "Prod", "SumSquare")),
    *(OpsetRow(f"Reduce{name}", {**_REDUCED, 28: by_a_kernel}, (13,)) for name in ("LogSum", "LogSumExp")),
    *(OpsetRow(f"Reduce{name}", {**_REDUCED, **_SMALL}, (13,)) for name in ("Max", "Min")),
    OpsetRow("ReduceSum", {11: axes_from_the_front, 13: axes_as_attribute}),
    *(OpsetRow(name, {11: axis_from_the_front, 12: first_of_equals}, (13,)) for name in ("ArgMax", "ArgMin")),
)

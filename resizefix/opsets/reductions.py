"""Reductions: axes go back from an input into an attribute, counted from the front."""

from typing import Any

from onnx import TensorProto

from resizefix.opsets.site import Row, Site
from resizefix.opsets.verdict import Blocked

# With nothing to reduce these return their input; the others would still apply their function to each element, and
# what onnxruntime and the specification do there is not the same.
_IDENTITY_ON_NOTHING = frozenset({"ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"})


def reduce(site: Site) -> None:
    """Axes: an input since 18 (ReduceSum: 13), negative since 11; none means all, or none with noop_with_empty_axes."""
    axes = site.ints("axes", 1)
    if not axes and site.attribute("noop_with_empty_axes", 0):
        if site.node.op_type not in _IDENTITY_ON_NOTHING:
            raise Blocked("opsets.noop-not-defined", "opsets.fix-name-axes")
        site.add("Identity", site.data, into=site.output())
        return
    attributes: dict[str, Any] = {"axes": site.nonnegative(axes, site.data)} if axes else {}
    gone = ["axes", "noop_with_empty_axes"]
    if site.dtype(site.data).kind not in "iub" or site.dtype(site.data).itemsize >= 4:
        site.copy_node(inputs=[site.data], without=gone, **attributes)
        return
    # ReduceMax-12, -20: small integers and bool, which no smaller type reduces to anything but themselves
    if site.node.op_type not in ("ReduceMax", "ReduceMin"):
        raise Blocked(
            "opsets.overflow-differs", "opsets.fix-cast-int32", operator=site.node.op_type, dtype=site.dtype(site.data)
        )
    elem_type, found = site.elem_type(site.data), site.fresh("int32")
    site.copy_node(inputs=[site.cast(site.data, TensorProto.INT32)], outputs=[found], without=gone, **attributes)
    site.add("Cast", found, into=site.output(), to=elem_type)


def arg_extreme(site: Site) -> None:
    """ArgMax and ArgMin: negative axis since 11, the last of equal elements since 12."""
    if site.attribute("select_last_index", 0):
        raise Blocked("opsets.no-select-last", "opsets.fix-select-first")
    axis = site.axis(0, site.data)
    site.copy_node(without=["select_last_index"], axis=axis)


# Sources: docs/Changelog.md. 11: negative axes; 13, 18: axes are an input; 12, 20: more types.
ROWS: tuple[Row, ...] = (
    *(
        Row(f"Reduce{name}", (11, 13, 18), 1, reduce)
        for name in ("L1", "L2", "LogSum", "LogSumExp", "Mean", "Prod", "SumSquare")
    ),
    Row("ReduceSum", (11, 13), 1, reduce),
    *(Row(op_type, (11, 12, 13, 18, 20), 1, reduce) for op_type in ("ReduceMax", "ReduceMin")),
    *(Row(op_type, (11, 12, 13), 1, arg_extreme) for op_type in ("ArgMax", "ArgMin")),
)

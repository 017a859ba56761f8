"""The seven operators that changed from opset 7 to 8. Each row takes an operator of opset 8."""

from __future__ import annotations

import numpy as np

from resizefix.error_bound import ErrorBound
from resizefix.opsets.row import Row
from resizefix.opsets.selection import broadcast
from resizefix.opsets.site import Site
from resizefix.opsets.verdict import FIX_SHAPES, OLDER_EXPORT, Blocked


def expand(site: Site) -> None:
    """Expand came with opset 8. Repeating says the same where the sizes are fixed, or where all are 1 before."""
    data, wanted = site.input(0), site.input(1)
    dims = site.dims(data)
    known = site.constant(wanted)
    if known is not None and dims is not None and None not in dims:
        _repeat(
            site, data, [size for size in dims if size is not None], [int(size) for size in known], into=site.output()
        )
        return
    length = site.dims(wanted)
    if dims is None or length is None or length[0] is None or any(size != 1 for size in dims) or len(dims) > length[0]:
        raise Blocked("opsets.expand-size-unknown", FIX_SHAPES)
    ones = site.add("Reshape", data, site.value(np.ones(length[0], np.int64), "ones"))
    site.add("Tile", ones, wanted, into=site.output())


def _repeat(site: Site, data: str, before: list[int], wanted: list[int], into: str | None = None) -> str:
    """`data` broadcast to `wanted`, both ways, as Expand does."""
    after = list(np.broadcast_shapes(tuple(before), tuple(wanted)))
    aligned = [1] * (len(after) - len(before)) + before
    if aligned != before:
        data = site.add("Reshape", data, site.value(np.array(aligned, np.int64), "aligned"))
    repeats = [size if old == 1 else 1 for size, old in zip(after, aligned, strict=True)]
    return site.add("Tile", data, site.value(np.array(repeats, np.int64), "repeats"), into=into)


def extreme(site: Site) -> None:
    """Max-6 and Min-6 do not broadcast."""
    if not _needs_broadcast(site):
        site.copy_node()
        return
    shapes = [list(site.static_dims(name)) for name in site.node.input]
    full = broadcast(*(tuple(shape) for shape in shapes)) or ()
    wanted = [size for size in full if size is not None]
    site.copy_node(
        inputs=[
            name if shape == wanted else _repeat(site, name, shape, wanted)
            for name, shape in zip(site.node.input, shapes, strict=True)
        ]
    )


def total(site: Site) -> None:
    """Sum-6 and Mean-6 do not broadcast; Add-7 does."""
    if not _needs_broadcast(site):
        site.copy_node()
        return
    names = list(site.node.input)
    mean = site.node.op_type == "Mean"
    found = names[0]
    for position, name in enumerate(names[1:], start=1):
        last = position == len(names) - 1 and not mean
        found = site.add("Add", found, name, into=site.output() if last else None)
    if mean:
        site.add("Div", found, site.scalar(len(names), like=names[0]), into=site.output())


def _needs_broadcast(site: Site) -> bool:
    shapes = [site.dims(name) for name in site.node.input]
    return len(shapes) > 1 and (None in shapes or any(shape != shapes[0] or None in (shape or ()) for shape in shapes))


def max_pool(site: Site) -> None:
    """MaxPool-1 gives no indices."""
    if site.output(1):
        raise Blocked("opsets.no-maxpool-indices", OLDER_EXPORT)
    site.copy_node(outputs=[site.output()], without=["storage_order"])


def scan(site: Site) -> None:
    """Nothing before opset 8 scans."""
    raise Blocked("opsets.no-scan", "opsets.fix-unroll")


# Sources: docs/Changelog.md, version 8 of the default domain.
ROWS: tuple[Row, ...] = (
    Row("Expand", (8,), 0, expand),
    Row("Max", (8,), 6, extreme),
    Row("Min", (8,), 6, extreme),
    Row("Sum", (8,), 6, total),
    Row("Mean", (8,), 6, total, ErrorBound(exact=False, bound=2e-7)),
    Row("MaxPool", (8,), 1, max_pool),
    Row("Scan", (8,), 0, scan),
)

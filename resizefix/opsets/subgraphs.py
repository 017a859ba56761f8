"""Operators that hold bodies. The bodies themselves are rewritten like any graph, before the node that holds them.

Branches of an If whose shapes are known only when the model runs; If-1 demands one shape.
"""

from __future__ import annotations

from resizefix.diagnostics import Diagnostic
from resizefix.document.scopes import DEFAULT_DOMAINS, node_label
from resizefix.opsets.site import OpsetRow, OpsetSite
from resizefix.opsets.verdict import Blocked, Blocker
from resizefix.shapes.inference import Dims
from resizefix.shapes.stored_shapes import ModelView


def if_(site: OpsetSite) -> None:
    """If-1 wants the same shape from both branches; since 11 they may differ."""
    pairs = zip(site.body_dims("then_branch"), site.body_dims("else_branch"), strict=True)
    for position, (first, second) in enumerate(pairs):
        if first is not None and second is not None and not _may_be_equal(first, second):
            raise Blocked(
                "opsets.branches-differ",
                "opsets.fix-equal-branches",
                position=position,
                first=list(first),
                second=list(second),
            )
    site.copy_node()


def _may_be_equal(first: Dims, second: Dims) -> bool:
    return len(first) == len(second) and all(
        one == other or one is None or other is None for one, other in zip(first, second, strict=True)
    )


def scan(site: OpsetSite) -> None:
    """Scan-8 wants a batch axis before everything, here of size 1, and has no axes or output directions of its own."""
    count = site.attribute("num_scan_inputs")
    plain = not any(site.attribute("scan_input_axes", ())) and not any(site.attribute("scan_output_axes", ()))
    if not plain or any(site.attribute("scan_output_directions", ())):
        raise Blocked("opsets.scan-of-other-axis", "opsets.fix-transpose-outside-scan")
    inputs = [site.add("Unsqueeze", name, axes=[0]) for name in site.node.input]
    outputs = [site.fresh(f"batch_{position}") for position in range(len(site.node.output))]
    directions = list(site.attribute("scan_input_directions", [0] * count))
    gone = ["scan_input_axes", "scan_output_axes", "scan_input_directions", "scan_output_directions"]
    site.copy_node(inputs=["", *inputs], outputs=outputs, without=gone, directions=directions)
    for name, wanted in zip(outputs, site.node.output, strict=True):
        if wanted:
            site.add("Squeeze", name, into=wanted, axes=[0])


def scan_from_the_front(site: OpsetSite) -> None:
    """Negative axes came with 11."""
    for name in ("scan_input_axes", "scan_output_axes"):
        if min(site.attribute(name, ()), default=0) < 0:
            raise Blocked("opsets.scan-of-negative-axis", "opsets.fix-axis-from-front")
    site.copy_node()


# Sources: docs/Changelog.md. If-11: shapes may differ; Scan-9: no batch axis, axes and directions. Others: more types.
_TYPES = (13, 16, 19, 21, 23, 24, 25)  # 13, 16: sequences, optionals (refused by their types)
ROWS: tuple[OpsetRow, ...] = (
    OpsetRow("If", {11: if_}, _TYPES),
    OpsetRow("Loop", {}, (11, *_TYPES)),
    OpsetRow("Scan", {9: scan, 11: scan_from_the_front}, _TYPES[1:]),
)


_SHAPES_MAY_DIFFER = 11  # If-11, docs/Changelog.md


def open_branches(view: ModelView) -> list[Blocker]:
    """A blocker for each If whose branches give an output two shapes, or one of which not every size is known."""
    blockers: list[Blocker] = []
    for (path, index), bodies in view.scopes.held.items():
        scope = view.scopes.by_path[path]
        node = scope.body.node[index]
        if node.op_type != "If" or node.domain not in DEFAULT_DOMAINS or scope.opset < _SHAPES_MAY_DIFFER:
            continue
        shapes = [[view.dims(body, value.name) for value in body.body.output] for body in bodies]
        for position, given in enumerate(zip(*shapes, strict=False)):
            if len(set(given)) > 1 or given[0] is None or None in given[0]:
                reason = Diagnostic("opsets.open-branches", position=position)
                fix = Diagnostic("opsets.fix-open-branches")
                blockers.append(Blocker(node_label(node, index), "If", scope.opset, reason, fix))
                break
    return blockers

"""Branches of an If whose shapes are known only when the model runs; If-1 demands one shape."""

from resizefix.diagnostics import Diagnostic
from resizefix.document.scopes import DEFAULT_DOMAINS, node_label
from resizefix.opsets.verdict import Blocker
from resizefix.shapes.model_view import ModelView

_SHAPES_MAY_DIFFER = 11  # If-11, docs/Changelog.md


def open_branches(view: ModelView) -> list[Blocker]:
    """A blocker for each If whose branches give an output two shapes, or one of which not every size is known."""
    found: list[Blocker] = []
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
                found.append(Blocker(node_label(node, index), "If", scope.opset, reason, fix))
                break
    return found

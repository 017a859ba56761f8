"""Whether a model may import a later opset as it is: every other node is valid there and means the same."""

from __future__ import annotations

import onnx
from onnx import NodeProto

from resizefix.document.scopes import DEFAULT_DOMAINS, Scopes

# Changed meaning under the same signature (onnx/defs, "old.cc" of each): the axis of Softmax from 13 on is one axis,
# before it is where the input is flattened.
_SILENT = {"Softmax": 13, "LogSoftmax": 13, "Hardmax": 13}
_RESIZES = frozenset({"Upsample", "Resize"})  # judged by their own faults


def why_not_raised(scopes: Scopes, version: int) -> str | None:
    """The first node that `version` of ai.onnx has not, or has with another signature, as a sentence; None: none.

    Resize and Upsample are left out. Nodes in functions follow the function's own import.
    """
    current = scopes.main.opset
    for scope in scopes.all:
        for node in scope.body.node:
            if scope.in_function or node.domain not in DEFAULT_DOMAINS or node.op_type in _RESIZES:
                continue
            reason = _why_not(node, current, version)
            if reason is not None:
                return f"{node.op_type} node '{node.name or (node.output[0] if node.output else '')}' {reason}"
    return None


def _why_not(node: NodeProto, current: int, version: int) -> str | None:
    if not onnx.defs.has(node.op_type, "") or not _has(node.op_type, version):
        return f"is not an operator of opset {version}"
    schema = onnx.defs.get_schema(node.op_type, version, "")
    if (
        _has(node.op_type, current)
        and schema.since_version == onnx.defs.get_schema(node.op_type, current, "").since_version
    ):
        return None
    if schema.deprecated:
        return f"is deprecated in opset {version}"
    if current < _SILENT.get(node.op_type, 0) <= version:
        return f"means something else from opset {_SILENT[node.op_type]} on"
    unknown = [attribute.name for attribute in node.attribute if attribute.name not in schema.attributes]
    if unknown:
        return f"has the attribute '{unknown[0]}', which opset {version} does not have"
    required = [name for name, row in schema.attributes.items() if row.required]
    if not set(required) <= {attribute.name for attribute in node.attribute}:
        return f"lacks an attribute that opset {version} requires"
    if not schema.min_input <= len(node.input) <= schema.max_input:
        return f"has {len(node.input)} inputs; opset {version} wants {schema.min_input} to {schema.max_input}"
    return None


def _has(op_type: str, version: int) -> bool:
    try:
        onnx.defs.get_schema(op_type, version, "")
    except onnx.defs.SchemaError:
        return False
    return True

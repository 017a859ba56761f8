"""Whether a node has the inputs and attributes that its operator cannot be without: rewrites rely on it.

A runtime refuses such nodes as well. Resize and Upsample are not looked at: what is wrong with those is reported site
by site. Source: the operator schemas of the installed onnx (docs/Operators.md).
"""

from functools import lru_cache
from typing import NamedTuple

import onnx
from onnx import AttributeProto, NodeProto

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.dialect import RESIZES
from resizefix.document.scopes import DEFAULT_DOMAINS
from resizefix.document.text import counted
from resizefix.shapes.signatures import schema_of

_ANY_NUMBER = 2**31 - 1  # what onnx says for "variadic"


class _Needs(NamedTuple):
    """What a schema asks for, read out of it once: how many inputs and outputs, attributes by name."""

    least: int
    most: int
    fewest_outputs: int
    outputs: int
    required: frozenset[str]
    types: dict[str, int]
    version: str

    @property
    def inputs(self) -> str:
        """How many inputs, in words."""
        if self.least == self.most:
            return str(self.least)
        return f"{self.least} to {self.most}" if self.most < _ANY_NUMBER else f"{self.least} or more"


def why_incomplete(node: NodeProto, opset: int) -> str | None:
    """What the node of this opset lacks, or has of another type; None where nothing, or the operator is not known."""
    if node.domain not in DEFAULT_DOMAINS or node.op_type in RESIZES:
        return None
    needs = _needs(node.op_type, opset)
    if needs is None:
        return None
    if not needs.least <= len(node.input) <= needs.most:
        return Diagnostic(
            "opsets.has-inputs", count=counted(len(node.input), "input"), version=needs.version, takes=needs.inputs
        )
    if not needs.fewest_outputs <= len(node.output) <= needs.outputs:
        return Diagnostic("opsets.has-outputs", count=counted(len(node.output), "output"), version=needs.version)
    given = set()
    for attribute in node.attribute:
        name, kind = attribute.name, attribute.type
        given.add(name)
        if kind == AttributeProto.UNDEFINED and not attribute.ref_attr_name:
            return Diagnostic("opsets.has-untyped-attribute", name=name)
        if kind != needs.types.get(name, kind) and kind != AttributeProto.UNDEFINED:
            spelled = AttributeProto.AttributeType.Name(kind)
            return Diagnostic("opsets.has-attribute-of-type", name=name, kind=spelled, version=needs.version)
    lacking = sorted(needs.required - given)
    return Diagnostic("opsets.has-no-attribute", name=lacking[0], version=needs.version) if lacking else None


@lru_cache(maxsize=4096)
def _needs(op_type: str, opset: int) -> _Needs | None:
    # What an opset newer than the installed onnx changed is not known.
    schema = schema_of(op_type, opset) if 0 < opset <= onnx.defs.onnx_opset_version() else None
    if schema is None:
        return None
    return _Needs(
        schema.min_input,
        schema.max_input,
        schema.min_output,
        schema.max_output,
        frozenset(name for name, formal in schema.attributes.items() if formal.required),
        {
            name: AttributeProto.AttributeType.Value(str(formal.type).rpartition(".")[2])
            for name, formal in schema.attributes.items()
        },
        f"{op_type}-{schema.since_version}",
    )

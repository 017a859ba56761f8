"""Operators that are called Upsample or Resize and are another domain's: TensorRT's parsers take them for ONNX's."""

from __future__ import annotations

from collections.abc import Sequence

from resizefix.dialects.dialect import RESIZES
from resizefix.document.scopes import DEFAULT_DOMAINS, node_label
from resizefix.shapes.stored_shapes import ModelView
from resizefix.targets.collect_facts import Collector
from resizefix.targets.facts import SiteFacts
from resizefix.targets.target import Effect, Target, Violation, judge

_SOURCE = "onnx-tensorrt a9a47bb … 96e7811, ModelImporter.cpp, parseNode; measured on TensorRT-RTX 1.7.1"


def foreign_domain_resizes(view: ModelView, target: Target) -> tuple[Violation, ...]:
    """A violation for each node that the target mistakes for a resize.

    Its parsers look importers up by the operator's name, whatever its domain, and before local functions. So such a
    node is refused where it has not the form of ONNX's operator, and otherwise computes what that does.
    """
    if target.runtime != "tensorrt":
        return ()
    return tuple(_violation(domain, facts, judge(target, facts)) for domain, facts in _as_of_onnx(view))


def _violation(domain: str, facts: SiteFacts, as_resize: Sequence[Violation]) -> Violation:
    refusal = next((broken for broken in as_resize if broken.effect is Effect.REJECTED), None)
    fate = f"refuses it as such: {refusal.because}" if refusal else "computes that instead"
    return Violation(
        node=facts.node,
        rule="domain-is-overlooked",
        because=f"it is {facts.op_type} of the domain {domain}; this parser goes by the name alone, takes it for "
        f"ONNX's {facts.op_type}, and {fate}",
        source=_SOURCE,
        fix="rename the operator, and the local function if there is one, or inline that first "
        "(onnx.inliner.inline_local_functions)",
        effect=Effect.REJECTED if refusal else Effect.DIFFERENT,
    )


def _as_of_onnx(view: ModelView) -> tuple[tuple[str, SiteFacts], ...]:
    """Domain, and facts as of ONNX's operator, of every node that is called Upsample or Resize and is another's."""
    nodes = [
        (node_label(node, index), scope, node)
        for scope in view.scopes.all
        for index, node in enumerate(scope.body.node)
        if node.op_type in RESIZES and node.domain not in DEFAULT_DOMAINS
    ]
    gatherer = Collector(view) if nodes else None
    return tuple((node.domain, gatherer.facts(label, scope, node)) for label, scope, node in nodes if gatherer)

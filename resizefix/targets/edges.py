"""Resizes of an input of the model, whose results leave it at once: as outputs, or through Casts."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import NodeProto

from resizefix.document.scopes import DefinitionKind, Reader, Scope, Scopes, is_operator


def is_at_the_edges(scopes: Scopes, scope: Scope, node: NodeProto) -> bool:
    """Whether a node resizes an input of the model, and its result is an output and nothing else."""
    readers = _readers_behind_input(scopes, scope, node)
    return bool(readers) and all(reader.node_index is None for reader in readers)


def casts_behind(scopes: Scopes, scope: Scope, node: NodeProto) -> bool:
    """Whether a node resizes an input of the model, and Casts alone read its result."""
    readers = _readers_behind_input(scopes, scope, node)
    return bool(readers) and all(is_operator(reader.node, "Cast") for reader in readers)


def _readers_behind_input(scopes: Scopes, scope: Scope, node: NodeProto) -> Sequence[Reader]:
    """What reads the result of such a node; nothing for another."""
    if scope is not scopes.main or not node.input or not node.input[0] or not node.output:
        return ()
    read = scopes.definition(scope, node.input[0])
    if read is None or read.kind is not DefinitionKind.INPUT:
        return ()
    return scopes.readers_of((scope.path, node.output[0]))

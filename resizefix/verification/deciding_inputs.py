"""Which inputs of a model decide a size or a count: they are given modest values, since others take any memory or time.

The walk goes from the operands that decide back to the inputs. What is only the size of a tensor does not carry its
values on.
"""

from __future__ import annotations

from onnx import ModelProto, ValueInfoProto

from resizefix.document.scopes import DEFAULT_DOMAINS, is_operator
from resizefix.verification.upstream import Place, Upstream

# The operands of ai.onnx operators that say how large an output is, or how often something is done.
DECIDING: dict[str, tuple[int, ...]] = {
    "AffineGrid": (1,),
    "BlackmanWindow": (0,),
    "CenterCropPad": (1,),
    "Col2Im": (1, 2),
    "ConstantOfShape": (0,),
    "DFT": (1,),
    "Expand": (1,),
    "HammingWindow": (0,),
    "HannWindow": (0,),
    "Loop": (0, 1),  # a condition that stays true never ends
    "MaxUnpool": (2,),
    "MelWeightMatrix": (0, 1, 2),
    "NonMaxSuppression": (2,),
    "OneHot": (1,),
    "Pad": (1,),
    "Range": (0, 1, 2),
    "Reshape": (1,),
    "Resize": (1, 2, 3),
    "STFT": (1, 3),
    "Split": (1,),
    "SplitToSequence": (1,),
    "Tile": (1, 2),
    "TopK": (1,),
    "Upsample": (1,),
}
# Whose results hold the size of what they read, not its values.
SIZE_ONLY = frozenset({"Shape", "Size", "SequenceLength"})


def deciding_inputs(model: ModelProto) -> frozenset[str]:
    """The names of the inputs whose values reach such an operand."""
    upstream = Upstream(model)
    pending = _operands(upstream)
    seen = set(pending)
    deciding = set()
    while pending:
        step = upstream.step(pending.pop())
        if step.graph_input is not None:
            deciding.add(step.graph_input)
        if step.node is not None and step.node.op_type in SIZE_ONLY:
            continue
        new = [place for place in step.sources if place not in seen]
        seen.update(new)
        pending += new
    return frozenset(deciding)


def _operands(upstream: Upstream) -> list[Place]:
    """Every operand that decides, and what tells a Loop to go on."""
    places: list[Place] = []
    for scope in upstream.scopes.all:
        for node in scope.body.node:
            if node.domain in DEFAULT_DOMAINS:
                positions = DECIDING.get(node.op_type, ())
                places += [(scope, node.input[at]) for at in positions if at < len(node.input) and node.input[at]]
        holder = None if scope.parent is None or scope.owner is None else scope.parent.body.node[scope.owner]
        if is_operator(holder, "Loop"):
            places += [
                (scope, value.name) for value in list(scope.body.output)[:1] if isinstance(value, ValueInfoProto)
            ]
    return places

"""From a tensor back to what it is made of, through bodies and calls; and what that says of a model.

Which inputs decide a size or a count: they are given modest values, since others take any memory or time. Which sites a
Loop feeds back to themselves: what one turn enlarges the next one enlarges again. Which sites each node and each body
depends on. Which bodies two models hold alike, so that it makes no difference whether they ran."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, ValueInfoProto

from resizefix.document.document import Document
from resizefix.document.scopes import (
    DEFAULT_DOMAINS,
    Definition,
    DefinitionKind,
    Scope,
    is_operator,
    names_read,
    node_label,
    reads,
)
from resizefix.document.view import View
from resizefix.promotion import PromotedInput
from resizefix.scope_path import Key, ScopePath

Place = tuple[Scope, str]
_OUTPUTS_BEFORE = {"Loop": 1}  # of a body, which are no outputs of the node: whether to go on


class UpstreamStep(NamedTuple):
    """One step back. `node`: it computes the value from `sources`, one for each of its inputs that is given; None: the
    value is that of any of the sources. `graph_input`: it is an input of the model."""

    node: NodeProto | None
    sources: Sequence[Place]
    definition: Definition | None = None
    graph_input: str | None = None


class Upstream:
    """A model's tensors and what each is made of."""

    def __init__(self, model: ModelProto) -> None:
        self.scopes = View(model).scopes

    def step(self, place: Place) -> UpstreamStep:
        """What the tensor of that name, read in that scope, is made of."""
        definition = self.scopes.definition(*place)
        if definition is None or definition.kind is DefinitionKind.INITIALIZER:
            return UpstreamStep(None, (), definition)
        if definition.node is not None:
            return self._computed(definition, definition.node)
        if definition.scope is self.scopes.main:
            return UpstreamStep(None, (), definition, definition.name)
        return UpstreamStep(None, self._given(definition), definition)

    def _computed(self, definition: Definition, node: NodeProto) -> UpstreamStep:
        scope, position = definition.scope, list(node.output).index(definition.name)
        function = self.scopes.called(node)
        bodies = (
            [function]
            if function is not None
            else self.scopes.held.get((scope.path, scope.producers[node.output[position]]), [])
        )
        skipped = 0 if function is not None else _OUTPUTS_BEFORE.get(node.op_type, 0)
        results = [(body, output) for body in bodies for output in _outputs(body)[position + skipped :][:1]]
        if bodies:
            # What a Loop carries comes from before the first turn, too.
            carried = (
                []
                if function is not None or is_operator(node, "If")
                else [(scope, name) for name in node.input if name]
            )
            return UpstreamStep(None, [*results, *carried], definition)
        return UpstreamStep(node, [(scope, name) for name in node.input if name], definition)

    def _given(self, definition: Definition) -> list[Place]:
        """What the input of a body or a function is, in all its uses."""
        scope = definition.scope
        if isinstance(scope.body, FunctionProto):
            function = scope.path.function
            calls = [] if function is None else self.scopes.calls[function]
            at = list(scope.body.input).index(definition.name)
            given = [(caller, caller.body.node[index].input[at : at + 1]) for caller, index in calls]
            return [(caller, name) for caller, names in given for name in names if name]
        if scope.parent is None or scope.owner is None:
            return []
        node = scope.parent.body.node[scope.owner]
        at = [value.name for value in scope.body.input].index(definition.name)
        next_turn = [(scope, name) for name in _outputs(scope)[at - 1 : at] if node.op_type == "Loop" and at > 0]
        return [*((scope.parent, name) for name in node.input[at : at + 1] if name), *next_turn]


def _outputs(scope: Scope) -> list[str]:
    body: GraphProto | FunctionProto = scope.body
    return [value if isinstance(value, str) else value.name for value in body.output]


def fed_back(model: ModelProto, sites: Collection[Key]) -> frozenset[Key]:
    """Those of the sites whose own output is among what their input is made of."""
    inside = [key for key in sites if key[0].is_body]
    if not inside:
        return frozenset()
    upstream = Upstream(model)
    scopes = upstream.scopes
    return frozenset(
        (path, output)
        for path, output in inside
        if path in scopes.by_path and _feeds_itself(upstream, scopes.by_path[path], output)
    )


def _feeds_itself(upstream: Upstream, scope: Scope, output: str) -> bool:
    start = upstream.scopes.definition(scope, output)
    if start is None or start.node is None:
        return False
    pending = [(scope, name) for name in start.node.input[:1]]
    seen = {(scope.path, name) for _, name in pending}
    for place in pending:
        step = upstream.step(place)
        if step.definition is not None and step.definition.key == start.key:
            return True
        for source in step.sources:
            if (source[0].path, source[1]) not in seen:
                seen.add((source[0].path, source[1]))
                pending.append(source)
    return False


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
# The operands that say where something stands: numbers out of range are refused.
PLACING: dict[str, tuple[int, ...]] = {
    "Gather": (1,),
    "GatherElements": (1,),
    "GatherND": (1,),
    "MaxRoiPool": (1,),
    "ReverseSequence": (1,),
    "RoiAlign": (2,),
    "Scatter": (1,),
    "ScatterElements": (1,),
    "ScatterND": (1,),
    "SequenceAt": (1,),
    "SequenceErase": (1,),
    "SequenceInsert": (2,),
    "TensorScatter": (2,),
}
# Whose results hold the size of what they read, not its values.
SIZE_ONLY = frozenset({"Shape", "Size", "SequenceLength"})


def deciding_inputs(model: ModelProto, operands: Mapping[str, Sequence[int]] = DECIDING) -> frozenset[str]:
    """The names of the inputs whose values reach such an operand."""
    upstream = Upstream(model)
    pending = _operands(upstream, operands)
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


def _operands(upstream: Upstream, operands: Mapping[str, Sequence[int]]) -> list[Place]:
    """Every operand that decides, and what tells a Loop to go on."""
    places: list[Place] = []
    for scope in upstream.scopes.all:
        for node in scope.body.node:
            if node.domain in DEFAULT_DOMAINS:
                positions = operands.get(node.op_type, ())
                places += [(scope, node.input[at]) for at in positions if at < len(node.input) and node.input[at]]
        holder = None if scope.parent is None or scope.owner is None else scope.parent.body.node[scope.owner]
        if is_operator(holder, "Loop"):
            places += [
                (scope, value.name) for value in list(scope.body.output)[:1] if isinstance(value, ValueInfoProto)
            ]
    return places


class Dependence:
    """Who reads whom in a model's main graph."""

    def __init__(self, model: ModelProto) -> None:
        scopes = View(model).scopes
        producers = scopes.main.producers
        self._producers = producers
        self._outputs = [value.name for value in model.graph.output]
        self._held: dict[ScopePath, int] = {}
        inner: dict[int, set[str]] = {}
        for scope in scopes.all:
            holder = _holder(scope)
            if holder is not None:
                self._held[scope.path] = holder
                inner.setdefault(holder, set()).update(name for name, _ in reads(scope))
        self._holders = frozenset(inner)
        self._nodes = scopes.main.body.node
        self._sources = [
            [producers[name] for name in (*node.input, *inner.get(index, ())) if name in producers]
            for index, node in enumerate(self._nodes)
        ]

    @cached_property
    def _labels(self) -> dict[str, int]:
        return {node_label(node, index): index for index, node in enumerate(self._nodes)}

    def above(self, label: str, sites: Collection[Key]) -> set[Key] | None:
        """Those of the sites that the node depends on; None where that is not known."""
        start = self._labels.get(label)
        standing = self._standing(sites)
        if start is None or start in self._holders or standing is None:
            return None
        seen = self._reached([start])
        return {key for key, position in standing.items() if position in seen}

    def without_effect(self, sites: Collection[Key]) -> set[Key]:
        """Those of the sites in the main graph of which no output of the model depends."""
        seen = self._reached([self._producers[name] for name in self._outputs if name in self._producers])
        return {(path, output) for path, output in sites if not path and self._producers.get(output) not in seen}

    def behind(self, names: Collection[str], sites: Collection[Key]) -> set[Key]:
        """Those of the sites that these tensors of the main graph depend on; all where that is not known."""
        standing = self._standing(sites)
        if standing is None:
            return set(sites)
        seen = self._reached([self._producers[name] for name in names if name in self._producers])
        return {key for key, position in standing.items() if position in seen}

    def _reached(self, pending: list[int]) -> set[int]:
        """These nodes and all that they depend on."""
        seen = set(pending)
        while pending:
            new = [source for source in self._sources[pending.pop()] if source not in seen]
            seen.update(new)
            pending.extend(new)
        return seen

    def growth(self, factors: Mapping[Key, float]) -> float | None:
        """How many times larger a tensor can become when each site's output becomes larger by its factor.

        The largest product along any path; None where it is not known.
        """
        grown = self.grown(factors)
        return None if grown is None else max(grown, default=1.0)

    def grown(self, factors: Mapping[Key, float]) -> list[float] | None:
        """How many times larger what each node makes becomes; None where it is not known."""
        standing = self._standing(factors)
        if standing is None:
            return None
        own: dict[int, float] = {}
        for key, position in standing.items():
            own[position] = own.get(position, 1.0) * factors[key]
        grown: list[float] = []
        for index, sources in enumerate(self._sources):
            before = max((grown[source] for source in sources if source < index), default=1.0)
            grown.append(before * own.get(index, 1.0))
        return grown

    def _standing(self, sites: Collection[Key]) -> dict[Key, int] | None:
        positions = {}
        for path, output in sites:
            position = self._held.get(path) if path else self._producers.get(output)
            if position is None:
                return None
            positions[path, output] = position
        return positions


def _holder(scope: Scope) -> int | None:
    """The position of the main graph's node that holds the scope, at whatever depth."""
    owner = None
    current: Scope | None = scope
    while current is not None and current.parent is not None:
        owner = current.owner
        current = current.parent
    return owner if current is not None and not current.path else None


def bodies_behind(document: Document, inputs: Sequence[PromotedInput]) -> dict[ScopePath, frozenset[Key]]:
    """The bodies that hold a site of these inputs or that read what depends on one, each with these sites."""
    scopes = View(document.proto).scopes
    bodies = [scope for scope in scopes.all if scope.path.is_body]
    sites = [driven.key for source in inputs for driven in source.sites]
    if not bodies or not sites:
        return {}
    dependence = Dependence(document.proto)
    outside = [key for key in sites if key[0].function is None]
    behind: dict[ScopePath, frozenset[Key]] = {}
    for scope in bodies:
        if scope.path.function is not None:  # which call reads what is not followed
            if scope.path.function in scopes.reached:
                behind[scope.path] = frozenset(sites)
            continue
        inside = {key for key in sites if _holds(key[0], scope.path) or (key[0] and _holds(scope.path, key[0]))}
        inside.update(key for key in sites if key[0].function is not None)
        names = {name for inner in bodies if _holds(inner.path, scope.path) for name, _ in reads(inner)}
        inside.update(dependence.behind({*names, *_carried(scope)}, outside))
        if inside:
            behind[scope.path] = frozenset(inside)
    return behind


def _holds(inner: ScopePath, outer: ScopePath) -> bool:
    return inner[: len(outer)] == outer


def _carried(scope: Scope) -> set[str]:
    """What a Loop or Scan hands on to its body, at whatever depth that stands."""
    names: set[str] = set()
    current: Scope | None = scope
    while current is not None and current.parent is not None and current.owner is not None:
        node = current.parent.body.node[current.owner]
        names.update(node.input if node.op_type != "If" else ())
        current = current.parent
    return names


def are_held_alike(before: Document, after: Document, paths: Iterable[ScopePath]) -> bool:
    """Whether each of the bodies stands in both models in a node of the same text, and so do all nodes and constants
    from which that reads anything."""
    sides = Upstream(before.proto), Upstream(after.proto)
    for path in paths:
        texts = [_text(side, path) for side in sides]
        if texts[0] is None or texts[0] != texts[1]:
            return False
    return True


def _text(upstream: Upstream, path: ScopePath) -> frozenset[bytes] | None:
    """The messages of the node that holds a body and of what it is made from; None where there is none."""
    scope = upstream.scopes.by_path.get(path)
    if scope is None or scope.parent is None or scope.owner is None:
        return None
    holder = scope.parent.body.node[scope.owner]
    texts = {holder.SerializeToString(deterministic=True)}
    pending: list[Place] = [(scope.parent, name) for name in names_read(holder)]
    seen = set(pending)
    while pending:
        place = pending.pop()
        step = upstream.step(place)
        if step.node is not None:
            texts.add(step.node.SerializeToString(deterministic=True))
        elif step.definition is not None and step.definition.tensor is not None:
            texts.add(step.definition.tensor.SerializeToString(deterministic=True))
        elif step.definition is not None and step.definition.node is not None:
            texts.add(step.definition.node.SerializeToString(deterministic=True))
        new = [source for source in step.sources if source not in seen]
        seen.update(new)
        pending += new
    return frozenset(texts)

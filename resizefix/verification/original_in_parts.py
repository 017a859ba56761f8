"""What the original makes with other scales, where that is known without running it as a whole.

Without optimisation: node by node. Every node then runs as it stands. So where all other nodes are the same in both
models, and each changed node makes the same bits of the same tensor (alone, with other scales as constants, fed what
the promoted model fed it), the original makes node by node what the promoted model makes.

At the default level: the same, where optimising moves no bit of the promoted model; else the part behind large weights,
fed what the nodes before make, which is the same at every scale. So weights that stand before are read once. A part
counts only where its bits are those of the promoted model.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, helper

from resizefix.document.document import Document
from resizefix.document.scopes import names_read
from resizefix.document.values import Array
from resizefix.promotion import PromotedInput
from resizefix.runtimes.inputs import Feeds, Value
from resizefix.runtimes.ort_session import MAPPED_FROM, CannotLoadError, CannotRunError, Session
from resizefix.runtimes.prepared_model import PreparedModel, external_bytes_of, prepare_for_ort
from resizefix.scope_path import MAIN, Key
from resizefix.verification.compare import compare
from resizefix.verification.reference_model import Operand, ReferenceModels
from resizefix.verification.scale_points import ScalePoint, at_old_values

_MOST_SAID = 8


@dataclass(frozen=True)
class Seen:
    """What the nodes read and made in a run, by the names of the tensors."""

    read: Mapping[str, Array]
    made: Mapping[str, Array]


class PromotedNodes:
    """`data`: what the nodes resize, without constants and what one of them makes; `made`: their outputs."""

    def __init__(self, original: Document, nodes: Mapping[str, NodeProto]) -> None:
        """`nodes` are those of the original, by their outputs."""
        self._original = original
        self._nodes = nodes
        graph = original.proto.graph
        self._constants = {tensor.name: tensor for tensor in graph.initializer}
        resized = dict.fromkeys(node.input[0] for node in nodes.values())
        self.data = tuple(name for name in resized if name not in nodes and name not in self._constants)
        self.made = tuple(nodes)

    def reference(self, fed: Mapping[str, Array], operands: Mapping[Key, Operand]) -> tuple[Document, PreparedModel]:
        """The nodes with these scales or sizes as constants, and inputs for what is `fed`."""
        graph = GraphProto(name="promoted nodes")
        for name, array in fed.items():
            elem_type = helper.np_dtype_to_tensor_dtype(array.dtype)
            graph.input.append(helper.make_tensor_value_info(name, elem_type, [None] * array.ndim))
        read = {name for node in self._nodes.values() for name in node.input}
        graph.initializer.extend(tensor for name, tensor in self._constants.items() if name in read)
        graph.node.extend(self._nodes.values())
        for name in self.made:
            graph.output.add(name=name)
        proto = self._original.proto
        model = ModelProto(ir_version=max(proto.ir_version, 4), graph=graph, opset_import=proto.opset_import)
        document = Document.of_part(model, self._original)
        return document, ReferenceModels(document).prepared(prepare_for_ort(document), operands)

    def seen(self, values: Mapping[str, Value]) -> Seen | None:
        """What the nodes read and made in a run; None where that is not compared alone.

        onnxruntime computes half precision between casts whose places depend on the neighbours.
        """
        read, made = plain_only(values, self.data), plain_only(values, self.made)
        return None if read is None or made is None else Seen(read, made)


def promoted_nodes(original: Document, promoted: Document, inputs: Sequence[PromotedInput]) -> PromotedNodes | None:
    """The nodes that differ, where all others are the same in both models; None where that is not so or not seen."""
    sites = [driven for source in inputs for driven in source.sites]
    if any(driven.scope != MAIN or driven.by_shape for driven in sites):
        return None
    changed = {driven.output for driven in sites}
    nodes = _only_differing(original.proto, promoted.proto, changed)
    if nodes is None or nodes.keys() != changed:
        return None
    constants = {tensor.name for tensor in original.proto.graph.initializer}
    if original.proto.ir_version >= 4 and any(value.name in constants for value in original.proto.graph.input):
        return None  # which the caller may replace
    # The operand that no constant replaces: the roi of Resize since opset 11.
    others = {node.input[1] for node in nodes.values() if len(node.input) > 2} - {""}
    return PromotedNodes(original, nodes) if others <= constants else None


def _only_differing(before: ModelProto, after: ModelProto, changed: Collection[str]) -> dict[str, NodeProto] | None:
    """The nodes of `before` that make what is `changed`; None where anything else reads or is something else."""
    around = [
        (list(model.opset_import), list(model.functions), list(model.graph.sparse_initializer))
        for model in (before, after)
    ]
    if around[0] != around[1]:
        return None
    kept = {node.output[0]: node for node in after.graph.node if node.output}
    found: dict[str, NodeProto] = {}
    touched = {value.name for value in after.graph.input} - {value.name for value in before.graph.input}
    for node in before.graph.node:
        name = node.output[0] if node.output else ""
        same = kept.get(name)
        if name in changed:
            found[name] = node
        elif same is None:
            touched.update(node.output)
        elif same != node:
            return None
    results = [[value.name for value in model.graph.output] for model in (before, after)]
    was, now = ({tensor.name: tensor for tensor in model.graph.initializer} for model in (before, after))
    touched.update(name for name in was.keys() | now.keys() if was.get(name) != now.get(name))
    if results[0] != results[1] or not touched.isdisjoint(results[0]):
        return None
    for node in before.graph.node if touched else ():  # functions see no names of the graph
        if not touched.isdisjoint(names_read(node)) and not (node.output and node.output[0] in changed):
            return None
    return found


def plain_only(values: Mapping[str, Value], names: Iterable[str]) -> dict[str, Array] | None:
    """Those of the names, where all are tensors of types that onnxruntime computes as they are; else None."""
    found = {}
    for name in names:
        value = values.get(name)
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "fiu" or value.dtype == np.float16:
            return None
        found[name] = value
    return found


@dataclass(frozen=True)
class PartBehind:
    """`nodes`: its positions in the model; `boundary`: what it reads of the part before."""

    whole: PreparedModel
    nodes: Sequence[int]
    boundary: tuple[str, ...]

    def prepared(self, given: Mapping[str, Value]) -> PreparedModel:
        """The part as a model with inputs for the boundary, of the types and sizes of what is `given`."""
        model = ModelProto()
        model.CopyFrom(self.whole.model)
        graph, kept = model.graph, [self.whole.model.graph.node[index] for index in self.nodes]
        del graph.node[:]
        graph.node.extend(kept)
        read = {name for node in kept for name in _read_by(node)}
        made = {name for node in kept for name in node.output}
        for entries_of, needed in ((graph.initializer, read), (graph.input, read), (graph.value_info, made)):
            entries = [entry for entry in entries_of if entry.name in needed]
            del entries_of[:]
            entries_of.extend(entries)
        for name in self.boundary:
            array = given[name]
            assert isinstance(array, np.ndarray)
            elem_type = helper.np_dtype_to_tensor_dtype(array.dtype)
            graph.input.append(helper.make_tensor_value_info(name, elem_type, array.shape))
        return replace(self.whole, model=model)  # as large as the whole: opened with the same options


def part_behind(whole: PreparedModel, moved: Collection[str]) -> PartBehind | None:
    """The part behind the tensors that are `moved`; None where it is no smaller, or all outputs are not in it."""
    graph = whole.model.graph
    if whole.external_bytes < MAPPED_FROM or whole.random or graph.sparse_initializer:
        return None
    behind, reached = [], set(moved)
    for index, node in enumerate(graph.node):
        if not reached.isdisjoint(_read_by(node)) or not reached.isdisjoint(node.output):
            behind.append(index)
            reached.update(node.output)
    inside = set(behind)
    if any(not reached.isdisjoint(_read_by(node)) for index, node in enumerate(graph.node) if index not in inside):
        return None  # nodes stand in another order than they run in
    before = {name for index, node in enumerate(graph.node) if index not in inside for name in node.output}
    read = {name for index in behind for name in _read_by(graph.node[index])}
    weights = {tensor.name: tensor for tensor in graph.initializer}
    carried = sum(external_bytes_of(weights[name]) for name in read & weights.keys())
    if carried > whole.external_bytes / 2 or not all(value.name in reached for value in graph.output):
        return None
    constants = [k for k, node in enumerate(graph.node) if k not in inside and node.op_type == "Constant"]
    constants = [k for k in constants if not read.isdisjoint(graph.node[k].output)]
    given = {name for k in constants for name in graph.node[k].output}
    return PartBehind(whole, sorted((*behind, *constants)), tuple(sorted((read & before) - given)))


def _read_by(node: NodeProto) -> set[str]:
    return names_read(node) - {""}


@dataclass
class PromotedSession:
    """`results`: the names of the model's own outputs; `before`: what the nodes before the changed ones make, where the
    session is of those behind alone; `at_old`: what the whole model made at the old values then."""

    session: Session
    results: Sequence[str]
    nodes: PromotedNodes | None = None
    before: Mapping[str, Value] = field(default_factory=dict)
    at_old: Mapping[str, Value] | None = None
    seen: Seen | None = None  # of the nodes, in the last run

    @property
    def label(self) -> str:
        """What errors call the model."""
        return self.session.label

    def run(self, feeds: Feeds) -> dict[str, Value]:
        """The outputs of the model. Raises what `Session.run` raises."""
        self.seen = None
        made = self.session.run(self.session.taken({**feeds, **self.before}) if self.before else feeds)
        if self.nodes is not None:
            self.seen = self.nodes.seen({**feeds, **self.before, **made})
        return {name: made[name] for name in self.results}


def opened(
    open_: Callable[[PreparedModel], Session],
    original: PreparedModel,
    promoted: PreparedModel,
    nodes: PromotedNodes,
    inputs: Sequence[PromotedInput],
    feeds: Feeds,
) -> PromotedSession:
    """A session of the promoted model that shows the `nodes`.

    Where most of large weights stand before them, the whole is run once, and what stands behind is opened.
    """
    given = {value.name for value in promoted.model.graph.input}
    shown = [name for name in (*nodes.data, *nodes.made) if name not in given]
    part = part_behind(promoted, {source.name for source in inputs})
    reference = None if part is None else part_behind(original, set(nodes.made))
    if part is None or reference is None:
        return PromotedSession(open_(promoted.showing(shown)), promoted.outputs, nodes)
    boundary = dict.fromkeys((*part.boundary, *reference.boundary))
    session = open_(promoted.showing([*shown, *boundary]))
    whole = PromotedSession(session, promoted.outputs, nodes)
    try:
        made = session.run({**feeds, **at_old_values(inputs).feeds(inputs)})
    except CannotRunError:
        return whole
    before = plain_only(made, boundary)
    if before is None:
        return whole
    at_old = {name: made[name] for name in promoted.outputs}
    del session, whole, made  # before the next one is opened: each maps or holds all weights
    behind = part.prepared(before).showing([name for name in shown if name not in boundary])
    return PromotedSession(open_(behind), promoted.outputs, nodes, before, at_old)


@dataclass
class Point:
    """A scale point, and what is known of both models at it.

    `feeds` are what the promoted model is fed, of the shapes `shapes`; `values` those of the promoted inputs, and
    `operands` what they make in the original. `found` is what the promoted model makes at one level; `seen` what its
    nodes read and made without optimisation, `agreed` the digest of the outputs that both models then made. `reference`
    is the original that holds the operands, once it was made.
    """

    scales: ScalePoint
    feeds: Feeds
    shapes: Mapping[str, Sequence[int]]
    values: Mapping[str, Sequence[float]]
    operands: Mapping[Key, Operand]
    found: Mapping[str, Value] | CannotRunError
    seen: Seen | None = None
    agreed: bytes | None = None
    reference: PreparedModel | None = None

    @property
    def runs(self) -> bool:
        """Whether the promoted model runs at it."""
        return not isinstance(self.found, CannotRunError)

    @cached_property
    def at(self) -> str:
        """The values of the inputs, or the first of them, as text."""
        text = ", ".join(f"{name}={list(value)}" for name, value in islice(self.values.items(), _MOST_SAID))
        return text if len(self.values) <= _MOST_SAID else f"{text}, …"

    def agree(self) -> None:
        """Note that both models make these bits without optimisation. The digest is kept: the outputs themselves would
        take twice the memory."""
        self.agreed = _digest(self.found) if isinstance(self.found, Mapping) else None


class OriginalInParts:
    """The nodes that a session of the promoted model shows, and what the nodes before them make."""

    def __init__(
        self, original: Document, session: PromotedSession, feeds: Feeds, open_: Callable[..., Session]
    ) -> None:
        self._original = original
        self._nodes: PromotedNodes | None = session.nodes
        self._before = session.before
        self._feeds = feeds
        self._open = open_

    def makes(
        self, point: Point, reference: Callable[[], PreparedModel], optimized: bool
    ) -> Mapping[str, Value] | None:
        """What the original makes with the operands of a point, where it is what was found of the promoted model; None
        where only the whole can tell. `reference` gives the original that holds them as constants."""
        found, seen, nodes, before = point.found, point.seen, self._nodes, self._before
        if not isinstance(found, Mapping):
            return None
        if optimized and point.agreed is not None and point.agreed == _digest(found):
            return found
        with suppress(CannotLoadError, CannotRunError):
            if nodes is not None and optimized and before:
                part = part_behind(reference(), nodes.made)
                if part is not None and before.keys() >= set(part.boundary):
                    session = self._open(self._original, part.prepared(before), optimized=True)
                    made = session.run(session.taken({**self._feeds, **before}))
                    return made if compare(made, found).bitwise else None
            elif nodes is not None and seen is not None and not optimized:
                document, prepared = nodes.reference(seen.read, point.operands)
                alone = self._open(document, prepared, optimized=False).run(seen.read)
                return found if compare(alone, seen.made).bitwise else None
        return None


def _digest(outputs: Mapping[str, Value]) -> bytes | None:
    """What tells the outputs from others by their types, shapes and bits; None where one is no tensor of numbers."""
    from hashlib import blake2b  # costs as much as a small session, and parts do without

    digest = blake2b(digest_size=32)
    for name, value in outputs.items():
        if not isinstance(value, np.ndarray) or value.dtype.hasobject:
            return None
        digest.update(repr((name, value.dtype.name, value.shape)).encode())
        digest.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
    return digest.digest()

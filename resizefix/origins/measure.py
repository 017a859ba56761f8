"""The chain of an operand, cut out of its model and run in onnxruntime with the sizes of tensors fed as numbers.

It confirms what the walk says, in the arithmetic that counts, and answers where the walk does not know an operator.
What is run is the chain alone: nodes that hold a few numbers, with a vector fed in place of every `Shape`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from resizefix.document.document import Document
from resizefix.document.scopes import DEFAULT_DOMAINS, Definition, subgraphs
from resizefix.document.text import counted
from resizefix.document.values import Array
from resizefix.scope_path import Key
from resizefix.shapes.expression import Expression, Size, UntraceableError, evaluate, sizes_in
from resizefix.shapes.operand import SHAPE_READERS, SIZED_BY, Known, operands_first
from resizefix.shapes.stored_shapes import ModelView
from resizefix.shapes.table import why_incomplete
from resizefix.shapes.values import Values

if TYPE_CHECKING:
    from resizefix.runtimes.ort_session import Session

_LEAST_IR = 8
_MOST_BYTES = 1 << 28  # of a chain of shapes and scales: a hostile one doubles itself to terabytes
_BRIEF_BYTES = 1 << 16  # of a chain that is run for hundreds of sizes: a thread for each run takes ten times the run
_MOST_KEPT = 16  # numbers of a value that is kept
_RANDOM = frozenset(
    {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"}
)
# Integers divided by zero end the process, not the run.
_DIVISIONS = frozenset({"Div", "Mod"})

Lengths = Callable[[Size], int]


class _Feed(NamedTuple):
    """An input of the cut: what a Shape or Size node gives for a tensor."""

    name: str
    sizes: tuple[Size, ...]
    product: bool

    def value(self, lengths: Lengths) -> Array:
        row = np.array([lengths(size) for size in self.sizes], np.int64)
        return np.array(row.prod(), np.int64) if self.product else row


@dataclass(eq=False)
class MeasuredChain:
    """A chain that can be run. `sizes` are all it may depend on; none: it is a constant."""

    model: ModelProto
    output: str
    feeds: list[_Feed]
    divisors: list[Expression]
    _session: "Session | None" = field(default=None, init=False)
    _known: dict[tuple[int, ...], Array] = field(default_factory=dict, init=False)

    @property
    def sizes(self) -> tuple[Size, ...]:
        """Every size it is fed, once."""
        return tuple(dict.fromkeys(size for feed in self.feeds for size in feed.sizes))

    def run(self, lengths: Lengths) -> Array:
        """The operand's value where tensors have these lengths. Raises UntraceableError where it cannot be run.

        Each entry of the operand asks at the same lengths: short values are kept.
        """
        asked = tuple(lengths(size) for size in self.sizes)
        if asked not in self._known:
            value = self._ran(lengths)
            if value.size > _MOST_KEPT:
                return value
            self._known[asked] = value
        return self._known[asked]

    def _ran(self, lengths: Lengths) -> Array:
        from resizefix.runtimes.limits import OutOfMemoryError, peak_bytes
        from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError, open_session

        for divisor in self.divisors:
            at = {size: np.array(lengths(size), np.int64) for size in sizes_in(divisor)}
            if not np.all(evaluate(divisor, at)):
                raise UntraceableError("origins.divides-by-zero")
        try:
            feeds = {feed.name: feed.value(lengths) for feed in self.feeds}
            if self._session is None:
                chain = Document.from_proto(self.model)
                peak = peak_bytes(chain, {name: value.shape for name, value in feeds.items()})
                if peak > _MOST_BYTES:
                    raise UntraceableError("origins.operand-too-large")
                brief = peak <= _BRIEF_BYTES
                self._session = open_session(chain, optimized=False, label="the chain", brief=brief)
            value = self._session.run(feeds)[self.output]
        except (CannotLoadError, CannotRunError, OutOfMemoryError) as error:
            raise UntraceableError("origins.chain-does-not-run", error=getattr(error, "reason", error)) from error
        if not isinstance(value, np.ndarray):
            raise UntraceableError("origins.chain-no-tensor")
        return value


def extract_subgraph(view: ModelView, values: Values, definition: Definition) -> MeasuredChain:
    """The chain that computes `definition`. Raises UntraceableError where it depends on more than sizes."""
    values.follow(definition)
    return _ChainExtraction(view, values, definition.scope.opset).extract_subgraph(definition)


class _ChainExtraction:
    """Collects the nodes of a chain, operands before what reads them, under names of its own."""

    def __init__(self, view: ModelView, values: Values, opset: int) -> None:
        self._view = view
        self._values = values
        self._opset = opset
        self._names: dict[Key, str] = {}
        self._nodes: list[NodeProto] = []
        self._feeds: list[_Feed] = []
        self._divisors: list[Expression] = []

    def extract_subgraph(self, definition: Definition) -> MeasuredChain:
        for current, circular in operands_first(definition, self._sources, self._names):
            if circular:
                raise UntraceableError("document.depends-on-itself", name=repr(current.name))
            self._take(current, self._sources(current))
        output = self._names[definition.key]
        inputs = [
            helper.make_tensor_value_info(feed.name, TensorProto.INT64, [] if feed.product else [len(feed.sizes)])
            for feed in self._feeds
        ]
        graph = helper.make_graph(self._nodes, "chain", inputs, [])
        graph.output.add().name = output
        model = helper.make_model(
            graph,
            ir_version=max(self._view.scopes.model.ir_version, _LEAST_IR),
            opset_imports=[helper.make_opsetid("", self._opset)],
        )
        return MeasuredChain(model, output, self._feeds, self._divisors)

    def _sources(self, definition: Definition) -> list[Definition]:
        node = definition.node
        if node is not None and node.op_type == "If" and self._values.plain(definition) is None:
            chosen = self._values.chosen(definition)
            if chosen is None:
                raise UntraceableError("origins.if-chooses-name", name=definition.name)
            return [chosen]
        return self._values.sources(definition)

    def _take(self, definition: Definition, sources: list[Definition]) -> None:
        value = self._values.plain(definition)
        node = definition.node
        if node is not None and node.op_type == "Constant":  # also one whose value the function's call gives
            traced = self._values.follow(definition)
            value = traced.value if isinstance(traced, Known) else value
        over = self._view.calls.elsewhere(definition)
        if value is not None:
            name = self._fresh(definition)
            tensor = numpy_helper.from_array(np.asarray(value))
            self._nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        elif over is not None or (node is not None and node.op_type == "If"):
            self._names[definition.key] = self._names[sources[0].key]
        elif node is None:
            what = "the input" if definition.tensor is None else "the large tensor"
            raise UntraceableError("origins.depends-on-values", what=what, name=definition.name)
        elif node.op_type in SHAPE_READERS and node.domain in DEFAULT_DOMAINS:
            sizes = tuple(size for size in self._values.sizes_read(definition) if isinstance(size, Size))
            self._feeds.append(_Feed(self._fresh(definition), sizes, node.op_type == "Size"))
        else:
            self._node(definition, node)

    def _node(self, definition: Definition, node: NodeProto) -> None:
        label = f"{node.domain}::{node.op_type}" if node.domain not in DEFAULT_DOMAINS else node.op_type
        if node.domain not in DEFAULT_DOMAINS or node.op_type in _RANDOM or any(True for _ in subgraphs(node)):
            raise UntraceableError("origins.node-not-run", name=definition.name, label=label)
        if any(attribute.ref_attr_name for attribute in node.attribute):
            raise UntraceableError("origins.attributes-from-calls", name=definition.name, label=label)
        incomplete = why_incomplete(node, self._opset)
        if incomplete is not None:
            raise UntraceableError("origins.node-incomplete", operator=node.op_type, incomplete=incomplete)
        if definition.scope.opset != self._opset:
            raise UntraceableError("origins.other-opset-in-function")
        for position in SIZED_BY.get(node.op_type, ()):
            self._require_constant(definition, node, position)
        if node.op_type in _DIVISIONS:
            if len(node.input) != 2:  # of an opset that onnx does not know, nothing else says so
                count = counted(len(node.input), "input")
                raise UntraceableError("origins.node-has-inputs", operator=node.op_type, input=count)
            self._divisors.extend(self._divisor(definition, node.input[1]))
        copy = NodeProto(op_type=node.op_type)
        copy.attribute.extend(node.attribute)
        for name in node.input:
            source = self._view.scopes.definition(definition.scope, name) if name else None
            copy.input.append("" if source is None else self._names[source.key])
        for name in node.output:
            output = self._view.scopes.definition(definition.scope, name) if name else None
            copy.output.append("" if output is None else self._fresh(output))
        self._nodes.append(copy)

    def _require_constant(self, definition: Definition, node: NodeProto, position: int) -> None:
        name = node.input[position] if position < len(node.input) else ""
        traced = self._values.of(definition.scope, name) if name else None
        if traced is not None and not (isinstance(traced, Known) and traced.value is not None):
            raise UntraceableError("origins.tensor-grows", name=definition.name, operator=node.op_type)

    def _divisor(self, definition: Definition, name: str) -> list[Expression]:
        traced = self._values.of(definition.scope, name)
        if not isinstance(traced, Known):
            raise UntraceableError("origins.may-divide-by-zero")
        return [] if traced.dtype.startswith("float") else list(traced.elements.flat)

    def _fresh(self, definition: Definition) -> str:
        return self._names.setdefault(definition.key, f"t{len(self._names)}")

"""Whether a mutant computes something else than the candidate it was made of: plain onnxruntime, feeds of its own,
several sizes, both levels. Nothing of resizefix is used here."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import product

import numpy as np
import onnxruntime
from candidate_edits import stored
from onnx import ModelProto, TensorProto, ValueInfoProto, helper

onnxruntime.set_default_logger_severity(4)
Arrays = dict[str, np.ndarray]

# Batch, channels, depth, height and width of what a file leaves open: taller than wide, wider than tall, odd, large.
SIZES = (
    (1, 3, 8, 16, 24),
    (2, 3, 4, 24, 16),
    (3, 3, 5, 17, 29),
    (1, 3, 8, 64, 96),
    (2, 3, 8, 64, 32),
    (1, 3, 8, 224, 224),
)
# What fed scales are multiplied with: as they were, each by another factor, all by one.
FACTORS = ((1.0,), (2.0, 1.5, 3.0), (1.5,))
MOST_FEEDS = 5
MOST_ELEMENTS = 2**22
APART = 1e-5  # of the largest value: what is nearer computes the same
APART_OPTIMISED = 2e-4
APART_HALF = 2.0**-10  # where a model has half precision: it is computed in float32 between casts that nodes move


class Judge:
    """One candidate with the feeds that it runs with. `fed` are the values of its new inputs that give the old
    numbers, `kept` the positions in them of axes that keep their size."""

    def __init__(
        self,
        before: ModelProto,
        candidate: ModelProto,
        fed: Mapping[str, tuple[float, ...]],
        kept: Mapping[str, Collection[int]] | None = None,
    ) -> None:
        self._before, self._candidate, self._fed, self._kept = before, candidate, fed, kept or {}
        self._plain, self._optimised = session(candidate), session(candidate, optimised=True)
        self.feeds: list[Arrays] = []
        self.outputs: list[Arrays] = []
        self.fused: list[Arrays] = []
        for feeds in self._tried():
            if len(self.feeds) == MOST_FEEDS:
                break
            made = run(self._plain, feeds)
            fused = run(self._optimised, feeds)
            if made is not None and fused is not None and any(value.size for value in made.values()):
                self.feeds.append(feeds)
                self.outputs.append(made)
                self.fused.append(fused)
        self._shapes: list[dict[str, tuple[int, ...]]] | None = None
        self._said: set[tuple[str, int, int]] | None = None
        self._least = APART_HALF if has_half_precision(candidate) else 0.0

    def _tried(self) -> Iterator[Arrays]:
        for (place, sizes), factors in product(enumerate(SIZES), FACTORS):
            if factors != FACTORS[0] and not self._fed:
                continue
            feeds = self._feed(sizes, factors, place)
            if feeds is not None:
                yield feeds

    def _feed(self, sizes: tuple[int, ...], factors: tuple[float, ...], seed: int) -> Arrays | None:
        graph, draw, named = self._candidate.graph, np.random.default_rng(seed), dict[str, int]()
        defaults = {tensor.name for tensor in graph.initializer}
        feeds: Arrays = {}
        for value in graph.input:
            if value.name in self._fed:
                factor = factors[list(self._fed).index(value.name) % len(factors)]
                feeds[value.name] = moved(value, self._fed[value.name], factor, self._kept.get(value.name, ()))
            elif not value.type.tensor_type.elem_type:
                return None  # a sequence, a map: no tensor
            elif value.name not in defaults:
                shape = shape_of(value, sizes, named)
                if np.prod(shape, dtype=np.float64) > MOST_ELEMENTS:
                    return None
                feeds[value.name] = drawn(value.type.tensor_type.elem_type, shape, draw, sizes)
        return feeds

    def values(self) -> Arrays:
        """What every tensor of the main graph is at the first feed."""
        return self._all_values(self.feeds[0]) or {}

    @property
    def said_before(self) -> set[tuple[str, int, int]]:
        """What the model before says wrongly of itself at any feed: tensor, axis (-1: the rank) and number."""
        if self._said is None:
            self._said = set()
            known = {value.name for value in self._before.graph.input}
            for fed in self.feeds:
                feeds = {name: value for name, value in fed.items() if name in known}
                made = self._all_values(feeds, self._before) or {}
                self._said.update(said_wrongly(self._before, {name: value.shape for name, value in made.items()}))
        return self._said

    @property
    def said_by_candidate(self) -> set[tuple[str, int, int]]:
        """What the candidate itself says wrongly, and the model before did not say."""
        every = (
            set(said_wrongly(self._candidate, shapes)) - set(said_wrongly(self._before, shapes))
            for shapes in self.shapes
        )
        return {one for wrong in every for one in wrong} - self.said_before

    def _all_values(self, feeds: Arrays, model: ModelProto | None = None) -> Arrays | None:
        shown = ModelProto()
        shown.CopyFrom(model or self._candidate)
        del shown.graph.value_info[:]
        given = {value.name for value in shown.graph.output}
        names = [name for node in shown.graph.node for name in node.output if name and name not in given]
        shown.graph.output.extend(ValueInfoProto(name=name) for name in names)
        made = run(session(shown), feeds)
        return None if made is None else {**feeds, **made}

    @property
    def shapes(self) -> list[dict[str, tuple[int, ...]]]:
        """The shape of every tensor of the main graph, for each feed."""
        if self._shapes is None:
            every = (self._all_values(feeds) or {} for feeds in self.feeds)
            self._shapes = [{name: value.shape for name, value in values.items()} for values in every]
        return self._shapes

    def differs(self, mutant: ModelProto) -> bool:
        """Whether the mutant computes something else, or does not run."""
        for optimised, wanted, apart in ((False, self.outputs, APART), (True, self.fused, APART_OPTIMISED)):
            opened = session(mutant, optimised=optimised)
            for at, feeds in enumerate(self.feeds):
                made = run(opened, feeds)
                itself = distance(self.outputs[at], self.fused[at]) if optimised else 0.0
                if made is None or distance(wanted[at], made) > max(apart, self._least, 4 * itself):
                    return True
        return False

    def is_stored_wrong(self, model: ModelProto) -> bool:
        """Whether a stored shape has a number that a run has not, a symbol that is two sizes, or another rank, and
        neither the candidate nor the model before says so."""
        for shapes in self.shapes:
            excused = self.said_before | set(said_wrongly(self._candidate, shapes))
            if not excused.issuperset(said_wrongly(model, shapes)):
                return True
        return False


def has_half_precision(model: ModelProto) -> bool:
    """Whether a tensor of the main graph is stored as half precision, or cast to it."""
    graph = model.graph
    stored_types = {tensor.data_type for tensor in graph.initializer} | {
        value.type.tensor_type.elem_type for value in (*graph.input, *graph.value_info, *graph.output)
    }
    casts = {
        entry.i for node in graph.node for entry in node.attribute if node.op_type == "Cast" and entry.name == "to"
    }
    return TensorProto.FLOAT16 in stored_types | casts


def said_wrongly(model: ModelProto, shapes: Mapping[str, tuple[int, ...]]) -> Iterator[tuple[str, int, int]]:
    """What stored shapes state and a run has not: tensor, axis (-1: the rank) and number; a symbol of two sizes is -2
    and 0."""
    sizes: dict[str, int] = {}
    for value in stored(model):
        shape = shapes.get(value.name)
        if shape is None or not value.type.tensor_type.HasField("shape"):
            continue
        dims = value.type.tensor_type.shape.dim
        if len(dims) != len(shape):
            yield value.name, -1, len(dims)
            continue
        for axis, (dim, size) in enumerate(zip(dims, shape, strict=True)):
            if dim.HasField("dim_value") and dim.dim_value not in (size, -1):
                yield value.name, axis, dim.dim_value
            if dim.dim_param and sizes.setdefault(dim.dim_param, size) != size:
                yield dim.dim_param, -2, 0


def session(model: ModelProto, *, optimised: bool = False) -> onnxruntime.InferenceSession | None:
    """The model opened; None where onnxruntime refuses it."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_mem_reuse = optimised
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception:  # onnxruntime's errors have no common class but this
        return None


def run(opened: onnxruntime.InferenceSession | None, feeds: Arrays) -> Arrays | None:
    """The outputs; None where it does not run, or gives no tensors."""
    if opened is None:
        return None
    names = [output.name for output in opened.get_outputs()]
    try:
        made = opened.run(names, feeds)
    except Exception:
        return None
    return dict(zip(names, made, strict=True)) if all(isinstance(value, np.ndarray) for value in made) else None


def distance(wanted: Arrays, made: Arrays) -> float:
    """The largest difference, as a part of the largest value of the output; infinite for another shape or type."""
    worst = 0.0
    for name, value in wanted.items():
        other = made.get(name)
        if other is None or other.shape != value.shape or other.dtype != value.dtype:
            return float("inf")
        if value.dtype.kind not in "iufb":
            if not np.array_equal(value, other):
                return float("inf")
            continue
        one, two = value.astype(np.float64), other.astype(np.float64)
        with np.errstate(all="ignore"):
            apart = np.where((one == two) | (np.isnan(one) & np.isnan(two)), 0.0, np.abs(one - two))
        finite = np.abs(one[np.isfinite(one)])
        largest = float(finite.max(initial=0.0)) or 1.0
        step = float(np.nan_to_num(apart, nan=np.inf, posinf=np.inf).max(initial=0.0))
        worst = max(worst, step / largest)
    return worst


def moved(value: ValueInfoProto, old: tuple[float, ...], factor: float, kept: Collection[int]) -> np.ndarray:
    """The value of a new input, where the axes that are resized have `factor` times their scale."""
    dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    array = np.array(old, np.float64)
    resized = [position for position in range(array.size) if position not in kept]
    array[resized[-2:]] *= factor
    return array.astype(dtype)


def shape_of(value: ValueInfoProto, sizes: tuple[int, ...], named: dict[str, int]) -> tuple[int, ...]:
    """Sizes for an input: one symbol has one size."""
    dims = value.type.tensor_type.shape.dim
    batch, channels, depth, height, width = sizes
    usual = {1: (batch,), 2: (batch, channels), 3: (channels, height, width), 4: (batch, channels, height, width)}
    chosen = usual.get(len(dims), (batch, channels, *(depth,) * max(len(dims) - 4, 0), height, width))
    shape = []
    for dim, size in zip(dims, chosen, strict=False):
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            shape.append(dim.dim_value)
        else:
            shape.append(named.setdefault(dim.dim_param, size) if dim.dim_param else size)
    return tuple(shape)


def drawn(kind: int, shape: tuple[int, ...], draw: np.random.Generator, sizes: tuple[int, ...]) -> np.ndarray:
    """Values of a type: smooth noise, bytes, small indices; of short vectors scales or sizes."""
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    if kind == TensorProto.STRING:
        return np.full(shape, "a", object)
    if len(shape) == 1 and 1 < shape[0] <= 6 and dtype.kind in "if":
        scales = np.ones(shape[0])
        scales[-2:] = 2, 3
        lengths = [*sizes[:2], *sizes[-2:]][-shape[0] :]
        return (scales if dtype.kind == "f" else np.array(lengths) * scales[-len(lengths) :]).astype(dtype)
    if dtype.kind == "b":
        return np.ones(shape, bool)
    if dtype.kind in "iu":
        return draw.integers(0, 200 if len(shape) >= 3 else 2, shape).astype(dtype)
    return np.asarray(draw.standard_normal(shape)).astype(dtype)

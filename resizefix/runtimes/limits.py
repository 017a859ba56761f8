"""How long and how large a verification may become.

How much memory the tensors of a run take, worked out before it is run, so that no trial takes the machine down.

A scale of ×8 that is tried at ×9 on a 4K picture makes tensors of gigabytes. What shape inference knows of the sizes is
added up as the nodes come and go; weights are not counted, they stay mapped. Sizes that only data decide count as none,
so this is an estimate from below.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple

from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from resizefix.diagnostics import ResizefixError
from resizefix.document.document import Document
from resizefix.document.edits import FreshNames
from resizefix.document.scopes import Scope, bodies, names_in
from resizefix.document.values import Dims, set_shape
from resizefix.document.view import View
from resizefix.process import DEFAULT_TIMEOUT, free_memory
from resizefix.scope_path import MAIN, Key
from resizefix.shapes.operand import SIZED_BY
from resizefix.shapes.stored_shapes import Shapes
from resizefix.shapes.values import Values


class BrokenOffError(ResizefixError):
    """A verification came to no end. What was compared until then stands."""


class TimeIsUpError(BrokenOffError):
    """The time that it was given is over."""


class OutOfMemoryError(BrokenOffError):
    """There was not the memory to run the model, whatever the estimate said."""


@dataclass(frozen=True)
class Limits:
    """`ends` is when time is up, on the clock of `time.monotonic`, None: never; `memory` what the tensors of a run may
    take, in bytes, None: half of the memory that is free."""

    seconds: float | None = None
    ends: float | None = None
    memory: int | None = None

    @classmethod
    def starting_now(cls, seconds: float | None, memory: int | None) -> Limits:
        """The limits of a verification that begins; `seconds` None: those of every command."""
        seconds = DEFAULT_TIMEOUT if seconds is None else seconds
        return cls(seconds, time.monotonic() + seconds, memory)

    @property
    def bytes(self) -> int:
        """What the tensors of a run may take."""
        return free_memory() // 2 if self.memory is None else self.memory

    def left(self) -> float | None:
        """The seconds that are left; None: without end. Raises TimeIsUpError when there are none."""
        if self.ends is None:
            return None
        left = self.ends - time.monotonic()
        if left <= 0:
            raise TimeIsUpError("runtimes.time-is-up", seconds=self.seconds)
        return left

    @contextmanager
    def breaking_off(self, options: Any) -> Iterator[None]:
        """Set `options.terminate`, which onnxruntime looks at between two nodes, if time is up during this run.

        Raises TimeIsUpError if it is up already.
        """
        run = self.ends, options
        _WATCH.begin(run)  # before `left`, so that one of the two sees the end of the time
        try:
            self.left()
            yield
        finally:
            _WATCH.runs.remove(run)


class _MemoryWatch:
    """One thread, which sleeps until the time of a run is up and breaks it off."""

    def __init__(self) -> None:
        self.runs: list[tuple[float | None, Any]] = []
        self._wakes = math.inf
        self._changes = threading.Condition()
        self._thread: threading.Thread | None = None

    def begin(self, run: tuple[float | None, Any]) -> None:
        """Watch a run from now on until it is removed."""
        ends = math.inf if run[0] is None else run[0]
        with self._changes:
            self.runs.append(run)
            if ends >= self._wakes:
                return
            self._wakes = ends
            self._changes.notify()
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()

    def _work(self) -> None:
        with self._changes:
            while True:
                now = time.monotonic()
                timed = [(ends, options) for ends, options in tuple(self.runs) if ends is not None]
                for ends, options in timed:
                    if ends <= now:
                        options.terminate = True
                self._wakes = min((ends for ends, _ in timed if ends > now), default=math.inf)
                self._changes.wait(None if self._wakes == math.inf else self._wakes - now)


_WATCH = _MemoryWatch()


def in_words(size: int) -> str:
    """A size of memory as people say it."""
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"


_SUMMING = frozenset({"Conv", "MatMul", "Gemm"})
_AT_ONCE = 16  # products that are summed while another node makes an element


def peak_bytes(document: Document, shapes: Mapping[str, Sequence[int]]) -> int:
    """The bytes of a `footprint`."""
    return footprint(document, shapes).peak


class Footprint(NamedTuple):
    """`peak`: the bytes that the tensors take at one time; `work`: what each node of the main graph computes, its
    bodies included, in elements that are made of one or a few others, as far as sizes are known."""

    peak: int
    work: tuple[float, ...]


def footprint(document: Document, shapes: Mapping[str, Sequence[int]]) -> Footprint:
    """What the tensors take, nodes run in the order of the file.

    `shapes` are those of the inputs. What a body or a local function makes is added to its node's own results.
    """
    model = ModelProto()
    model.CopyFrom(document.proto)
    for value in model.graph.input:
        if value.name in shapes:
            set_shape(value, list(shapes[value.name]))
    _write_sizes(document, model)
    inferred = Shapes(model)
    scopes = View(model).scopes
    sizes = {scope.path: _sizes(scope, inferred) for scope in scopes.all}
    inner: dict[Key, int] = {}
    within: dict[Key, float] = {}
    for scope in reversed(scopes.all):  # bodies before the nodes that hold them
        if scope.parent is not None and scope.owner is not None:
            peak = _peak(scope, sizes[scope.path], inner)
            holder = scope.parent.path, str(scope.owner)
            inner[holder] = max(inner.get(holder, 0), peak)
            within[holder] = within.get(holder, 0.0) + sum(_work(scope, inferred, within))
    return Footprint(_peak(scopes.main, sizes[MAIN], inner), tuple(_work(scopes.main, inferred, within)))


def _work(scope: Scope, shapes: Shapes, within: Mapping[Key, float]) -> list[float]:
    """What each node of a scope computes."""
    computed = []
    for index, node in enumerate(scope.body.node):
        elements = sum(_elements(shapes.dims((scope.path, name))) for name in filter(None, node.output))
        summed = _elements(_summed(scope, shapes, node))
        computed.append(elements * (1 + summed / _AT_ONCE) + within.get((scope.path, str(index)), 0.0))
    return computed


def _summed(scope: Scope, shapes: Shapes, node: NodeProto) -> Dims | None:
    """Of how many products each element that a node makes is the sum, as the sizes of an array of them."""
    definition = (
        scope.path,
        node.input[1] if node.op_type == "Conv" and len(node.input) > 1 else next(iter(node.input), ""),
    )
    dims = shapes.dims(definition) if node.op_type in _SUMMING else None
    return None if dims is None else dims[1:] if node.op_type == "Conv" else dims[-1:]


def _elements(dims: Dims | None) -> int:
    """0 where a size is not known."""
    sizes = [size for size in dims or () if isinstance(size, int)]
    return math.prod(sizes) if dims is not None and len(sizes) == len(dims) else 0


def _write_sizes(document: Document, model: ModelProto) -> None:
    """Give nodes of a copy the values that decide their sizes as constants next to them: shape inference follows few of
    the chains that compute them, and reads no constant of an outer graph."""
    if not any(node.op_type in SIZED_BY for _, body in bodies(model) for node in body.node):
        return
    view = View(document.proto)
    constants = Values(document.array, view.scopes)
    names = FreshNames(names_in(model))
    for path, body in bodies(model):
        for node in body.node if isinstance(body, GraphProto) else ():
            for position in SIZED_BY.get(node.op_type, ()):
                name = node.input[position] if position < len(node.input) else ""
                definition = view.scopes.definition(view.scopes.by_path[path], name) if name else None
                if definition is None or (definition.tensor is not None and not path):  # which inference knows
                    continue
                value = constants.array(view.scopes.by_path[path], name)
                if value is not None:
                    node.input[position] = names.fresh(name)
                    body.initializer.append(numpy_helper.from_array(value, node.input[position]))


def _sizes(scope: Scope, shapes: Shapes) -> dict[str, int]:
    sizes = {}
    for name in (*scope.inputs, *scope.producers):
        key = scope.path, name
        dims = shapes.dims(key)
        taken = None if dims is None else _bytes(dims, shapes.elem_type(key))
        if taken:
            sizes[name] = taken
    return sizes


@lru_cache(maxsize=1024)
def _bytes(dims: Dims, elem_type: int | None) -> int | None:
    """What a tensor takes; None where a size is not known."""
    numbers = [size for size in dims if isinstance(size, int)]
    return math.prod(numbers) * _width(elem_type) if len(numbers) == len(dims) else None


@cache
def _width(elem_type: int | None) -> int:
    if elem_type is None or elem_type not in TensorProto.DataType.values() or elem_type == TensorProto.UNDEFINED:
        return 4
    return int(helper.tensor_dtype_to_np_dtype(elem_type).itemsize)


def _peak(scope: Scope, sizes: Mapping[str, int], inner: Mapping[Key, int]) -> int:
    last = {name: index for index, node in enumerate(scope.body.node) for name in node.input}
    results = {value if isinstance(value, str) else value.name for value in scope.body.output}
    # What the caller feeds or wants stays; all else goes with its last reader.
    passing = {name: size for name, size in sizes.items() if name in scope.producers and name not in results}
    live = sum(sizes.get(name, 0) for name in scope.inputs)
    peak = live
    for index, node in enumerate(scope.body.node):
        outputs = node.output
        for name in outputs:
            live += sizes.get(name, 0)
        peak = max(peak, live + inner.get((scope.path, str(index)), 0) if inner else live)
        for name in {*node.input, *outputs}:
            if last.get(name, index) == index:
                live -= passing.get(name, 0)
    return peak

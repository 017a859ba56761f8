"""onnxruntime on the CPU, set so that two versions of a model can be compared bit by bit. Nothing else imports it."""

from __future__ import annotations

import _thread
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from onnx import ModelProto, TensorProto, helper
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors

from resizefix.diagnostics import Diagnostic, ResizefixError, UsageError
from resizefix.document.document import Document
from resizefix.document.scopes import bodies
from resizefix.process import is_watched
from resizefix.runtimes import ORT_DISABLE_TELEMETRY
from resizefix.runtimes.inputs import WITHOUT_NUMPY, Feeds, TensorInput, Value, numpy_of
from resizefix.runtimes.limits import Limits, OutOfMemoryError
from resizefix.runtimes.ort_error import crashing_optimizers, read_ort_error
from resizefix.runtimes.prepared_model import PreparedModel, prepare_for_ort
from resizefix.scope_path import FunctionName

_EXTERNAL_FOLDER = "session.model_external_initializers_file_folder_path"
_FATAL = 4
_AS_REQUESTED = 1  # how a pool grows
_UNTIL_LEFT = 0.5  # seconds until a node that runs at a Ctrl-C is left to itself
# Texts of C++ exceptions for missing memory, which onnxruntime gives no type: libstdc++ and libc++, MSVC, its arena.
_NO_MEMORY = ("std::bad_alloc", "bad allocation", "Failed to allocate memory")
# From this size on weights stay where they are, mapped from the file. onnxruntime would copy them: for matrix products
# at every level ("prepacking"), for convolutions at the default one (its optimizer's NCHWc layout).
MAPPED_FROM = 2**27
_UNCHANGED_LAYOUT = Diagnostic("runtimes.unchanged-layout")

# onnxruntime's own exceptions share no base class; the rest is what its bindings raise for values they cannot convert.
_ORT_EXCEPTIONS: tuple[type[Exception], ...] = (
    *(
        exception
        for exception in vars(ort_errors).values()
        if isinstance(exception, type) and issubclass(exception, Exception)
    ),
    RuntimeError,
    ValueError,
    TypeError,
    MemoryError,
)

MOST_PLANNED = 1000  # nodes of a model whose buffers are reused as in a usual session: 0.3 s

if os.environ.get(ORT_DISABLE_TELEMETRY) == "1":  # where the caller had imported onnxruntime before this package
    ort.disable_telemetry_events()

_CALLED = attrgetter("domain", "op_type", "overload")  # asked from C, of thousands of nodes
_ORT_TYPE, _ORT_NAME = attrgetter("type"), attrgetter("name")


class _RefusedByOrtError(ResizefixError):
    """What onnxruntime says of a model, and of which node, where it names one."""

    def __init__(
        self, message: str, /, *, reason: str, node: str | None = None, op_type: str | None = None, **arguments: Any
    ) -> None:
        super().__init__(message, node=node, **arguments)
        self.reason = reason
        self.op_type = op_type


class CannotLoadError(_RefusedByOrtError):
    """onnxruntime does not accept the model."""


class CannotRunError(_RefusedByOrtError):
    """onnxruntime accepts the model and fails on these feeds. `node` is where it broke, if onnxruntime says so."""


class Session:
    """A model opened for running. A run is a function of its feeds, also where the model draws random numbers.

    `inputs`: what to feed, in the graph's order; `outputs`: the names of the results, extra ones last; `types`: both,
    by name, as onnxruntime writes types (`seq(tensor(float))`); `notes`: how it differs from a user's session.
    `tell_shapes` is called after each run with the feeds and the shapes of the tensors that the model was prepared to
    measure. `brief`: runs take microseconds; Ctrl-C is heard between two of them, and none gets a thread.
    """

    def __init__(
        self,
        model: PreparedModel,
        options: ort.SessionOptions,
        label: str,
        limits: Limits,
        *,
        maps_weights: bool,
        brief: bool = False,
    ) -> None:
        self.label = label
        self.counts: Callable[[Feeds], None] | None = None  # told of every run
        self.brief = brief
        self._limits = limits
        self._prepared = model
        self.outputs = model.outputs
        self._results_of = tuple(value.name for value in model.model.graph.output)
        self.tell_shapes: Callable[[Feeds, Mapping[str, tuple[int, ...]]], None] | None = None
        self._options = options
        crashing = crashing_optimizers(model.model, ort.__version__)
        self._left_out = crashing | ({"NchwcTransformer"} if maps_weights else set())
        crash = Diagnostic("runtimes.default-level-ends-the-process", version=ort.__version__)
        self.notes = (*((_UNCHANGED_LAYOUT,) if maps_weights else ()), *((crash,) if crashing else ()))
        self._session = self._load()
        fed_and_made = (*self._session.get_inputs(), *self._session.get_outputs())
        kinds = list(map(_ORT_TYPE, fed_and_made))
        rare = () if WITHOUT_NUMPY.keys().isdisjoint(kinds) else zip(fed_and_made, kinds, strict=True)
        self.types = dict(zip(map(_ORT_NAME, fed_and_made), kinds, strict=True))
        self._rare = {node.name: WITHOUT_NUMPY[kind] for node, kind in rare if kind in WITHOUT_NUMPY}

    @property
    def inputs(self) -> tuple[TensorInput, ...]:
        """What to feed."""
        return self._prepared.inputs

    @property
    def random(self) -> tuple[str, ...]:
        """The nodes that draw random numbers. Those without a seed of their own get one by the name of their output."""
        return self._prepared.random

    def _load(self) -> ort.InferenceSession:
        # enable_fallback would print to stdout and try again.
        return ort.InferenceSession(
            self._prepared.serialized,
            self._options,
            providers=["CPUExecutionProvider"],
            enable_fallback=0,
            disabled_optimizers=self._left_out or None,
        )

    def taken(self, feeds: Feeds) -> dict[str, Value]:
        """Those of `feeds` that this model has an input for; onnxruntime refuses any other."""
        names = {entry.name for entry in self.inputs}
        return {name: value for name, value in feeds.items() if name in names}

    def run(self, feeds: Feeds) -> dict[str, Value]:
        """The outputs by name: arrays; a list for a sequence; None for an absent optional.

        Types without a numpy counterpart (bfloat16, float8, int4) come and go as onnx represents them (ml_dtypes).
        Raises CannotRunError, TimeIsUpError.
        """
        if (crash := self._prepared.forecast.in_run(feeds)) is not None:
            where = f" at node '{crash.node}' ({crash.op_type})"
            raise CannotRunError("runtimes.cannot-run", label=self.label, where=where, **crash.facts)
        try:
            results = self._invoke(feeds)
        except _ORT_EXCEPTIONS as error:
            self._limits.left()  # a run that was broken off is no failure of the model
            if isinstance(error, MemoryError) or any(words in str(error) for words in _NO_MEMORY):
                raise OutOfMemoryError("verification.out-of-memory", label=self.label) from error
            complaint = read_ort_error(str(error) or type(error).__name__)
            where = f" at node '{complaint.node}' ({complaint.op_type})" if complaint.node else ""
            raise CannotRunError(
                "runtimes.cannot-run", label=self.label, where=where, why=complaint.reason, **vars(complaint)
            ) from error
        measured = self._prepared.measured
        if measured and self.tell_shapes is not None:
            shapes = zip(measured, results[len(self.outputs) :], strict=True)
            self.tell_shapes(feeds, {name: tuple(map(int, np.asarray(shape))) for name, shape in shapes})
        return dict(zip(self.outputs, results, strict=False))

    def contradicts(self, results: Mapping[str, Value]) -> bool:
        """Whether an output has another size than the file fixes, which onnxruntime believes when it optimises."""
        declared = self._prepared.declared
        return any(
            isinstance(value, np.ndarray)
            and name in declared
            and (
                value.ndim != len(declared[name])
                or any(size not in (None, length) for size, length in zip(declared[name], value.shape, strict=True))
            )
            for name, value in results.items()
        )

    def _invoke(self, feeds: Feeds) -> Sequence[Value]:
        """The one place where a model runs; when time is up it stops after the node that is running."""
        if self._prepared.random:
            self._session = self._load()  # back to the first draw
        options = ort.RunOptions()
        options.log_severity_level = _FATAL
        if self.brief or is_watched():  # the process that watches this one hears Ctrl-C
            with self._limits.breaking_off(options):
                return self._results(feeds, options)
        left = self._limits.left()
        answers: list[Sequence[Value]] = []
        failed: list[BaseException] = []
        running = threading.Lock()
        running.acquire()

        def work() -> None:
            try:
                answers.append(self._results(feeds, options))
            except BaseException as error:  # raised where it is waited for
                failed.append(error)
            finally:
                running.release()

        # In a thread of its own: Ctrl-C is heard between two steps of Python, and this is one. A bare one, since a
        # thousand short runs would spend more on threading.Thread than on running.
        _thread.start_new_thread(work, ())
        try:
            if not running.acquire(timeout=-1 if left is None else min(left, threading.TIMEOUT_MAX)):
                options.terminate = True
                running.acquire()
        except KeyboardInterrupt:
            options.terminate = True
            running.acquire(timeout=_UNTIL_LEFT)
            raise
        if failed:
            raise failed[0]
        return answers[0]

    def _results(self, feeds: Feeds, options: ort.RunOptions) -> Sequence[Value]:
        rare = bool(self._rare)
        run: Callable[..., Sequence[Any]] = self._session.run_with_ort_values if rare else self._session.run
        given = {n: self._ort_value(n, v) for n, v in feeds.items() if v is not None} if rare else dict(feeds)
        if self.counts is not None:
            self.counts(feeds)
        results = run(list(self._results_of), given, options)
        return [numpy_of(result) for result in results] if rare else results

    def _ort_value(self, name: str, value: Value) -> ort.OrtValue:
        if not isinstance(value, np.ndarray):
            raise TypeError(f"'{name}': onnxruntime's Python cannot mix sequences with bfloat16, float8 or int4")
        if name not in self._rare:
            return ort.OrtValue.ortvalue_from_numpy(value)
        elem_type, carrier = self._rare[name]
        if carrier is None:
            raise TypeError(f"'{name}': onnxruntime's Python cannot take {TensorProto.DataType.Name(elem_type)} inputs")
        bits = np.ascontiguousarray(value).view(carrier)
        return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, elem_type)


def open_session(
    document: Document,
    *,
    optimized: bool,
    custom_op_libraries: Sequence[str] = (),
    extra_outputs: Sequence[str] = (),
    label: str | None = None,
    limits: Limits | None = None,
    prepared: PreparedModel | None = None,
    brief: bool = False,
) -> Session:
    """Opens a model in onnxruntime; `prepared` is what `prepare_for_ort` made of it, where it was opened before.

    `optimized` False: every node runs as it stands; True: at the default level, where shapes that the file claims are
    folded into constants, nodes are fused and layouts changed. `extra_outputs` are names of the main graph to see
    besides the outputs; with `optimized` they keep nodes from being fused. `label` is what errors call the model; its
    path by default. `brief`: a run takes microseconds; Ctrl-C is heard between two of them, and none gets a thread.

    One thread: with four, 25 of 655 real models give other bits than with one. Nothing is written to stderr, for which
    the process's default onnxruntime logger is set to fatal errors only: kernels warn through that one.

    Raises CannotLoadError, TimeIsUpError, or UsageError for a custom-op library that cannot be used.
    """
    limits = limits or Limits()
    limits.left()
    ort.set_default_logger_severity(_FATAL)
    options = ort.SessionOptions()
    options.log_severity_level = _FATAL
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    if _share_memory():
        options.add_session_config_entry("session.use_env_allocators", "1")
        options.add_session_config_entry("session.use_device_allocator_for_initializers", "1")
    else:
        options.enable_cpu_mem_arena = False  # its own grows in powers of two, and no other session has anything of it
    # Planned in the square of the number of nodes, and values go when read anyway. But a file whose sizes onnxruntime
    # infers otherwise than it computes fails with it alone, and users have it.
    options.enable_mem_reuse = optimized and len(document.proto.graph.node) <= MOST_PLANNED
    if not optimized:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    if document.folder is not None:
        options.add_session_config_entry(_EXTERNAL_FOLDER, str(document.folder))
    for library in custom_op_libraries:
        _register(options, library)
    label = label or (str(document.path) if document.path is not None else "the model")
    prepared = prepared or prepare_for_ort(document, extra_outputs)
    document.require_in_place()
    if (crash := prepared.forecast.at_load) is not None:
        where = f" (node '{crash.node}', {crash.op_type})"
        raise CannotLoadError("verification.does-not-load", label=label, where=where, **crash.facts)
    maps_weights = prepared.external_bytes >= MAPPED_FROM
    if maps_weights:
        options.add_session_config_entry("session.disable_prepacking", "1")
    try:
        return Session(prepared, options, label, limits, maps_weights=maps_weights, brief=brief)
    except _ORT_EXCEPTIONS as error:
        raise _cannot_load(error, label, prepared.model, bool(custom_op_libraries)) from error


@lru_cache(maxsize=1)
def _share_memory() -> bool:
    """Whether all sessions take the memory of tensors from one pool. To get it from the system at each run takes as
    long as computing where channels are few and images large."""
    cpu = ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
    try:
        ort.create_and_register_allocator(cpu, ort.OrtArenaCfg(0, _AS_REQUESTED, -1, -1))
    except _ORT_EXCEPTIONS:  # another user of onnxruntime in this process has one of his own
        return False
    return True


def give_memory_back() -> None:
    """What sessions took of the system for tensors goes back to it, as far as it is free."""
    if not _share_memory.cache_info().currsize or not _share_memory():
        return
    run = ort.RunOptions()
    run.log_severity_level = _FATAL
    run.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    _of_no_work().run(None, {"x": np.zeros(1, np.float32)}, run)


@lru_cache(maxsize=1)
def _of_no_work() -> ort.InferenceSession:
    """The session whose runs shrink the pool; what it holds is a few kilobytes."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "nothing", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
    options = ort.SessionOptions()
    options.log_severity_level = _FATAL
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.use_env_allocators", "1")
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def only_without_optimisation(which: str, reason: str) -> Diagnostic:
    """What a proof says that had nothing to compare with at the default level: an original whose constants contradict
    what onnxruntime's shape inference says of it."""
    return Diagnostic("runtimes.default-level-not-run", which=which, why=reason)


def _register(options: ort.SessionOptions, library: str) -> None:
    if not Path(library).is_file():
        raise UsageError("verification.no-custom-op-library", library=library)
    try:
        options.register_custom_ops_library(library)
    except _ORT_EXCEPTIONS as error:
        reason = read_ort_error(str(error)).reason
        raise UsageError("verification.custom-op-library-unusable", library=library, why=reason) from error


def _cannot_load(error: Exception, label: str, model: ModelProto, libraries_given: bool) -> CannotLoadError:
    complaint = read_ort_error(str(error) or type(error).__name__)
    unregistered = unregistered_operators(model)
    if libraries_given:  # they may have registered some: those that the text names are missing still
        unregistered = tuple(name for name in unregistered if name in str(error))
    if unregistered:
        code, reason = "runtimes.custom-op", Diagnostic("runtimes.no-implementation", operators=", ".join(unregistered))
        return CannotLoadError(code, label=label, why=reason, reason=reason)
    where = f" (node {complaint.named})" if complaint.named else ""
    code = "verification.does-not-load"
    return CannotLoadError(code, label=label, where=where, why=complaint.reason, **vars(complaint))


def unregistered_operators(model: ModelProto) -> tuple[str, ...]:
    """The operators, as `domain:Name`, that neither onnxruntime nor a local function of the model defines."""
    local = {FunctionName.of(function) for function in model.functions}
    called = {words for _, body in bodies(model) for words in map(_CALLED, body.node)}
    used = {FunctionName(*words) for words in called} - local
    registered = _registered_operators()
    missing = (one for one in used if ("" if one.domain == "ai.onnx" else one.domain, one.name) not in registered)
    return tuple(sorted(f"{one.domain}:{one.name}" for one in missing))


@lru_cache(maxsize=1)
def _registered_operators() -> frozenset[tuple[str, str]]:
    return frozenset((schema.domain, schema.name) for schema in ort_errors.get_all_operator_schema())

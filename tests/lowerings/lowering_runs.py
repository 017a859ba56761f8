"""Runs lowerings and the nodes they replace side by side, many to a session, with onnxruntime's optimisations off."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
import onnxruntime as ort
from onnx import NodeProto, TensorProto, helper, numpy_helper
from ort_runs import opened

from resizefix.dialects.dialect import Operands, dialect_of
from resizefix.dialects.write import write
from resizefix.document.edits import Replacement
from resizefix.interpolation import ExtentKind
from resizefix.lowerings import Lowering, ResizeSpec

ort.set_default_logger_severity(4)  # tf_half_pixel_for_nn is deprecated, and onnxruntime says so for every node

NEWEST = 19  # the newest Resize there is


def native_node(subject: ResizeSpec, x: str, y: str, opset: int = NEWEST) -> tuple[NodeProto, list[TensorProto]]:
    """The node that `subject` describes, in the dialect of an opset, and its constants."""
    dialect = dialect_of("Upsample" if opset < 10 else "Resize", opset)
    if dialect.scales_input is None:
        return write(subject.interpolation, Operands(x, scales_attribute=subject.values), dialect, output=y), []
    dtype = np.float32 if subject.extent is ExtentKind.SCALES else np.int64
    extent = numpy_helper.from_array(np.array(subject.values, dtype), y + "_extent")
    operands = Operands(x, **{subject.extent.value: extent.name})
    return write(subject.interpolation, operands, dialect, output=y), [extent]


@dataclass
class Batch:
    """A graph of unconnected nodes, each with an input and an output of its own."""

    opset: int
    nodes: list[NodeProto] = field(default_factory=list)
    constants: list[TensorProto] = field(default_factory=list)
    inputs: dict[str, onnx.ValueInfoProto] = field(default_factory=dict)
    outputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    names: Counter[str] = field(default_factory=Counter)

    def fresh(self, suggestion: str) -> str:
        self.names[suggestion] += 1
        return f"{suggestion}_{self.names[suggestion]}"

    def io(self, subject: ResizeSpec, x: str, y: str) -> None:
        self.inputs[x] = helper.make_tensor_value_info(x, subject.element_type, subject.shape)
        self.outputs.append(helper.make_tensor_value_info(y, subject.element_type, [None] * len(subject.axes)))

    def add(self, lowering: Lowering, subject: ResizeSpec, x: str, y: str) -> Replacement:
        lowered = lowering.build(subject, x=x, y=y, opset=self.opset, fresh=self.fresh)
        self.nodes += lowered.nodes
        self.constants += lowered.initializers
        self.io(subject, x, y)
        return lowered

    def add_native(self, subject: ResizeSpec, x: str, y: str) -> None:
        node, constants = native_node(subject, x, y, self.opset)
        self.nodes.append(node)
        self.constants += constants
        self.io(subject, x, y)

    def run(self, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """All outputs, after the full checker has passed the model."""
        graph = helper.make_graph(self.nodes, "batch", list(self.inputs.values()), self.outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)
        onnx.checker.check_model(model, full_check=True)
        names = [output.name for output in self.outputs]
        return dict(zip(names, opened(model).run(names, feeds), strict=True))


def sample(subject: ResizeSpec, shape: Sequence[int], seed: int = 0) -> np.ndarray:
    """An input of that shape whose largest magnitude is 1 (integers: any)."""
    rng = np.random.default_rng(seed)
    dtype = helper.tensor_dtype_to_np_dtype(subject.element_type)
    if np.issubdtype(dtype, np.integer):
        return rng.integers(0, 100, size=shape).astype(dtype)
    x = rng.standard_normal(shape)
    return (x / np.abs(x).max()).astype(dtype)


def native(subject: ResizeSpec, x: np.ndarray, opset: int = NEWEST) -> np.ndarray:
    batch = Batch(opset)
    batch.add_native(subject, "x", "y")
    return batch.run({"x": x})["y"]


def run(lowering: Lowering, subject: ResizeSpec, x: np.ndarray, opset: int) -> tuple[Replacement, np.ndarray]:
    batch = Batch(opset)
    lowered = batch.add(lowering, subject, "x", "y")
    return lowered, batch.run({"x": x})["y"]


def difference(lowered: Replacement, got: np.ndarray, want: np.ndarray) -> str | None:
    """None where `got` is as near to `want` as `lowered` promises; else what is wrong."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{got.shape}, not {want.dtype}{want.shape}"
    if lowered.error.exact:
        return None if got.tobytes() == want.tobytes() else f"{np.count_nonzero(got != want)} values differ"
    worst = np.abs(got.astype(np.float64) - want.astype(np.float64)).max()
    return None if worst <= lowered.error.bound else f"{worst:.2e} apart, {lowered.error.bound:.2e} promised"

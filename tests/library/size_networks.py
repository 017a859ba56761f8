"""Small networks built at any size, as exporters write them: with every size as a constant."""

from collections.abc import Callable, Sequence

import numpy as np
import ort_runs
from onnx import ModelProto, TensorProto, helper, numpy_helper

import resizefix
from resizefix.input_sizes.refusal import readings_of
from resizefix.outcome import Status
from resizefix.verification.verification import VerificationStatus

OLD, NEW = (32, 48), (48, 64)
Build = Callable[["Net", int, int], str]


class Net:
    """A small network for one size of the input; its weights are the same at every size."""

    def __init__(self, height: int, width: int, channels: int = 3) -> None:
        self.nodes: list = []
        self.constants: list = []
        self.shape = (1, channels, height, width)
        self._random = np.random.default_rng(0)

    def const(self, values, dtype=np.int64) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(values, dtype), name))
        return name

    def tensor(self, values) -> TensorProto:
        return numpy_helper.from_array(np.array(values))

    def weight(self, *shape: int) -> str:
        return self.const(self._random.standard_normal(shape), np.float32)

    def floats(self, values) -> str:
        return self.const(values, np.float32)

    def __getattr__(self, op_type: str):
        """`n.Reshape(y, [1, -1])` adds such a node; what is no name becomes a constant of whole numbers."""

        def added(*inputs, outputs: Sequence[str] = (), **attributes) -> str:
            number = len(self.nodes)
            names = [one if isinstance(one, str) else self.const(one) for one in inputs]
            outputs = outputs or [f"t{number}"]
            self.nodes.append(helper.make_node(op_type, names, outputs, name=f"{op_type}_{number}", **attributes))
            return outputs[0]

        return added

    def conv(self, x: str, ins: int, outs: int, stride: int = 1) -> str:
        return self.Conv(x, self.weight(outs, ins, 3, 3), pads=[1] * 4, strides=[stride] * 2)

    def model(self, output: str) -> ModelProto:
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)
        y = helper.make_tensor_value_info(output, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "net", [x], [y], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def dense(n, h, w):
    return n.Gemm(n.Flatten(n.conv("x", 3, 2, 2)), n.weight(h * w // 2, 5))


def data_over_width(n, h, w):
    return n.Div(n.conv("x", 3, 2), n.floats(w))


def grid(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The column and the row of every position, as two channels."""
    return np.stack(np.meshgrid(columns, rows))[None]


def built(build: Build, size: tuple[int, int], opset: int = 13) -> ModelProto:
    net = Net(*size)
    model = net.model(build(net, *size))
    model.opset_import[0].version, model.ir_version = opset, 8 if opset > 12 else 4
    return model


def run(model: ModelProto, size: tuple[int, int], batch: int = 1) -> np.ndarray:
    (found,) = ort_runs.run(model, {"x": np.random.default_rng(1).random((batch, 3, *size), np.float32)})
    return found


def followed(model: ModelProto, size: tuple[int, int] | str, **options) -> ModelProto:
    """The model of another size, which nothing refuted."""
    result = resizefix.input_size(model, size=size, **options)
    assert all(outcome.status is Status.CHANGED for outcome in result.outcomes), result.outcomes
    assert result.verification.status is VerificationStatus.UNREFUTED or result.verification.passed
    return result.model


def assert_follows(
    build: Build,
    size: tuple[int, int] | str = NEW,
    *,
    old: tuple[int, int] = OLD,
    at: Sequence[tuple[int, int]] | None = None,
    opset: int = 13,
    rtol: float = 0,
    **options,
) -> ModelProto:
    """What is built at `old` and made another size computes what is built at that size; of any size, `at` each."""
    model = followed(built(build, old, opset), size, **options)
    for each in at or [NEW if size == "any" else size]:
        found, wanted = run(model, each), run(built(build, each, opset), each)
        assert found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol / 10)
        assert rtol or found.tobytes() == wanted.tobytes()
    return model


def refused(model: ModelProto, size: tuple[int, int] | str, **options) -> tuple[str, str]:
    """The node that is refused and the code of the reason."""
    result = resizefix.input_size(model, size=size, on_refusal="return", **options)
    (outcome,) = result.outcomes
    assert outcome.status is Status.REFUSED
    reason = outcome.reason
    while reason.code in ("origins.input-size-kept-or-exported", "origins.input-size-exported"):
        reason = reason.arguments["why"]
    return outcome.node, reason.code


def called(model: ModelProto, args: Sequence[str], size: tuple[int, int] | str = NEW):
    """The answer where these options of the command line are given."""
    options: dict[str, list] = {"keep": [], "follow_input": [], "read": []}
    for node, name in readings_of(args):
        if name in ("keep", "follow"):
            options["keep" if name == "keep" else "follow_input"].append(node)
        else:
            options["read"].append((node, name))
    return resizefix.input_size(model, size=size, on_refusal="return", **options)

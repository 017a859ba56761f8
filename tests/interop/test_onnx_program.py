from __future__ import annotations

import numpy as np
import pytest
from fixture_models import SRCNN
from kinds_of_model import ir_state

import resizefix

ir = pytest.importorskip("onnx_ir", reason="onnx-ir is not installed: pip install 'resizefix[test]'")


class Program:
    """What torch's ONNXProgram looks like, where torch is not installed."""

    def __init__(self, model, exported_program):
        self.model = model
        self.exported_program = exported_program

    @property
    def model_proto(self):
        raise AssertionError("a copy of all weights is made only when somebody needs it")


def test_a_program_comes_back_with_its_exported_program():
    program = Program(ir.load(SRCNN), object())
    before = ir_state(program.model)
    result = resizefix.promote_scales(program, form="factor")
    assert type(result.model) is Program
    assert result.model is not program
    assert result.model.exported_program is program.exported_program
    assert isinstance(result.model.model, ir.Model)
    assert ir_state(program.model) == before


def test_a_program_of_another_making_is_refused():
    with pytest.raises(resizefix.UsageError, match="give its model_proto"):
        resizefix.inspect(Program("a model of onnxscript's own", None))


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


@pytest.fixture(scope="module")
def exported(torch):
    pytest.importorskip("onnxscript", reason="onnxscript, which torch exports with, is not installed")

    class Enlarge(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = torch.nn.Conv2d(3, 4, 3, padding=1)

        def forward(self, x, scale_factor=3):
            return torch.nn.functional.interpolate(self.conv(x), scale_factor=scale_factor, mode="bilinear")

    network, image = Enlarge().eval(), torch.rand(1, 3, 8, 10)
    return network, image, torch.onnx.export(network, (image,), dynamo=True, verbose=False)


def test_a_program_of_torch_is_called_and_saved_like_the_one_given(torch, exported, tmp_path):
    network, image, program = exported
    before = ir_state(program.model)
    result = resizefix.promote_scales(program)
    assert result.verification.passed
    assert type(result.model) is type(program)
    assert result.model.exported_program is program.exported_program
    assert ir_state(program.model) == before
    result.model.save(tmp_path / "any_scale.onnx")
    assert resizefix.inspect(tmp_path / "any_scale.onnx")[0].origin.kind.value == "graph-input"
    for scale in (2, 3, 4):
        scales = torch.tensor([1, 1, scale, scale], dtype=torch.float32)
        (enlarged,) = result.model(image, scales)
        with torch.no_grad():
            np.testing.assert_allclose(enlarged.numpy(), network(image, scale).numpy(), atol=1e-5)


def test_weights_of_torch_are_still_torch_s_in_the_argument(torch, exported):
    _, _, program = exported
    kinds = [type(value.const_value).__name__ for value in program.model.graph.initializers.values()]
    assert "TorchTensor" in kinds
    resizefix.legalize(program, target="tensorrt-8.0")
    assert [type(value.const_value).__name__ for value in program.model.graph.initializers.values()] == kinds

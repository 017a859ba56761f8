"""`repair --prefer pytorch`: an export computes what PyTorch does; without the option it is named and left."""

import numpy as np
import pytest
from fixture_models import FIXTURES
from onnx import ModelProto
from onnx_text import model
from ort_runs import opened

import resizefix
from resizefix.diagnostics import RefusedError, ResizefixError
from resizefix.library.repair import known_faults
from resizefix.outcome import Status

NAME, MAY = "differs-from-pytorch", "may-differ-from-pytorch"


def export(
    nodes: str, opset: int, constants: str = "float[4] s = {1, 1, 2, 2}", producer: str = "pytorch"
) -> ModelProto:
    made = model(f"(float[1, 1, 6, 8] x) => (float[N, C, H, W] y) <{constants}> {{ {nodes} }}", opset)
    made.producer_name = producer
    return made


def half_pixel(x: np.ndarray, scale: float) -> np.ndarray:
    """What PyTorch makes of the last axis by linear interpolation, `align_corners=False`."""
    length = int(x.shape[-1] * scale)
    at = np.maximum((np.arange(length) + 0.5) / scale - 0.5, 0)
    first = np.floor(at).astype(int)
    second = np.minimum(first + 1, x.shape[-1] - 1)
    part = (at - first).astype(np.float32)
    return x[..., first] * (1 - part) + x[..., second] * part


def floored(x: np.ndarray, scale: float) -> np.ndarray:
    """What PyTorch makes of the last axis by nearest."""
    return x[..., np.floor(np.arange(int(x.shape[-1] * scale)) / scale).astype(int)]


def on_both_axes(of_one, x: np.ndarray, scale: float) -> np.ndarray:
    return of_one(of_one(x, scale).swapaxes(-1, -2), scale).swapaxes(-1, -2)


SHRINKING = "float[4] s = {1, 1, 0.5, 0.5}"


@pytest.mark.parametrize(
    ("nodes", "opset", "constants", "scale", "torch"),
    [
        ('y = Upsample <mode = "linear"> (x, s)', 9, "float[4] s = {1, 1, 2, 2}", 2, half_pixel),
        ('y = Resize <mode = "linear"> (x, s)', 10, "float[4] s = {1, 1, 2, 2}", 2, half_pixel),
        ('y = Resize <mode = "linear"> (x, s)', 10, SHRINKING, 0.5, half_pixel),
        ('y = Resize <mode = "linear", coordinate_transformation_mode = "asymmetric"> (x, , s)', 13,
         "float[4] s = {1, 1, 2, 2}", 2, half_pixel),
        ('y = Resize <mode = "nearest"> (x, s)', 10, "float[4] s = {1, 1, 0.75, 0.75}", 0.75, floored),
        ('y = Upsample <mode = "nearest"> (x, s)', 9, "float[4] s = {1, 1, 0.75, 0.75}", 0.75, floored),
        ('y = Upsample <mode = "linear"> (x, s)', 9, SHRINKING, 0.5, half_pixel),
    ],
)  # fmt: skip
def test_the_numbers_are_those_of_the_framework(nodes, opset, constants, scale, torch):
    x = np.random.default_rng(0).standard_normal((1, 1, 6, 8)).astype(np.float32)
    result = resizefix.repair(export(nodes, opset, constants), prefer="pytorch")
    assert result.outcomes[0].status is Status.CHANGED
    found = opened(result.model, optimized=False).run(None, {"x": x})[0]
    np.testing.assert_allclose(found, on_both_axes(torch, x, scale), atol=1e-5)
    assert not known_faults(result.model)


def test_plain_repair_leaves_it_and_names_it():
    before = export('y = Resize <mode = "linear"> (x, s)', 10)
    result = resizefix.repair(before)
    (outcome,) = result.outcomes
    assert not result
    assert (outcome.status, outcome.fault, outcome.retry_args) == (Status.UNCHANGED, NAME, ("--prefer", "pytorch"))
    assert "0.86" in outcome.reason


@pytest.mark.parametrize(
    ("attributes", "put"),
    [
        ('mode = "linear"', {"exclude_outside": 1}),
        ('mode = "cubic"', {"exclude_outside": 1, "cubic_coeff_a": -0.5}),
    ],
)
def test_an_antialiased_export_gets_what_was_left_out(attributes, put):
    before = export(f"y = Resize <{attributes}, antialias = 1> (x, , s)", 18, SHRINKING)
    made = resizefix.repair(before, prefer="pytorch").model
    (site,) = resizefix.inspect(made)
    assert {name: getattr(site.interpolation, name) for name in put} == put


@pytest.mark.parametrize(
    ("nodes", "opset", "constants"),
    [
        ('y = Upsample <mode = "nearest"> (x, s)', 9, "float[4] s = {1, 1, 2, 2}"),
        ('y = Upsample <mode = "linear"> (x, s)', 9, "float[4] s = {1, 1, 1, 1}"),
        ('y = Resize <mode = "nearest"> (x, s)', 10, "float[4] s = {1, 1, 1.5, 1.5}"),
        ('y = Resize <mode = "linear", coordinate_transformation_mode = "half_pixel"> (x, , s)', 11 + 2, SHRINKING),
        ('y = Resize <mode = "linear", coordinate_transformation_mode = "align_corners"> (x, , s)', 13, SHRINKING),
        ('y = Resize <mode = "linear", antialias = 1, exclude_outside = 1> (x, , s)', 18, SHRINKING),
        ('y = Resize <mode = "linear", antialias = 1> (x, , s)', 18, "float[4] s = {1, 1, 2, 2}"),
    ],
)
def test_what_computes_the_same_is_no_fault(nodes, opset, constants):
    assert not [fault for _, fault in known_faults(export(nodes, opset, constants)) if fault.name == NAME]


def test_of_another_producer_nothing_is_said():
    before = export('y = Resize <mode = "linear"> (x, s)', 10, producer="tf2onnx")
    assert not known_faults(before)
    assert not resizefix.repair(before, prefer="pytorch")


def test_a_site_that_was_not_selected_keeps_what_it_computes():
    two = 't = Upsample <mode = "linear"> (x, s) y = Upsample <mode = "linear"> (t, s)'
    result = resizefix.repair(export(two, 9), prefer="pytorch", node=["#0"])
    found = resizefix.inspect(result.model)
    assert [site.interpolation.coordinate_transformation_mode.value for site in found] == ["half_pixel", "asymmetric"]


@pytest.mark.parametrize("preferred", ["pytorch", "half_pixel"])
def test_a_file_that_does_not_run_is_repaired_first(preferred):
    nodes = """t = Upsample <mode = "linear"> (x, s)
               [shrink] y = Upsample <mode = "linear"> (t, half)"""
    before = export(nodes, 9, "float[4] s = {1, 1, 2, 2}, float[4] half = {1, 1, 0.5, 0.5}")
    assert resizefix.repair(before).verification.passed
    result = resizefix.repair(before, prefer=preferred)
    assert result.verification.passed
    assert [outcome.status for outcome in result.outcomes] == [Status.CHANGED, Status.CHANGED]
    assert "needs opset 10" in result.outcomes[1].reason
    x = np.random.default_rng(0).standard_normal((1, 1, 6, 8)).astype(np.float32)
    found = opened(result.model, optimized=False).run(None, {"x": x})[0]
    grown = on_both_axes(half_pixel, x, 2)
    np.testing.assert_allclose(found, on_both_axes(half_pixel, grown, 0.5), atol=1e-5)


def test_no_option_is_proposed_for_a_model_that_does_not_run_with_it_either():
    wrong = "float[4] s = {1, 1, 2, 2}, int64[4] wide = {1, 1, 5, 7}"
    before = export('t = Upsample <mode = "linear"> (x, s) y = Expand (t, wide)', 9, wrong)
    result = resizefix.repair(before, on_refusal="return")
    (outcome,) = result.outcomes
    assert (outcome.status, outcome.retry_args) == (Status.UNCHANGED, ())
    assert "; once the model runs: " in outcome.reason
    with pytest.raises(ResizefixError):
        resizefix.repair(before, prefer="pytorch")


def test_beside_sound_nodes_the_whole_model_is_raised():
    path = FIXTURES / "bisenet_x8_linear_opset9.onnx"
    result = resizefix.repair(path, prefer="pytorch")
    statuses = [outcome.status for outcome in result.outcomes]
    assert statuses == [Status.UNCHANGED, Status.UNCHANGED, Status.CHANGED]
    assert result.verification.passed


def test_the_program_names_it_and_writes_nothing(call, answered, tmp_path):
    path, out = FIXTURES / "bisenet_x8_linear_opset9.onnx", tmp_path / "out.onnx"
    document = answered("repair", path, out)
    assert (document["exit_code"], document["error"], out.exists()) == (0, None, False)
    assert [outcome.get("fault") for outcome in document["outcomes"]] == [None, None, NAME]
    assert call("repair", path, out, "--copy-unchanged")[0] == 0
    assert out.read_bytes() == path.read_bytes()


def quotient(operator: str, height: int, width: int, opset: int) -> ModelProto:
    """As torch wrote sizes before opset 11: divided by the shape, at run time."""
    nodes = f's0 = Shape (x) f = Cast <to = 1> (s0) s = Div (wanted, f) y = {operator} <mode = "nearest"> (x, s)'
    return export(nodes, opset, f"float[4] wanted = {{1, 1, {height}, {width}}}")


def test_computed_scales_that_shrink_round_down_as_torch_does():
    before = quotient("Resize", 4, 6, 10)
    x = np.random.default_rng(0).standard_normal((1, 1, 6, 8)).astype(np.float32)
    made = resizefix.repair(before, prefer="pytorch").model
    rows, columns = (np.floor(np.arange(out) * (size / out)).astype(int) for size, out in ((6, 4), (8, 6)))
    found = opened(made, optimized=False).run(None, {"x": x})[0]
    assert found.tobytes() == x[:, :, rows][..., columns].tobytes()
    with pytest.raises(RefusedError, match="rounds down where an axis grows"):
        resizefix.opset(before, opset=11)


def test_an_upsample_of_computed_scales_never_shrinks_so_that_it_is_raised():
    before = quotient("Upsample", 9, 13, 9)
    x = np.random.default_rng(0).standard_normal((1, 1, 6, 8)).astype(np.float32)
    made = resizefix.opset(before, opset=17).model
    one, other = (opened(each, optimized=False).run(None, {"x": x})[0] for each in (before, made))
    assert one.tobytes() == other.tobytes()


CALL = "%up : call_function[target=torch.ops.aten._upsample_bilinear2d_aa.{}](args = ({}), kwargs = {{}})"


def called(call: str, arguments: str, sizes: str = "1, 1, 4, 5") -> ModelProto:
    """An antialiased export by sizes, with the call that dynamo names."""
    attributes = 'mode = "linear", antialias = 1, exclude_outside = 1'
    made = export(f"y = Resize <{attributes}> (x, , , s)", 18, f"int64[4] s = {{{sizes}}}")
    made.graph.node[0].metadata_props.add(key="pkg.torch.onnx.fx_node", value=CALL.format(call, arguments))
    return made


@pytest.mark.parametrize(
    ("call", "arguments", "said"),
    [
        ("default", "%x, [4, 5], False, 0.7, 0.7", NAME),
        ("vec", "%x, None, False, [0.7, 0.7]", NAME),
        ("default", "%x, [4, 5], False", None),
        ("vec", "%x, [4, 5], False, None", None),
        ("default", "%x, [4, 5], False, None, None", None),
        ("default", "%x, [3, 4], False", MAY),  # its sizes are others since
        ("default", "%x, [%a, %b], False", MAY),
        ("default", "%x, [4, 5], False, %f, 0.7", MAY),
        ("default", "%x, [4, 5], False, 0.9, 0.9", MAY),
        ("default", "%x", MAY),
        ("default", "%x, [4, 5, False", MAY),
    ],
)
def test_the_call_that_the_exporter_names_decides(call, arguments, said):
    assert [fault.name for _, fault in known_faults(called(call, arguments))] == ([] if said is None else [said])


def test_a_factor_that_the_exporter_names_is_written():
    result = resizefix.repair(called("default", "%x, [4, 5], False, 0.7, 0.7"), prefer="pytorch")
    (site,) = resizefix.inspect(result.model)
    assert site.extent.kind.value == "scales"
    np.testing.assert_array_equal(site.extent.values, np.array([1, 1, 0.7, 0.7], np.float32))
    assert not known_faults(result.model)

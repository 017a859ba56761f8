import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opset_pair import assert_same, blockers_of, model_of, normal, operators, read_versions

X = normal(1, 2, 7, 9)
PADS = [[0, 0, 0, 0], [1, 1, 1, 1], [0, 1, 0, 1], [0, 0, 1, 0]]
WINDOWS = [(3, 2), (2, 2), (3, 1), (3, 3), (4, 3)]  # kernel, stride
CEIL = [(pads, *window) for pads, window in itertools.product(PADS, WINDOWS)]
WITH_CEIL_MODE = [pair for pair in read_versions("MaxPool", "LpPool") if pair != ("LpPool", 11)]


def pooled(op_type: str, attributes: str, shape: str = "1,2,7,9") -> str:
    return f"g (float[{shape}] x) => (float[1,2,A,B] y) {{ y = {op_type}<{attributes}>(x) }}"


def window(kernel: int, stride: int, pads: list[int]) -> str:
    return f"kernel_shape=[{kernel},{kernel}], strides=[{stride},{stride}], pads={pads}"


@pytest.mark.parametrize(("op_type", "version"), read_versions("MaxPool", "LpPool", "AveragePool"))
def test_plain_pooling_stays(op_type, version):
    graph = pooled(op_type, window(3, 2, [1, 1, 1, 1]))
    bound = 2e-7 if op_type == "AveragePool" and version >= 19 else None
    assert operators(assert_same(model_of(version, graph), {"x": X}, bound=bound)) == [op_type]


@pytest.mark.parametrize(("op_type", "version"), WITH_CEIL_MODE)
@pytest.mark.parametrize(("pads", "kernel", "stride"), CEIL)
def test_ceil_mode_becomes_padding(op_type, version, pads, kernel, stride):
    graph = pooled(op_type, f"{window(kernel, stride, pads)}, ceil_mode=1")
    after = assert_same(model_of(version, graph), {"x": X})
    assert "ceil_mode" not in [attribute.name for attribute in after.graph.node[0].attribute]


@pytest.mark.parametrize("version", [10, 11, 19, 22])
@pytest.mark.parametrize("counted", [0, 1])
@pytest.mark.parametrize(("pads", "kernel", "stride"), CEIL)
def test_what_ceil_mode_adds_to_an_average_is_not_counted(version, counted, pads, kernel, stride):
    attributes = f"{window(kernel, stride, pads)}, ceil_mode=1, count_include_pad={counted}"
    bound = 2e-7 if version >= 19 or counted else None
    assert_same(model_of(version, pooled("AveragePool", attributes)), {"x": X}, bound=bound)


@pytest.mark.parametrize("op_type", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize(("pads", "kernel", "stride"), [row for row in CEIL if max(row[0]) + row[2] - 1 < row[1]])
@pytest.mark.parametrize("size", [(7, 9), (8, 8), (10, 5)])
def test_on_dynamic_sizes_padding_by_the_stride_does_it(op_type, pads, kernel, stride, size):
    graph = pooled(op_type, f"{window(kernel, stride, pads)}, ceil_mode=1", shape="1,2,H,W")
    assert_same(model_of(11, graph), {"x": normal(1, 2, *size)})


@pytest.mark.parametrize("op_type", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize(("pads", "kernel", "stride"), [([1, 1, 1, 1], 2, 2), ([0, 0, 1, 0], 3, 3)])
def test_on_dynamic_sizes_a_window_that_may_lie_in_padding_is_refused(op_type, pads, kernel, stride):
    graph = pooled(op_type, f"{window(kernel, stride, pads)}, ceil_mode=1", shape="1,2,H,W")
    (blocker,) = blockers_of(model_of(11, graph))
    assert blocker.reason == f"ceil_mode on axis 2 needs padding of {kernel}, and the kernel has {kernel}"
    assert "fixed input shapes" in blocker.fix


@st.composite
def axes_to_pool(draw: st.DrawFn) -> tuple[int, int, int, int, int]:
    """Size, kernel, stride and padding at both ends, such that the kernel fits in and no padding is as long as it."""
    kernel = draw(st.integers(1, 4))
    begin, end = draw(st.integers(0, kernel - 1)), draw(st.integers(0, kernel - 1))
    return draw(st.integers(max(1, kernel - begin - end), 12)), kernel, draw(st.integers(1, 4)), begin, end


@settings(max_examples=80, deadline=None)
@given(axes_to_pool(), axes_to_pool(), st.sampled_from(["MaxPool", "AveragePool"]), st.booleans())
def test_ceil_mode_on_any_size_is_the_same_or_refused(rows, columns, op_type, dynamic):
    sizes, kernel, strides, begins, ends = (list(pair) for pair in zip(rows, columns, strict=True))
    attributes = f"kernel_shape={kernel}, strides={strides}, pads={begins + ends}, ceil_mode=1"
    shape = "1,2,H,W" if dynamic else f"1,2,{sizes[0]},{sizes[1]}"
    model = model_of(11, pooled(op_type, attributes, shape))
    blockers = blockers_of(model)
    if blockers:
        assert all("needs padding of" in blocker.reason for blocker in blockers)
    else:
        assert_same(model, {"x": normal(1, 2, *sizes)})


@pytest.mark.parametrize("op_type", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER", "VALID"])
@pytest.mark.parametrize("ceil_mode", [0, 1])
def test_automatic_padding_stays_or_is_written_out(op_type, auto_pad, ceil_mode):
    attributes = f'kernel_shape=[3,2], strides=[2,2], auto_pad="{auto_pad}", ceil_mode={ceil_mode}'
    assert_same(model_of(11, pooled(op_type, attributes)), {"x": X})


@pytest.mark.parametrize(("op_type", "version"), [("MaxPool", 10), ("AveragePool", 19), ("LpPool", 18)])
def test_dilations_are_refused_unless_they_are_1(op_type, version):
    spread = pooled(op_type, "kernel_shape=[2,2], dilations=[1,2]")
    (blocker,) = blockers_of(model_of(version, spread))
    assert blocker.reason == f"dilations came with {op_type}-{version}"
    plain = pooled(op_type, "kernel_shape=[2,2], dilations=[1,1]")
    assert_same(model_of(version, plain), {"x": X}, bound=2e-7 if op_type == "AveragePool" else None)

import pytest
from onnx_text import document

from resizefix.shapes.axis_sizes import AxisSizes
from resizefix.shapes.expression import Number, Size, sizes_in
from resizefix.shapes.stored_shapes import ModelView

X = Size(((), "x"), 2)


def sizes(nodes: str, inputs: str = "float[n,3,h,w] x, float[n,3,u,v] z") -> AxisSizes:
    graph = f"({inputs}, float[4,3,3,3] W, float[1,3,1,1] B) => (float[] t) {{ {nodes} }}"
    return AxisSizes(ModelView(document(graph, 17, "com.microsoft", "acme")))


def source(nodes: str, axis: int = 2, **others):
    return sizes(nodes, **others).source(((), "t"), axis)


@pytest.mark.parametrize(
    "nodes",
    [
        "t = Relu (x)",
        "t = Identity (x)",
        "t = Cast <to = 10> (x)",
        "t = Mul (x, B)",
        "t = Add (B, x)",
        "a = Relu (x) t = Add (a, x)",
        "t = Clip (x)",
        "t, m = Dropout (x)",
        "t = Conv <pads = [1, 1, 1, 1]> (x, W)",
        "t = Conv <pads = [2, 2, 2, 2], dilations = [2, 2]> (x, W)",
        "t = Conv <pads = [0, 0, 2, 2]> (x, W)",
        't = Conv <auto_pad = "SAME_UPPER"> (x, W)',
        "t = com.microsoft.FusedConv <pads = [1, 1, 1, 1]> (x, W)",
        "t = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x)",
        "t = Concat <axis = 1> (x, z)",
        "t = Concat <axis = -3> (x, z)",
        "a = Transpose <perm = [0, 2, 3, 1]> (x) b = Relu (a) t = Transpose <perm = [0, 3, 1, 2]> (b)",
        "a = Conv <pads = [1, 1, 1, 1]> (x, W) b = Relu (a) t = Softmax <axis = 1> (b)",
    ],
)
def test_the_size_is_provably_the_inputs(nodes):
    assert source(nodes) == X


@pytest.mark.parametrize(
    "nodes",
    [
        "t = Conv (x, W)",
        "t = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, W)",
        "t = MaxPool <kernel_shape = [2, 2]> (x)",
        "t = MaxPool <kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1> (x)",
        "t = Add (x, z)",
        "t = Concat <axis = 2> (x, x)",
        "t = Transpose (x)",
        "t = acme.Relu (x)",
        "a = Shape (x) t = Reshape (x, a)",
        "m, t = Dropout (x)",
    ],
)
def test_the_size_is_not_the_inputs_or_not_provably(nodes):
    assert source(nodes) != X


def test_windows_of_one_stride_on_two_ways_give_equal_sizes():
    found = sizes(
        "a = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, W) b = Relu (x) "
        "t = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]> (b)"
    )
    half = found.source(((), "t"), 2)
    assert half == found.source(((), "a"), 2)
    assert sizes_in(half) == {X}


def test_windows_of_another_padding_do_not():
    found = sizes(
        "a = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, W) "
        "t = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)"
    )
    assert found.source(((), "t"), 2) != found.source(((), "a"), 2)


def test_a_convolution_has_as_many_channels_as_filters():
    assert source("t = Conv (x, W)", axis=1) == Number(4, "int64")


def test_one_name_of_two_dimensions_does_not_make_them_one_size():
    found = sizes("t = Relu (x)", inputs="float[n,3,s,s] x, float[n,3,s,v] z")
    assert found.source(((), "t"), 2) == found.source(((), "x"), 2)
    assert found.source(((), "z"), 2) != found.source(((), "x"), 2) != found.source(((), "x"), 3)


def test_equal_numbers_in_the_file_do_not_make_one_size_another():
    found = sizes("t = Relu (x)", inputs="float[1,3,8,8] x, float[1,3,8,8] z")
    assert found.source(((), "t"), 2) != found.source(((), "z"), 2)
    assert found.fixed(((), "t"), 2) == 8


def test_a_deep_network_does_not_exhaust_the_stack():
    layers = " ".join(f"l{n + 1} = Relu (l{n})" for n in range(3000))
    assert source(f"l0 = Relu (x) {layers} t = Relu (l3000)") == X


def test_a_rank_that_inference_does_not_know_is_that_of_what_the_tensor_is_made_of():
    found = sizes("a = com.microsoft.FusedConv (x, W) t = Relu (a)")
    assert found.view.shapes.dims(((), "t")) is None
    assert found.rank(((), "t")) == 4
    assert sizes("a = acme.Op (x) t = Relu (a)").rank(((), "t")) is None


def test_what_a_loop_carries_is_not_as_long_as_in_its_first_round():
    graph = """(float[1,3,8,8] x, int64 n) => (float[?,?,?,?] y) {
        c = Constant <value = bool {1}> ()
        [loop] y = Loop (n, c, x) <body = b (int64 i, bool c1, float[1,3,8,8] s) => (bool c2, float[1,3,u,v] r) {
            c2 = Identity (c1) r = Relu (s) }> }"""
    found = AxisSizes(ModelView(document(graph, 17)))
    assert found.fixed((found.scopes.all[1].path, "s"), 2) is None
    assert found.fixed(((), "x"), 2) == 8


@pytest.mark.parametrize(
    ("other", "rank"), [("com.microsoft.FusedConv (x, W)", 4), ("acme.Op (x)", None), ("GatherND (x, i)", None)]
)
def test_what_an_if_gives_has_the_rank_that_both_branches_give(other, rank):
    found = sizes(
        f"""a = If (c) <then_branch = p () => (float[] u) {{ u = com.microsoft.FusedConv (x, W) }},
        else_branch = q () => (float[] v) {{ v = {other} }}> t = Relu (a)""",
        inputs="float[n,3,h,w] x, bool c, int64[2,2] i",
    )
    assert found.view.shapes.dims(((), "t")) is None
    assert found.rank(((), "t")) == rank


@pytest.mark.parametrize(
    ("made", "rank"),
    [
        ("a = com.microsoft.FusedConv (x, W) t = Mul (a, v)", 4),
        ("a = com.microsoft.FusedConv (x, W) t = Where (b, v, a)", 4),
        ("a = acme.Op (x) t = Mul (x, a)", None),  # which may have more axes
        ("a = com.microsoft.FusedConv (x, W) t = MatMul (a, v)", None),
    ],
)
def test_what_is_broadcast_has_the_rank_of_the_largest(made, rank):
    found = sizes(made, inputs="float[n,3,h,w] x, float[3] v, bool[1] b")
    assert found.view.shapes.dims(((), "t")) is None
    assert found.rank(((), "t")) == rank


def test_the_rank_of_a_deep_network_that_adds_its_layers_to_themselves_is_found_in_one_pass():
    layers = " ".join(f"l{n + 1} = Add (l{n}, l{n})" for n in range(3000))
    assert sizes(f"l0 = com.microsoft.FusedConv (x, W) {layers} t = Relu (l3000)").rank(((), "t")) == 4

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opset_pair import assert_same, blockers_of, ints, lowered, model_of, normal, operators, read_versions, run

X = {"x": normal(2, 3, 4, 5)}


@pytest.mark.parametrize(("op_type", "version"), read_versions("Unsqueeze"))
def test_unsqueeze_counts_axes_from_the_front_of_the_result(op_type, version):
    declared, operand, attribute = ints("axes", [0, -1], version < 13)
    graph = f"g (float[2,3] x) => (float[1,2,3,1] y) <{declared}> {{ y = {op_type}<{attribute}>(x{operand}) }}"
    after = assert_same(model_of(version, graph.replace("<>", "")), {"x": normal(2, 3)})
    assert list(after.graph.node[0].attribute[0].ints) == [0, 3]
    assert not after.graph.initializer


@pytest.mark.parametrize(("op_type", "version"), read_versions("Squeeze"))
def test_squeeze_takes_its_axes_into_an_attribute(op_type, version):
    declared, operand, attribute = ints("axes", [-1], version < 13)
    graph = f"g (float[1,2,3,1] x) => (float[1,2,3] y) <{declared}> {{ y = {op_type}<{attribute}>(x{operand}) }}"
    after = assert_same(model_of(version, graph.replace("<>", "")), {"x": normal(1, 2, 3, 1)})
    assert list(after.graph.node[0].attribute[0].ints) == [3]


def test_squeeze_without_axes_stays_so():
    after = assert_same(
        model_of(13, "g (float[1,2,3,1] x) => (float[2,3] y) { y = Squeeze(x) }"), {"x": normal(1, 2, 3, 1)}
    )
    assert not after.graph.node[0].attribute


@pytest.mark.parametrize("op_type", ["Squeeze", "Unsqueeze"])
def test_axes_fed_at_run_time_are_refused(op_type):
    (blocker,) = blockers_of(
        model_of(13, f"g (float[1,2] x, int64[1] a) => (float[A,B,C] y) {{ y = {op_type}(x, a) }}")
    )
    assert blocker.reason == "axes is an attribute in opset 8, and here 'a' is an input"


def test_at_ir_3_an_initializer_among_the_inputs_is_a_constant():
    graph = "g (float[1,2] x, int64[1] a) => (float[1,2,1] y) <int64[1] a = {2}> { y = Unsqueeze(x, a) }"
    after = assert_same(model_of(13, graph, ir_version=3), {"x": normal(1, 2)})
    assert [value.name for value in after.graph.input] == ["x"]


def test_a_negative_axis_of_unknown_rank_is_refused():
    model = model_of(13, "g (float[2] x) => (float[2,1] y) <int64[1] a = {-1}> { y = Unsqueeze(x, a) }")
    model.graph.input[0].type.tensor_type.ClearField("shape")
    (blocker,) = blockers_of(model)
    assert blocker.reason == "the rank of 'x' is unknown"
    assert "fixed input shapes" in blocker.fix


@pytest.mark.parametrize(("op_type", "version"), read_versions("Concat"))
def test_concat_counts_its_axis_from_the_front(op_type, version):
    after = assert_same(
        model_of(version, f"g (float[2,3,4,5] x) => (float[2,3,8,5] y) {{ y = {op_type}<axis=-2>(x, x) }}"), X
    )
    assert after.graph.node[0].attribute[0].i == 2


@pytest.mark.parametrize(("op_type", "version"), read_versions("Flatten"))
@pytest.mark.parametrize("axis", [-1, 0, 1, 3])
def test_flatten_of_floats_stays_flatten(op_type, version, axis):
    if version < 11 and axis < 0:
        axis = 2
    after = assert_same(
        model_of(version, f"g (float[2,3,4,5] x) => (float[A,B] y) {{ y = {op_type}<axis={axis}>(x) }}"), X
    )
    assert operators(after) == ["Flatten"]


@pytest.mark.parametrize(("axis", "shape"), [(0, "2,3,4"), (1, "N,M,4"), (2, "2,3,4"), (-1, "2,3,4")])
def test_flatten_of_integers_becomes_a_reshape(axis, shape):
    graph = f"g (int64[{shape}] x) => (int64[A,B] y) {{ y = Flatten<axis={axis}>(x) }}"
    assert operators(assert_same(model_of(13, graph), {"x": np.arange(24).reshape(2, 3, 4)})) == ["Reshape"]


@pytest.mark.parametrize(("op_type", "version"), read_versions("Reshape"))
def test_reshape_keeps_its_bits(op_type, version):
    allowzero = "<allowzero=1>" if version >= 14 else ""
    graph = f"g (float[2,3,4,5] x) => (float[6,20] y) <int64[2] s = {{6,-1}}> {{ y = {op_type}{allowzero}(x, s) }}"
    after = assert_same(model_of(version, graph), X)
    assert not after.graph.node[0].attribute


def test_allowzero_with_a_shape_fed_at_run_time_is_the_same_but_for_empty_tensors_and_says_so():
    model = model_of(14, "g (float[2,3] x, int64[2] s) => (float[A,B] y) { y = Reshape<allowzero=1>(x, s) }")
    assert_same(model, {"x": normal(2, 3), "s": np.array([3, -1])})
    _, result = lowered(model)
    assert result.steps[-1].error.note == "the same bits for every tensor that has elements"


@pytest.mark.parametrize(("op_type", "version"), read_versions("Shape", "Size"))
def test_shape_and_size_of_a_dynamic_input_stay(op_type, version):
    output = "int64[3]" if op_type == "Shape" else "int64"
    after = assert_same(
        model_of(version, f"g (float[N,3,4] x) => ({output} y) {{ y = {op_type}(x) }}"), {"x": normal(2, 3, 4)}
    )
    assert operators(after) == [op_type]


@pytest.mark.parametrize(("op_type", "version"), [pair for pair in read_versions("Shape") if pair[1] >= 15])
@pytest.mark.parametrize(
    "bounds", ["start=-2", "start=1, end=-1", "end=1", "start=0", "start=-9, end=9", "start=2, end=1"]
)
def test_start_and_end_of_shape_become_a_slice(op_type, version, bounds):
    graph = f"g (float[N,M,4] x) => (int64[K] y) {{ y = {op_type}<{bounds}>(x) }}"
    assert_same(model_of(version, graph), {"x": normal(2, 3, 4)})


SLICES = [
    ([1], [3], [2], None),
    ([1, -1], [-1, -9223372036854775807], [-2, 3], [1, -2]),
    ([-100, 0], [100, 9223372036854775807], [3, 1], [1, 2]),
    ([3], [0], [3], [-1]),
    ([4], [1], [2], [1]),
    ([0, 1], [2, 2], None, None),
]


@pytest.mark.parametrize(("op_type", "version"), read_versions("Slice"))
@pytest.mark.parametrize(("starts", "ends", "axes", "steps"), SLICES)
def test_slices_become_attributes_and_steps_a_gather(op_type, version, starts, ends, axes, steps):  # type: ignore[no-untyped-def]
    if version < 11 and axes and min(axes) < 0:
        axes = [axis % 4 for axis in axes]
    operands = {"starts": starts, "ends": ends, "axes": axes, "steps": steps}
    if axes is None:
        operands = {"starts": starts, "ends": ends}
    given = {name: values for name, values in operands.items() if values is not None}
    declared = ", ".join(ints(name, values, False)[0] for name, values in given.items())
    graph = f"g (float[2,3,4,5] x) => (float[A,B,C,D] y) <{declared}> {{ y = {op_type}(x, {', '.join(given)}) }}"
    after = assert_same(model_of(version, graph), X)
    assert set(operators(after)) <= {"Slice", "Gather"}


SPANS = st.tuples(st.integers(-9, 9), st.integers(-9, 9), st.sampled_from([1, 1, 2, 3, -1, -2]))


@settings(max_examples=60, deadline=None)
@given(st.lists(SPANS, min_size=1, max_size=3), st.permutations([0, 1, -2, -1]))
def test_any_slice_selects_the_same(spans, order):
    starts, ends, steps = (list(column) for column in zip(*spans, strict=True))
    operands = {"starts": starts, "ends": ends, "axes": order[: len(spans)], "steps": steps}
    declared = ", ".join(ints(name, values, False)[0] for name, values in operands.items())
    graph = f"g (float[2,3,4,5] x) => (float[A,B,C,D] y) <{declared}> {{ y = Slice(x, starts, ends, axes, steps) }}"
    assert_same(model_of(13, graph), X)


def test_a_slice_to_an_end_that_fixed_shapes_make_constant_is_folded():
    graph = """g (float[6,4] x, float[3,4] z) => (float[3,4] y) <int64[1] s={0}, int64[1] i={0}>
        { n = Shape(z) e = Gather(n, i) y = Slice(x, s, e) }"""
    after = assert_same(model_of(13, graph), {"x": normal(6, 4), "z": normal(3, 4)})
    assert operators(after) == ["Slice"]


@pytest.mark.parametrize(("op_type", "version"), read_versions("Pad"))
@pytest.mark.parametrize("mode", ["constant", "reflect", "edge"])
def test_pad_takes_everything_into_attributes(op_type, version, mode):
    pads, operand = ([1, 2, 1, 1], ", p, v, a") if version >= 18 else ([0, 0, 1, 2, 0, 0, 1, 1], ", p, v")
    graph = f"""g (float[2,3,4,5] x) => (float[2,3,6,8] y)
        <int64[{len(pads)}] p = {{{",".join(map(str, pads))}}}, float v = {{1.5}}, int64[2] a = {{-2,-1}}>
        {{ y = {op_type}<mode="{mode}">(x{operand}) }}"""
    after = assert_same(model_of(version, graph), X)
    assert operators(after) == ["Pad"]
    assert list(after.graph.node[0].input) == ["x"]


def test_negative_pads_crop_as_before():
    graph = "g (float[4,5] x) => (float[3,6] y) <int64[4] p = {-1,1,0,0}> { y = Pad(x, p) }"
    assert_same(model_of(13, graph), {"x": normal(4, 5)})


@pytest.mark.parametrize("kind", ["int32", "uint8", "int8", "bool"])
def test_small_integers_are_padded_as_doubles(kind):
    graph = f"g ({kind}[2,3] x) => ({kind}[2,5] y) <int64[4] p = {{0,1,0,1}}, {kind} v = {{1}}> {{ y = Pad(x, p, v) }}"
    data = np.arange(6).reshape(2, 3).astype(kind)
    assert operators(assert_same(model_of(13, graph), {"x": data})) == ["Cast", "Pad", "Cast"]


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        ('g (float[4] x) => (float[6] y) <int64[2] p={1,1}> { y = Pad<mode="wrap">(x, p) }',
         "Pad-2 has no mode 'wrap'"),
        ("g (float[4] x, int64[2] p) => (float[N] y) { y = Pad(x, p) }", "pads is an attribute in opset 8"),
        ("g (float[4] x, float v) => (float[6] y) <int64[2] p={1,1}> { y = Pad(x, p, v) }",
         "constant_value is an attribute"),
        ("g (int64[4] x) => (int64[6] y) <int64[2] p={1,1}> { y = Pad(x, p) }", "Pad-2 does not take tensor(int64)"),
        ("g (double[4] x) => (double[6] y) <int64[2] p={1,1}, double v={0.1}> { y = Pad(x, p, v) }",
         "which cannot hold"),
    ],
)  # fmt: skip
def test_other_pads_are_refused(graph, reason):
    (blocker,) = blockers_of(model_of(19, graph))
    assert reason in blocker.reason


@pytest.mark.parametrize(("op_type", "version"), read_versions("Split"))
def test_split_keeps_its_lengths_in_an_attribute(op_type, version):
    declared, operand, attribute = ints("split", [1, 3], version < 13)
    attributes = ", ".join(filter(None, ["axis=-2", attribute]))
    graph = f"""g (float[2,3,4,5] x) => (float[2,3,1,5] a, float[2,3,3,5] b) <{declared}>
        {{ a, b = {op_type}<{attributes}>(x{operand}) }}"""
    assert_same(model_of(version, graph.replace("<>", "")), X)


@pytest.mark.parametrize(("size", "parts"), [(6, 3), (7, 3), (5, 3)])
def test_uneven_parts_are_written_out(size, parts):
    names = ", ".join(f"y{part}" for part in range(parts))
    outputs = ", ".join(f"float[N{part}] y{part}" for part in range(parts))
    graph = f"g (float[{size}] x) => ({outputs}) {{ {names} = Split<num_outputs={parts}>(x) }}"
    assert_same(model_of(18, graph), {"x": normal(size)})


def test_equal_parts_of_a_dynamic_axis_stay_equal_before_18():
    assert_same(model_of(13, "g (float[N] x) => (float[A] a, float[B] b) { a, b = Split(x) }"), {"x": normal(6)})


@pytest.mark.parametrize(("op_type", "version"), read_versions("Gather"))
def test_indices_known_to_be_negative_are_counted_from_the_front(op_type, version):
    graph = f"g (float[2,3,4,5] x) => (float[2,3,2,5] y) <int64[2] i = {{-1,2}}> {{ y = {op_type}<axis=-2>(x, i) }}"
    after = assert_same(model_of(version, graph), X)
    assert operators(after) == ["Gather"]


@pytest.mark.parametrize("shape", ["4,3", "N,3", "N,M"])
@pytest.mark.parametrize(("kind", "indices"), [("int64[2]", [-1, 2]), ("int32", -4), ("int64[1,2]", [[0, -2]])])
def test_indices_that_may_be_negative_are_made_positive(shape, kind, indices):
    dims = ",".join("ABC"[: np.ndim(indices) + 1])
    graph = f"g (float[{shape}] x, {kind} i) => (float[{dims}] y) {{ y = Gather(x, i) }}"
    assert_same(model_of(13, graph), {"x": normal(4, 3), "i": np.array(indices, kind.split("[")[0])})


def test_indices_that_are_never_negative_are_left_alone():
    graph = "g (float[4,3] x, float[5] z) => (float[1,3] y) { i = ArgMax<axis=0>(z) y = Gather(x, i) }"
    after = assert_same(model_of(13, graph), {"x": normal(4, 3), "z": np.array([0, 2, 3, 1, 0], np.float32)})
    assert operators(after) == ["ArgMax", "Gather"]


@pytest.mark.parametrize(("op_type", "version"), read_versions("GatherND"))
def test_a_gather_nd_of_rows_is_a_gather(op_type, version):
    graph = f"g (float[3,4] x, int64[2,1] i) => (float[2,4] y) {{ y = {op_type}(x, i) }}"
    assert_same(model_of(version, graph), {"x": normal(3, 4), "i": np.array([[0], [-1]])})
    constant = f"g (float[3,4] x) => (float[2,4] y) <int64[2,1] i = {{0,-1}}> {{ y = {op_type}(x, i) }}"
    assert operators(assert_same(model_of(version, constant), {"x": normal(3, 4)})) == ["Gather"]


@pytest.mark.parametrize(("op_type", "version"), read_versions("ConstantOfShape"))
@pytest.mark.parametrize("value", ["", "<value = float[1] {2.5}>", "<value = int64[1] {7}>"])
def test_a_constant_of_a_run_time_shape_is_expanded(op_type, version, value):
    kind = "int64" if "int64" in value else "float"
    graph = f"g (int64[2] s) => ({kind}[A,B] y) {{ y = {op_type}{value}(s) }}"
    for shape in ([2, 3], [0, 3]):
        assert operators(assert_same(model_of(version, graph), {"s": np.array(shape)})) == ["Expand"]


@pytest.mark.parametrize(("op_type", "version"), read_versions("DepthToSpace"))
@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_depth_to_space_permutes_the_channels_for_crd(op_type, version, mode):
    graph = f'g (float[1,12,H,W] x) => (float[1,3,A,B] y) {{ y = {op_type}<blocksize=2, mode="{mode}">(x) }}'
    after = assert_same(model_of(version, graph), {"x": normal(1, 12, 2, 3)})
    assert operators(after) == (["DepthToSpace"] if mode == "DCR" else ["Gather", "DepthToSpace"])


@pytest.mark.parametrize(("op_type", "version"), read_versions("TopK"))
@pytest.mark.parametrize("largest", [0, 1])
def test_top_k_of_floats(op_type, version, largest):
    attributes = f"<axis=-2, largest={largest}>" if version >= 11 else "<axis=0>"
    graph = f"""g (float[3,5] x) => (float[2,5] v, int64[2,5] i) <int64[1] k = {{2}}>
        {{ v, i = {op_type}{attributes}(x, k) }}"""
    data = np.random.default_rng(0).integers(0, 3, (3, 5)).astype(np.float32)  # with ties
    assert_same(model_of(version, graph), {"x": data})


@pytest.mark.parametrize("largest", [0, 1])
def test_top_k_of_int32_goes_through_doubles(largest):
    graph = f"""g (int32[3,5] x) => (int32[3,2] v, int64[3,2] i) <int64[1] k = {{2}}>
        {{ v, i = TopK<largest={largest}>(x, k) }}"""
    data = np.array([[2**31 - 1, -(2**31), 0, 2**24 + 1, 2**24]] * 3, np.int32)
    assert_same(model_of(11, graph), {"x": data})


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        ("g (int64[3] x) => (int64[1] v, int64[1] i) <int64[1] k={1}> { v, i = TopK(x, k) }", "TopK-1 takes no int64"),
        ("g (float[3] x, int64[1] k) => (float[N] v, int64[N] i) { v, i = TopK(x, k) }",
         "K is an attribute in opset 8"),
    ],
)  # fmt: skip
def test_other_top_k_are_refused(graph, reason):
    (blocker,) = blockers_of(model_of(11, graph))
    assert reason in blocker.reason


@pytest.mark.parametrize(("op_type", "version"), read_versions("Range"))
def test_a_constant_range_is_folded_and_any_other_refused(op_type, version):
    constant = f"""g (int64[3] x) => (int64[3] y) <int64 a={{5}}, int64 b={{-1}}, int64 d={{-2}}>
        {{ r = {op_type}(a, b, d) y = Add(x, r) }}"""
    assert operators(assert_same(model_of(version, constant), {"x": np.arange(3)})) == ["Add"]
    (blocker,) = blockers_of(
        model_of(version, f"g (int64 b) => (int64[N] y) <int64 a={{0}}, int64 d={{1}}> {{ y = {op_type}(a, b, d) }}")
    )
    assert "limits here are not constant integers" in blocker.reason


@pytest.mark.parametrize(
    ("op_type", "version"), read_versions("SpaceToDepth", "Transpose", "Identity", "Expand", "Tile")
)
def test_what_only_learnt_more_types_stays_as_it_is(op_type, version):
    call = {
        "SpaceToDepth": "<blocksize=2>(x)",
        "Transpose": "<perm=[1,0,3,2]>(x)",
        "Identity": "(x)",
        "Expand": "(x, s)",
        "Tile": "(x, s)",
    }[op_type]
    graph = f"g (float[1,3,4,6] x) => (float[A,B,C,D] y) <int64[4] s = {{2,3,4,6}}> {{ y = {op_type}{call} }}"
    after = assert_same(model_of(version, graph), {"x": normal(1, 3, 4, 6)})
    assert operators(after) == [op_type]


def test_a_shape_that_fixed_sizes_make_constant_may_be_an_output():
    model = model_of(13, "g (float[2,3] x) => (int64[2] y, float[2,3] z) { y = Shape(x) z = Relu(x) }")
    after = assert_same(model, {"x": normal(2, 3)})
    assert sorted(operators(after)) == ["Identity", "Relu"]
    assert run(after, {"x": normal(2, 3)})[0].tolist() == [2, 3]

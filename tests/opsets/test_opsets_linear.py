import pytest
from opset_pair import assert_same, blockers_of, model_of, normal, operators, read_versions


@pytest.mark.parametrize(("op_type", "version"), read_versions("Gemm"))
@pytest.mark.parametrize(("operands", "c"), [("a, b, c", {"c": normal(4)}), ("a, b", {})])
def test_gemm_without_c_gets_a_zero_that_counts_nothing(op_type, version, operands, c):
    if version < 11 and not c:
        return  # C was mandatory
    graph = f"""g (float[2,3] a, float[4,3] b{", float[4] c" * bool(c)}) => (float[2,4] y)
        {{ y = {op_type}<alpha=0.5, transB=1>({operands}) }}"""
    b = normal(4, 3)
    b[0] = -0.0  # a product that is a negative zero
    assert_same(model_of(version, graph), {"a": normal(2, 3), "b": b, **c})


@pytest.mark.parametrize(("op_type", "version"), read_versions("ConvTranspose"))
@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"])
@pytest.mark.parametrize(("kernel", "stride"), [(3, 2), (4, 2), (3, 1), (5, 2), (2, 2)])
def test_automatic_padding_is_written_out(op_type, version, auto_pad, kernel, stride):
    graph = f"""g (float[1,2,H,W] x, float[2,3,{kernel},{kernel}] w) => (float[1,3,A,B] y)
        {{ y = {op_type}<strides=[{stride},{stride}], auto_pad="{auto_pad}">(x, w) }}"""
    after = assert_same(model_of(version, graph), {"x": normal(1, 2, 4, 5), "w": normal(2, 3, kernel, kernel)})
    names = [attribute.name for attribute in after.graph.node[0].attribute]
    assert ("auto_pad" in names) == (not auto_pad.startswith("SAME"))


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize(("kernel", "stride", "more"), [(3, 2, 1), (4, 2, 1), (3, 3, 2), (2, 2, 1)])
def test_output_padding_is_part_of_automatic_padding(auto_pad, kernel, stride, more):
    graph = f"""g (float[1,2,H,W] x, float[2,3,{kernel},{kernel}] w) => (float[1,3,A,B] y) {{ y = ConvTranspose
        <strides=[{stride},{stride}], output_padding=[{more},{more}], auto_pad="{auto_pad}">(x, w) }}"""
    assert_same(model_of(11, graph), {"x": normal(1, 2, 4, 5), "w": normal(2, 3, kernel, kernel)})


@pytest.mark.parametrize("opset", [11, 13, 22])
@pytest.mark.parametrize(
    ("kernel", "stride", "more", "dilation"), [(2, 2, 0, 1), (3, 2, 1, 1), (5, 3, 0, 1), (3, 2, 0, 2)]
)
@pytest.mark.parametrize("padding", [0, 1, 2, 3])
def test_an_output_shape_becomes_the_padding_that_gives_it(opset, kernel, stride, more, dilation, padding):
    natural = [(size - 1) * stride + (kernel - 1) * dilation + 1 + more for size in (4, 5)]
    shape = f"{natural[0] - padding}, {natural[1] - padding // 2}"
    graph = f"""g (float[1,2,4,5] x, float[2,3,{kernel},{kernel}] w) => (float[1,3,A,B] y) {{ y = ConvTranspose
        <strides=[{stride},{stride}], output_shape=[{shape}], output_padding=[{more},{more}],
         dilations=[{dilation},{dilation}]>(x, w) }}"""
    after = assert_same(model_of(opset, graph), {"x": normal(1, 2, 4, 5), "w": normal(2, 3, kernel, kernel)})
    (pads,) = [attribute.ints for attribute in after.graph.node[0].attribute if attribute.name == "pads"]
    assert sum(pads) == padding + padding // 2
    assert "output_shape" not in [attribute.name for attribute in after.graph.node[0].attribute]


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"])
@pytest.mark.parametrize(("kernel", "stride", "more"), [(3, 2, 1), (5, 3, 0), (4, 1, 0), (2, 3, 0)])
@pytest.mark.parametrize("padding", [0, 1, 2, 3])
def test_an_output_shape_decides_the_amount_and_auto_pad_the_end_of_an_odd_row(auto_pad, kernel, stride, more, padding):
    natural = [(size - 1) * stride + kernel + more for size in (4, 5)]
    graph = f"""g (float[1,2,4,5] x, float[2,3,{kernel},{kernel}] w) => (float[1,3,A,B] y) {{ y = ConvTranspose
        <strides=[{stride},{stride}], output_shape=[{natural[0] - padding}, {natural[1] - padding // 2}],
         output_padding=[{more},{more}], auto_pad="{auto_pad}">(x, w) }}"""
    after = assert_same(model_of(11, graph), {"x": normal(1, 2, 4, 5), "w": normal(2, 3, kernel, kernel)})
    left = {attribute.name for attribute in after.graph.node[0].attribute}
    assert not left & {"output_shape", "auto_pad"}


EQUATIONS = ["ij->ji", "ij,jk->ik", "ij, jk -> ki", "bij,bjk->bik", "bhid,bhjd->bhij", "bij,kj->bik", "bqhd,bkhd->bhqk"]
OF_VECTORS = "jb,bkj->bk"  # a batch of vectors: no rows of the left side's own
SIZES = dict(zip("bhijkdq", (2, 3, 4, 5, 6, 7, 3), strict=True))


@pytest.mark.parametrize(("op_type", "version"), read_versions("Einsum"))
@pytest.mark.parametrize("equation", [*EQUATIONS, OF_VECTORS])
def test_a_simple_einsum_is_a_matmul(op_type, version, equation):
    terms, result = equation.replace(" ", "").split("->")
    shapes = [[SIZES[label] for label in term] for term in terms.split(",")]
    inputs = ", ".join(f"float[{','.join(map(str, shape))}] x{i}" for i, shape in enumerate(shapes))
    operands = ", ".join(f"x{i}" for i in range(len(shapes)))
    output = ",".join(str(SIZES[label]) for label in result)
    graph = f'g ({inputs}) => (float[{output}] y) {{ y = {op_type}<equation="{equation}">({operands}) }}'
    model = model_of(version, graph)
    if equation == OF_VECTORS:
        (blocker,) = blockers_of(model)
        assert "is not a single MatMul" in blocker.reason
        return
    after = assert_same(model, {f"x{i}": normal(*shape, seed=i) for i, shape in enumerate(shapes)}, bound=None)
    assert set(operators(after)) <= {"Transpose", "MatMul"}

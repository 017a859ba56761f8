import numpy as np
import pytest
from opset_pair import assert_same, blockers_of, model_of, normal, operators, read_versions


@pytest.mark.parametrize(("op_type", "version"), read_versions("Gemm"))
@pytest.mark.parametrize("with_c", [True, False])
def test_gemm_without_c_gets_a_zero_that_counts_nothing(op_type, version, with_c):
    if version < 11 and not with_c:
        with_c = True  # C was mandatory
    operands, declared = ("a, b, c", ", float[4] c") if with_c else ("a, b", "")
    graph = f"""g (float[2,3] a, float[4,3] b{declared}) => (float[2,4] y)
        {{ y = {op_type}<alpha=0.5, transB=1>({operands}) }}"""
    b = normal(4, 3)
    b[0] = -0.0  # a product that is a negative zero
    assert_same(model_of(version, graph), {"a": normal(2, 3), "b": b, **({"c": normal(4)} if with_c else {})})


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


@pytest.mark.parametrize(
    "attributes", ["pads=[1,0,1,0], output_padding=[1,1], strides=[2,2]", "dilations=[2,1], group=2"]
)
def test_other_transposed_convolutions_stay(attributes):
    graph = f"""g (float[1,2,4,5] x, float[2,3,3,3] w) => (float[1,C,A,B] y)
        {{ y = ConvTranspose<{attributes}>(x, w) }}"""
    assert operators(assert_same(model_of(11, graph), {"x": normal(1, 2, 4, 5), "w": normal(2, 3, 3, 3)})) == [
        "ConvTranspose"
    ]


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ('strides=[3,3], auto_pad="SAME_UPPER"', "auto_pad is used with a kernel shorter than its stride"),
        ("strides=[2,2], output_shape=[8,8]", "ConvTranspose-1 and -11 place an odd row of padding differently"),
    ],
)
def test_padding_that_cannot_be_written_out_is_refused(attributes, reason):
    graph = f"g (float[1,2,4,4] x, float[2,3,2,2] w) => (float[1,3,A,B] y) {{ y = ConvTranspose<{attributes}>(x, w) }}"
    (blocker,) = blockers_of(model_of(11, graph))
    assert reason in blocker.reason


SIZES = dict(zip("bhijkdq", (2, 3, 4, 5, 6, 7, 3), strict=True))


@pytest.mark.parametrize(("op_type", "version"), read_versions("Einsum"))
@pytest.mark.parametrize(
    "equation",
    [
        "ij->ji",
        "ij,jk->ik",
        "ij, jk -> ki",
        "bij,bjk->bik",
        "bhid,bhjd->bhij",
        "bij,kj->bik",
        "bqhd,bkhd->bhqk",
        "jb,bkj->bk",
    ],
)
def test_a_simple_einsum_is_a_matmul(op_type, version, equation):
    terms, result = equation.replace(" ", "").split("->")
    shapes = [[SIZES[label] for label in term] for term in terms.split(",")]
    inputs = ", ".join(f"float[{','.join(map(str, shape))}] x{i}" for i, shape in enumerate(shapes))
    operands = ", ".join(f"x{i}" for i in range(len(shapes)))
    output = ",".join(str(SIZES[label]) for label in result)
    model = model_of(
        version, f'g ({inputs}) => (float[{output}] y) {{ y = {op_type}<equation="{equation}">({operands}) }}'
    )
    if equation == "jb,bkj->bk":  # a batch of vectors: no rows of the left side's own
        (blocker,) = blockers_of(model)
        assert "is not a single MatMul" in blocker.reason
        return
    after = assert_same(model, {f"x{i}": normal(*shape, seed=i) for i, shape in enumerate(shapes)}, bound=None)
    assert set(operators(after)) <= {"Transpose", "MatMul"}


@pytest.mark.parametrize(
    "equation", ["ii->i", "ij,ij->ij", "ij,jk", "...i,ij->...j", "i,j->ij", "ij->i", "ij,jk,kl->il"]
)
def test_any_other_einsum_is_refused(equation):
    count = equation.count(",") + 1
    inputs = ", ".join(f"float[2,2] x{i}" for i in range(count))
    operands = ", ".join(f"x{i}" for i in range(count))
    graph = f'g ({inputs}) => (float[A,B] y) {{ y = Einsum<equation="{equation}">({operands}) }}'
    (blocker,) = blockers_of(model_of(12, graph))
    assert "is not a single MatMul" in blocker.reason


def test_a_matmul_of_many_axes_is_what_it_was():
    x, w = normal(2, 1, 3, 4), normal(5, 4, 2)
    model = model_of(13, "g (float[2,1,3,4] x, float[5,4,2] w) => (float[2,5,3,2] y) { y = MatMul(x, w) }")
    assert np.isfinite(x).all()
    assert operators(assert_same(model, {"x": x, "w": w})) == ["MatMul"]

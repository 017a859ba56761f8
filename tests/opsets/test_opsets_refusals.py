"""What opset 8 cannot say: one node each, and the reason that its blocker gives."""

import pytest
from opset_pair import blockers_of, model_of, versions_of

TRANSPOSED = "g (float[1,2,4,4] x, float[2,3,2,2] w) => (float[1,3,A,B] y) { y = ConvTranspose<%s>(x, w) }"
NORMALIZED = "float[2,3,4] x, float[3] s, float[3] b, float[3] m, float[3] v"
SCAN = """g (float[3] h, float[3,3] x) => (float[3] y, float[3,3] s) {
    y, s = Scan <num_scan_inputs=1, DIRECTION body = b (float[3] v, float[3] e) => (float[3] w, float[3] o)
        { w = Add(v, e) o = Identity(w) }> (h, x) }"""
# A part of the reason (and of the fix), the opset, the graph.
REFUSED = [
    ("Mod of float32 has no exact older form", 13, "g (float[2] a) => (float[2] y) { y = Mod<fmod=1>(a, a) }"),
    ("opset 9 has no operator HardSwish", 9, "g (float[2] x) => (float[2] y) { y = HardSwish(x) }"),
    ("layout=1 came with opset 14", 14,
     "g (float[2,5,3] x, float[1,4,3] w, float[1,4,4] r) => (float[2,5,1,4] y) { y = RNN<hidden_size=4, "
     "layout=1>(x, w, r) }"),
    ("Gemm-7 does not take tensor(int32)", 11, "g (int32[2,2] a) => (int32[2,2] y) { y = Gemm(a, a) }"),
    ("the number of channels of 'x' is not fixed", 21,
     "g (float[2,C,4] x, float[6] s, float[6] b) => (float[2,D,4] y) { y = GroupNormalization<num_groups=3>(x, "
     "s, b) }"),
    ("MaxPool-8 does not take tensor(uint8)", 12,
     "g (uint8[1,1,4,4] x) => (uint8[1,1,3,3] y) { y = MaxPool<kernel_shape=[2,2]>(x) }"),
    ("noop_with_empty_axes without axes", 18,
     "g (float[2,3] x) => (float[2,3] y) { y = ReduceL2<noop_with_empty_axes=1>(x) }"),
    ("axes is an attribute in opset 8, and here 'a' is an input", 18,
     "g (float[2,3] x, int64[1] a) => (float[A,B] y) { y = ReduceMean(x, a) }"),
    ("select_last_index came with opset 12", 13,
     "g (float[3,5] x) => (int64[1,5] y) { y = ArgMax<select_last_index=1>(x) }"),
    ("too many to choose by index", 16,
     "g (bool[4096,1025] c, float[4096,1025] a, float b) => (float[4096,1025] y) { y = Where(c, a, b) }"),
    ("the shape of 'x' is not fixed", 14, "g (float[N,N] x) => (float[N,N] y) { y = Trilu(x) }"),
    ("Shrink came with opset 9", 9, "g (int32[4] x) => (int32[4] y) { y = Shrink(x) }"),
    ("Max-8 takes no uint64", 13, "g (uint64[2] a) => (uint64[2] y) { y = Max(a, a) }"),
    ("Clip-6 takes no uint64", 13, "g (uint64[2] x, uint64 l) => (uint64[2] y) { y = Clip(x, l) }"),
    ("an input with a default value, which the caller may replace", 13,
     "g (float[1,2] x, int64[1] a) => (float[1,2,1] y) <int64[1] a = {2}> { y = Unsqueeze(x, a) }"),
    ("the shape of 'x' is not fixed", 13, "g (int64[N,3,4] x) => (int64[A,B] y) { y = Flatten<axis=2>(x) }"),
    ("allowzero=1 with a 0 in the shape", 14,
     "g (float[0,3] x) => (float[3,0] y) <int64[2] s = {3,0}> { y = Reshape<allowzero=1>(x, s) }"),
    ("the steps on axis 1 of 'x' are not 1, and the size of that axis is not fixed", 13,
     "g (float[2,N] x) => (float[2,M] y) <int64[1] s={0}, int64[1] e={100}, int64[1] a={1}, int64[1] t={2}> { y "
     "= Slice(x, s, e, a, t) }"),
    ("ends is an attribute in opset 8, and here 'e' is computed at run time", 13,
     "g (float[N,4] x, float[M,4] z) => (float[K,4] y) <int64[1] s={0}, int64[1] i={0}> { n = Shape(z) e = "
     "Gather(n, i) y = Slice(x, s, e) }"),
    ("may be unequal", 18, "g (float[N] x) => (float[A] a, float[B] b) { a, b = Split<num_outputs=2>(x) }"),
    ("not a plain Gather", 13, "g (float[3,4] x, int64[2,2] i) => (float[2] y) { y = GatherND(x, i) }"),
    ("the number of channels of 'x' is not fixed", 13,
     'g (float[1,C,2,2] x) => (float[1,D,4,4] y) { y = DepthToSpace<blocksize=2, mode="CRD">(x) }'),
    ("its branches give output 0 the shapes [4, 3] and [2, 3], and If-1 needs one shape", 13,
     "g (bool c, float[2,3] x) => (float[A,B] y) { y = If(c) < then_branch = t () => (float[A,B] a) { a = "
     "Concat<axis=0>(x, x) }, else_branch = e () => (float[A,B] b) { b = Relu(x) } > }"),
    ("Loop-1 does not take 2 inputs", 13,
     "g (int64 n, bool c, float[3] x) => (float[T,3] s) { s = Loop(n, c) <body = b (int64 i, bool ci) => (bool "
     "co, float[3] o) { co = Identity(ci) o = Relu(x) }> }"),
    *(("opset 8 needs another resize", opset,
       "g (float[1,1,2,3] x) => (float[1,1,4,9] y) <float[4] s = {1,1,2,3}> { y = Upsample(x, s) }")
      for opset in (9, 10)),
    *((f"opset 8 has no {op_type} of float64 with the same precision", 20,
       f"g (double[2] x) => (double[2] y) {{ y = {op_type}(x) }}") for op_type in ("Erf", "Gelu")),
    *(("uint64", 13, f"g (uint64[3] a, uint64[3,1] b) => (bool[3,3] y) {{ y = {op_type}(a, b) }}")
      for op_type in ("Less", "Greater", "Equal")),
    ("Equal-7 does not take tensor(string)", 19,
     "g (string[3] a, string[3,1] b) => (bool[3,3] y) { y = Equal(a, b) }"),
    ("Cast-6 does not take tensor(bfloat16)", 13, "g (float[2] x) => (bfloat16[2] y) { y = Cast<to=16>(x) }"),
    *((f"{op_type}-{since} does not take tensor({kind})", 14,
       f"g ({kind}[2,2] x) => ({kind}[2,2] y) {{ y = {op_type}({operands}) }}")
      for op_type, since, kind, operands in (
          *((op_type, 7, "int8", "x, x") for op_type in ("Add", "Sub", "Mul", "Div")),
          ("Abs", 6, "bfloat16", "x"), ("Relu", 6, "int8", "x"), ("MatMul", 1, "int64", "x, x"))),
    ("a cast may round the exponent", 13, "g (float[2] x, int64 p) => (float[2] y) { y = Pow(x, p) }"),
    ("float32 cannot hold the exponent exactly", 13,
     "g (float[2] x) => (float[2] y) <int64 p = {16777217}> { y = Pow(x, p) }"),
    ("Pow-7 takes no int64", 13, "g (int64[2] x) => (int64[2] y) <float p = {2}> { y = Pow(x, p) }"),
    ("Pow-7 does not take tensor(int64)", 13, "g (int64[2] x) => (int64[2] y) <int64 p = {2}> { y = Pow(x, p) }"),
    ("another node uses its mask … inference mode", 13,
     "g (float[2] x) => (float[2] y, bool[2] m) { y, m = Dropout (x) }"),
    ("not constantly false … inference mode", 13,
     "g (float[2] x) => (float[2] y) <float r={0.5}, bool t={1}> { y = Dropout(x, r, t) }"),
    ("not constantly false … inference mode", 13,
     "g (float[2] x, bool t) => (float[2] y) <float r={0.5}> { y = Dropout(x, r, t) }"),
    ("auto_pad is used with a kernel shorter than its stride", 11, TRANSPOSED % 'strides=[3,3], auto_pad="SAME_UPPER"'),
    ("ConvTranspose-1 and -11 place an odd row of padding differently", 11,
     TRANSPOSED.replace("1,2,4,4", "1,2,H,W") % "strides=[2,2], output_shape=[8,8]"),
    ("output_shape asks for more than the node makes", 11, TRANSPOSED % "strides=[2,2], output_shape=[9,8]"),
    *(("is not a single MatMul", 12,
       f'g ({inputs}) => (float[A,B] y) {{ y = Einsum<equation="{equation}">({operands}) }}')
      for operands, inputs, equations in (
          ("x", "float[2,2] x", ("ii->i", "ij->i")),
          ("x, z", "float[2,2] x, float[2,2] z", ("ij,ij->ij", "ij,jk", "...i,ij->...j", "i,j->ij")),
          ("x, z, u", "float[2,2] x, float[2,2] z, float[2,2] u", ("ij,jk,kl->il",))) for equation in equations),
    *(("it is in training mode … model.eval()", opset,
       f"g ({NORMALIZED}) => (float[2,3,4] y) {{ {outputs} = BatchNormalization{attributes}(x, s, b, m, v) }}")
      for opset, outputs, attributes in ((9, "y, rm, rv, sm, sv", ""), (14, "y", "<training_mode=1>"),
                                         (15, "y, rm, rv", "<training_mode=1>"))),
    ("to be the same type", 15,
     f"g ({NORMALIZED.replace('float', 'float16', 1)}) => (float16[2,3,4] y) "
     "{ y = BatchNormalization(x, s, b, m, v) }"),
    ("Where came with opset 9, and the shapes here are not fixed", 16,
     "g (bool[N] c, string[N] a, string[1] b) => (string[N] y) { y = Where(c, a, b) }"),
    *(("Where came with opset 9, and the shapes here are not fixed … fixed input shapes", 16,
       f"g (bool[N] c, float[N] a) => (float[N] y) <float b = {{{constant}}}> {{ y = Where(c, a, b) }}")
      for constant in ("0.0", "nan")),  # a NaN would leak
    *(("axes is an attribute in opset 8, and here 'a' is an input", 13,
       f"g (float[1,2] x, int64[1] a) => (float[A,B,C] y) {{ y = {op_type}(x, a) }}")
      for op_type in ("Squeeze", "Unsqueeze")),
    ("Pad-2 has no mode 'wrap'", 19,
     'g (float[4] x) => (float[6] y) <int64[2] p={1,1}> { y = Pad<mode="wrap">(x, p) }'),
    ("pads is an attribute in opset 8", 19, "g (float[4] x, int64[2] p) => (float[N] y) { y = Pad(x, p) }"),
    ("constant_value is an attribute", 19,
     "g (float[4] x, float v) => (float[6] y) <int64[2] p={1,1}> { y = Pad(x, p, v) }"),
    ("Pad-2 does not take tensor(int64)", 19, "g (int64[4] x) => (int64[6] y) <int64[2] p={1,1}> { y = Pad(x, p) }"),
    ("which cannot hold", 19,
     "g (double[4] x) => (double[6] y) <int64[2] p={1,1}, double v={0.1}> { y = Pad(x, p, v) }"),
    ("TopK-1 takes no int64", 11, "g (int64[3] x) => (int64[1] v, int64[1] i) <int64[1] k={1}> { v, i = TopK(x, k) }"),
    ("K is an attribute in opset 8", 11,
     "g (float[3] x, int64[1] k) => (float[N] v, int64[N] i) { v, i = TopK(x, k) }"),
    *(("limits here are not constant integers", opset,
       "g (int64 b) => (int64[N] y) <int64 a={0}, int64 d={1}> { y = Range(a, b, d) }")
      for opset in versions_of("Range")),
    *(("Scan-8 only scans axis 0 and only appends", 11, SCAN.replace("DIRECTION", attribute))
      for attribute in ("scan_input_axes=[1],", "scan_output_axes=[1],", "scan_output_directions=[1],")),
]  # fmt: skip


@pytest.mark.parametrize(("words", "opset", "graph"), REFUSED)
def test_what_the_older_opset_lacks_is_refused_with_the_reason(words, opset, graph):
    (blocker,) = blockers_of(model_of(opset, graph))
    reason, _, fix = words.partition(" … ")
    assert reason in blocker.reason
    assert fix in blocker.fix != ""

"""What opset 8 cannot say: one node each, and the reason that its blocker gives."""

import pytest
from opset_pair import blockers_of, model_of

# A part of the reason, the opset, the graph.
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
]  # fmt: skip


@pytest.mark.parametrize(("reason", "opset", "graph"), REFUSED)
def test_what_the_older_opset_lacks_is_refused_with_the_reason(reason, opset, graph):
    (blocker,) = blockers_of(model_of(opset, graph))
    assert reason in blocker.reason

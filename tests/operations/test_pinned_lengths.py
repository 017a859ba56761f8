"""A resized tensor whose length TensorRT does not see to be its partner's gets it by a Reshape."""

import pytest
from live_parser import needs_tensorrt
from onnx import ModelProto
from onnx_text import model

import resizefix
from resizefix.document.document import Document
from resizefix.library.live import live_verdict
from resizefix.outcome import Status
from resizefix.runtimes.tensorrt import LiveParser, LiveVerdict
from resizefix.targets.collect_facts import facts_of
from resizefix.targets.tensorrt import LENGTH_IS_SEEN

PATCHES = """(float[1,3,h,w] x) => (float[] y)
<float[1,3,5,5] pos = {ONES}, float[2] patch = {14, 14}, float[2] table = {5, 5}, float off = {0.1},
 float[2] ones = {1, 1}, int64[2] patches = {14, 14}, int64[2] nc = {1, 3}, int64[3] tokens = {1, 3, -1},
 int64[1] zero = {0}, int64[1] two = {2}, int64[1] four = {4}>
{
  p = AveragePool <kernel_shape = [14, 14], strides = [14, 14]> (x)
  shape = Shape (x)
  hw = Slice (shape, two, four, zero)
  NODES
}""".replace("ONES", ", ".join(f"{number / 7}" for number in range(75)))
SCALES = "f = Cast <to = 1> (hw) q = Div (f, patch) n = Floor (q) o = Add (n, off) r = Div (o, table) "
SCALES += 's = Concat <axis = 0> (ones, r) u = Resize <mode = "cubic"> (pos, "", s) '
SIZES = "f = Cast <to = 1> (hw) q = Div (f, patch) n = Floor (q) i = Cast <to = 7> (n) "
SIZES += 's = Concat <axis = 0> (nc, i) u = Resize <mode = "linear"> (pos, "", "", s) '
TOKENS = "u1 = Reshape (u, tokens) p1 = Reshape (p, tokens) u2 = Transpose <perm = [0, 2, 1]> (u1) "
TOKENS += "p2 = Transpose <perm = [0, 2, 1]> (p1) y = Add (p2, u2)"
HIDDEN = {
    "Add": SCALES + "y = Add (p, u)",
    "Mul behind another node": SCALES + "v = Relu (u) y = Mul (p, v)",
    "Concat": SCALES + "y = Concat <axis = 1> (p, u)",
    "sizes": SIZES + "y = Add (p, u)",
    "tokens": SIZES + TOKENS,
}
SEEN = {
    "no partner": SIZES + "y = Relu (u)",
    "a partner of one pixel": SIZES + "g = GlobalAveragePool (p) y = Mul (g, u)",
    "a partner that is resized alike": SIZES + 'v = Resize <mode = "linear"> (pos, "", "", s) y = Add (u, v)',
    "a division of integers": "i = Div (hw, patches) s = Concat <axis = 0> (nc, i) "
    'u = Resize <mode = "linear"> (pos, "", "", s) y = Add (p, u)',
    "the size of the partner": "ps = Shape (p) i = Slice (ps, two, four, zero) s = Concat <axis = 0> (nc, i) "
    'u = Resize <mode = "linear"> (pos, "", "", s) y = Add (p, u)',
}
PROFILE = {"x": {"min": [1, 3, 56, 56], "opt": [1, 3, 70, 84], "max": [1, 3, 140, 140]}}


def patches(nodes: str) -> ModelProto:
    return model(PATCHES.replace("NODES", nodes), 17)


def rules(proto: ModelProto, target: str = "tensorrt-10") -> set[str]:
    return {violation.rule for violation in resizefix.check(proto, target=target).violations}


def is_built(proto: ModelProto) -> bool:
    with LiveParser(time_limit=120) as parser:
        return bool(parser.ask(proto.SerializeToString(), build=True, profile=PROFILE).built)


@pytest.mark.parametrize("nodes", HIDDEN.values(), ids=HIDDEN)
def test_it_takes_the_size_of_the_tensor_that_it_meets(nodes: str):
    proto = patches(nodes)
    assert rules(proto) == {LENGTH_IS_SEEN}
    result = resizefix.legalize(proto, target="tensorrt-10")
    (outcome,) = result.outcomes
    assert outcome.status is Status.CHANGED
    assert outcome.exact
    assert result.verification.passed
    assert all(run.bitwise for run in result.verification.runs if not run.optimized)
    assert rules(result.model) == set()
    again = resizefix.legalize(result.model, target="tensorrt-10")
    assert again.model.SerializeToString() == result.model.SerializeToString()


@pytest.mark.parametrize("nodes", SEEN.values(), ids=SEEN)
def test_others_are_accepted_as_they_are(nodes: str):
    proto = patches(nodes)
    assert rules(proto) == set()
    assert resizefix.legalize(proto, target="tensorrt-10").model.SerializeToString() == proto.SerializeToString()


@pytest.mark.parametrize("divisor", [3, 5, 8, 9, 16])
def test_odd_divisors_and_powers_of_two_hide_nothing(divisor: int):
    text = PATCHES.replace("patch = {14, 14}", f"patch = {{{divisor}, {divisor}}}").replace(
        "[14, 14]", f"[{divisor}, {divisor}]"
    )
    assert rules(model(text.replace("NODES", HIDDEN["sizes"]), 17)) == set()


def test_older_targets_are_not_asked():
    assert LENGTH_IS_SEEN not in rules(patches(HIDDEN["Add"]), "tensorrt-8.6")


def test_static_sizes_are_seen():
    proto = patches(HIDDEN["Add"])
    for dim, size in zip(proto.graph.input[0].type.tensor_type.shape.dim[2:], (70, 84), strict=True):
        dim.dim_value = size
    assert not facts_of(Document.from_proto(proto))[0].hidden_at


@needs_tensorrt
@pytest.mark.parametrize("nodes", HIDDEN.values(), ids=HIDDEN)
def test_the_builder_takes_it_then_alone(nodes: str):
    proto = patches(nodes)
    assert not is_built(proto)
    assert is_built(resizefix.legalize(proto, target="tensorrt-10").model)


@needs_tensorrt
@pytest.mark.parametrize("nodes", SEEN.values(), ids=SEEN)
def test_the_builder_takes_what_the_rule_lets_pass(nodes: str):
    assert is_built(patches(nodes))


@needs_tensorrt
def test_an_error_of_the_builder_names_the_resize_that_feeds_the_node():
    proto = patches(HIDDEN["Mul behind another node"])
    proto.graph.node[-1].name, proto.graph.node[-3].name = "Mul_9", "grow"
    found = live_verdict(Document.from_proto(proto), build=True, profile=PROFILE)
    assert isinstance(found, LiveVerdict)
    assert [error.fed_by for error in found.errors] == ["grow"]

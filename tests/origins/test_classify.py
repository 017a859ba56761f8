import pytest
from chain_models import only_site
from onnx_text import document

from resizefix.operations.sites import find_sites
from resizefix.origins.classify import OriginKind


def site(nodes: str, inputs: str = "float[1,3,8,8] x", extra: str = "", more: str = "", opset: int = 13):
    return only_site(document(f"({inputs}) => (float[?,?,?,?] y) {extra} {{ {nodes} }} {more}", opset, "local", "acme"))


TWO = "<float[4] s = {1, 1, 2, 2}>"
RESIZE = "y = Resize (x, , s)"


def test_constants_that_the_reference_cannot_fold_are_folded_by_a_run():
    found = site(f"s = DequantizeLinear (q, f, z) {RESIZE}",
                 extra="<int8[4] q = {2, 2, 4, 4}, float f = {0.5}, int8 z = {0}>")  # fmt: skip
    assert (found.origin.kind, found.extent.values) == (OriginKind.COMPUTED, (1, 1, 2, 2))
    assert found.origin.chain == ("DequantizeLinear",)
    assert found.promotable


IF = """s = If (c) <
  then_branch = a () => (float[4] p) {{ p = Constant <value_floats = [1.0, 1.0, {then}, 2.0]> () }},
  else_branch = b () => (float[4] q) {{ q = Constant <value_floats = [1.0, 1.0, 2.0, 2.0]> () }}
> y = Resize (x, , s)"""


def test_an_if_with_equal_branches_is_a_constant():
    found = site(IF.format(then="2.0"), inputs="float[1,3,8,8] x, bool c")
    assert (found.origin.kind, found.extent.values) == (OriginKind.COMPUTED, (1, 1, 2, 2))


def test_an_if_that_the_caller_chooses_is_driven_by_its_condition():
    found = site(IF.format(then="3.0"), inputs="float[1,3,8,8] x, bool c")
    assert (found.origin.kind, found.origin.name) == (OriginKind.GRAPH_INPUT, "c")
    assert found.extent.values is None


def test_an_if_that_data_choose_is_run_time_data():
    found = site("m = ReduceMax <keepdims = 0> (x) c = Cast <to = 9> (m) " + IF.format(then="3.0"))
    assert found.origin.kind is OriginKind.RUNTIME
    assert found.origin.reason == "it depends on the values of the input 'x'"


FUNCTION = '<domain: "local", opset_import: ["" : 13]> Up (a, s) => (b) { b = Resize (a, , s) }'


def test_scales_that_are_a_functions_argument_are_what_the_call_gives():
    found = site("y = local.Up (x, s)", extra=TWO, more=FUNCTION)
    assert (found.origin.kind, found.origin.name, found.extent.values) == (OriginKind.INITIALIZER, "s", (1, 1, 2, 2))
    fed = site("y = local.Up (x, s)", inputs="float[1,3,8,8] x, float[4] s", more=FUNCTION)
    assert (fed.origin.kind, fed.origin.name) == (OriginKind.GRAPH_INPUT, "s")


def test_scales_that_two_calls_give_alike_are_known_and_others_are_not():
    alike = site("h = local.Up (x, s) y = local.Up (h, s)", extra=TWO, more=FUNCTION)
    assert (alike.origin.kind, alike.extent.values) == (OriginKind.INITIALIZER, (1, 1, 2, 2))
    found = site("t = Identity (s) h = local.Up (x, s) y = local.Up (h, t)", extra=TWO, more=FUNCTION)
    assert found.origin.kind is OriginKind.RUNTIME
    assert "whose calls give it different things" in found.origin.reason


ATTRIBUTE = """
<domain: "local", opset_import: ["" : 13]>
Up <f> (a) => (b) { s = Constant <value_floats: floats = @f> () b = Resize (a, , s) }
"""


def test_a_constant_that_is_the_calls_attribute_stays_a_constant():
    one = site("y = local.Up <f = [1.0, 1.0, 2.0, 2.0]> (x)", more=ATTRIBUTE)
    assert (one.origin.kind, one.extent.values) == (OriginKind.CONSTANT, (1, 1, 2, 2))
    two = site(
        "h = local.Up <f = [1.0, 1.0, 2.0, 2.0]> (x) y = local.Up <f = [1.0, 1.0, 3.0, 3.0]> (h)", more=ATTRIBUTE
    )
    assert (two.origin.kind, two.extent.values) == (OriginKind.CONSTANT, None)
    assert "differ from call to call" in two.reason


@pytest.mark.parametrize(
    ("nodes", "inputs", "reason"),
    [
        ("s = acme.Op (f) y = Resize (x, , s)", "float[1,3,8,8] x, float[4] f", "acme::Op, an operator unknown here"),
        ("s = ReduceMax <axes = [0], keepdims = 0> (d) y = Resize (x, , s)", "float[1,3,8,8] x, float[99,4] d",
         "values of the input 'd'"),
        ("y = Resize (x, , s)", "float[1,3,8,8] x", "nothing in the model defines 's'"),
    ],
)  # fmt: skip
def test_run_time_data_are_named(nodes, inputs, reason):
    found = site(nodes, inputs)
    assert found.origin.kind is OriginKind.RUNTIME
    assert reason in found.origin.reason


LOOP = """c = Constant <value = bool {1}> ()
v = Loop (n, c, x) <
  body = b (int64 i, bool c1, float[1,3,8,8] h) => (bool c2, float[1,3,p,q] r) {
    c2 = Identity (c1) %s
  }>
y = Relu (v)"""


def test_the_number_of_a_round_is_run_time_data():
    nodes = LOOP % "f = Cast <to = 1> (i) u = Add (f, t) s = Concat <axis = 0> (t, t, u, u) r = Resize (h, , s)"
    found = site(nodes, "float[1,3,8,8] x, int64 n", "<float[1] t = {1}>")
    assert found.origin.kind is OriginKind.RUNTIME
    assert "'i', an input of" in found.origin.reason


def test_in_a_loop_the_sizes_of_the_first_round_are_not_believed():
    nodes = LOOP % "a = Shape (h) k = Mul (a, f) r = Resize (h, , , k)"
    found = site(nodes, "float[1,3,8,8] x, int64 n", "<int64[4] f = {1, 1, 2, 2}>")
    assert (found.extent.kind.value, found.extent.values) == ("scales", (1, 1, 2, 2))
    assert found.input_dims == (None, None, None, None)


@pytest.mark.parametrize(
    ("node", "kind"),
    [
        ("y = Resize <scales = [1.0, 1.0, 2.0, 2.0]> (x)", OriginKind.ATTRIBUTE),
        ('y = Resize <mode = "bilinear"> (x, , s)', OriginKind.INITIALIZER),
        ("y = Resize <mode = \"bilinear\"> (x, , f)", OriginKind.GRAPH_INPUT),
        ("y = Resize (x)", OriginKind.RUNTIME),
    ],
)  # fmt: skip
def test_a_node_that_is_not_valid_has_an_origin_all_the_same(node, kind):
    found = site(node, "float[1,3,8,8] x, float[4] f", TWO)
    assert found.interpolation is None or kind is OriginKind.RUNTIME
    assert found.origin.kind is kind


def test_a_constant_is_shared_by_all_nodes_but_the_one_that_reads_it():
    nodes = "a = Add (s, s) b = Resize (x, , s) y = Resize (b, , s)"
    found = find_sites(document(f"(float[1,3,8,8] x) => (y, a, s) {TWO} {{ {nodes} }}"))
    assert [site.origin.shared_by for site in found] == [
        ("Add#0", "Add#0", "Resize#2", "graph output"),
        ("Add#0", "Add#0", "Resize#1", "graph output"),
    ]

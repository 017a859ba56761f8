import onnx
import pytest
from onnx_text import document
from resize_texts import BY_2, ONE, X, resizing

from resizefix.diagnostics import UsageError
from resizefix.document.document import Document
from resizefix.interpolation import CoordinateTransformationMode, ExtentKind, Mode, NearestMode
from resizefix.operations.site import ReadSite
from resizefix.operations.sites import _Finder, find_sites, select, sites_in
from resizefix.origins.classify import OriginKind
from resizefix.shapes.stored_shapes import ModelView


def sites_of(nodes: str = ONE, constants: str = "", x: str = X, *, opset: int = 13):
    return find_sites(Document.from_proto(resizing(nodes, constants, x, opset=opset)))


def test_meaning_extent_and_origin_are_read():
    node = 'y = Resize <mode = "cubic", coordinate_transformation_mode = "pytorch_half_pixel"> (x, , s)'
    (site,) = sites_of(node, "float[4] s = {1, 1, 3, 3}")
    assert site.interpolation.mode is Mode.CUBIC
    assert site.interpolation.coordinate_transformation_mode is CoordinateTransformationMode.PYTORCH_HALF_PIXEL
    assert (site.extent.kind, site.extent.values) == (ExtentKind.SCALES, (1, 1, 3, 3))
    assert (site.origin.kind, site.origin.name) == (OriginKind.INITIALIZER, "s")
    assert site.input_dims == (1, 3, 8, 8)
    assert site.promotable


def test_nodes_with_equal_constants_of_their_own_are_each_read_with_theirs():
    nodes = """[one] a = Resize (x, , s) [two] b = Resize (a, , t) [three] c = Resize (b, , u)
        k = Constant <value = float[4] {1, 1, 2, 2}> () y = Resize (c, , k)"""
    proto = resizing(nodes, f"{BY_2}, float[4] t = {{1, 1, 2, 2}}, float[4] u = {{1, 1, 3, 2}}")
    for tensor in (*proto.graph.initializer, proto.graph.node[3].attribute[0].t):
        tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor), tensor.name))
    for value in (proto.graph.input[0], *(proto.graph.value_info.add(name=name) for name in "abc")):
        value.type.CopyFrom(onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, (1, 3, "h", "w")))
    sites = find_sites(Document.from_proto(proto))
    assert [(site.label, site.origin.kind.value, site.origin.name) for site in sites] == [
        ("one", "initializer", "s"),
        ("two", "initializer", "t"),
        ("three", "initializer", "u"),
        ("#3", "constant", "k"),
    ]
    assert [site.read.reading.operands.scales for site in sites] == ["s", "t", "u", "k"]
    assert [site.values[2:] for site in sites] == [(2, 2), (2, 2), (3, 2), (2, 2)]
    assert all(site.origin.shared_by == () for site in sites)


def test_the_nodes_that_share_a_constant_are_named():
    sites = sites_of("[one] a = Resize (x, , s) [two] b = Resize (a, , s) [three] c = Mul (s, s) y = Relu (b)", BY_2)
    assert [site.origin.shared_by for site in sites] == [("two", "three", "three"), ("one", "three", "three")]


def test_a_node_among_others_is_what_it_is_when_it_is_read_alone():
    nodes = """[one] a = Resize (x, , s) b = Relu (a) [two] c = Resize (x, , s) [one] d = Resize (c, , s)
        [four] y = Resize <mode = "linear"> (d, , s) c = Resize (x, , s) e = Resize (x, , t)
        f = Resize (a, , t) g = Resize (h, , s)"""
    held = "float[4] s = {1, 1, 1.8, 2}, float[4] t = {1, 1, 0, 2}"
    view = ModelView(Document.from_proto(resizing(nodes, held, "float[1,3,5,8] x, h")))
    together = sites_in(view)
    alone = [_Finder(view).site(k, home, home.body.node[at]) for k, (home, at) in enumerate(view.resizes)]
    assert [vars(site) for site in together] == [vars(site) for site in alone]
    assert len({site.reason for site in together}) == 3


MEAN = """m = ReduceMean <keepdims = 0> (x) u = Unsqueeze (m, z) s = Concat <axis = 0> (u, u, u, u)
    y = Resize (x, , s)"""


@pytest.mark.parametrize(
    ("nodes", "constants", "x", "kind"),
    [
        (f"s = Constant <value_floats = [1.0, 1.0, 2.0, 2.0]> () {ONE}", "", X, OriginKind.CONSTANT),
        ("k = Identity (s) y = Resize (x, , k)", BY_2, X, OriginKind.COMPUTED),
        (ONE, "", f"{X}, float[4] s", OriginKind.GRAPH_INPUT),
        (f"s = Concat <axis = 0> (i, f) {ONE}", "float[2] i = {1, 1}", f"{X}, float[2] f", OriginKind.GRAPH_INPUT),
        (f"h = Shape (x) f = Cast <to = 1> (h) s = Div (f, f) {ONE}", "", X, OriginKind.COMPUTED),
        (MEAN, "int64[1] z = {0}", X, OriginKind.RUNTIME),
    ],
)
def test_each_origin_is_reported_from_the_others(nodes, constants, x, kind):
    (site,) = sites_of(nodes, constants, x)
    assert site.origin.kind is kind
    assert site.promotable == (kind in (OriginKind.CONSTANT, OriginKind.COMPUTED))


def test_scales_in_an_attribute_are_promotable_unless_the_model_cannot_be_raised():
    (site,) = sites_of("y = Upsample <scales = [1.0, 1.0, 2.0, 2.0]> (x)", opset=8)
    assert site.origin.kind is OriginKind.ATTRIBUTE
    assert site.interpolation.nearest_mode is NearestMode.SIMPLE
    assert site.promotable
    nodes = "b = BatchNormalization <spatial = 0> (x, x, x, x, x) y = Upsample <scales = [1.0, 1.0, 2.0, 2.0]> (b)"
    (site,) = sites_of(nodes, opset=8)
    assert "BatchNormalization node 'b' cannot be raised to opset 9: spatial=0 has no newer form" in (site.reason or "")


def test_a_node_that_is_not_valid_is_listed_with_what_is_wrong():
    (site,) = sites_of('y = Resize <mode = "bilinear"> (x, , s)', BY_2)
    assert site.interpolation is None
    assert "bilinear" in (site.reason or "")


def test_empty_scales_beside_sizes_do_not_count():
    (site,) = sites_of("y = Resize (x, , e, k)", "float[0] e = {}, int64[4] k = {1, 3, 16, 16}")
    assert (site.extent.kind, site.extent.values) == (ExtentKind.SIZES, (1, 3, 16, 16))


def test_an_operator_of_the_same_name_in_another_domain_is_no_site():
    assert sites_of("y = local.Resize (x)") == []


def test_sites_in_bodies_come_in_the_order_of_the_file():
    nodes = """[first] a = Resize (x, , s)
      [if] b = If (c) <
        then_branch = t () => (float[?,?,?,?] p) { [second] p = Resize (a, , s) },
        else_branch = e () => (float[?,?,?,?] q) { [third] q = Resize (x, , s) }
      >
      [fourth] y = Resize (b, , s)"""
    sites = sites_of(nodes, BY_2, f"{X}, bool c")
    assert [site.label for site in sites] == ["first", "second", "third", "fourth"]
    assert sites[1].scope.path.steps == ("if.then_branch",)
    assert all(site.promotable for site in sites)


def test_patterns_are_globs_on_names_or_positions():
    sites = sites_of('["up.a"] a = Resize (x, , s) ["up.b"] b = Resize (a, , s) y = Resize (b, , s)', BY_2)
    assert [site.index for site in select(sites, ["up.*"])] == [0, 1]
    assert [site.index for site in select(sites, ["#2", "up.a"])] == [0, 2]
    assert select(sites, []) == sites
    with pytest.raises(UsageError, match=r"'nope'; there are #0 up\.a, #1 up\.b, #2"):
        select(sites, ["nope"])
    with pytest.raises(UsageError):
        select(sites, ["#3"])


def test_a_size_that_depends_on_the_rounding_rule_is_warned_of():
    (site,) = sites_of(ONE, "float[4] s = {1, 1, 1.8, 1}", "float[1,3,5,5] x")
    assert "5 becomes 9 in onnxruntime's kernel and 8 in shape inference" in (site.warning or "")
    (site,) = sites_of(ONE, "float[4] s = {1, 1, 2, 1.5}", "float[1,3,h,w] x")
    assert site.warning is None


@pytest.mark.parametrize(
    ("nodes", "output"),
    [
        ("y = Resize (x, , s) y = Relu (x)", "y"),
        ("y = Resize (x, , s) y = Resize (x, , s)", "y"),
        ("t = Resize (x, , s) y = Relu (t)", "t"),
        ("u = Resize (x, , s) y = Relu (u)", "u"),
    ],
)
def test_a_site_whose_output_is_not_its_own_is_left_alone(nodes, output):
    for site in sites_of(nodes, f"{BY_2}, float[1] t = {{1}}", f"{X}, float[1] u"):
        assert not site.promotable
        assert site.reason.startswith(f"its output '{output}' gets its value elsewhere, too")
        assert site.interpolation is None


@pytest.mark.parametrize("outputs", [[], [""], ["", "y"]])
def test_a_site_without_an_output_is_left_alone(outputs):
    proto = resizing(constants=BY_2)
    proto.graph.node[0].output[:] = outputs
    (site,) = find_sites(Document.from_proto(proto))
    assert site.reason == "it has no output, so it computes nothing"


@pytest.mark.parametrize("axes", ["4", "-5", "2, 9", "3, -1"])
def test_axes_that_the_input_does_not_have_or_has_once_make_the_node_invalid(axes):
    count = axes.count(",") + 1
    scales = ", ".join(["2"] * count)
    (site,) = sites_of(f"y = Resize <axes = [{axes}]> (x, , s)", f"float[{count}] s = {{{scales}}}", opset=18)
    assert not isinstance(site, ReadSite)
    assert "not distinct axes of its input, which has 4; name each axis once, from -4 to 3" in (site.reason or "")


def test_the_outermost_axes_of_the_input_are_axes():
    (site,) = sites_of("y = Resize <axes = [3, -4]> (x, , s)", "float[2] s = {2, 1}", opset=18)
    assert site.promotable


LOOP = """(float[1,3,8,8] x, int64 n, bool go) => (float[a,b,c,d] last, float[e,f,g,h,i] ys)
<float[4] s = {1, 1, 2, 2}> {
  last, ys = Loop (n, go, x) <body = round (int64 i, bool c, float[1,3,8,8] state) =>
    (bool d, float[1,3,16,16] next, float[1,3,16,16] y)
    { d = Identity (c) next = Resize (state, , s) y = Resize (x, , s) }>
}"""


def test_in_a_loop_only_what_comes_from_outside_has_the_sizes_that_the_file_tells():
    carried, outer = find_sites(document(LOOP))
    assert (carried.input, carried.input_dims) == ("state", (None,) * 4)
    assert (outer.input, outer.input_dims) == ("x", (1, 3, 8, 8))

import onnx
from report_models import COMPUTED, FED, PLAIN, document, parsed

from resizefix.document.document import Document
from resizefix.operations.sites import find_sites
from resizefix.reports.surroundings import BoxKind, Mark, Surroundings
from resizefix.shapes.stored_shapes import ModelView


def picture(model, index=0, mark_of=None):
    return Surroundings(ModelView(model), mark_of).around(find_sites(model)[index].key)


def titles(found):
    return {(box.title, box.name) for box in found.boxes}


def reads(found, title):
    keys = {box.key: box.title for box in found.boxes}
    return [(edge.operand, keys[edge.source], edge.label) for edge in found.edges if keys[edge.target] == title]


def test_a_resize_stands_between_what_it_reads_and_who_reads_it():
    found = picture(document(PLAIN))
    assert titles(found) == {("Resize-13", "up"), ("Relu", "act"), ("initializer", "s"), ("Neg", "out")}
    assert reads(found, "Resize-13") == [("X", "Relu", "float 1×3×8×8"), ("scales", "initializer", "float 4")]
    assert reads(found, "Neg") == [("", "Resize-13", "float 1×3×16×16")]
    focus = next(box for box in found.boxes if box.key == found.focus)
    assert focus.kind is BoxKind.RESIZE
    assert focus.lines == ("nearest", "asymmetric", "floor")
    assert next(box for box in found.boxes if box.name == "s").lines == ("1, 1, 2, 2",)


def test_data_is_followed_one_step_and_operands_three():
    found = picture(document(COMPUTED))
    names = {box.name for box in found.boxes}
    assert names == {"act", "up", "both", "first", "last", "lead", "tail", "y", ""}  # not x; like is cut
    assert [box.title for box in found.boxes if box.kind is BoxKind.MORE] == ["…"]
    assert reads(found, "Shape")[0][1] == "Relu"


def test_small_constants_are_reported_by_the_operator_that_reads_them_but_not_by_a_resize():
    found = picture(document(COMPUTED))
    first = next(box for box in found.boxes if box.name == "first")
    assert first.lines == ("starts 0", "ends 2", "axes 0")


def test_an_empty_operand_of_a_resize_is_a_line_of_it():
    text = PLAIN.replace("{1, 1, 2, 2}>", "{1, 1, 2, 2}, float[0] none = {}>").replace("(a, , s)", "(a, none, s)")
    found = picture(document(text))
    assert "roi empty" in next(box for box in found.boxes if box.key == found.focus).lines
    assert len(found.boxes) == 4


def test_a_graph_input_is_one_and_its_default_is_said():
    (box,) = [box for box in picture(document(FED)).boxes if box.name == "t"]
    assert (box.kind, box.title, box.lines) == (BoxKind.INPUT, "graph input", ())
    model = parsed(PLAIN)
    model.graph.input.append(onnx.helper.make_tensor_value_info("s", 1, [4]))
    (box,) = [box for box in picture(Document.from_proto(model)).boxes if box.name == "s"]
    assert (box.title, box.lines) == ("optional input", ("default 1, 1, 2, 2",))


def test_of_many_readers_the_first_are_shown():
    text = PLAIN.replace("[out] y = Neg (b)", "\n".join(f"[n{i}] y{i} = Neg (b)" for i in range(6)) + "\ny = Neg (b)")
    found = picture(document(text))
    assert [box.title for box in found.boxes if box.kind is BoxKind.MORE] == ["4 more readers"]
    assert sum(box.title == "Neg" for box in found.boxes) == 3


def test_a_graph_output_reads_too():
    text = PLAIN.replace("[out] y = Neg (b)", "").replace("[up] b =", "[up] y =")
    (box,) = [box for box in picture(document(text)).boxes if box.kind is BoxKind.OUTPUT]
    assert (box.title, box.name) == ("graph output", "y")


IF = """<ir_version: 8, opset_import: ["" : 13]>
g (float[1,3,8,8] x, bool c) => (float[?,?,?,?] y) <float[4] s = {1, 1, 2, 2}> {
  %s [if] y = If (c) <then_branch = b () => (float[?,?,?,?] p) { %s },
                      else_branch = e () => (float[?,?,?,?] q) { q = Neg (x) }> }"""


def test_bodies_read_from_outside_and_say_where_they_are():
    found = titles(picture(document(IF % ("", "[up] p = Resize (x, , s)"))))
    assert found >= {("output of if.then_branch", "p"), ("initializer", "s"), ("graph input", "x")}


def test_a_reader_in_a_body_is_named_with_it():
    found = picture(document(IF % ("[up] u = Resize (x, , s)", "[inner] p = Relu (u)")))
    assert next(box for box in found.boxes if box.name == "inner").lines == ("in if.then_branch",)


def test_what_nothing_defines_is_said_to_be_missing():
    model = parsed(PLAIN)
    model.graph.node[1].input[2] = "gone"
    found = Surroundings(ModelView(Document.from_proto(model))).around(((), "b"))
    assert ("nothing makes this", "gone") in titles(found)


def test_nothing_stands_around_what_no_node_makes():
    around = Surroundings(ModelView(document(PLAIN)))
    assert around.around(((), "s")) is None
    assert around.around(((), "gone")) is None
    assert around.around((("no such body",), "b")) is None


def test_what_is_new_is_followed_as_far_as_it_goes():
    chain = "\n".join(f"t{i + 1} = Identity (t{i})" for i in range(9))
    text = FED.replace("[up]", f"t0 = Neg (t)\n{chain}\n[up]").replace("(a, , t)", "(a, , t9)")
    without = picture(document(text))
    assert sum(box.title == "Identity" for box in without.boxes) == 3
    marked = picture(document(text), mark_of=lambda made: Mark.NEW if made.name.startswith("t") else None)
    assert sum(box.title == "Identity" for box in marked.boxes) == 9
    assert ("graph input", "t") in titles(marked)


def test_the_picture_can_be_read_aloud():
    words = picture(document(PLAIN)).sentences()
    assert "Resize-13 up, nearest, asymmetric, floor, reads X from Relu act (float 1×3×8×8)" in words
    assert "scales from initializer s (float 4)" in words
    assert "initializer s, 1, 1, 2, 2." in words

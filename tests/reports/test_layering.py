from hypothesis import given, settings
from hypothesis import strategies as st

from resizefix.reports.drawing import DrawnSize, Link, place

GAPS = (10, 40)


@st.composite
def graphs(draw):
    number = draw(st.integers(1, 9))
    sizes = {f"b{i}": DrawnSize(draw(st.integers(20, 200)), draw(st.integers(10, 90))) for i in range(number)}
    links = [
        Link(f"b{i}", f"b{j}", draw(st.sampled_from([0.25, 0.5, 0.75])))
        for i in range(number)
        for j in range(i + 1, number)
        if draw(st.booleans())
    ]
    return sizes, links


def overlap(a, b, sizes, placed):
    (x, y), (u, v) = placed.corners[a], placed.corners[b]
    return x < u + sizes[b].width and u < x + sizes[a].width and y < v + sizes[b].height and v < y + sizes[a].height


@settings(max_examples=60)
@given(graphs())
def test_boxes_never_overlap_and_all_lie_within(graph):
    sizes, links = graph
    placed = place(sizes, links, *GAPS)
    for a in sizes:
        x, y = placed.corners[a]
        assert x >= -1e-6
        assert x + sizes[a].width <= placed.width + 1e-6
        assert y + sizes[a].height <= placed.height + 1e-6
        assert not any(overlap(a, b, sizes, placed) for b in sizes if b != a)


@settings(max_examples=60)
@given(graphs())
def test_every_edge_goes_down_and_through_no_box(graph):
    sizes, links = graph
    placed = place(sizes, links, *GAPS)
    for link, route in zip(links, placed.routes, strict=True):
        heights = [y for _, y in route]
        assert heights == sorted(heights)
        assert route[0][1] == placed.corners[link.source][1] + sizes[link.source].height
        assert route[-1][1] == placed.corners[link.target][1]
        for (x, top), (_, bottom) in zip(route[1:-1:2], route[2:-1:2], strict=True):  # straight through a row
            for key, (left, y) in placed.corners.items():
                inside = left < x < left + sizes[key].width and y < bottom and top < y + sizes[key].height
                assert not inside, (link, key)


def test_a_constant_stands_just_above_what_reads_it():
    sizes = {key: DrawnSize(100, 30) for key in ("x", "shape", "slice", "up", "scales")}
    links = [Link("x", "shape"), Link("shape", "slice"), Link("slice", "up"), Link("scales", "up")]
    placed = place(sizes, links, *GAPS)
    assert placed.corners["scales"][1] == placed.corners["slice"][1]
    assert placed.corners["x"][1] == 0


def test_operands_stand_in_the_order_in_which_they_are_read():
    sizes = {key: DrawnSize(100, 30) for key in ("up", "sizes", "roi", "x")}
    links = [Link("sizes", "up", 0.75), Link("roi", "up", 0.5), Link("x", "up", 0.25)]
    corners = place(sizes, links, *GAPS).corners
    assert corners["x"][0] < corners["roi"][0] < corners["sizes"][0]


def test_a_chain_is_straight():
    sizes = {"a": DrawnSize(100, 30), "b": DrawnSize(60, 30), "c": DrawnSize(160, 30)}
    placed = place(sizes, [Link("a", "b"), Link("b", "c")], *GAPS)
    centres = {round(placed.corners[key][0] + sizes[key].width / 2, 3) for key in sizes}
    assert len(centres) == 1


def test_a_cycle_which_no_valid_model_has_is_placed_all_the_same():
    sizes = {"a": DrawnSize(100, 30), "b": DrawnSize(100, 30)}
    placed = place(sizes, [Link("a", "b"), Link("b", "a"), Link("a", "a")], *GAPS)
    assert len(placed.routes) == 3
    assert not overlap("a", "b", sizes, placed)


def test_nothing_is_placed_in_no_room():
    assert place({}, [], *GAPS).height == 0

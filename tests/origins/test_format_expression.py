import pytest

from resizefix.document.text import listed
from resizefix.origins.axis_relation import axis_names, figure, written
from resizefix.shapes.expression import Number, Size, computed

H = Size(((), "x"), 2)


def i(value: int) -> Number:
    return Number(value, "int64")


def text(expression) -> str:
    return written(expression, lambda size: "n")


AS_FLOAT = computed("Cast", "float32", H)
TIMES_1_8 = computed("Mul", "float32", AS_FLOAT, Number(1.7999999523162842, "float32"))


@pytest.mark.parametrize(
    ("expression", "formula"),
    [
        (computed("Add", "int64", i(1), computed("Mul", "int64", H, i(2))), "2 × n + 1"),
        (computed("Add", "int64", i(-1), H), "n − 1"),
        (computed("Mul", "int64", computed("Add", "int64", H, i(1)), i(2)), "2 × (n + 1)"),
        (computed("Sub", "int64", H, computed("Sub", "int64", H, i(1))), "n − (n − 1)"),
        (computed("Div", "int64", computed("Add", "int64", H, i(1)), i(2)), "floor((n + 1) / 2)"),
        (computed("Mul", "int64", computed("Div", "int64", H, i(2)), i(2)), "2 × floor(n / 2)"),
        (TIMES_1_8, "1.8 × n"),
        (computed("Cast", "int64", TIMES_1_8), "floor(1.8 × n)"),
        (computed("Cast", "int64", computed("Floor", "float32", TIMES_1_8)), "floor(1.8 × n)"),
        (computed("Cast", "int64", computed("Ceil", "float32", TIMES_1_8)), "ceil(1.8 × n)"),
        (computed("Div", "float32", TIMES_1_8, AS_FLOAT), "1.8 × n / n"),
        (computed("Min", "int64", H, i(480)), "min(n, 480)"),
    ],
)
def test_a_formula_reads_as_people_write_it(expression, formula):
    assert text(expression) == formula


def test_figures_are_written_short():
    assert (figure(2.0), figure(1.7999999523162842), figure(0.1, "float64")) == ("2", "1.8", "0.1")


def test_axes_of_an_image_have_names_and_others_numbers():
    assert axis_names([2, 3], 4) == "height and width"
    assert axis_names([3], 4) == "width"
    assert axis_names([1], 4) == "axis 1"
    assert axis_names([2, 3, 4], 5) == "axes 2, 3 and 4"


def test_lists_end_in_and():
    assert (listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])) == ("a", "a and b", "a, b and c")

import numpy as np
import pytest
from chain_models import document

from resizefix.origins.entries import DimResolver, TracedEntry, confirm, measured_entries
from resizefix.origins.measure import extract_subgraph
from resizefix.shapes.axis_sizes import AxisSizes, traced_values
from resizefix.shapes.expression import Number, Size, UntraceableError, computed
from resizefix.shapes.stored_shapes import ModelView

X = ((), "x")


def meanings_and_chain(nodes: str, inputs: str = "float[n,3,h,w] x, float[n,3,u,v] z"):
    view = ModelView(document(f"{nodes} y = Resize (x, , , k)", inputs, opset=13))
    axis_sizes = AxisSizes(view)
    definition = view.scopes.definition(view.scopes.main, "k")
    return DimResolver(axis_sizes, X, 4), extract_subgraph(view, traced_values(axis_sizes), definition)


def test_what_is_measured_depends_on_the_sizes_that_move_it():
    # The cumulative sum of a shape: each entry depends on its own size and those before it.
    zero = "zero = Constant <value_int = 0> ()"
    meanings, chain = meanings_and_chain(f"{zero} s = Shape (x) k = CumSum (s, zero)")
    depends = [{size.axis for size in entry.depends} for entry in measured_entries(chain, meanings)]
    assert depends == [{0}, {0, 1}, {0, 1, 2}, {0, 1, 2, 3}]


def test_a_bound_far_from_the_first_size_tried_shows():
    meanings, chain = meanings_and_chain("s = Shape (x) b = Constant <value_int = 2000> () k = Max (s, b)")
    assert [len(entry.depends) for entry in measured_entries(chain, meanings)] == [1, 1, 1, 1]


def test_a_measured_entry_is_a_function_of_sizes():
    meanings, chain = meanings_and_chain("s = Shape (x) k = Add (s, s)")
    entry = measured_entries(chain, meanings)[2]
    np.testing.assert_array_equal(entry.at({Size(X, 2): np.array([1, 5, 9])}), [2, 10, 18])


def test_a_statement_that_holds_is_confirmed_and_one_that_does_not_is_refused():
    meanings, chain = meanings_and_chain("s = Shape (x) k = Add (s, s)")
    sizes = [Size(X, axis) for axis in range(4)]
    right = [TracedEntry(computed("Mul", "int64", size, Number(2, "int64"))) for size in sizes]
    confirm(chain, meanings, right)
    wrong = [*right[:3], TracedEntry(computed("Mul", "int64", sizes[3], Number(3, "int64")))]
    with pytest.raises(UntraceableError, match="onnxruntime computes"):
        confirm(chain, meanings, wrong)
    with pytest.raises(UntraceableError, match="onnxruntime computes"):
        confirm(chain, meanings, right[:3])


def test_a_size_means_the_inputs_a_number_or_another_tensors():
    meanings, _ = meanings_and_chain("k = Shape (x)", "float[n,3,h,w] x, float[n,8,u,16] z")
    assert meanings.of(Size(X, 2)) == Size(X, 2)
    assert meanings.of(Size(((), "z"), 0)) == Size(((), "z"), 0)  # a name is no evidence
    assert meanings.of(Size(((), "z"), 1)) == Number(8, "int64")
    assert meanings.of(Size(((), "z"), 2)) == Size(((), "z"), 2)


def test_axes_of_one_name_are_two_sizes():
    meanings, _ = meanings_and_chain("k = Shape (x)", "float[n,3,s,s] x, float[n,8,u,16] z")
    assert meanings.own(3) == Size(X, 3) != meanings.own(2)


def test_numbers_that_an_entry_is_written_with_are_hints_the_fractional_first():
    size = computed("Cast", "float32", Size(X, 2))
    entry = TracedEntry(computed("Div", "float32", computed("Mul", "float32", size, Number(4.0, "float32")),
                                 Number(8.0, "float32")))  # fmt: skip
    assert entry.hints == (8.0, 4.0, 0.125, 0.25)

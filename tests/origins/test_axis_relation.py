from resizefix.origins.axis_relation import AxisRelation, says

PLAIN = "the input's"


def statement(axis: int, text: str, caveat: str | None = None) -> AxisRelation:
    return AxisRelation(axis, text, None, None, None, None, caveat)


def test_axes_that_say_the_same_are_named_together_and_plain_ones_not_at_all():
    doubled = "2 × the input's"
    statements = [statement(0, PLAIN), statement(1, PLAIN), statement(2, doubled), statement(3, doubled)]
    assert says(statements, 4) == "height and width are 2 × the input's"


def test_axes_that_say_different_things_have_a_clause_each():
    assert says([statement(2, "480"), statement(3, "640")], 4) == "height is 480, width is 640"


def test_a_caveat_is_said_once():
    statements = [
        statement(2, "floor(1.8 × the input's)", "beware"),
        statement(3, "floor(1.8 × the input's)", "beware"),
    ]
    assert says(statements, 4) == "height and width are floor(1.8 × the input's); beware"


def test_an_output_of_the_inputs_size_is_said_to_be_that():
    assert says([statement(axis, PLAIN) for axis in range(4)], 4) == "the output is as large as the input"

from resizefix.document.edits import FreshNames


def test_each_name_is_the_first_that_is_free():
    names = FreshNames({"s", "s_2", "t_1"})
    assert [names.fresh("s") for _ in range(3)] == ["s_1", "s_3", "s_4"]
    assert [names.fresh("t"), names.fresh("t"), names.fresh("s_1")] == ["t", "t_2", "s_1_1"]

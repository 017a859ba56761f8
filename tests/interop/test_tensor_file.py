"""Arrays out of files and test data sets, by the names or the order of a model's inputs and outputs."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from resizefix.diagnostics import UsageError
from resizefix.interop.feed_file import assigned, read_arrays, read_feeds
from resizefix.runtimes.inputs import TensorInput, as_stored

X = np.arange(6, dtype=np.float32).reshape(2, 3)
ENTRIES = (TensorInput("x", TensorProto.FLOAT, (2, 3)), TensorInput("n", TensorProto.INT64, ()))


def test_arrays_go_by_name_and_names_that_the_model_lacks_are_listed(tmp_path):
    np.savez(tmp_path / "a.npz", y=X, inner=X, other=X)
    found = assigned(read_arrays(str(tmp_path / "a.npz"), "output"), ["y", "z"], "output", {"inner"})
    assert (found.arrays.keys(), found.unknown, found.note) == ({"y", "inner"}, ("other",), None)


def test_positional_names_go_by_order_and_that_is_said(tmp_path):
    np.savez(tmp_path / "a.npz", X, X + 1)
    found = assigned(read_arrays(str(tmp_path / "a.npz"), "output"), ["y", "z"], "output")
    np.testing.assert_equal(found.arrays, {"y": X, "z": X + 1})
    assert found.note == "a.npz holds arrays without names, taken by order as the outputs 'y', 'z'"


def test_a_model_whose_tensors_have_positional_names_is_read_by_name(tmp_path):
    np.savez(tmp_path / "a.npz", X, X + 1)
    found = assigned(read_arrays(str(tmp_path / "a.npz"), "output"), ["arr_1", "arr_0"], "output")
    np.testing.assert_equal(found.arrays, {"arr_0": X, "arr_1": X + 1})


def test_names_that_only_begin_positional_do_not_go_by_order(tmp_path):
    np.savez(tmp_path / "a.npz", arr_0=X, arr_2=X)
    with pytest.raises(UsageError, match=r"holds 'arr_0', 'arr_2', and the model's outputs are 'y', 'z'; store"):
        assigned(read_arrays(str(tmp_path / "a.npz"), "output"), ["y", "z"], "output")


def test_more_arrays_than_outputs_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", X, X)
    with pytest.raises(UsageError, match="holds 2 arrays without names, and the model's outputs are 'y'"):
        assigned(read_arrays(str(tmp_path / "a.npz"), "output"), ["y"], "output")


def test_a_data_set_is_read_by_the_numbers_in_its_names(tmp_path):
    folder = tmp_path / "test_data_set_0"
    folder.mkdir()
    for at in (0, 2, 10):
        (folder / f"input_{at}.pb").write_bytes(numpy_helper.from_array(X + at).SerializeToString())
    assert read_arrays(str(folder), "input").by_place.keys() == {0, 2, 10}
    np.testing.assert_equal(read_arrays(str(tmp_path), "input").by_place[10], X + 10)  # the only data set in it
    with pytest.raises(UsageError, match=r"holds no file output_0\.pb of an ONNX test data set"):
        read_arrays(str(folder), "output")
    (tmp_path / "test_data_set_1").mkdir()
    with pytest.raises(UsageError, match="several test data sets; give one of 'test_data_set_0', 'test_data_set_1'"):
        read_arrays(str(tmp_path), "input")


def external() -> bytes:
    tensor = numpy_helper.from_array(X)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="/etc/hostname")
    return tensor.SerializeToString()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.npz", b"no archive", "cannot be read as arrays"),
        ("a.npy", b"no array", "is no .npy file"),
        ("a.pb", b"\xff\xff", "cannot be read as arrays"),
        ("a.pb", b"", "holds no ONNX tensor with its data"),
        ("a.pb", external(), "external data are not read"),
        ("a.pb", TensorProto(data_type=1, dims=[3], raw_data=b"12345678").SerializeToString(), "cannot be read as"),
        ("a.txt", b"1 2 3", "arrays are read from .npz"),
    ],
)
def test_a_file_of_something_else_is_a_sentence(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=said):
        read_arrays(str(tmp_path / name), "output")


def test_nothing_is_unpickled(tmp_path):
    np.savez(tmp_path / "a.npz", y=np.array([{"a": 1}], dtype=object))
    with pytest.raises(UsageError, match="cannot be read as arrays: Object arrays cannot be loaded"):
        read_arrays(str(tmp_path / "a.npz"), "output")


def test_an_archive_feeds_every_input_and_says_what_it_changed(tmp_path):
    np.savez(tmp_path / "a.npz", x=X.astype(np.float64), n=np.int32(3))
    fed = read_feeds({"": str(tmp_path / "a.npz")}, ENTRIES)
    assert fed.arrays.keys() == fed.paths.keys() == {"x", "n"}
    assert fed.notes == ["a.npz: x float64 as float32", "a.npz: n int32 as int64"]


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"x": X.T}, r"the array for input 'x' is float32\[3, 2\]; the input is float\[2,3\]"),
        ({"x": X[None]}, r"is float32\[1, 2, 3\]; the input is float\[2,3\]"),
        ({"x": X.astype(int)}, r"is int64\[2, 3\]; the input is float\[2,3\]"),
        ({"n": np.float32(3)}, r"is float32\[\]; the input is int64"),
        ({"x": X, "z": X}, "z: the model has no such input to feed; it has x, n"),
        ({"y": X}, "holds 'y', and the model's inputs are 'x', 'n'"),
    ],
)
def test_an_array_of_another_shape_kind_or_name_is_not_fed(tmp_path, arrays, said):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(UsageError, match=said):
        read_feeds({"": str(tmp_path / "a.npz")}, ENTRIES)


def test_an_input_takes_the_array_of_its_name_or_the_only_one(tmp_path):
    np.savez(tmp_path / "both.npz", x=X, y=X + 1)
    np.savez(tmp_path / "one.npz", y=X + 2)
    (tmp_path / "x.pb").write_bytes(numpy_helper.from_array(X + 3).SerializeToString())
    for name, value in (("both.npz", X), ("one.npz", X + 2), ("x.pb", X + 3)):
        np.testing.assert_equal(read_feeds({"x": str(tmp_path / name)}, ENTRIES).arrays["x"], value)
    np.savez(tmp_path / "neither.npz", y=X, z=X)
    with pytest.raises(UsageError, match="holds several arrays, none of the input's name"):
        read_feeds({"x": str(tmp_path / "neither.npz")}, ENTRIES)


def test_bfloat16_keeps_its_bits_through_an_npz_file(tmp_path):
    kind = np.dtype(helper.tensor_dtype_to_np_dtype(TensorProto.BFLOAT16))
    np.savez(tmp_path / "a.npz", x=X.astype(kind))
    stored = read_arrays(str(tmp_path / "a.npz"), "input").by_name["x"]
    assert stored.dtype.kind == "V"
    np.testing.assert_array_equal(as_stored(stored, kind), X.astype(kind))
    assert as_stored(stored, np.dtype(np.float32)) is stored

"""A number is the same wherever a file keeps it: `diff` tells another place from another value."""

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, external_data_helper, helper, numpy_helper

from resizefix.diagnostics import UnreadableModelError
from resizefix.document.document import Document
from resizefix.document.payloads import THRESHOLD
from resizefix.operations.diff import diff

SMALL, LARGE = 3, THRESHOLD // 4  # elements: in the proto, and left in the file
NUMBERS = np.arange(1, LARGE + 1, dtype=np.float32)


def typed(count: int, *, last: float | None = None) -> TensorProto:
    values = [*NUMBERS[: count - 1].tolist(), float(NUMBERS[count - 1]) if last is None else last]
    return helper.make_tensor("w", TensorProto.FLOAT, [count], values)


def raw(count: int, *, last: float | None = None) -> TensorProto:
    return numpy_helper.from_array(numpy_helper.to_array(typed(count, last=last)), "w")


def of(tensor: TensorProto, *, in_constant: bool = False) -> ModelProto:
    constant = helper.make_node("Constant", [], ["w"], name="k", value=tensor)
    nodes = [*([constant] if in_constant else []), helper.make_node("Neg", ["w"], ["y"], name="n")]
    output = helper.make_tensor_value_info("y", tensor.data_type, list(tensor.dims))
    return helper.make_model(helper.make_graph(nodes, "g", [], [output], [] if in_constant else [tensor]))


def saved(folder: Path, tensor: TensorProto, *, external: bool = False, in_constant: bool = False) -> Document:
    folder.mkdir()
    model = of(tensor, in_constant=in_constant)
    if external:
        for held in external_data_helper._get_all_tensors(model):
            external_data_helper.set_external_data(held, "w.bin")
    onnx.save(model, folder / "m.onnx")
    return Document.open(folder / "m.onnx")


FORMS = {
    "raw_data": (raw, False),
    "float_data": (typed, False),
    "external_data": (raw, True),
}


@pytest.mark.parametrize("in_constant", [False, True])
@pytest.mark.parametrize("count", [SMALL, LARGE])
@pytest.mark.parametrize("after", FORMS)
@pytest.mark.parametrize("before", FORMS)
def test_another_storage_of_the_same_number_is_told_from_another_number(before, after, count, in_constant, tmp_path):
    what, name = ("node", "k") if in_constant else ("initializer", "w")
    documents = []
    for side, last in ((before, None), (after, None), (after, -1.0)):
        make, external = FORMS[side]
        folder = tmp_path / str(len(documents))
        documents.append(saved(folder, make(count, last=last), external=external, in_constant=in_constant))
    old, same, other = documents
    stored = [(change.what, change.name) for change in diff(old, same)]
    assert stored == ([] if before == after else [(f"storage of {what}", name)])
    assert diff(old, same, meaning_only=True) == []
    for meaning_only in (False, True):
        (change,) = diff(old, other, meaning_only=meaning_only)
        assert (change.what, change.name) == (what, name)
        assert change.before != change.after


def test_the_places_are_named(tmp_path):
    old, new = saved(tmp_path / "a", typed(LARGE)), saved(tmp_path / "b", raw(LARGE), external=True)
    (change,) = diff(old, new)
    assert (change.before, change.after) == ("float_data", f"external_data location=w.bin offset=0 length={4 * LARGE}")


def test_the_first_number_that_differs_is_shown(tmp_path):
    values = np.ones([2, LARGE], np.float32)
    values[1, 7] = 2.5
    old, new = (numpy_helper.from_array(array, "w") for array in (np.ones_like(values), values))
    (change,) = diff(saved(tmp_path / "a", old), saved(tmp_path / "b", new, external=True))
    shown = f"float[2,{LARGE}]; data: [1,7] = "
    assert (change.before, change.after) == (f"{shown}1.0", f"{shown}2.5")


@pytest.mark.parametrize("dtype", [np.bool_, np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.int4])
def test_numbers_of_every_width_are_compared_across_fields(dtype, tmp_path):
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    typed_numbers = helper.make_tensor("w", kind, [3], [1, 0, 1])
    assert typed_numbers.int32_data
    packed = numpy_helper.from_array(numpy_helper.to_array(typed_numbers), "w")
    other = numpy_helper.from_array(np.array([1, 1, 1], np.float32).astype(dtype), "w")
    old, same, new = (saved(tmp_path / str(k), one) for k, one in enumerate((typed_numbers, packed, other)))
    assert [change.what for change in diff(old, same)] == ["storage of initializer"]
    assert [change.what for change in diff(old, new)] == ["initializer"]
    assert [change.what for change in diff(same, new)] == ["initializer"]


def test_data_files_of_one_name_in_two_folders_are_compared(tmp_path):
    old = saved(tmp_path / "a", raw(SMALL), external=True)
    new = saved(tmp_path / "b", raw(SMALL, last=9), external=True)
    assert old.proto == new.proto
    assert [change.what for change in diff(old, new)] == ["initializer"]


def test_data_that_cannot_be_read_are_no_yes(tmp_path):
    old, new = (saved(tmp_path / name, raw(SMALL), external=True) for name in "ab")
    (tmp_path / "b" / "w.bin").unlink()
    with pytest.raises(UnreadableModelError, match=r"w\.bin"):
        diff(old, new)
    new.proto.graph.initializer[0].external_data[0].value = "gone.bin"
    assert [change.what for change in diff(old, new)] == ["initializer"]


def test_data_that_do_not_fit_their_tensor_are_compared_all_the_same(tmp_path):
    old, new = (TensorProto(name="w", data_type=1, dims=[4], raw_data=bytes([1] * n)) for n in (6, 7))
    shorter, longer, again = (saved(tmp_path / str(k), one) for k, one in enumerate((old, new, old)))
    assert diff(shorter, again) == []
    assert [change.what for change in diff(shorter, longer)] == ["initializer"]

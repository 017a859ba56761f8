"""`verify MODEL --expect FILE`: exit codes, sentences, JSON, and the reports that it writes."""

import numpy as np
import onnx
import onnx_text
import pytest
from onnx import numpy_helper

MODEL = onnx_text.model("""(float[1,1,2,2] x) => (float[1,1,4,4] y, float[1,1,2,2] r) <float[4] s = {1, 1, 2, 2}> {
    [a] r = Relu (x)
    [up] y = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric"> (r, , s)
}""")
X = np.array([[[[-1, 2], [3, 4]]]], np.float32)
R = np.maximum(X, 0)
Y = R.repeat(2, axis=2).repeat(2, axis=3)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    onnx.save(MODEL, "m.onnx")
    np.savez("in.npz", x=X)
    np.savez("out.npz", y=Y, r=R)
    np.savez("wrong.npz", y=Y + np.float32(0.25))
    np.savez("by_order.npz", Y, R)


def test_what_agrees_is_said_with_exit_code_0(call):
    code, out, err = call("verify", "m.onnx", "--expect", "out.npz", "--feed", "in.npz")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "verification passed (against out.npz): 1 of 1 run bitwise equal"
    assert "up  input 0, output 0  right" in out


def test_what_differs_is_named_with_its_resize_and_the_tolerance_and_exit_code_1(call, answered):
    words = ("verify", "m.onnx", "--expect", "wrong.npz", "--feed", "in.npz")
    code, _, err = call(*words)
    assert code == 1
    assert "the model differs from wrong.npz, and the first resize that does is up, or a node between" in err
    assert "output 'y' differs in 16 of 16 elements, by at most 0.25" in err
    assert "--atol 0.25 would allow it" in err
    assert "not compared, because they are not in wrong.npz: r" in err
    assert call(*words, "--atol", "0.25")[0] == 0
    answer = answered(*words)
    assert (answer["outcome"], answer["expected"]) == ("failed", "wrong.npz")
    assert answer["tensors"] == [
        {"tensor": "y", "is_output": True, "differs": True, "max_abs_diff": 0.25, "max_rel_diff": 0.25 / 4.25}
    ]
    assert [(site["node"], site["first"]) for site in answer["sites"]] == [("up", True)]
    assert answer["verification"]["runs"][0]["files"] == {"x": "in.npz"}


def test_arrays_without_names_go_by_order_and_that_is_said(call):
    code, out, _ = call("verify", "m.onnx", "--expect", "by_order.npz", "--feed", "in.npz")
    assert code == 0
    assert "by_order.npz holds arrays without names, taken by order as the outputs 'y', 'r'" in " ".join(out.split())


def test_a_folder_of_the_standard_gives_inputs_and_outputs(call, tmp_path):
    (tmp_path / "test_data_set_0").mkdir()
    for name, value in {"input_0": X, "output_0": Y, "output_1": R}.items():
        (tmp_path / "test_data_set_0" / f"{name}.pb").write_bytes(numpy_helper.from_array(value).SerializeToString())
    for words in ((), ("--feed", "test_data_set_0"), ("--feed", "x=test_data_set_0/input_0.pb"), ("--feed", "in.npz")):
        assert call("verify", "m.onnx", "--expect", "test_data_set_0", *words)[0] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--expect", "out.npz"), "feed 'x' (float[1,1,2,2]), as with --feed inputs.npz"),
        (("--expect", "none.npz", "--feed", "in.npz"), "there is no file 'none.npz'"),
        (("--expect", "out.npz", "--feed", "none.npz"), "none.npz"),
        (("--expect", "in.npz", "--feed", "in.npz"), "holds 'x', and the model's outputs are 'y', 'r'"),
        (("m.onnx", "--expect", "out.npz", "--feed", "in.npz"), "leave out: the second model"),
        (("--expect", "out.npz", "--feed", "in.npz", "--runs", "2"), "leave out: runs"),
        ((), "the file of its outputs: --expect FILE"),
    ],
)
def test_what_cannot_be_compared_is_a_sentence_with_exit_code_2(call, words, said):
    code, out, err = call("verify", "m.onnx", *words)
    assert (code, out) == (2, "")
    assert said in err


def test_reports_are_written_against_the_file(call, tmp_path):
    words = ("--expect", "wrong.npz", "--feed", "in.npz", "--html", "a.html", "--markdown", "a.md")
    assert call("verify", "m.onnx", *words)[0] == 1
    page, text = (tmp_path / "a.html").read_text(), (tmp_path / "a.md").read_text()
    assert "up is the first that differs" in page
    assert "against wrong.npz" in page
    assert text.startswith("### `m.onnx` against wrong.npz\n")
    assert "| y | differs by up to 0.25 |" in text
    assert "| up | 0 | 0.059 | the first that differs |" in text


def test_an_archive_feeds_two_models_as_well(call):
    assert call("verify", "m.onnx", "m.onnx", "--feed", "in.npz")[0] == 0

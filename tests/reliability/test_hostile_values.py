"""No command that runs no model fills the memory, however many values a small file says that there are."""

import pytest
from hostile_models import model
from hostile_values import values
from survey import judged

MOST_MEGABYTES = 400
MOST_SECONDS = 3
COMMANDS = [
    ["inspect", "model.onnx"],
    ["check", "model.onnx", "--target", "tensorrt-10"],
    ["promote-scales", "model.onnx", "--dry-run", "--no-verify"],
    ["freeze-scales", "model.onnx", "--dry-run", "--no-verify"],
    ["trt-legacy", "model.onnx", "--dry-run", "--no-verify", "--allow-inexact"],
    ["legalize", "model.onnx", "--dry-run", "--target", "tensorrt-5.0", "--no-verify", "--allow-inexact"],
    ["diff", "other.onnx", "model.onnx"],
]
CASES = dict(values())


@pytest.mark.parametrize("name", CASES)
def test_values_that_are_many_are_not_followed(worker, tmp_path, name):
    CASES[name](tmp_path)
    (tmp_path / "other.onnx").write_bytes(model().SerializeToString())
    report = worker.run(*COMMANDS, folder=tmp_path, seconds=20)
    assert judged(report) == []
    assert report.peak_megabytes < MOST_MEGABYTES
    assert max(run.seconds for run in report.runs) < MOST_SECONDS

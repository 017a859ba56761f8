"""The performance benchmark makes the models it says, judges results rightly, and writes its tables."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import onnx
import pytest
from child_python import printed

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT))

from benchmarks.independent_resizes import independent_resizes, measured  # noqa: E402
from benchmarks.performance import report  # noqa: E402
from benchmarks.performance.inputs import Input  # noqa: E402
from benchmarks.performance.jobs import JOBS  # noqa: E402
from benchmarks.performance.judge import judge  # noqa: E402
from benchmarks.performance.kernel_moves import counted  # noqa: E402
from benchmarks.performance.networks import branches, chain, convolutional, in_the_middle, nested, transformer  # noqa: E402
from benchmarks.performance.process import run  # noqa: E402
from benchmarks.performance.results import as_rows  # noqa: E402
from benchmarks.performance.side_by_side import Row  # noqa: E402

BUILDERS = {
    "convolutional": partial(convolutional, 8, 2),
    "transformer": partial(transformer, 16, 2),
    "chain": partial(chain, 60, 4),
    "branches": partial(branches, 5),
    "nested": partial(nested, 3),
    "in_the_middle": partial(in_the_middle, 8),
}


@pytest.mark.parametrize("external", [False, True])
@pytest.mark.parametrize("builder", BUILDERS)
def test_a_streamed_model_is_valid_and_is_judged_equal_to_itself(tmp_path, builder, external):
    before = Input(builder, builder, BUILDERS[builder], external).write(tmp_path)
    onnx.checker.check_model(str(before), full_check=True)
    assert onnx.load(before).SerializeToString() or external
    assert list(judge(before, before, tmp_path, promoted=False)) == []
    assert any("of" in found and "are inputs" in found for found in judge(before, before, tmp_path, promoted=True))


def test_an_embedded_model_is_written_as_onnx_writes_it(tmp_path):
    before = Input("conv", "", BUILDERS["convolutional"]).write(tmp_path)
    assert before.read_bytes() == onnx.load(before).SerializeToString()


def test_the_judge_sees_other_weights_lost_metadata_and_a_stale_shape(tmp_path):
    before = Input("conv", "", BUILDERS["convolutional"]).write(tmp_path)
    model = onnx.load(before)
    model.producer_name = ""
    weight = next(tensor for tensor in model.graph.initializer if tensor.name == "weight_1")
    weight.raw_data = bytes(len(weight.raw_data))
    onnx.save(model, tmp_path / "after.onnx")
    found = list(judge(before, tmp_path / "after.onnx", tmp_path, promoted=False))
    assert [text.split(",")[0] for text in found] == [
        "1 of 3 weights are not those of the model",
        "producer_name lost",
        "numbers differ",
    ]


def test_a_promotion_by_the_script_of_eight_lines_is_right_but_for_the_shape_it_declares(tmp_path):
    before = Input("conv", "", BUILDERS["convolutional"]).write(tmp_path)
    script = next(job for job in JOBS if job.name.startswith("onnx: a script"))
    taken = run(script.command(before, tmp_path / "after.onnx"))
    assert taken.exit_code == 0, taken.stderr
    found = list(judge(before, tmp_path / "after.onnx", tmp_path, promoted=True))
    assert found == ["declares the old output shape"]
    assert taken.peak > 20e6


def test_a_process_that_takes_too_long_or_too_much_is_stopped_and_said_so():
    late = run([sys.executable, "-S", "-c", "import time; time.sleep(60)"], seconds=0.2)
    assert late.exit_code is None
    assert late.complaint.startswith("not done after")
    greedy = run([sys.executable, "-S", "-c", "bytearray(1 << 30)"], memory=1 << 29)
    assert greedy.exit_code == 1
    assert greedy.complaint == "MemoryError"


def test_calls_on_the_models_files_are_counted_and_others_are_not(tmp_path):
    trace = f"""12 copy_file_range(3<{tmp_path}/in>, [8], 4<{tmp_path}/out>, NULL, 100, 0) = 90
12 read(5</usr/lib/x.py>, ""..., 4096) = 4096
12 pread64(3<{tmp_path}/in>, ""..., 10, 0) = 7
12 write(4<{tmp_path}/out>, ""..., 5) = 5
12 link("{tmp_path}/.t", "{tmp_path}/out") = 0"""
    assert counted(trace, tmp_path) == {"kernel": 90, "read": 7, "written": 5, "named": 1}


def test_tables_are_written_between_their_markers(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- begin side_by_side -->\nold\n<!-- end side_by_side -->\nafter\n")
    taken = run([sys.executable, "-S", "-c", ""])
    failed = replace(taken, exit_code=1)
    rows = [
        Row("conv-10MB", "this", taken, 3),
        Row("conv-10MB", "that", failed, 1, ("its | complaint",)),
        Row("conv-10MB", "third", None, 0, ("not installed",)),
    ]
    report.write(page, {"side_by_side": json.loads(json.dumps(as_rows(rows)))})
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert "| that | failed |" in text
    assert "| that | 0 of 1 | its \\| complaint (all) |" in text
    assert "| third |  | not installed |" in text


def test_the_command_tells_its_sections():
    told = "".join(printed("-m", "benchmarks.performance", "--help", cwd=ROOT).split())
    assert all(word in told for word in ("startup", "growth", "side_by_side", "conv-1.5GB", "--folder"))


def test_what_many_resizes_need_is_run_beside_what_the_command_costs(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.independent_resizes.ROUNDS", 1)
    onnx.save(independent_resizes(3), tmp_path / "three.onnx")
    cells = [cell.strip() for cell in measured(tmp_path / "three.onnx", tmp_path).strip("|").split("|")]
    assert cells[0] == "3"
    assert all(float(number) > 0 for cell in cells[1:5] for number in cell.split("/"))
    assert float(cells[5]) < float(cells[3].split("/")[0])


def test_the_converters_are_compared_on_a_folder(tmp_path):
    for name in ("handmade/resize10_up_and_down.onnx", "handmade/shared_scales.onnx"):
        (tmp_path / Path(name).name).write_bytes((ROOT / "fixtures" / name).read_bytes())
    said = printed(str(ROOT / "benchmarks" / "opset_converters.py"), str(tmp_path), "--to", "13", "--to", "18")
    assert re.search(r"18 resizefix .*'bitwise': \d", said)
    assert "18 onnx " in said

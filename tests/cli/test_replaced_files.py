"""A model that is read is replaced by `--in-place` alone, and its data files never, whatever path leads to them."""

import os
import shutil
from pathlib import Path

import onnx
import pytest
from fixture_models import FIXTURES

import resizefix
from resizefix.cli import group

WRITES = {
    "promote-scales": ["promote-scales", "--no-verify"],
    "freeze-scales": ["freeze-scales", "--no-verify"],
    "trt-legacy": ["trt-legacy", "--no-verify"],
    "legalize": ["legalize", "--no-verify", "--target", "tensorrt-7.0"],
    "repair": ["repair", "--no-verify", "--remove-identity"],
    "set": ["set", "--no-verify"],
    "input-size": ["input-size", "--no-verify"],
    "opset": ["opset", "--no-verify"],
}
AFTER_THE_FILES = {"set": ["mode=nearest"], "input-size": ["40x48"], "opset": ["13"]}
REPORTS = {"inspect": [], "check": [], "verify": ["other.onnx"], "diff": ["other.onnx"], "set": ["other.html.onnx"]}


def options_of(name: str) -> set[str]:
    command = group.get_command(None, name)
    return {option for param in command.params for option in param.opts}


def test_every_command_that_writes_is_held_to_this():
    takes_out = {name for name in group.list_commands(None) if "--in-place" in options_of(name)}
    assert takes_out == WRITES.keys()
    takes_reports = {name for name in group.list_commands(None) if "--html" in options_of(name)}
    assert takes_reports == REPORTS.keys()
    takes_several = {name for name in WRITES if "--output-dir" in options_of(name)}
    assert takes_several == WRITES.keys()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """`model.onnx` with its weights in `weights.bin`, `other.onnx`, and further names of both files."""
    model = onnx.load(FIXTURES / "srcnn_x3_opset11.onnx")
    (tmp_path / "models").mkdir()
    monkeypatch.chdir(tmp_path / "models")
    shutil.copy(FIXTURES / "unet_nearest_opset11.onnx", "other.onnx")
    onnx.save_model(
        model,
        "model.onnx",
        save_as_external_data=True,
        location="weights.bin",
        size_threshold=0,
        convert_attribute=True,
    )
    for name in ("model.onnx", "weights.bin"):
        os.symlink(name, f"link-{name}")
        os.link(name, f"hard-{name}")
    os.symlink(tmp_path / "models", tmp_path / "again")
    return tmp_path / "models"


def spellings(name: str) -> list[str]:
    return [name, f"./{name}", f"../again/{name}", os.path.abspath(name), f"link-{name}", f"hard-{name}"]


@pytest.fixture
def answered(call):
    """The exit code and stderr."""
    return lambda *words: call(*words)[::2]


@pytest.fixture
def written(answered):
    return lambda command, *words: answered(*WRITES[command], *words, *AFTER_THE_FILES.get(command, []))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("command", WRITES)
@pytest.mark.parametrize("force", [[], ["--force"]], ids=["", "force"])
def test_no_path_to_the_model_or_to_its_data_is_taken_for_another_file(folder, written, command, force):
    before = contents(folder)
    for name, says in (("model.onnx", "is the input model"), ("weights.bin", "holds the data of tensor")):
        for out in spellings(name):
            code, err = written(command, "model.onnx", out, *force)
            assert (code, says in err) == (2, True), (out, err)
            assert "--force" not in err
            assert contents(folder) == before


@pytest.mark.parametrize(
    ("command", "report"),
    [(name, report) for name in REPORTS for report in ("--html", "--markdown") if report in options_of(name)],
)
def test_no_report_replaces_a_model_or_its_data(folder, answered, command, report):
    before = contents(folder)
    for name in ("model.onnx", "weights.bin"):
        for out in spellings(name):
            after = [*REPORTS[command], *AFTER_THE_FILES.get(command, [])]
            code, err = answered(command, "model.onnx", *after, report, out, "--force")
            assert code == 2, (out, err)
            assert contents(folder) == before


@pytest.mark.parametrize("command", WRITES)
def test_of_several_models_none_is_written_over_another_or_its_data(folder, tmp_path, written, command):
    (tmp_path / "new").mkdir()
    for name in ("model.onnx", "weights.bin"):
        out = tmp_path / "new" / "other.onnx"
        for link in (os.symlink, os.link):
            link(folder / name, out)
            before = contents(folder)
            words = ["model.onnx", "other.onnx", "--output-dir", "../new", "--jobs", "2", "--force"]
            code, err = written(command, *words)
            assert code == 2, err
            assert contents(folder) == before
            out.unlink()
    code, err = written(command, "model.onnx", "other.onnx", "--output-dir", ".", "--force")
    assert (code, "name another folder" in err) == (2, True)


def test_names_that_differ_in_case_alone_are_one_file_to_some_systems(folder, answered):
    shutil.copy("other.onnx", "OTHER.onnx")
    code, err = answered("promote-scales", "other.onnx", "OTHER.onnx", "--output-dir", "../new")
    assert (code, "other.onnx and OTHER.onnx would both be written to" in err) == (2, True)


@pytest.mark.parametrize("command", WRITES)
def test_in_place_leaves_no_other_name_with_the_old_model(folder, written, command):
    before = contents(folder)
    code, err = written(command, "model.onnx", "--in-place")
    assert (code, "1 other name (hard links)" in err) == (2, True)
    assert contents(folder) == before
    os.unlink("hard-model.onnx")
    code, err = written(command, "model.onnx", "--in-place", "--strict")
    changed = Path("model.onnx").read_bytes() != before["model.onnx"]
    assert changed == (code == 0), err


def test_a_data_file_that_only_the_old_model_needs_is_not_replaced_either(folder):
    """The promoted model no longer holds the scales."""
    model = onnx.load("model.onnx", load_external_data=False)
    (resize,) = (node for node in model.graph.node if node.op_type == "Resize")
    (scales,) = (node.attribute[0].t for node in model.graph.node if node.output[0] == resize.input[2])
    scales.external_data[0].value = "scales.bin"
    onnx.save(model, "model.onnx")
    shutil.copy("weights.bin", "scales.bin")
    promoted = resizefix.promote_scales("model.onnx", verify=False).model
    with pytest.raises(resizefix.UsageError, match="holds the data of tensor"):
        promoted.save("scales.bin", overwrite=True)

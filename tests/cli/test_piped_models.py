"""`-`: a model comes from stdin, and OUT goes to stdout."""

import io
import json
import sys
import types

import onnx
import pytest
from fixture_models import SRCNN

from resizefix.cli import group, main
from resizefix.cli.streams import ModelArgument, with_dash

UNVERIFIED = {
    "promote-scales": [],
    "freeze-scales": ["--set", "scales=1,1,2,2"],
    "trt-legacy": ["--allow-inexact"],
    "legalize": ["--target", "tensorrt-8.0", "--allow-inexact"],
    "repair": ["--copy-unchanged"],
    "set": ["mode=nearest"],
    "input-size": ["40x48"],
    "opset": ["13"],
}


@pytest.fixture(scope="module")
def promoted(tmp_path_factory):
    path = tmp_path_factory.mktemp("promoted") / "any.onnx"
    with pytest.raises(SystemExit):
        main(["promote-scales", str(SRCNN), str(path), "--input-name", "scales", "--no-verify"])
    return path


@pytest.fixture
def run(monkeypatch, capsysbinary, tmp_path):
    """Exit code, stdout and stderr of a command that gets `piped`; the folder of temporary files is empty after it."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path)

    def call(*words, piped=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(piped)))
        with pytest.raises(SystemExit) as done:
            main([str(word) for word in words])
        assert list((tmp_path / "temporary").iterdir()) == []
        out, err = capsysbinary.readouterr()
        return done.value.code, out, err.decode()

    return call


def model_of(command, promoted):
    return promoted if command == "freeze-scales" else SRCNN


def test_every_argument_that_names_a_model_takes_a_dash():
    for name in group.list_commands(None):
        read = [p for p in group.get_command(None, name).params if p.name in ("model", "before", "after")]
        assert name == "set" or all(isinstance(param.type, ModelArgument) for param in read), name
    writes = {
        name for name in group.list_commands(None) for p in group.get_command(None, name).params if p.name == "out"
    }
    assert writes == UNVERIFIED.keys()


@pytest.mark.parametrize("command", UNVERIFIED)
def test_a_command_writes_the_same_model_through_pipes_as_into_a_file(run, command, promoted, tmp_path):
    model, options = model_of(command, promoted), [*UNVERIFIED[command], "--no-verify"]
    code, _, err = run(command, model, "out.onnx", *options)
    assert code == 0, err
    code, out, err = run(command, "-", "-", *options, piped=model.read_bytes())
    assert (code, out) == (0, (tmp_path / "out.onnx").read_bytes())
    assert err.rstrip().endswith(("standard output", "as a copy"))


def test_set_finds_its_files_behind_the_settings(run):
    code, out, _ = run("set", "mode=nearest", "-", "-", "--no-verify", piped=SRCNN.read_bytes())
    assert (code, b"nearest" in out) == (0, True)


def test_trt_legacy_without_out_answers_a_pipe_with_a_pipe(run):
    piped = SRCNN.read_bytes()
    options = ["--no-verify", "--allow-inexact"]
    assert run("trt-legacy", "-", *options, piped=piped)[1] == run("trt-legacy", "-", "-", *options, piped=piped)[1]


@pytest.mark.parametrize("words", [["-"], ["inspect", "-"], ["check", "-", "--target", "tensorrt-8.0"]])
def test_what_is_said_of_a_piped_model_names_no_temporary_file(run, words):
    _, out, err = run(*words, piped=SRCNN.read_bytes())
    assert b"\n  resizefix " in out
    assert b" - model." in out
    assert b"stdin" not in out
    assert "stdin" not in err


def test_json_calls_the_piped_model_a_dash(run):
    code, out, _ = run("inspect", "-", "--json", piped=SRCNN.read_bytes())
    assert (code, json.loads(out)["model"]) == (0, "-")


def test_one_of_the_two_models_may_be_piped(run, promoted):
    code, out, _ = run("diff", SRCNN, "-", piped=promoted.read_bytes())
    assert (code, out) == run("diff", SRCNN, promoted)[:2]
    code, _, err = run("verify", "-", "-", piped=SRCNN.read_bytes())
    assert (code, "standard input holds one model" in err) == (2, True)


def test_a_piped_model_is_one_of_several(run, tmp_path):
    code, out, _ = run("repair", "-", "--output-dir", "done", "--copy-unchanged", piped=SRCNN.read_bytes())
    assert (code, out.split()[:2]) == (0, [b"-", b"already"])
    assert (tmp_path / "done" / "stdin.onnx").read_bytes() == SRCNN.read_bytes()
    code, _, err = run("repair", SRCNN, "-", "--output-dir", "done")
    assert (code, "- cannot be one of them" in err) == (2, True)


@pytest.mark.parametrize(
    ("piped", "words", "why"),
    [
        (b"", ["inspect", "-"], "standard input is empty"),
        (b"no model", ["inspect", "-"], "-: is a text file"),
        (SRCNN.read_bytes(), ["repair", "-", "--in-place"], "--in-place needs a file"),
        (SRCNN.read_bytes(), ["repair", "-", "-", "--save-as-external-data"], "writes a second file"),
        (SRCNN.read_bytes(), ["explain", "-", "-"], "standard input holds the message or the model"),
    ],
)
def test_what_cannot_be_piped_is_said(run, piped, words, why):
    code, out, err = run(*words, piped=piped)
    assert (code, out) == (2, b"")
    assert why in err


def test_stdout_holds_the_model_or_the_json_document(run):
    code, out, _ = run("promote-scales", "-", "-", "--json", piped=SRCNN.read_bytes())
    assert (code, json.loads(out)["exit_code"]) == (2, 2)


def test_a_model_whose_data_are_in_another_file_is_refused(run, tmp_path):
    onnx.save_model(
        onnx.load(SRCNN), tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0
    )
    piped = (tmp_path / "m.onnx").read_bytes()
    for words in (["promote-scales", "-", "out.onnx"], ["verify", "-", SRCNN], ["diff", SRCNN, "-"]):
        code, _, err = run(*words, piped=piped)
        assert (code, "keeps data in another file" in err) == (2, True), words
    code, out, err = run("promote-scales", "m.onnx", "-", "--no-verify")
    assert (code, out) == (2, b"")
    assert "keeps data in w.bin" in err


def test_the_file_behind_stdin_is_not_replaced_and_the_one_behind_stdout_not_written(run, monkeypatch, tmp_path):
    (tmp_path / "m.onnx").write_bytes(SRCNN.read_bytes())
    with open("m.onnx", "r+") as file:
        monkeypatch.setattr(io, "TextIOWrapper", lambda _: file)
        code, _, err = run("promote-scales", "-", "m.onnx", "--force", "--no-verify")
        assert (code, "m.onnx is the model on standard input" in err) == (2, True)
        monkeypatch.setattr("sys.stdout.fileno", file.fileno)
        code, _, err = run("promote-scales", "m.onnx", "-", "--no-verify")
        assert (code, "standard output is the file m.onnx" in err) == (2, True)
    assert (tmp_path / "m.onnx").read_bytes() == SRCNN.read_bytes()


def test_no_answer_names_the_temporary_file(run):
    cut = SRCNN.read_bytes()[:500]
    code, out, _ = run("inspect", "-", SRCNN, "--json", piped=cut)
    error = json.loads(out)["models"][0]["error"]
    assert (code, error.startswith("-: ")) == (2, True)
    assert with_dash(["/t/a/stdin.onnx: no /t/a/w.bin"], "/t/a/stdin.onnx") == ["-: no w.bin"]


def test_a_terminal_is_neither_read_nor_written(run, monkeypatch):
    code, _, err = run("promote-scales", SRCNN, "-", "--no-verify")
    assert code == 0
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    code, out, err = run("promote-scales", SRCNN, "-", "--no-verify")
    assert (code, out, "standard output is a terminal" in err) == (2, b"", True)
    monkeypatch.setattr(io, "TextIOWrapper", lambda _: types.SimpleNamespace(isatty=lambda: True))
    code, _, err = run("inspect", "-")
    assert (code, "standard input is a terminal" in err) == (2, True)


@pytest.mark.parametrize("ends", ["", "Document.open = lambda *_: os.kill(os.getpid(), 9)"])
def test_no_temporary_file_is_left_however_the_command_ends(commands, tmp_path, ends):
    (tmp_path / "t").mkdir()
    before = (
        "import os; from resizefix.document.document import Document\n"
        f"os.dup2(os.open({str(SRCNN)!r}, os.O_RDONLY), 0)\n{ends}"
    )
    settings = {"TMPDIR": str(tmp_path / "t"), "PATH": ""}
    done = commands.run(["inspect", "-"], tmp_path, settings=settings, before=before)
    assert (done.code, "promotable" in done.stdout) == ((2, False) if ends else (0, True)), done.stderr
    assert list((tmp_path / "t").iterdir()) == []

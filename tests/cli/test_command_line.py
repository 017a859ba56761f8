"""The promises of every command: exit codes, one JSON document, one paragraph of error, nothing written unless done."""

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import resizefix

FIXTURES = Path(__file__).parents[2] / "fixtures"
SRCNN = FIXTURES / "srcnn_x3_opset11.onnx"
UNET = FIXTURES / "unet_nearest_opset11.onnx"


def test_promote_writes_a_model_that_says_nothing_is_left_to_do(call, tmp_path):
    out = tmp_path / "out.onnx"
    code, text, err = call("promote-scales", SRCNN, out)
    assert (code, err) == (0, "")
    assert "new input" in text
    assert "verification passed" in text
    code, _, err = call("promote-scales", out, tmp_path / "again.onnx")
    assert code == 1
    assert "nothing to do" in err
    assert not (tmp_path / "again.onnx").exists()


def test_json_is_one_document_with_the_promised_fields(call, tmp_path):
    out = tmp_path / "out.onnx"
    code, text, _ = call("promote-scales", SRCNN, out, "--json", "--at", "2", "--at", "2.5", "--at", "4")
    answer = json.loads(text)
    assert code == answer["exit_code"] == 0
    assert (answer["command"], answer["model"], answer["output"]) == ("promote-scales", str(SRCNN), str(out))
    assert (answer["resizefix"], answer["error"]) == (resizefix.__version__, None)
    (source,) = answer["inputs"]
    assert (source["elem_type"], source["shape"], source["value"]) == ("float", [4], [1, 1, 3, 3])
    verification = answer["verification"]
    assert verification["status"] == "passed"
    fed = [run["values"][source["name"]][2] for run in verification["runs"] if not run["optimized"]]
    assert fed == [3, 2, 2.5, 4, 4, 3.75]
    assert all(run["bitwise"] for run in verification["runs"] if not run["optimized"])
    assert [found["verdict"] for found in verification["coupling"]] == ["free"]


def test_inspect_json_lists_sites(call):
    code, text, _ = call("inspect", SRCNN, "--json")
    answer = json.loads(text)
    assert (code, answer["opset"]) == (0, 11)
    (site,) = answer["sites"]
    assert site["interpolation"]["mode"] == "cubic"
    assert site["extent"] == {"kind": "scales", "values": [1, 1, 3, 3]}
    assert site["promotable"] is True


def test_coupled_sites_are_refused_with_the_node_where_it_breaks_unless_allowed(call, tmp_path):
    out = tmp_path / "out.onnx"
    code, text, err = call("promote-scales", UNET, out, "--json")
    answer = json.loads(text)
    assert code == 1
    assert not out.exists()
    refused = [outcome["reason"] for outcome in answer["outcomes"] if outcome["status"] == "refused"]
    assert refused
    assert all("breaks the model at" in reason for reason in refused)
    assert "--allow-coupled" in err
    assert call("promote-scales", UNET, out, "--allow-coupled", "-q")[0] == 0
    assert out.exists()


def test_named_sites_must_all_change(call, tmp_path):
    code, _, err = call("promote-scales", UNET, tmp_path / "out.onnx", "-n", "#0")
    assert code == 1
    assert not (tmp_path / "out.onnx").exists()
    assert len(err.splitlines()) == 3, "a paragraph, and what to type next"


def test_a_dry_run_shows_the_nodes_and_writes_nothing(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, text, _ = call("promote-scales", SRCNN, "--dry-run")
    assert code == 0
    assert "  - " in text
    assert "  + " in text
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps no such permissions")
def test_in_place_keeps_the_file_mode_and_the_link(call, tmp_path):
    real = tmp_path / "real.onnx"
    shutil.copy(SRCNN, real)
    real.chmod(0o640)
    link = tmp_path / "link.onnx"
    link.symlink_to(real)
    assert call("promote-scales", link, "--in-place", "-q")[0] == 0
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert real.read_bytes() != SRCNN.read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["link.onnx", "real.onnx"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["promote-scales", SRCNN], "no output is given"),
        (["promote-scales", SRCNN, "a.onnx", "--in-place"], "--in-place"),
        (["promote-scales", SRCNN, "a.onnx", "-o", "b.onnx"], "twice"),
        (["promote-scales", SRCNN, "exists.onnx"], "--force"),
        (["promote-scales", SRCNN, "a.onnx", "-n", "nope"], "no resize node matches 'nope'"),
        (["promote-scales", SRCNN, "a.onnx", "--input-name", "input"], "already uses"),
        (["promote-scales", SRCNN, "a.onnx", "--at", "1,2,3"], "--at"),
        (["promote-scales", SRCNN, "a.onnx", "--shape", "nope:1,3,8,8"], "no input 'nope'"),
        (["promote-scales", SRCNN, "a.onnx", "--shape", "input"], "not a shape"),
        (["promote-scales", "missing.onnx", "a.onnx"], "no such file"),
        (["promote-scales", ".", "a.onnx"], "folder"),
        (["promote-scales", "text.onnx", "a.onnx"], "text.onnx"),
        (["promote-scales", "cut.onnx", "a.onnx"], "cut.onnx"),
        (["promote-scales", "noise.onnx", "a.onnx"], "noise.onnx"),
        (["promote-scales", SRCNN, "nowhere/a.onnx"], "nowhere"),
        (["inspect", "missing.onnx"], "no such file"),
        (["verify", SRCNN, "missing.onnx"], "no such file"),
        (["nonsense"], "nonsense"),
    ],
)
def test_unusable_input_is_exit_2_with_a_sentence_and_json(call, tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "exists.onnx").write_bytes(b"mine")
    (tmp_path / "text.onnx").write_text("hello, this is not a model\n" * 40)
    (tmp_path / "cut.onnx").write_bytes(SRCNN.read_bytes()[:-100])
    (tmp_path / "noise.onnx").write_bytes(bytes(range(256)) * 4)
    before = sorted(os.listdir(tmp_path))
    code, _, err = call(*arguments)
    assert code == 2
    assert says in err
    assert sorted(os.listdir(tmp_path)) == before
    assert (tmp_path / "exists.onnx").read_bytes() == b"mine"
    code, text, _ = call(*arguments, "--json")
    assert code == 2
    assert json.loads(text)["exit_code"] == 2
    assert json.loads(text)["error"]


def test_a_model_without_resizes_has_nothing_to_promote(call, tmp_path):
    code, _, err = call("promote-scales", FIXTURES / "handmade" / "no_resize.onnx", tmp_path / "out.onnx")
    assert code == 1
    assert "no Upsample or Resize" in err


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["promote-scales"], "handmade/no_resize"),
        (["freeze-scales"], "srcnn_x3_opset11"),
        (["freeze-scales"], "handmade/no_resize"),
        (["trt-legacy"], "handmade/no_resize"),
        (["legalize", "--target", "onnxruntime"], "unet_nearest_opset11"),
        (["legalize", "--target", "tensorrt-8.6", "-n", "#0"], "unet_nearest_opset11"),
    ],
)
def test_where_nothing_needs_to_change_out_is_a_copy_if_that_is_asked_for(call, tmp_path, words, name):
    model, out = FIXTURES / f"{name}.onnx", tmp_path / "out.onnx"
    assert call(*words, model, out)[0] == 1
    assert not out.exists()
    code, text, err = call(*words, model, out, "--copy-unchanged", "--json")
    assert (code, err, json.loads(text)["output"], json.loads(text)["error"]) == (0, "", str(out), None)
    assert out.read_bytes() == model.read_bytes()
    assert "as a copy" in " ".join(call(*words, model, tmp_path / "2.onnx", "--copy-unchanged")[1].split())
    code, text, _ = call(*words, model, "--copy-unchanged", "--dry-run", "--json")
    assert (code, json.loads(text)["output"]) == (0, None)


def test_what_is_refused_is_not_copied(call, tmp_path):
    assert call("promote-scales", UNET, tmp_path / "out.onnx", "--copy-unchanged")[0] == 1
    assert not (tmp_path / "out.onnx").exists()


def test_verify_and_diff_answer_with_their_exit_code(call, tmp_path):
    out = tmp_path / "out.onnx"
    assert call("promote-scales", SRCNN, out, "--input-name", "s", "-q")[0] == 0
    assert call("verify", SRCNN, out, "--feed", "s=1,1,3,3")[0] == 0
    assert call("verify", SRCNN, out, "--feed", "s=1,1,2,2")[0] == 1
    assert call("verify", SRCNN, out)[0] == 2
    assert call("diff", SRCNN, SRCNN)[0] == 0
    code, text, _ = call("diff", SRCNN, out, "--json")
    assert code == 1
    assert {change["what"] for change in json.loads(text)["changes"]} <= {"node", "input", "output", "initializer"}


def test_escape_codes_in_a_model_never_reach_the_terminal(call, tmp_path):
    import onnx

    model = onnx.load(SRCNN)
    for node in model.graph.node:
        if node.op_type == "Resize":
            node.name = "evil\x1b[31m\nname"
    path = tmp_path / "evil.onnx"
    onnx.save(model, path)
    calls = (["inspect", path], ["promote-scales", path, "--dry-run"], ["promote-scales", path, "a", "-n", "x"])
    for arguments in calls:
        _, out, err = call(*arguments)
        assert "\x1b" not in out + err
        assert "\nname" not in out + err


def test_help_costs_little_because_commands_are_imported_when_called():
    code = "import sys\nfrom resizefix.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    code += "assert not {'onnx', 'numpy', 'onnxruntime', 'rich'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize(("given", "left"), [(None, "1"), ("3", "3")])
def test_numpy_starts_no_thread_for_each_core_unless_the_user_says_how_many(given, left):
    program = (
        "import atexit, os, sys; sys.argv = ['resizefix', '--version'];"
        " atexit.register(lambda: print(os.environ['OPENBLAS_NUM_THREADS']));"
        " from resizefix.cli import main; main()"
    )
    settings = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    settings |= {} if given is None else {"OPENBLAS_NUM_THREADS": given}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=settings, check=True)
    assert done.stdout.split()[-1] == left


def test_the_module_is_the_command():
    done = subprocess.run([sys.executable, "-m", "resizefix", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"resizefix, version {resizefix.__version__}"

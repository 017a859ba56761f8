"""The promises of every command: exit codes, one JSON document, one paragraph of error, nothing written unless done."""

import json
import os
import shutil
import stat

import onnx
import pytest
from child_python import printed
from fixture_models import FIXTURES, SRCNN, UNET
from onnx_text import model

import resizefix


def test_promote_writes_a_model_that_says_nothing_is_left_to_do(call, tmp_path):
    out = tmp_path / "out.onnx"
    code, text, err = call("promote-scales", SRCNN, out)
    assert (code, err) == (0, "")
    assert "new input" in text
    assert "verification passed" in text
    code, text, err = call("promote-scales", out, tmp_path / "again.onnx")
    assert (code, err) == (0, "")
    assert "nothing to do" in text
    assert not (tmp_path / "again.onnx").exists()


def test_json_is_one_document_with_the_promised_fields(answered, tmp_path):
    out = tmp_path / "out.onnx"
    answer = answered("promote-scales", SRCNN, out, "--at", "2", "--at", "2.5", "--at", "4")
    assert (answer["exit_code"], answer["error"], answer["resizefix"]) == (0, None, resizefix.__version__)
    assert (answer["command"], answer["model"], answer["output"]) == ("promote-scales", str(SRCNN), str(out))
    (source,) = answer["inputs"]
    assert (source["elem_type"], source["shape"], source["value"]) == ("float", [4], [1, 1, 3, 3])
    verification = answer["verification"]
    assert verification["status"] == "passed"
    plain = [run for run in verification["runs"] if not run["optimized"]]
    tried = [run["values"][source["name"]][2] for run in plain]
    assert tried[:4] == [3, 2, 2.5, 4]  # the old one, and those that were asked for
    assert set(tried[4:]) - set(tried[:4])  # and others
    assert all(run["bitwise"] for run in plain)
    assert [found["verdict"] for found in verification["coupling"]] == ["free"]


def test_inspect_json_lists_sites(answered):
    answer = answered("inspect", SRCNN)
    assert (answer["exit_code"], answer["opset"]) == (0, 11)
    (site,) = answer["sites"]
    assert (site["interpolation"]["mode"], site["promotable"]) == ("cubic", True)
    assert site["extent"] == {"kind": "scales", "values": [1, 1, 3, 3]}


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
    ("words", "name"),
    [
        (["repair"], "handmade/no_resize"),
        (["freeze-scales"], "srcnn_x3_opset11"),
        (["opset", "11"], "srcnn_x3_opset11"),
        (["trt-legacy"], "handmade/no_resize"),
        (["legalize", "--target", "onnxruntime"], "unet_nearest_opset11"),
        (["legalize", "--target", "tensorrt-8.6", "-n", "#0"], "unet_nearest_opset11"),
    ],
)
def test_where_nothing_needs_to_change_out_is_a_copy_if_that_is_asked_for(call, answered, tmp_path, words, name):
    model, out = FIXTURES / f"{name}.onnx", tmp_path / "out.onnx"
    command, *words = words
    number = words if command == "opset" else []
    words = [command, *([] if number else words)]
    code, text, err = call(*words, model, out, *number)
    assert (code, err) == (0, "")
    assert f"{out.name} was not written, and --copy-unchanged writes a copy" in " ".join(text.split())
    assert not out.exists()
    assert call(*words, model, out, *number, "--strict")[0] == 1
    code, text, err = call(*words, model, out, *number, "--copy-unchanged", "--json")
    assert (code, err, json.loads(text)["output"], json.loads(text)["error"]) == (0, "", str(out), None)
    assert out.read_bytes() == model.read_bytes()
    assert "as a copy" in " ".join(call(*words, model, tmp_path / "2.onnx", *number, "--copy-unchanged")[1].split())
    answer = answered(*words, model, *number, "--copy-unchanged", "--dry-run")
    assert (answer["exit_code"], answer["output"]) == (0, None)


def test_what_is_refused_is_not_copied(call, tmp_path):
    assert call("promote-scales", UNET, tmp_path / "out.onnx", "--copy-unchanged")[0] == 1
    assert not (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize("words", [[], ["--copy-unchanged"], ["--copy-unchanged", "--no-verify"]])
def test_a_model_with_a_node_that_the_target_takes_for_a_resize_is_not_called_legal(call, answered, tmp_path, words):
    model, out = FIXTURES / "handmade" / "foreign_upsample.onnx", tmp_path / "out.onnx"
    for target in ("tensorrt-10", "tensorrt-7.0"):
        assert call("check", model, "--target", target)[0] == 1
        answer = answered("legalize", model, out, "--target", target, *words)
        assert (answer["exit_code"], out.exists()) == (1, False)
        (blocker,) = answer["blockers"]
        assert blocker["node"] in answer["error"]
        assert "rename the operator" in answer["error"]
    assert call("legalize", model, out, "--target", "openvino", "--copy-unchanged")[0] == 0


def test_verify_and_diff_answer_with_their_exit_code(call, answered, tmp_path):
    out = tmp_path / "out.onnx"
    assert call("promote-scales", SRCNN, out, "--input-name", "s", "-q")[0] == 0
    assert call("verify", SRCNN, out, "--feed", "s=1,1,3,3")[0] == 0
    assert call("verify", SRCNN, out, "--feed", "s=1,1,2,2")[0] == 1
    assert call("verify", SRCNN, out)[0] == 2
    assert call("diff", SRCNN, SRCNN)[0] == 0
    answer = answered("diff", SRCNN, out)
    assert answer["exit_code"] == 1
    assert {change["what"] for change in answer["changes"]} <= {"node", "input", "output", "initializer"}


def test_diff_of_the_meaning_alone_says_so_everywhere(call, answered, tmp_path):
    model = onnx.load(SRCNN)
    model.doc_string = "copied"
    noted, other = tmp_path / "noted.onnx", tmp_path / "other.onnx"
    onnx.save(model, noted)
    model.graph.node[0].op_type = "Other"
    onnx.save(model, other)
    assert [change["what"] for change in answered("diff", SRCNN, noted)["changes"]] == ["doc_string"]
    assert answered("diff", SRCNN, noted, "--meaning-only")["changes"] == []
    page = tmp_path / "page.html"
    code, out, err = call("diff", SRCNN, noted, "--meaning-only", "--html", page)
    assert (code, err) == (0, "")
    assert "the models mean the same" in out
    assert "The models mean the same." in page.read_text(encoding="utf-8")
    assert "The models mean the same." in call("diff", SRCNN, noted, "--meaning-only", "--markdown")[1]
    assert "1 change; what is not listed means the same" in call("diff", SRCNN, other, "--meaning-only")[1]
    assert "what is not listed means the same" in call("diff", SRCNN, other, "--meaning-only", "--markdown")[1]


def test_escape_codes_in_a_model_never_reach_the_terminal(call, tmp_path):
    model = onnx.load(SRCNN)
    (resize,) = (node for node in model.graph.node if node.op_type == "Resize")
    resize.name = "evil\x1b[31m\nname"
    path = tmp_path / "evil.onnx"
    onnx.save(model, path)
    for words in (["inspect", path], ["promote-scales", path, "--dry-run"], ["promote-scales", path, "a", "-n", "x"]):
        _, out, err = call(*words)
        assert "\x1b" not in out + err
        assert "\nname" not in out + err


@pytest.mark.parametrize(("given", "left"), [(None, "1"), ("3", "3")])
def test_numpy_starts_no_thread_for_each_core_unless_the_user_says_how_many(given, left):
    program = (
        "import atexit, os, sys; sys.argv = ['resizefix', '--version'];"
        " atexit.register(lambda: print(os.environ['OPENBLAS_NUM_THREADS']));"
        " from resizefix.cli import main; main()"
    )
    settings = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    settings |= {} if given is None else {"OPENBLAS_NUM_THREADS": given}
    assert printed("-c", program, env=settings).split()[-1] == left


@pytest.mark.parametrize("words", [("-m", "resizefix"), ("-c", "from resizefix.cli import main; main()")])
def test_the_module_is_the_command(words):
    assert printed(*words, "--version") == f"resizefix, version {resizefix.__version__}\n"


def test_a_model_alone_is_inspected(call):
    assert call(str(SRCNN)) == call("inspect", str(SRCNN))
    code, out, _ = call(str(SRCNN), "--json")
    assert (code, json.loads(out)["command"]) == (0, "inspect")


def test_a_file_of_any_name_is_a_model(tmp_path, monkeypatch, call):
    shutil.copy(SRCNN, tmp_path / "network")
    monkeypatch.chdir(tmp_path)
    assert call("network")[0] == 0


def test_a_file_of_the_name_of_a_command_is_no_model(tmp_path, monkeypatch, call):
    shutil.copy(SRCNN, tmp_path / "check")
    monkeypatch.chdir(tmp_path)
    code, _, error = call("check")
    assert code == 2
    assert "Missing argument" in error


HALF_SOLVED = model(
    "(float[1,3,8,8] x, float[4] d) => (float[?,?,?,?] y) <float[4] s = {1, 1, 2, 2}> "
    '{ [a] r = Resize <mode = "linear"> (x, , s) k = Relu (d) [b] y = Resize (r, , k) }'
)


def test_a_model_that_its_target_still_rejects_is_not_written(call, tmp_path):
    given, out = tmp_path / "m.onnx", tmp_path / "out.onnx"
    onnx.save(HALF_SOLVED, given)
    words = ("legalize", given, out, "--target", "tensorrt-7.0", "--no-verify")
    code, _, said = call(*words)
    assert (code, out.exists()) == (1, False)
    assert "nothing was written, because tensorrt-7.0 would reject the result. b: " in " ".join(said.split())
    code, said, _ = call(*words, "-n", "a")
    assert (code, out.exists()) == (0, True)
    assert "tensorrt-7.0 refuses b, which -n left out: " in " ".join(said.split())
    assert call("check", out, "--target", "tensorrt-7.0")[0] == 1
    code, answer, _ = call(*words, "-n", "a", "--json", "--force")
    assert (code, [one["node"] for one in json.loads(answer)["still_rejected"]]) == (0, ["b"])


def test_of_a_model_that_is_legalized_in_part_the_library_gives_the_part(tmp_path):
    result = resizefix.legalize(HALF_SOLVED, target="tensorrt-7.0", verify=False)
    assert bool(result)
    assert result.outcome.value == "refused"
    assert [outcome.status.value for outcome in result.outcomes] == ["changed", "refused"]
    assert not resizefix.check(result.model, target="tensorrt-7.0").accepted
    with pytest.raises(resizefix.RefusedError):
        resizefix.legalize(HALF_SOLVED, target="tensorrt-7.0", node=["b"], verify=False)


@pytest.mark.parametrize("scale", ["1e38", "3.4e38", "1e18", "1e-45", "0.0"])
@pytest.mark.parametrize(
    "words",
    [
        ("inspect",),
        ("check",),
        ("check", "--target", "onnxruntime"),
        *((name, "--dry-run") for name in ("promote-scales", "trt-legacy", "repair")),
        ("legalize", "--dry-run", "--target", "tensorrt-8.0"),
        ("set", "--dry-run", "mode=linear"),
    ],
    ids=" ".join,
)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_no_number_of_a_file_is_too_large_to_be_answered(call, tmp_path, scale, words):
    graph = (
        f"(float[1,1,2,2] x) => (float[?,?,?,?] y) <float[4] s = {{1, 1, {scale}, {scale}}}> {{ y = Resize (x, , s) }}"
    )
    onnx.save(model(graph), tmp_path / "m.onnx")
    code, text, said = call(words[0], tmp_path / "m.onnx", *words[1:], "--json")
    assert code in (0, 1)
    assert "error in resizefix" not in said
    if words[-1] == "onnxruntime" and float(scale) >= 1e18:
        assert json.loads(text)["targets"]["onnxruntime"]["violations"][0]["rule"] == "output-is-countable"

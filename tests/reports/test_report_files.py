"""`--html`, `--markdown` and `--force` of inspect and diff: where reports go, and that nothing is lost."""

import os
import re

import onnx
import pytest
from fixture_models import FIXTURES, SRCNN, UNET

from resizefix.reports.page import _templates

BISENET_11 = FIXTURES / "bisenet_x8_linear_opset11.onnx"
COMMANDS = (["inspect", SRCNN], ["diff", SRCNN, UNET], ["check", SRCNN])


@pytest.mark.parametrize("command", COMMANDS, ids=["inspect", "diff", "check"])
def test_reports_are_written_beside_what_is_printed(call, tmp_path, command):
    html, markdown = tmp_path / "r.html", tmp_path / "r.md"
    code, out, err = call(*command, "--html", html, "--markdown", markdown)
    assert code == (0 if command[0] == "inspect" else 1)  # a report of a difference is written all the same
    assert html.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert markdown.read_text(encoding="utf-8").startswith("### `srcnn_x3_opset11.onnx`")
    assert f"wrote {html}\nwrote {markdown}\n" in out
    assert err == ""
    assert sorted(os.listdir(tmp_path)) == ["r.html", "r.md"]


@pytest.mark.parametrize("command", COMMANDS, ids=["inspect", "diff", "check"])
def test_json_stays_one_document(answered, tmp_path, command):
    html = tmp_path / "r.html"
    answer = answered(*command, "--html", html, "--markdown", "-")
    assert (answer["html"], answer["markdown"]) == (str(html), None)
    assert answer["markdown_text"].startswith("### ")
    assert answered(*command)["html"] is None


@pytest.mark.parametrize("command", COMMANDS, ids=["inspect", "diff", "check"])
@pytest.mark.parametrize("option", [["--markdown"], ["--markdown", "-"]])
def test_markdown_without_a_file_goes_to_stdout_alone(call, tmp_path, command, option):
    _, out, err = call(*command, *option)
    assert out.startswith("### ")
    assert out.endswith("\n")
    assert err == ""
    html = tmp_path / "r.html"
    _, out, err = call(*command, *option, "--html", html)
    assert "wrote" not in out
    assert err == f"wrote {html}\n"


@pytest.mark.parametrize("option", ["--html", "--markdown"])
@pytest.mark.parametrize("command", COMMANDS, ids=["inspect", "diff", "check"])
def test_a_file_that_exists_is_replaced_with_force_alone(call, tmp_path, command, option):
    path = tmp_path / "mine"
    path.write_text("mine")
    code, _, err = call(*command, option, path)
    assert (code, path.read_text()) == (2, "mine")
    assert "exists; use --force to replace it" in err
    call(*command, option, path, "--force")
    assert path.read_text(encoding="utf-8") != "mine"


def test_a_report_never_takes_the_place_of_a_model(call, tmp_path):
    model = tmp_path / "m.onnx"
    model.write_bytes(SRCNN.read_bytes())
    (tmp_path / "link.onnx").symlink_to(model)
    for arguments in (
        ["inspect", model, "--html", model],
        ["check", model, "--html", model],
        ["inspect", model, "--markdown", tmp_path / "link.onnx"],
        ["diff", SRCNN, model, "--html", model],
    ):
        code, _, err = call(*arguments, "--force")
        assert code == 2
        assert "is the input model" in err
    assert model.read_bytes() == SRCNN.read_bytes()


def test_two_reports_are_written_together_or_not_at_all(call, tmp_path):
    code, _, _ = call("inspect", SRCNN, "--html", tmp_path / "a.html", "--markdown", tmp_path / "no" / "b.md")
    assert code == 2
    assert os.listdir(tmp_path) == []


def test_quiet_writes_and_says_nothing(call, tmp_path):
    assert call("inspect", SRCNN, "--html", tmp_path / "a.html", "-q") == (0, "", "")
    assert (tmp_path / "a.html").exists()


def test_markdown_that_is_too_long_for_a_comment_is_said_to_be(call, tmp_path):
    model = onnx.load(SRCNN)
    next(node for node in model.graph.node if node.op_type == "Resize").name = "n" * 70_000
    onnx.save(model, tmp_path / "m.onnx")
    _, _, err = call("inspect", tmp_path / "m.onnx", "--markdown", tmp_path / "m.md")
    assert "more than GitHub takes in a comment" in err


def test_the_page_of_one_target_has_no_matrix_and_says_each_rule_once_with_its_nodes(call, tmp_path):
    page = tmp_path / "one.html"
    call("check", BISENET_11, "--target", "tensorrt-5.1", "--html", page)
    text = page.read_text(encoding="utf-8")
    assert "matrix" not in text.split("</style>")[1]
    rules = re.findall(r"<li><p><code>([\w-]+)</code>", text)
    assert len(rules) == len(set(rules)) > 0
    assert "3 nodes: " in text


def test_the_page_of_check_names_the_command_that_the_terminal_prints(call, tmp_path):
    html, markdown = tmp_path / "r.html", tmp_path / "r.md"
    _, out, _ = call("check", UNET, "--target", "tensorrt-6.0", "--html", html, "--markdown", markdown)
    command = out.split("next, to ")[1].splitlines()[1].strip()
    assert f"`{command}`" in markdown.read_text(encoding="utf-8")
    code = html.read_text(encoding="utf-8").split("<h2>Next</h2>")[1].split("</pre>")[0]
    assert " ".join(re.findall(r"<span>([^<]*)</span>", code)) == command


def test_what_stands_between_backquotes_is_code_and_a_name_is_no_markup():
    template = _templates().from_string("{{ text | coded }}")
    assert template.render(text="a `<b>` of `c` `") == "a <code>&lt;b&gt;</code> of <code>c</code> `"


def test_the_newest_tensorrt_comes_first_and_old_ones_are_folded(call, tmp_path):
    page = tmp_path / "all.html"
    call("check", BISENET_11, "--html", page)
    shown, folded = page.read_text(encoding="utf-8").split("<details><summary>TensorRT before 8.0</summary>")
    names = re.findall(r"<span>(tensorrt-[\w.]+)</span>", shown)
    assert names == ["tensorrt-rtx", "tensorrt-10", "tensorrt-9", "tensorrt-8.5", "tensorrt-8.4", "tensorrt-8.0"]
    assert re.findall(r"<span>(tensorrt-[\w.]+)</span>", folded)[0] == "tensorrt-7.2"


def test_no_page_separates_with_dots_that_may_end_a_line(call, tmp_path):
    page = tmp_path / "page.html"
    call("inspect", BISENET_11, "--html", page)
    assert "·" not in page.read_text(encoding="utf-8").split("</style>")[1].split("<script>")[0]


def test_a_coupled_site_is_coupled_and_not_promotable(call, tmp_path):
    page = tmp_path / "unet.html"
    call("inspect", UNET, "--html", page)
    text = page.read_text(encoding="utf-8")
    assert "<dt>Coupled</dt>" in text
    assert "<dt>Promotable</dt>" not in text

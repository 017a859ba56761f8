"""The rows that CONTRIBUTING.md shows as examples are rows that work."""

import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.fixture
def helpers(monkeypatch):
    """The folders of tests whose cases the examples are tried on."""
    for folder in ("lowerings", "opsets", "targets"):
        monkeypatch.syspath_prepend(str(ROOT / "tests" / folder))


def example(heading: str) -> dict:
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    (block,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    names: dict = {}
    exec(compile("from __future__ import annotations\n" + block, f"CONTRIBUTING.md, {heading}", "exec"), names)
    return names


def test_the_dialect_has_what_was_added_and_what_was_there():
    row = example("Add a dialect row")["RESIZE_99"]
    assert row.name == "Resize-99"
    assert row.attribute("wrap").default == 0
    assert row.attribute("antialias") is not None


def test_the_rule_is_broken_by_three_dimensions_and_kept_by_four(helpers):
    from nodes import RESIZE_11, changed

    from resizefix.targets.target import Release, judge, targets_of

    releases = (Release("7.2", "1a2b3c4"), Release("8.0", "5d6e7f8"))
    old, new = targets_of("a-parser", releases, (example("Add a target rule")["RANK_4"],))
    (violation,) = judge(old, changed(RESIZE_11, rank=3))
    assert violation.because == "the tensor has 3 dimensions; this parser scales four"
    assert judge(old, RESIZE_11) == judge(new, changed(RESIZE_11, rank=3)) == ()


def test_the_equivalence_says_what_the_table_says_in_its_place():
    from resizefix.equivalences.resize_spec import Axis
    from resizefix.equivalences.rules import forms_of
    from resizefix.equivalences.table import EQUIVALENCES
    from resizefix.interpolation import CoordinateTransformationMode, Interpolation, Mode, NearestMode

    row = example("Add an equivalence")["LEGACY_GROWING"]
    node = Interpolation(Mode.NEAREST, CoordinateTransformationMode.ASYMMETRIC, NearestMode.SIMPLE)
    for scale in (0.5, 1.0, 2.5):
        for form in forms_of(Mode.NEAREST):
            axis = Axis(None, None, scale)
            assert row.alike(axis, form, node) == EQUIVALENCES[1].alike(axis, form, node)


def test_the_lowering_gives_the_bits_of_the_node_and_refuses_what_it_does_not(helpers):
    from lowering_cases import by_scales, nearest
    from lowering_runs import difference, native, run, sample

    shuffle = example("Add a lowering")["SHUFFLE"]
    subject = by_scales(nearest("half_pixel", "round_prefer_floor"), (1, 3, None, None), 2, 2)
    x = sample(subject, (1, 3, 4, 5))
    assert difference(*run(shuffle, subject, x, 13), native(subject, x)) is None
    assert shuffle.applies(by_scales(nearest(), (1, 3, 4, 5), 2, 3), 13) is not None


def test_the_fault_is_found_and_its_edit_removes_it(monkeypatch):
    import onnx

    from resizefix.diagnostics import _sentences
    from resizefix.document.document import Document
    from resizefix.faults.fault import Preferences
    from resizefix.faults.table import resize_nodes
    from resizefix.shapes.stored_shapes import ModelView

    monkeypatch.setitem(_sentences("faults"), "faults.idle-antialias", "mode nearest does not read antialias")
    row = example("Add a fault")["IDLE_ANTIALIAS"]
    text = """<ir_version: 8, opset_import: ["" : 18]> g (float[1,1,4,4] x) => (float[?,?,?,?] y)
        <float[4] s = {1, 1, 2, 2}> { y = Resize <mode = "MODE", antialias = 1> (x, "", s) }"""
    for mode, is_wrong in (("nearest", True), ("linear", False)):
        model = onnx.parser.parse_model(text.replace("MODE", mode))
        (node,) = resize_nodes(ModelView(Document(model)))
        fault = row.find(node, Preferences())
        assert (fault is not None) == is_wrong
        if is_wrong:
            assert fault.name in row.names
            assert [attribute.name for attribute in fault.change.node.attribute] == ["mode"]


def test_the_key_of_set_is_read_and_an_error_says_what_it_takes(monkeypatch):
    from resizefix.diagnostics import UsageError
    from resizefix.operations import settings

    row = example("Add a key of `set`")["SHARPNESS"]
    monkeypatch.setitem(settings.READERS, "sharpness", row)
    assert settings.read("sharpness", "0.5") == 0.5
    with pytest.raises(UsageError, match="a number, as 0 or"):
        settings.read("sharpness", "half")


def test_the_option_is_typed_checked_and_explained(monkeypatch):
    import click

    from resizefix.cli.options import Subcommand
    from resizefix.diagnostics import UsageError
    from resizefix.library import options

    monkeypatch.setattr(options, "OPTIONS", (*options.OPTIONS, example("Add an option")["MOST_CHANGED"]))
    tables = options.options_of, options.checks_of
    for table in tables:
        table.cache_clear()
    try:
        legalize = Subcommand("legalize", params=[], callback=None)
        (typed,) = [param for param in legalize.params if param.name == "most_changed"]
        assert typed.opts == ["--most-changed"]
        assert "--most-changed" in legalize.get_help(click.Context(legalize))
        assert options.words_as_options("repair", ("--most-changed", "3")) == {"most_changed": 3}
        assert options.checked_options("legalize", {"most_changed": None}) == {"most_changed": None}
        with pytest.raises(UsageError, match="most_changed=0: give a whole number from 1 to 1000"):
            options.checked_options("legalize", {"most_changed": 0})
    finally:
        for table in tables:
            table.cache_clear()


def test_the_opset_row_gives_the_bits_of_the_operator(helpers, monkeypatch):
    from opset_pair import assert_same, model_of, operators

    from resizefix.opsets.table import DOWN

    monkeypatch.setitem(DOWN, "HardSwish", example("Add an opset row")["HARD_SWISH"])
    x = np.linspace(-5, 5, 21, dtype=np.float32)
    after = assert_same(model_of(14, "g (float[21] x) => (float[21] y) { y = HardSwish(x) }"), {"x": x})
    assert operators(after) == ["HardSigmoid", "Mul"]


def test_the_page_names_files_that_there_are():
    named = set(re.findall(r"`((?:resizefix|tests|docs|benchmarks)/[\w/.]+)`", PAGE))
    assert len(named) >= 8
    assert [name for name in named if not (ROOT / name).exists()] == ["docs/zh/"] * (not (ROOT / "docs/zh").exists())

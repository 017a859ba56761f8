"""`--markdown`: names cannot break out of where they stand, and every site has its diagram."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_models import COMPUTED, FED, HOSTILE, PLAIN, ROUNDED, document, hostile, surveyed

from resizefix.document.document import Document
from resizefix.operations.diff import diff
from resizefix.reports.comparison import compare
from resizefix.reports.markdown import (
    code,
    diff_markdown,
    escaped,
    fenced,
    flowchart,
    inspect_markdown,
    prose,
    summary,
    table,
)
from resizefix.reports.surroundings import Box, BoxKind, Edge, Neighbourhood
from resizefix.reports.survey import Survey

NODE = re.compile(r'  n\d+(?:\(\["[^"]*"\]\)|\["[^"]*"\]|\("[^"]*"\))')
EDGE = re.compile(r'  n\d+ -->(?:\|"[^"]*"\|)? n\d+')
STYLE = re.compile(r"  classDef \w+ [\w#,:\- ]+|  class n\d+(?:,n\d+)* \w+")


def diagrams(text):
    return re.findall(r"^```mermaid\n(.*?)\n```$", text, re.DOTALL | re.MULTILINE)


def difference(before, after):
    return diff_markdown("before.onnx", "after.onnx", compare(before, after, diff(before, after)))


def well_formed(diagram):
    first, *lines = diagram.split("\n")
    assert first == "flowchart TD"
    for line in lines:
        assert NODE.fullmatch(line) or EDGE.fullmatch(line) or STYLE.fullmatch(line), line


def test_every_site_has_a_row_and_a_diagram():
    text = inspect_markdown("models/plain.onnx", surveyed(PLAIN))
    assert "| 0 | `up` | Resize-13 nearest asymmetric floor | scales 1×1×2×2 | initializer `s` | promotable | " in text
    (diagram,) = diagrams(text)
    well_formed(diagram)
    assert '("Resize-13<br/>up<br/>nearest<br/>asymmetric<br/>floor")' in diagram
    assert '-->|"scales float 4"|' in diagram
    assert "resizefix promote-scales models/plain.onnx" in text


def test_a_rule_that_several_sites_break_is_said_once():
    node = PLAIN[PLAIN.index("[up]") : PLAIN.index("[out]")]
    again = node.replace("[up] b", "[up2] y").replace("(a,", "(b,")
    twice = PLAIN.replace("[out] y = Neg (b)", again)
    text = inspect_markdown("twice.onnx", surveyed(twice))
    assert text.count("- `upsample-alone`") == 1
    assert "Node `#0` and `#1`" in text


def test_why_a_site_is_not_promotable_is_said():
    assert "- Not promotable: its sizes" in inspect_markdown("c.onnx", surveyed(COMPUTED))


def test_a_warning_is_shown():
    assert "- Warning: its size on axis 2" in inspect_markdown("r.onnx", surveyed(ROUNDED))


def test_a_difference_shows_both_pictures_the_verdicts_and_all_changes():
    before, after = document(PLAIN), document(FED.replace("<float[4] s = {1, 1, 2, 2}>", ""))
    text = difference(before, after)
    old, new = diagrams(text)
    well_formed(old)
    well_formed(new)
    assert "removed: initializer" in old
    assert "new: graph input" in new
    assert "| `tensorrt-10` | 1 of 1 | 0 of 1 |" in text
    assert re.search(r"```diff\n@@ node up\n- .*\n\+ ", text)


def test_models_that_are_the_same_are_said_to_be():
    assert "The models are the same." in difference(document(PLAIN), document(PLAIN))


def test_hostile_names_stay_where_they_are_put():
    model = hostile()
    for text in (
        inspect_markdown("h.onnx", Survey(Document.from_proto(model))),
        difference(Document.from_proto(model), document(PLAIN)),
    ):
        for diagram in diagrams(text):
            well_formed(diagram)
        assert diagrams(text)
        assert "\x1b" not in text
        assert "\u202e" not in text
        outside = re.sub(r"^(`{3,})\w+\n.*?\n\1$", "", text, flags=re.DOTALL | re.MULTILINE)
        assert not re.search(r"(?<!\\)<(?!/?(details|summary|code)\b)", outside)
        assert "@someone" not in re.sub(r"<summary>.*?</summary>", "", outside)
        rows = [line for line in outside.split("\n") if line.startswith("| ")]
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows if "---" not in row}) <= 2


@given(st.text())
def test_no_label_of_a_diagram_ends_before_its_text(text):
    assert not set(escaped(text)) & set("\"`<>[](){}|\\@$%&'\n")
    box = Box("k", BoxKind.OPERATOR, text, text, (text,))
    well_formed(flowchart(Neighbourhood("k", (box,), (Edge("k", "k", text, text, 0, text),))))


@given(st.text())
def test_no_name_ends_its_code(text):
    shown = code(text)
    if shown.startswith("`"):
        assert shown.count("`") == 2
        assert "|" not in shown
    else:
        assert re.fullmatch(r"<code>[^`|]*</code>", shown)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a_b*c", r"a\_b\*c"),
        ("@someone", "@&#8203;someone"),
        ("#12 and # 12", "#&#8203;12 and # 12"),
        ("see https://x.example or www.x.example", "see https:&#8203;//x.example or www&#8203;.x.example"),
        ("GH-12", "GH&#8203;-12"),
        ("a|b\\`&", "a&#124;b&#92;&#96;&#38;"),
        ("<b>[l](u)", r"\<b\>\[l\](u)"),
        ("/Resize (ResNet-50)", "/Resize (ResNet-50)"),
    ],
)
def test_prose_is_no_markup_no_mention_and_no_link(text, written):
    assert prose(text) == written


def test_a_fence_is_longer_than_any_within():
    assert fenced("diff", "a ```` b") == "`````diff\na ```` b\n`````"


def test_a_summary_is_html():
    assert summary("<b>\n@x") == "<code>&lt;b&gt;\\n@x</code>"


def test_a_table_has_one_line_for_a_row():
    assert table(["a", "b"], [[code("x|y"), prose(HOSTILE)]]).count("\n") == 2

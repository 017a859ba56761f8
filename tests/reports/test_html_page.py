"""The pages of `inspect --html` and `diff --html`."""

import base64
import hashlib
import re
import time
from importlib import resources
from pathlib import Path
from xml.etree import ElementTree

import pytest
from fixture_models import FIXTURES, UNET
from page_checks import check_page
from report_models import COMPUTED, FED, HOSTILE, PLAIN, ROUNDED, document, hostile, many, surveyed

from resizefix.document.document import Document
from resizefix.operations.diff import diff
from resizefix.printable import printable
from resizefix.reports.comparison import compare
from resizefix.reports.html import diff_page, inspect_page
from resizefix.reports.survey import Survey
from resizefix.targets.catalogue import TARGETS

CSS = resources.files("resizefix.reports").joinpath("page.css").read_text(encoding="utf-8")
HALF = PLAIN.replace("<float[4] s = {1, 1, 2, 2}>", "<float16[4] s = {15360, 15360, 16384, 16384}>")
LARGER = PLAIN.replace("float[1,3,8,8] x", "float[1,3,16,16] x")
NONE = '<ir_version: 8, opset_import: ["" : 13]> g (float[1] x) => (float[1] y) { y = Relu (x) }'


def difference(before, after):
    models = [document(one) if isinstance(one, str) else one for one in (before, after)]
    return diff_page("before.onnx", "after.onnx", compare(*models, diff(*models)))


def inspected(model):
    """Of ONNX text, a model, or a file."""
    if isinstance(model, Path):
        return inspect_page(model.name, Survey(Document.open(model)))
    return inspect_page("m.onnx", surveyed(model) if isinstance(model, str) else Survey(Document.from_proto(model)))


def test_a_page_tells_what_inspect_tells_and_draws_it():
    page = check_page(inspect_page("models/plain.onnx", surveyed(PLAIN)))
    text = page.text()
    words = ("plain.onnx", "×2 is frozen", "can be promoted", "TensorRT 7.0 and later accept it", "#0 up")
    for word in (*words, "nearest asymmetric floor", "scales 1×1×2×2"):
        assert word in text
    assert "resizefix promote-scales models/plain.onnx" in text
    assert len(page.all("svg")) == 1
    assert "float 1×3×16×16" in text


def test_every_target_has_its_verdict_with_rule_reason_mend_and_source():
    survey = surveyed(PLAIN)
    text = check_page(inspect_page("plain.onnx", survey)).text()
    (site,) = survey.sites
    assert site.broken
    for target in TARGETS:
        assert f" {target.name} " in text
    for broken in site.broken:
        assert broken.rule in text
        assert broken.because[1:] in text
        assert broken.fix in text
        assert broken.sources[0] in text


def test_why_a_site_cannot_be_promoted_and_a_warning_are_shown():
    (computed,), (rounded,) = (surveyed(text).sites for text in (COMPUTED, ROUNDED))
    assert computed.site.reason in check_page(inspected(COMPUTED)).text()
    assert rounded.site.warning in check_page(inspected(ROUNDED)).text()
    assert "Warning" not in inspected(PLAIN)


def test_a_difference_is_drawn_before_and_after_and_every_change_is_listed():
    before, after = document(PLAIN), document(FED.replace("<float[4] s = {1, 1, 2, 2}>", ""))
    text = difference(before, after)
    page = check_page(text)
    assert len(page.all("svg")) == 2
    assert re.search(r'<g class="box input new"', text)
    assert re.search(r'<g class="box constant removed"', text)
    changes = diff(before, after)
    assert text.count("<li><p><strong>") == len(changes) > 2
    for change in changes:
        assert change.what in page.text()
        assert change.name in page.text()


def test_a_page_begins_with_the_verdict_in_large_words():
    for text, said, tone in (
        (inspected(PLAIN), "×2 is frozen, can be promoted, TensorRT 7.0", "yes"),
        (inspected(FED), "The scale is an input, no TensorRT accepts it", "yes"),
        (inspected(COMPUTED), "The scale is computed, cannot be promoted", "care"),
        (inspected(UNET), "2 resizes, frozen at ×2, cannot change alone", "care"),
        (inspected(HALF), "The resize has a fault, cannot be promoted", "no"),
        (inspected(ROUNDED), "The resize has a fault, ×1.8 is frozen, can be", "care"),
        (difference(PLAIN, FED), "The resize changed", "care"),
        (difference(HALF, PLAIN), "The resize changed, 1 resize without the fault", "care"),
        (difference(PLAIN, LARGER), "The resize is the same, with other sizes, 1 change", "care"),
    ):
        page = check_page(text)
        assert said in page.text()[: page.text().index(said) + 200]
        assert f'class="verdict {tone}"' in text
        assert text.index('class="verdict') < text.index("<svg")


def test_targets_that_a_change_loses_or_gains_are_a_banner():
    lost, gained = difference(PLAIN, FED), difference(FED, PLAIN)
    runtimes = (
        "tensorrt-7.0 to tensorrt-rtx, opencv-4, ncnn, tract, tvm, coreml, edge-tpu, ethos-u, kneron, kneron-520, "
        "nnapi, qnn, rknn and tidl"
    )
    assert f"Lost: {runtimes} accepted every resize before, and do not now." in check_page(lost).text()
    assert 'class="banner no"' in lost
    assert f"Gained: {runtimes} accept every resize now" in check_page(gained).text()
    assert 'class="banner yes"' in gained
    assert 'class="banner' not in difference(PLAIN, PLAIN)


def test_sizes_that_an_input_decides_are_named_and_the_others_are_those_of_before():
    text = check_page(difference(PLAIN, FED)).text()
    assert text.count("float 1×3×H×W") > 1  # in the drawing and among the facts
    assert "?×" not in text


def test_like_nodes_are_one_group_with_every_name():
    text = inspected(many(40))
    page = check_page(text)
    assert "40 × linear ×1" in page.text()
    assert len(page.all("svg")) == 1
    assert page.ids >= {f"site-{number}" for number in range(40)}
    assert "#39 /model/decoder/up_blocks.3/upsamplers.9/Resize" in page.text().replace("/ ", "/")


def test_labels_stand_beside_their_edges_and_apart():
    text = inspected(UNET)
    for drawn in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        svg = ElementTree.fromstring(drawn)
        left, _, width, _ = map(float, svg.get("viewBox").split())
        shift = float(re.search(r"translate\(([\d.]+)", drawn)[1])
        labels = [group.find("text") for group in svg.iter("g") if group.get("class") == "tensor"]
        spans = [
            (float(one.get("y")), float(one.get("x")), float(one.get("x")) + 6.7 * len(one.text)) for one in labels
        ]
        assert spans
        assert all(left <= begin + shift and end + shift <= left + width + 1 for _, begin, end in spans)
        starts = [float(x) for x in re.findall(r'd="M([\d.-]+) [\d.-]+C', drawn)]
        assert not any(begin < x < end for (_, begin, end), x in zip(spans, starts, strict=False))


def test_models_that_are_the_same_are_said_to_be():
    assert "The models are the same." in check_page(difference(PLAIN, PLAIN)).text()


@pytest.mark.parametrize("made", [lambda: inspected(NONE), lambda: difference(NONE, NONE)])
def test_a_model_without_resizes_has_a_page_too(made):
    assert "no Upsample or Resize" in check_page(made()).text()


def test_hostile_names_are_text_and_nothing_else():
    model = hostile()
    named = inspect_page(HOSTILE, Survey(Document.from_proto(model)))
    for text in (named, difference(Document.from_proto(model), PLAIN)):
        page = check_page(text)
        assert printable(HOSTILE) in page.text()
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", text)
        assert "alert(1)" not in "".join(data for tag, data in page.texts if tag in ("script", "style"))


def test_html_that_a_browsers_parser_would_not_mend():
    html5lib = pytest.importorskip("html5lib", reason="html5lib is not installed; the strict reader of these tests is")
    for text in (inspected(hostile()), difference(PLAIN, FED)):
        parser = html5lib.HTMLParser()
        parser.parse(text)
        assert parser.errors == []


def test_the_policy_allows_this_style_and_this_script_alone():
    text = inspected(PLAIN)
    policy = next(meta["content"] for meta in check_page(text).all("meta") if meta.get("http-equiv"))
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    for tag, rule in (("style", "style-src"), ("script", "script-src")):
        content = re.search(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"


def test_drawings_are_well_formed_and_their_text_stays_in_its_box():
    text = inspected(hostile())
    (drawn,) = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    svg = ElementTree.fromstring(drawn)
    for group in svg.iter("g"):
        box = group.find("rect")
        if box is None:
            continue
        left, top, width, height = (float(box.get(name)) for name in ("x", "y", "width", "height"))
        for line in group.iter("text"):
            per_column = 7.3 if line.get("class") == "title" else 6.7
            assert top < float(line.get("y")) < top + height
            if line.get("class") != "operand":
                assert float(line.get("x")) + per_column * len(line.text) <= left + width


def test_two_boxes_side_by_side_fit_a_phone():
    text = inspected(PLAIN)
    paddings = 2 * 8 + 2 * 1 + 2 * 8  # of the page, the card's border and the card, as page.css has them
    # The page scales a drawing down to the screen: by a tenth, where labels stand out at its sides.
    assert int(re.search(r'<svg [^>]*width="(\d+)"', text)[1]) * 0.9 <= 360 - paddings


def test_sixty_sites_fold_can_be_filtered_and_take_seconds():
    survey = Survey(Document.from_proto(many(60, alike=False)))
    start = time.process_time()
    text = inspect_page("many.onnx", survey)
    assert time.process_time() - start < 5
    assert len(text) < 1_000_000
    page = check_page(text)
    assert len(page.all("svg")) == 60
    folds = [attributes for attributes in page.all("section") if attributes.get("class") == "site"]
    assert len({attributes["id"] for attributes in folds}) == 60
    assert not re.search(r'class="site"[^>]*>\s*<details open', text)
    (form,) = page.all("form")
    assert "hidden" in form  # until the script, without which it would do nothing, shows it
    assert len(page.all("select")) == 2
    assert {option.get("value") for option in page.all("option")} >= {target.name for target in TARGETS}


def test_few_sites_are_open_and_need_no_filter():
    text = inspected(PLAIN)
    assert re.search(r'class="site"[^>]*>\s*<details open', text)
    assert "<form" not in text


@pytest.mark.parametrize(
    "fixture", ["unet_nearest_opset11", "scripted_if_opset11", "scripted_loop_opset11", "esrgan_qdq_opset17"]
)
def test_the_page_of_a_real_export_is_a_page(fixture):
    check_page(inspected(FIXTURES / f"{fixture}.onnx"))


def colours(theme):
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", theme))


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("number", [0, 1], ids=["light", "dark"])
def test_text_has_the_contrast_that_wcag_asks_for(number):
    names = colours(re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)[number])
    text_on = {
        "text": ("page", "card", "resize", "yes-fill", "no-fill", "care-fill"),
        "quiet": ("page", "card", "resize", "yes-fill", "no-fill"),
        "link": ("page", "card"),
        "yes": ("page", "card", "yes-fill"),
        "no": ("page", "card", "no-fill"),
        "care": ("page", "card", "care-fill"),
        "page": ("yes", "no", "care"),  # on the strip that says new, removed, changed
    }
    for text, grounds in text_on.items():
        for ground in grounds:
            assert contrast(names[text], names[ground]) >= 4.5, (text, ground)
    for edge, ground in (("edge", "page"), ("quiet", "page"), ("resize-edge", "page"), ("yes", "page"), ("no", "page")):
        assert contrast(names[edge], names[ground]) >= 3, (edge, ground)  # what is no text, but is needed to understand

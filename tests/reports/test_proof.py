"""What was run to verify, as rows: in the page and the Markdown of `verify`, whether it passed or failed."""

import math

import pytest
from fixture_models import SRCNN
from hypothesis import given
from hypothesis import strategies as st
from page_checks import check_page
from report_models import FED, HOSTILE, PLAIN, document

from resizefix.operations.diff import diff
from resizefix.outcome import Differences, TensorDifference
from resizefix.reports import proof
from resizefix.reports.comparison import compare
from resizefix.reports.html import diff_page
from resizefix.reports.markdown import diff_markdown
from resizefix.verification.verification import Run, Verification, VerificationStatus


def apart(most, relative):
    return Differences((TensorDifference("y", False, most, relative, "why"),))


PLAINLY = Run({}, {"x": [1, 3, 8, 8], "n": []}, optimized=False, difference=Differences(()))
FUSED = Run({"t": [1.0, 1.0, 2.5, 3.0], "b": [True]}, {"t": [4]}, True, apart(2e-6, 1e-6), bound=3e-6)
BOTH = Verification(VerificationStatus.PASSED, None, (PLAINLY, FUSED))


def pages(verification):
    before, after = document(PLAIN), document(FED)
    found = compare(before, after, diff(before, after))
    return [report("b.onnx", "a.onnx", found, verification) for report in (diff_page, diff_markdown)]


def test_a_run_is_a_row():
    assert proof.rows(BOTH) == [
        ("disabled", "x 1×3×8×8; n scalar", "random values", "bitwise equal"),
        ("default level", "t 4", "t = 1, 1, 2.5, 3; b = True",
         "differs by up to 2e-06 (1e-06 of the largest value; 3e-06 allowed)"),
    ]  # fmt: skip


def test_many_values_are_cut_short_and_a_difference_that_no_number_says_is_inf():
    run = Run({"t": [float(number) for number in range(9)]}, {}, False, apart(math.inf, math.inf))
    ((_, _, fed, result),) = proof.rows(Verification(VerificationStatus.FAILED, "why", (run,)))
    assert fed == "t = 0, 1, 2, 3, 4, 5, 6, 7, …"
    assert result == "differs in more than numbers"


def test_the_words_say_what_the_verdict_rests_on():
    assert proof.verdict(BOTH) + proof.basis(BOTH) == (
        "verification passed: 1 of 2 runs bitwise equal, the others within 1e-06 of the largest value (bound 3e-06)"
    )
    assert proof.basis(Verification(VerificationStatus.FAILED, "no\x1b[31m", (PLAINLY,))) == (": no\\x1b[31m")
    assert proof.basis(Verification(VerificationStatus.SKIPPED)) == ""


RUNS = st.builds(
    Run, st.just({}), st.just({}), st.booleans(),
    st.just(Differences(())) | st.builds(apart, *[st.sampled_from([0.0, 4.5e-08, math.inf])] * 2),
    bound=st.sampled_from([0.0, 2e-05]),
)  # fmt: skip


@given(
    st.builds(
        Verification, st.sampled_from(VerificationStatus), st.sampled_from([None, "why"]), st.lists(RUNS).map(tuple)
    )
)
def test_a_verdict_never_contradicts_its_numbers(verification):
    basis = proof.basis(verification)
    if verification.status is VerificationStatus.FAILED:
        assert basis == (": why" if verification.reason else "")
    bitwise = sum(run.bitwise for run in verification.runs)
    assert not basis.startswith(": 0 of")
    if basis.startswith(f": {bitwise} of {len(verification.runs)} ") and bitwise < len(verification.runs):
        assert "the others within" in basis


def test_the_page_and_the_markdown_have_every_row():
    html, markdown = pages(BOTH)
    page = check_page(html)
    assert "Verification" in page.text()
    for row in proof.rows(BOTH):
        for cell in row:
            assert cell in page.text()
        assert f"| {' | '.join(row)} |" in markdown
    assert "**verification passed**: 1 of 2" in markdown


def test_without_a_verification_there_is_no_word_of_it():
    html, markdown = pages(None)
    assert "verification" not in html.lower().partition("<body>")[2]
    assert "verification" not in markdown.lower()


def test_without_a_run_there_is_a_reason_and_no_table():
    html, markdown = pages(Verification(VerificationStatus.FAILED, "onnxruntime cannot load BEFORE"))
    assert "onnxruntime cannot load BEFORE" in check_page(html).text()
    assert "optimisation" not in html
    assert "| optimisation" not in markdown


def test_hostile_names_are_text_and_nothing_else():
    run = Run({HOSTILE: [1.0]}, {HOSTILE: [1]}, False, Differences(()))
    html, markdown = pages(Verification(VerificationStatus.FAILED, HOSTILE, (run,)))
    check_page(html)
    assert "<script>alert" not in html
    for active in ("<script>alert", "\x1b", "\u202e", " @someone", "https://evil", " www.evil"):
        assert active not in markdown


@pytest.fixture
def promoted(call, tmp_path):
    call("promote-scales", SRCNN, tmp_path / "any.onnx", "--input-name", "s", "--no-verify")
    return tmp_path / "any.onnx"


@pytest.mark.parametrize(("fed", "code", "word"), [("s=1,1,3,3", 0, "passed"), ("s=1,1,2,2", 1, "failed")])
def test_verify_writes_its_reports_whatever_the_answer(call, promoted, tmp_path, fed, code, word):
    reports = [tmp_path / "r.html", tmp_path / "r.md"]
    given = ["--html", reports[0], "--markdown", reports[1]]
    found, out, err = call("verify", SRCNN, promoted, "--feed", fed, *given)
    assert found == code
    assert out.splitlines()[-2:] == [f"wrote {path}" for path in reports]
    assert bool(err) == bool(code)
    for path in reports:
        said = path.read_text(encoding="utf-8")
        assert f"verification {word}" in said
        assert f"= {fed.removeprefix('s=').replace(',', ', ')}" in said
    found, _, err = call("verify", SRCNN, promoted, "--feed", fed, *given)
    assert (found, "exists; use --force to replace it" in err) == (2, True)


def test_verify_prints_its_markdown_and_puts_it_into_its_json(call, answered, promoted):
    words = ("verify", SRCNN, promoted, "--feed", "s=1,1,3,3", "--markdown")
    _, out, _ = call(*words)
    assert out.startswith("### `srcnn_x3_opset11.onnx` → `any.onnx`: 4 changes\n\n**verification passed**: 66 of 66")
    answer = answered(*words)
    assert answer["markdown_text"] == out
    assert (answer["html"], answer["markdown"], answer["verification"]["status"]) == (None, None, "passed")


def test_a_report_that_cannot_be_written_is_said_before_anything_runs(call, promoted):
    code, _, err = call("verify", SRCNN, promoted, "--feed", "s=1", "--html", promoted)
    assert code == 2
    assert "is the input model" in err

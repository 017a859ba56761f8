"""What a notebook shows of the answers of calls."""

import html5lib
import pytest
from fixture_models import SRCNN
from report_models import HOSTILE, hostile

import resizefix

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed (pip install 'resizefix[test]')")
nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed (pip install 'resizefix[test]')")
pytest.importorskip("ipykernel", reason="ipykernel is not installed (pip install 'resizefix[test]')")

# A cell for each call, and a word of its table.
CELLS = (
    ("resizefix.inspect(model)", "Resize-11 cubic half_pixel"),
    ("resizefix.promote_scales(model, at=[2, 4])", "verification passed"),
    ("resizefix.check(model)", "tensorrt-10"),
    ('resizefix.legalize(model, target="tensorrt-8.0")', "changed"),
    ("resizefix.verify(model, model)", "bitwise equal"),
)


def test_a_notebook_shows_a_table_for_each_of_the_five_calls():
    book = nbformat.v4.new_notebook()
    book.cells = [nbformat.v4.new_code_cell(f"import resizefix\nmodel = {str(SRCNN)!r}")]
    book.cells += [nbformat.v4.new_code_cell(call) for call, _ in CELLS]
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    for cell, (_, word) in zip(book.cells[1:], CELLS, strict=True):
        shown = cell.outputs[-1]["data"]["text/html"]
        assert shown.startswith("<table>")
        assert word in shown


def test_no_name_of_a_file_is_markup_in_a_notebook(tmp_path):
    import onnx

    onnx.save(hostile(), tmp_path / "h.onnx")
    for shown in (resizefix.inspect(tmp_path / "h.onnx"), *resizefix.check(tmp_path / "h.onnx")):
        text = shown._repr_html_()
        assert HOSTILE not in text
        assert "<script" not in text
        html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parseFragment(text)


def test_of_many_rows_the_first_fifty_are_shown():
    from resizefix.library.inspect import Sites

    sites = Sites(resizefix.inspect(SRCNN) * 60)
    assert "<p>10 more rows</p>" in sites._repr_html_()
    assert sites._repr_html_().count("<tr>") == 51

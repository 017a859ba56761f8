"""Templates take any text as text, and nothing in them is left to chance."""

from __future__ import annotations

import html.parser
from pathlib import Path

import pytest
from child_python import ended
from fixture_models import SRCNN
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError

import resizefix
from resizefix.printable import printable
from resizefix.reports.page import _templates, page

FOLDER = Path(resizefix.__file__).parent / "reports" / "templates"
NAMES = sorted(path.name for path in FOLDER.iterdir())


class Tags(html.parser.HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@given(st.text())
def test_any_text_goes_in_and_comes_out_as_the_same_text(text):
    template = _templates().from_string('<p title="{{ text }}">{{ text }}</p>')
    found = Tags(template.render(text=text))
    assert found.tags == [("p", {"title": printable(text)})]
    assert found.text == printable(text)


@given(st.text(min_size=1))
def test_what_passes_through_macros_is_text_too(text):
    template = _templates().from_string(
        '{% from "parts.html.j2" import breakable, change_lines %}{{ breakable(text) }}{{ change_lines(text, text) }}'
    )
    found = Tags(template.render(text=text))
    assert {tag for tag, _ in found.tags} <= {"wbr", "pre", "code", "del", "ins", "span"}
    assert found.text.startswith(printable(text))


@pytest.mark.parametrize("name", NAMES)
def test_every_template_compiles_and_escapes(name):
    assert name.endswith(".html.j2")
    _templates().get_template(name)
    text = (FOLDER / name).read_text(encoding="utf-8")
    # The style sheet and the script, which the package has.
    assert text.count("safe") == (2 if name == "base.html.j2" else 0)
    assert "autoescape" not in text


def test_a_value_that_a_page_lacks_is_an_error_and_no_gap():
    with pytest.raises(UndefinedError):
        page("inspect", None, "line", cards=[])


def test_jinja_is_loaded_for_a_page_alone(tmp_path):
    run = "try: main(sys.argv[1:])\nfinally: print('jinja2' in sys.modules)"
    code = f"import sys; from resizefix.cli import main\n{run}"
    for words, loads in (("--markdown",), "False"), (("--html", str(tmp_path / "page.html")), "True"):
        done = ended("-c", code, "inspect", str(SRCNN), *words)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1] == loads

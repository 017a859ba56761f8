import html.parser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resizefix.printable import printable
from resizefix.reports.markup import Markup, element, escaped, join


class Tags(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


@given(st.text())
def test_any_text_goes_in_and_comes_out_as_the_same_text(text):
    found = Tags(element("p", text, title=text))
    assert found.tags == [("p", {"title": printable(text)})]
    assert found.text == printable(text)


def test_markup_is_not_escaped_twice():
    assert element("p", element("b", "a<b")) == "<p><b>a&lt;b</b></p>"
    assert join("a<", Markup("<br>"), None) == "a&lt;<br>"
    assert escaped(Markup("<i>")) == "<i>"


@pytest.mark.parametrize(
    ("attributes", "written"),
    [
        ({"class_": "a"}, ' class="a"'),
        ({"aria_label": "a"}, ' aria-label="a"'),
        ({"hidden": True}, " hidden"),
        ({"hidden": False, "title": None}, ""),
    ],
)
def test_attributes_are_written_as_html_has_them(attributes, written):
    assert element("p", **attributes) == f"<p{written}></p>"


def test_void_elements_have_no_end():
    assert element("input", name="a") == '<input name="a">'

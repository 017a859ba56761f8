"""The pages in a real browser: nothing is refused by their policy, nothing sticks out of a phone, the filter works."""

import html
import json
import re
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import pytest
from report_models import FED, PLAIN, document, many

from resizefix.document.document import Document
from resizefix.operations.diff import diff
from resizefix.outcome import Differences, TensorDifference
from resizefix.reports.comparison import compare
from resizefix.reports.html import diff_page, inspect_page
from resizefix.reports.survey import Survey
from resizefix.verification.verification import Run, Verification, VerificationStatus

CHROMIUM = shutil.which("chromium", path="/usr/bin")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no /usr/bin/chromium here")
NEARLY = TensorDifference("y", False, 1e-7, 1e-7, "why")
VERIFICATION = Verification(
    VerificationStatus.FAILED,
    f"what differs is {'long' * 40}",
    tuple(
        Run({"t" * 60: [1.0, 1.0, 2.5, 2.5]}, {"x": [1, 3, 8, 8]}, level, Differences((NEARLY,)))
        for level in (False, True)
    ),
)
DARK = ["--blink-settings=preferredColorScheme=0"]


def chromium(*options, page):
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
    command += ["--hide-scrollbars", "--enable-logging=stderr", "--virtual-time-budget=2000", *options]
    return subprocess.run([*command, f"file://{page}"], capture_output=True, text=True, timeout=120, check=True)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    before, after = document(PLAIN), document(FED)
    texts = {
        "inspect": inspect_page("plain.onnx", Survey(document(PLAIN))),
        "diff": diff_page("before.onnx", "after.onnx", compare(before, after, diff(before, after))),
        "verify": diff_page("before.onnx", "after.onnx", compare(before, after, diff(before, after)), VERIFICATION),
        "many": inspect_page("many.onnx", Survey(Document.from_proto(many(40, alike=False)))),
    }
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return folder


def answer(pages, frames, script):
    """What a script says that sees `frames`, the documents of the pages in frames of those widths, and stderr."""
    outer = pages / "frames.html"
    framed = "".join(f'<iframe src="{name}.html" style="border:0;width:{width}px"></iframe>' for name, width in frames)
    outer.write_text(
        f"<body>{framed}<script>onload = () => {{ const frames = [...document.querySelectorAll('iframe')]"
        f".map(frame => frame.contentDocument); document.title = JSON.stringify((() => {{ {script} }})()); }};"
        "</script>",
        encoding="utf-8",
    )
    done = chromium("--dump-dom", page=outer)
    return json.loads(html.unescape(re.search("<title>(.*?)</title>", done.stdout)[1])), done.stderr


def test_no_page_is_wider_than_the_screen_or_refused_anything_by_its_policy(pages):
    frames = [(name, width) for name in ("inspect", "diff", "verify", "many") for width in (360, 390, 1280)]
    widths, said = answer(pages, frames, "return frames.map(page => page.documentElement.scrollWidth)")
    assert widths == [width for _, width in frames]
    assert "Content Security Policy" not in said
    assert "Uncaught" not in said


def test_drawings_need_no_scrolling_on_a_phone(pages):
    script = "return [...frames[0].querySelectorAll('.picture')].map(one => one.scrollWidth - one.clientWidth)"
    assert answer(pages, [("diff", 360)], script)[0] == [0, 0]


def test_the_filter_shows_itself_and_then_what_is_asked_for(pages):
    script = """
        const [page] = frames;
        const form = page.querySelector('form');
        if (form.hidden) return 'the form is hidden';
        form.elements.namedItem('words').value = 'up_blocks.3 upsamplers.7';
        form.dispatchEvent(new Event('input'));
        const shown = [...page.querySelectorAll('.site')].filter(site => !site.hidden);
        const status = form.querySelector('[role=status]').textContent;
        form.querySelector('button').click();
        return [shown.map(site => site.id), status, shown[0].querySelector('details').open];
    """
    assert answer(pages, [("many", 1280)], script)[0] == [["site-37"], "1 of 40 shown", True]


def pixels(path):
    """Width, height and the rows of a PNG, each with its filter's number before it."""
    data, at, body = Path(path).read_bytes(), 8, b""
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        if data[at + 4 : at + 8] == b"IHDR":
            width, height = struct.unpack(">II", data[at + 8 : at + 16])
        if data[at + 4 : at + 8] == b"IDAT":
            body += data[at + 8 : at + 8 + length]
        at += length + 12
    return width, height, zlib.decompress(body)


def test_a_screenshot_shows_something_and_another_in_the_dark(pages, tmp_path):
    shots = []
    for number, options in enumerate(([], DARK)):
        path = tmp_path / f"{number}.png"
        chromium(f"--screenshot={path}", "--window-size=1280,900", *options, page=pages / "diff.html")
        width, height, rows = pixels(path)
        assert (width, height) == (1280, 900)
        assert sum(byte != 0 for byte in rows) > 20_000  # a blank picture's filtered rows are zeros
        shots.append(rows[1:4])  # the first pixel; nothing stands before it that a filter could take away
    assert shots == [bytes.fromhex("ffffff"), bytes.fromhex("0d1117")]

"""A suggested command can be typed as it stands: in a POSIX shell, in cmd and in PowerShell."""

import os
import shlex
import subprocess

import pytest

from resizefix.words import joined, quoted

WORDS = [
    "m.onnx",
    r"C:\My Models\m.onnx",
    "it's.onnx",
    "#0",
    "scales=1,1,2,2",
    "[a-z]*",
    'say "x"',
    "folder\\",
    "C:/a b/\\",
]


@pytest.mark.parametrize("word", WORDS)
def test_a_posix_shell_reads_the_word_back(word):
    assert shlex.split(quoted(word, windows=False)) == [word]


@pytest.mark.parametrize("word", WORDS)
def test_on_windows_no_single_quote_is_used_and_programs_read_the_word_back(word):
    shown = quoted(word, windows=True)
    assert not shown.startswith("'")
    # What programs there make of a line is what list2cmdline writes for them, apart from quotes that are not needed.
    needed = subprocess.list2cmdline([word])
    assert shown in (needed, f'"{needed}"', f'"{word}"')


def test_what_powershell_would_take_for_a_comment_or_a_list_is_quoted():
    assert [quoted(word, windows=True) for word in ("#0", "1,2", "@x")] == ['"#0"', '"1,2"', '"@x"']
    assert quoted(r"C:\models\m.onnx", windows=True) == r"C:\models\m.onnx"


def test_words_are_joined_for_this_system():
    assert shlex.split(joined(["a b", "c"])) == ["a b", "c"]


NOT_SHOWN = [
    b"mod\xe9le.onnx",
    b"it's \xff\\7.onnx",
    b"a\nb.onnx",
    b"\x1b[31m.onnx",
    b"\xe2\x80\xaex.onnx",
    b"\xe9" * 3 + b"1",
]


@pytest.mark.skipif(os.name == "nt", reason="file names are text there")
@pytest.mark.parametrize("name", NOT_SHOWN)
def test_a_shell_reads_back_a_name_that_cannot_be_shown(name):
    word = quoted(os.fsdecode(name), windows=False)
    assert word.isprintable()
    said = subprocess.run(["bash", "-c", f"printf %s {word}"], capture_output=True, check=True)
    assert said.stdout == name

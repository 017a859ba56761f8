"""A suggested command can be typed as it stands: in a POSIX shell, in cmd and in PowerShell."""

import shlex
import subprocess

import pytest

from resizefix.shell_words import joined, quoted

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

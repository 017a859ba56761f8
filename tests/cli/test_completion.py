"""Completion as docs/how-to/pipelines.md sets it up, asked the way a shell asks."""

import os
import shutil
import subprocess
import sys

import pytest


def asked(words: str, at: int) -> list[str]:
    """What the shell is answered: a kind and a word, line by line."""
    program = "import sys; sys.argv[0] = 'resizefix'; from resizefix.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "_RESIZEFIX_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(at)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.splitlines()


def completions(words: str, at: int) -> list[str]:
    return [line.split(",", 1)[-1] for line in asked(words, at)]


def test_commands_complete():
    assert completions("resizefix pro", 1) == ["promote-scales"]
    assert {"inspect", "check", "trt-legacy"} <= set(completions("resizefix ", 1))


def test_options_complete():
    assert "--allow-coupled" in completions("resizefix promote-scales --allow", 2)


def test_choices_and_targets_complete():
    assert completions("resizefix promote-scales --form sp", 3) == ["spatial"]
    assert completions("resizefix check --target tensorrt-8.", 3) == ["tensorrt-8.0", "tensorrt-8.4", "tensorrt-8.5"]
    assert completions("resizefix legalize --target onnx", 3) == ["onnxruntime"]


def test_models_complete_as_files():
    for command in ("inspect", "check", "promote-scales", "verify", "diff"):
        assert asked(f"resizefix {command} ", 2) == ["file,"]


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_takes_the_script():
    program = "import sys; sys.argv[0] = 'resizefix'; from resizefix.cli import main; main()"
    script = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "_RESIZEFIX_COMPLETE": "bash_source"},
        capture_output=True,
        text=True,
    ).stdout
    said = subprocess.run(["bash", "-c", f"{script}\ncomplete -p resizefix"], capture_output=True, text=True)
    assert "_resizefix_completion" in said.stdout, said.stderr

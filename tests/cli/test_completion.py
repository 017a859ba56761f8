"""Completion as docs/how-to/pipelines.md sets it up, asked the way a shell asks, and in real shells."""

import os
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from child_python import ended

fcntl, pty, termios = (pytest.importorskip(name) for name in ("fcntl", "pty", "termios"))
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "pipelines.md"


def asked(words: str, at: int) -> list[str]:
    """What the shell is answered: a kind and a word, line by line."""
    program = "import sys; sys.argv[0] = 'resizefix'; from resizefix.cli import main; main()"
    settings = {"_RESIZEFIX_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(at)}
    return ended("-c", program, env=os.environ | settings).stdout.splitlines()


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


def test_names_of_nodes_complete_from_the_model_that_was_typed():
    model = PAGE.parents[2] / "fixtures" / "unet_nearest_opset11.onnx"
    assert completions(f"resizefix promote-scales {model} out.onnx --node /Res", 5) == ["/Resize", "/Resize_1"]
    assert "".join(completions("resizefix promote-scales nowhere.onnx out.onnx --node /Res", 5)) == ""


def test_models_complete_as_files():
    for command in ("inspect", "check", "promote-scales", "verify", "diff"):
        assert asked(f"resizefix {command} ", 2) == ["file,"]


SHELLS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
# What the page says must be loaded before.
BEFORE = {"zsh": "autoload -Uz compinit && compinit -u; "}
ASKS_WHAT_TERMINAL_THIS_IS = re.compile(r"\x1b\[0?c")
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture(params=SHELLS)
def shell(tmp_path, request):
    """Types into an interactive shell that was set up as the page says; answers whether `expected` shows up."""
    if shutil.which(request.param) is None:
        pytest.skip(f"no {request.param} here")
    program = tmp_path / "bin" / "resizefix"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom resizefix.cli import main\nmain()\n")
    program.chmod(0o755)
    (tmp_path / "a_network.onnx").touch()
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "TERM": "xterm", "PS1": "> ", "HOME": str(tmp_path)}
    terminal, its_side = pty.openpty()
    process = subprocess.Popen(
        SHELLS[request.param],
        cwd=tmp_path,
        env=environment,
        stdin=its_side,
        stdout=its_side,
        stderr=its_side,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # fish wants a terminal of its own
    )

    def typed(keys: str, expected: str) -> bool:
        os.write(terminal, keys.encode())
        seen, deadline = "", time.monotonic() + 30
        while expected not in ESCAPES.sub("", seen) and time.monotonic() < deadline:
            if select.select([terminal], [], [], 1)[0]:
                heard = os.read(terminal, 4096).decode(errors="replace")
                if ASKS_WHAT_TERMINAL_THIS_IS.search(heard):
                    os.write(terminal, b"\x1b[?62;c")
                seen += heard
        return expected in ESCAPES.sub("", seen)

    page = PAGE.read_text(encoding="utf-8")
    (setting_up,) = re.findall(rf"^(.*_RESIZEFIX_COMPLETE={request.param}_source.*?) +#", page, re.MULTILINE)
    assert typed(f"{BEFORE.get(request.param, '')}{setting_up}; echo rea''dy\r", "ready")
    yield typed
    process.kill()
    process.wait()
    os.close(terminal)
    os.close(its_side)


def test_the_tab_key_completes_in_a_real_shell(shell):
    clear = "\x15"  # what was typed so far
    assert shell("resizefix promote\t", "promote-scales")
    assert shell(f"{clear}resizefix promote-scales --allow-c\t", "--allow-coupled")
    assert shell(f"{clear}resizefix check --target tensorrt-r\t", "tensorrt-rtx")
    assert shell(f"{clear}resizefix inspect a_net\t", "a_network.onnx")

"""Between the program and the operation of a command stand few functions: a reader follows them in one sitting."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from fixture_models import SRCNN

import resizefix
from resizefix.cli import main

PACKAGE = Path(resizefix.__file__).parent
MOST = 6
CALLS = {
    "promote-scales": (),
    "freeze-scales": (),
    "trt-legacy": (),
    "legalize": ("--target", "tensorrt-8.0"),
    "repair": (),
    "set": ("mode=linear",),
}


def frames_before_the_operation(words: list[str]) -> list[str]:
    """The functions of the package that have begun when the first one of operations/ does, `main` first."""
    entered: list[list[str]] = []

    def own(frame) -> str | None:
        path = Path(frame.f_code.co_filename)
        return path.relative_to(PACKAGE).as_posix() if path.is_relative_to(PACKAGE) else None

    def profile(frame, event, _) -> None:
        if event != "call" or entered or not (own(frame) or "").startswith("operations/"):
            return
        functions: list[str] = []
        while (frame := frame.f_back) is not None:
            if (path := own(frame)) is not None:
                functions.append(f"{path}:{frame.f_code.co_name}")
        if not any(name.endswith(":<module>") for name in functions):  # imports are no calls
            entered.append(functions[::-1])

    sys.setprofile(profile)
    try:
        main(words)
    except SystemExit:
        pass
    finally:
        sys.setprofile(None)
    return entered[0]


@pytest.mark.parametrize("command", CALLS)
def test_at_most_six_functions_stand_between_main_and_the_operation(command, tmp_path):
    model = tmp_path / "model.onnx"
    shutil.copy(SRCNN, model)
    first, *between = frames_before_the_operation([command, str(model), "--dry-run", "--no-verify", *CALLS[command]])
    assert first == "cli/__init__.py:main"
    assert 3 <= len(between) <= MOST, between

"""What some tests measure belongs to a version: with an older one they are skipped, and the reason is printed."""

import gc
import json
import os
import signal
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any

import pytest
from forked_commands import Commands
from hypothesis import HealthCheck, settings

# How long an example takes is the machine's: no test fails by it.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The same examples in each run: whether a change lands is not drawn. Without it each run draws other ones.
settings.register_profile("repeatable", settings.get_profile("untimed"), derandomize=True)
settings.load_profile("untimed")


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs a command of these words: its exit code, stdout and stderr."""
    from resizefix.cli import main

    def run(*words: object) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return int(ended.value.code or 0), said.out, said.err

    return run


@pytest.fixture
def answered(call: Callable[..., tuple[int, str, str]]) -> Callable[..., dict[str, Any]]:
    """The JSON document of a command; its exit code is that of the command."""

    def run(*words: object) -> dict[str, Any]:
        code, text, _ = call(*words, "--json")
        answer: dict[str, Any] = json.loads(text)
        assert answer["exit_code"] == code
        return answer

    return run


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Callable[..., object]:
    """Lets TensorRT answer this; returns who was asked."""
    from live_parser import StandIn

    def install(*answers: object) -> object:
        stand = StandIn(*answers)
        monkeypatch.setattr("resizefix.library.live.LiveParser", stand)
        return stand

    return install


@pytest.fixture(scope="session")
def commands() -> Iterator[Commands]:
    """Runs commands in processes of their own, which are forked from one."""
    if not hasattr(os, "fork"):
        pytest.skip("no process can be forked here")
    with Commands() as started:
        yield started


def pytest_configure(config: pytest.Config) -> None:
    gc.disable()  # what is collected stays until the end: looking for garbage in it is a fifth of the time
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background of a script; commands inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    said = "measured_on(package, first, otherwise): the first version that behaves so, and how older ones behave"
    config.addinivalue_line("markers", said)


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("measured_on"):
        package, first, otherwise = marker.args
        if _numbers(version(package)) < _numbers(first):
            pytest.skip(f"measured on {package} ≥ {first}; in {version(package)} {otherwise}")


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(".")[:2])

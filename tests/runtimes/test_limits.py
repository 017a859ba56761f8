"""Runs are broken off when their time is up, by one thread for all of them."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import pytest

from resizefix.runtimes.limits import Limits, TimeIsUpError


def options() -> SimpleNamespace:
    return SimpleNamespace(terminate=False)


def test_a_run_is_broken_off_when_its_time_is_up_and_no_other_is():
    later, soon, endless = Limits.starting_now(60, None), Limits.starting_now(0.1, None), Limits()
    runs = [options(), options(), options()]
    with later.breaking_off(runs[0]), endless.breaking_off(runs[1]), soon.breaking_off(runs[2]):
        until = time.monotonic() + 5
        while not runs[2].terminate and time.monotonic() < until:
            time.sleep(0.01)
    assert [run.terminate for run in runs] == [False, False, True]


def test_a_run_that_ended_is_not_broken_off_and_none_begins_when_time_is_up():
    limits, run = Limits.starting_now(0.05, None), options()
    with limits.breaking_off(run):
        pass
    time.sleep(0.1)
    assert not run.terminate
    with pytest.raises(TimeIsUpError), limits.breaking_off(run):
        raise AssertionError


def test_a_thousand_limits_take_one_thread():
    before = threading.active_count()
    for _ in range(1000):
        with Limits.starting_now(60, None).breaking_off(options()):
            pass
    assert threading.active_count() <= before + 1

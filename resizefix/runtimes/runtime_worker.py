"""The process that holds a runtime: loads and runs one model for each request. runtime.py asks it.

It may be another Python than this package's own, which has the runtime and numpy and none of our dependencies. The
answer comes in stages, each sent before the next step, because a later step may crash the process: `started` (or
`unavailable`, and nothing more), `loaded`, then `ran` for each set of feeds; `refused` wherever the runtime raised.
Models that are timed against each other are `kept` or `dropped`, each with its number, then `timed` once for all. They
take turns, so that whatever else the machine does falls on all of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from resizefix.runtimes.confinement import confine

Packed = tuple[str, tuple[int, ...], bytes]  # of an array: the type as numpy spells it, the shape, the elements
_confined = False

TURN = 0.01
"""Seconds that one turn takes at least: short runs are repeated, so that threads of the one before are at rest."""
_MOST_A_TURN = 200
_HOPELESS = (8.0, 2.0)
"""How many times as long as the fastest of several a run may take and stay: in the first rounds, and after."""
_FIRST = 2
_FEW = 2


def work(request: Mapping[str, Any], send: Callable[[dict[str, Any]], None]) -> None:
    """Answer one request: `adapter`, `options`, `folder`, `memory`; and `path` of the model, `outputs`, a list `feeds`;
    or a list `models` of such, each with its own `feeds`, and `rounds` and `seconds` to time them."""
    global _confined
    if not _confined:
        confine(request["folder"], request["memory"])
        _confined = True

    def say(stage: str, **fields: object) -> None:
        send({"stage": stage, **fields})

    try:
        adapter = import_module(f"resizefix.runtimes.adapters.{request['adapter']}")
        say("started", runtime=adapter.version(request["options"]))
    except Exception as error:  # a package that is not there, or broken, raises what it likes
        say("unavailable", missing=isinstance(error, ModuleNotFoundError), reason=_text(error))
        return
    try:
        if "models" in request:
            _load_and_time(adapter, request, say)
        else:
            _load_and_run(adapter, request, say)
    except Exception as error:  # the runtime's own exceptions share no base class
        say("refused", reason=_text(error))


def _load_and_run(adapter: Any, request: Mapping[str, Any], say: Callable[..., None]) -> None:
    from resizefix.runtimes.adapters import ModelToLoad

    feeds = [{name: unpacked(value) for name, value in one.items()} for one in request["feeds"]]
    outputs = tuple(request["outputs"])
    model = ModelToLoad(request["path"], request["folder"], feeds[0], outputs)
    run = adapter.load(model, request["options"])
    say("loaded")
    for one in feeds:
        results = list(run(one))
        if len(results) != len(outputs):
            raise ValueError(f"the model has {len(outputs)} output{'s' * (len(outputs) != 1)}, and {len(results)} came")
        say("ran", outputs=[packed(value) for value in results])


def _load_and_time(adapter: Any, request: Mapping[str, Any], say: Callable[..., None]) -> None:
    """All models loaded and run once, for what they give; then those that ran, in turns."""
    import os

    from resizefix.runtimes.adapters import ModelToLoad

    runs: dict[int, Callable[[], object]] = {}
    for number, one in enumerate(request["models"]):
        folder = os.path.join(request["folder"], f"model-{number}")  # some write files next to the model
        os.makedirs(folder, exist_ok=True)
        feeds = {name: unpacked(value) for name, value in one["feeds"].items()}
        try:
            run = adapter.load(ModelToLoad(one["path"], folder, feeds, tuple(one["outputs"])), request["options"])
            results = list(run(feeds))
        except Exception as error:
            say("dropped", number=number, reason=_text(error))
            continue
        say("kept", number=number, outputs=[packed(value) for value in results] if one["shown"] else None)
        runs[number] = partial(run, feeds)
    times = take_turns(list(runs.values()), request["rounds"], request["seconds"]) if runs else []
    say("timed", times=dict(zip(runs, times, strict=True)))


def take_turns(
    runs: Sequence[Callable[[], object]], rounds: int, seconds: float, now: Callable[[], float] = time.perf_counter
) -> list[list[float]]:
    """For each of `runs` the seconds of its fastest in every round.

    There are `rounds` of them, and more until `seconds` are over, up to four times as many. Of more than two, one that
    is hopeless stops taking part, but the first never, with which the others are compared. The order of a round is the
    other way round in the next.
    """
    times: list[list[float]] = [[] for _ in runs]
    begun, left = now(), list(range(len(runs)))
    done = 0
    while done < rounds or (now() - begun < seconds and done < 4 * rounds):
        for index in left if done % 2 == 0 else left[::-1]:
            times[index].append(_turn(runs[index], now))
        done += 1
        if len(runs) > _FEW:
            limit = _HOPELESS[done > _FIRST] * min(min(times[index]) for index in left)
            left = [index for index in left if index == 0 or min(times[index]) <= limit]
    return times


def _turn(run: Callable[[], object], now: Callable[[], float]) -> float:
    begun, best = now(), float("inf")
    for _ in range(_MOST_A_TURN):
        start = now()
        run()
        end = now()
        best = min(best, end - start)
        if end - begun >= TURN:
            break
    return best


def _text(error: Exception) -> str:
    return str(error).strip() or type(error).__name__


def packed(value: Any) -> Packed:
    """An array as plain data, which another Python with another numpy reads."""
    import numpy

    array = numpy.ascontiguousarray(value)
    return array.dtype.str, tuple(int(size) for size in numpy.shape(value)), array.tobytes()


def unpacked(value: Packed) -> Any:
    """The array again, which may be written to: some runtimes insist on it."""
    import numpy

    dtype, shape, data = value
    return numpy.frombuffer(bytearray(data), numpy.dtype(dtype)).reshape(shape)

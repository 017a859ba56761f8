"""What verifying many independent resizes costs, beside the sessions and runs of onnxruntime that it needs.

    python -m benchmarks.independent_resizes [MODEL.onnx | COUNT]...

The nodes of a COUNT all have one name, so that onnxruntime refuses the model as a whole and they are compared in
groups. `whole` is `resizefix promote-scales MODEL OUT`, the program from its start to its end. `needed` is a program of
numpy and onnxruntime alone that opens the very sessions that the command opened, with the same options, and runs them
on the same feeds; of it, `opened and run` leaves out its start. Seconds of the processor (user and system), and of the
clock; of several rounds the least. A ratio is the median of the rounds', in which the two run one after the other.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import onnx
from onnx import TensorProto, helper

import resizefix
from resizefix.runtimes.ort_session import Session

ROUNDS = 7
UNUSUAL = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")  # slow down every start, and every line that is printed
REPLAY = """
import pickle, sys, time
import numpy, onnxruntime as ort
ort.set_default_logger_severity(4)
with open(sys.argv[1], "rb") as file:
    recorded = pickle.load(file)
began = time.process_time()
for model, reuses, optimizes, runs in recorded:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.enable_mem_reuse = reuses
    if not optimizes:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"], enable_fallback=0)
    except Exception:
        continue  # the model as a whole, which does not load
    for feeds in runs:
        session.run(None, feeds)
print(time.process_time() - began)
"""


def independent_resizes(count: int) -> onnx.ModelProto:
    """`count` nodes named R that resize the input by one shared constant; each result is an output."""
    nodes = [helper.make_node("Resize", ["x", "", "s"], [f"y{index}"], "R", mode="nearest") for index in range(count)]
    graph = helper.make_graph(
        nodes,
        "independent",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 4, 4])],
        [helper.make_tensor_value_info(node.output[0], TensorProto.FLOAT, None) for node in nodes],
        [helper.make_tensor("s", TensorProto.FLOAT, [4], [1, 1, 2, 2])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


class Spent(NamedTuple):
    """Seconds of the processor and of the clock."""

    processor: float
    clock: float


def recorded(model: Path) -> list[Any]:
    """The sessions that a promotion opens, each with what it is fed, in order."""
    sessions: list[Any] = []
    by_session: dict[int, list[Any]] = {}
    load, invoke = Session._load, Session._invoke

    def loading(session: Session) -> Any:
        runs: list[Any] = []
        options = session._options
        optimizes = "DISABLE" not in str(options.graph_optimization_level)
        sessions.append((session._prepared.serialized, options.enable_mem_reuse, optimizes, runs))
        by_session[id(session)] = runs
        return load(session)

    def invoking(session: Session, feeds: Any) -> Any:
        by_session[id(session)].append(dict(feeds))
        return invoke(session, feeds)

    Session._load, Session._invoke = loading, invoking  # type: ignore[method-assign]
    try:
        result = resizefix.promote_scales(str(model), on_refusal="return")
    finally:
        Session._load, Session._invoke = load, invoke  # type: ignore[method-assign]
    assert result.verification.passed, result.verification.reason
    return sessions


def program(*arguments: str) -> tuple[Spent, str]:
    """What a Python program cost, and what it printed."""
    import resource  # which Windows does not have

    environment = {name: value for name, value in os.environ.items() if name not in UNUSUAL}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    done = subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True, env=environment)
    clock = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Spent(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, clock), done.stdout


def measured(model: Path, folder: Path) -> str:
    """A row of the table."""
    sessions = recorded(model)
    with open(folder / "sessions", "wb") as file:
        pickle.dump(sessions, file)
    rounds, opened_and_run = [], []
    for _ in range(ROUNDS):
        out = str(folder / "out.onnx")
        Path(out).unlink(missing_ok=True)
        whole, _ = program("-m", "resizefix", "promote-scales", str(model), out)
        needed, printed = program("-c", REPLAY, str(folder / "sessions"))
        rounds.append((whole, needed))
        opened_and_run.append(float(printed))
    cost, least = (Spent(*map(min, zip(*side, strict=True))) for side in zip(*rounds, strict=True))
    cells = [
        f"{len(onnx.load(model).graph.node):,}",
        str(len(sessions)),
        str(sum(len(runs) for *_, runs in sessions)),
        f"{cost.processor:.2f} / {cost.clock:.2f}",
        f"{least.processor:.2f} / {least.clock:.2f}",
        f"{min(opened_and_run):.2f}",
        " / ".join(f"{median(a[side] / b[side] for a, b in rounds):.2f}" for side in range(2)),
        f"{median(a.processor / b for (a, _), b in zip(rounds, opened_and_run, strict=True)):.2f}",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    head = (
        "nodes | sessions | runs | whole, s | needed, s | opened and run, s | whole / needed | whole / opened and run"
    )
    print(f"| {head} |\n|{'---|' * 8}")
    for argument in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as name:
            model = Path(argument)
            if argument.isdigit():
                model = Path(name) / "model.onnx"
                onnx.save(independent_resizes(int(argument)), model)
            print(measured(model, Path(name)), flush=True)


if __name__ == "__main__":
    main()

"""What verifying many independent resizes costs: `python -m benchmarks.independent_resizes 500 1000 3000`.

The nodes all have one name, so onnxruntime refuses the model as a whole and they are compared in groups. Seconds of the
processor, of which `sessions` were spent in onnxruntime; and how many sessions were opened and runs made.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import onnx
from onnx import TensorProto, helper

import resizefix
from resizefix.runtimes.ort_session import Session


def independent_resizes(count: int) -> onnx.ModelProto:
    """`count` nodes named R that resize the input by one shared constant; one result is the output."""
    nodes = [helper.make_node("Resize", ["x", "", "s"], [f"y{index}"], "R", mode="nearest") for index in range(count)]
    graph = helper.make_graph(
        nodes,
        "independent",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 4, 4])],
        [helper.make_tensor_value_info("y0", TensorProto.FLOAT, None)],
        [helper.make_tensor("s", TensorProto.FLOAT, [4], [1, 1, 2, 2])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


class Spent:
    """Counts calls of a method and the processor's time that they take."""

    def __init__(self, owner: type, name: str) -> None:
        self.calls, self.seconds = 0, 0.0
        self._method: Callable[..., Any] = getattr(owner, name)
        setattr(owner, name, lambda *given: self._timed(*given))

    def _timed(self, *given: Any) -> Any:
        began = time.process_time()
        try:
            return self._method(*given)
        finally:
            self.calls += 1
            self.seconds += time.process_time() - began


def measured(count: int, opened: Spent, run: Spent) -> str:
    """A row of the table."""
    model = independent_resizes(count)
    before = opened.calls, run.calls, opened.seconds + run.seconds
    began = time.process_time()
    result = resizefix.promote_scales(model)
    verified = time.process_time() - began
    assert result.verification.passed, result.verification.reason
    began = time.process_time()
    resizefix.promote_scales(model, verify=False)
    unverified = time.process_time() - began
    spent = opened.seconds + run.seconds - before[2]
    counts = f"{opened.calls - before[0]} | {run.calls - before[1]}"
    return f"| {count:,} | {counts} | {spent:.2f} | {verified - unverified:.2f} | {unverified:.2f} |"


def main() -> None:
    """Print the table."""
    spent = Spent(Session, "_load"), Spent(Session, "_invoke")
    measured(2, *spent)  # imports
    print("| nodes | sessions | runs | in onnxruntime, s | verification, s | promotion, s |\n|---|---|---|---|---|---|")
    for argument in sys.argv[1:]:
        print(measured(int(argument), *spent))


if __name__ == "__main__":
    main()

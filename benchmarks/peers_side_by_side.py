"""Ten models through `resizefix repair`, onnxslim, onnxsim and polygraphy: `python benchmarks/peers_side_by_side.py`.

Each command runs as its help says, in a process of its own. The result is compared in onnxruntime, optimisation off,
with the right model: the input itself, or for a broken file the one in fixtures/broken/reference. Printed are two
tables, a row for each model and a row for each tool.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnxruntime

FIXTURES = Path(__file__).parents[1] / "fixtures"
BROKEN = FIXTURES / "broken"
SOUND = ("srcnn_x3_opset11", "unet_nearest_opset11", "bisenet_x8_linear_opset11", "esrgan_x4_opset17")
REPAIRABLE = (
    "duplicate_output_name_01",
    "fp16_scales_const_02",
    "mode_bilinear_opset11",
    "lost_asymmetric_01",
    "frozen_batch_01",
    "quantised_scales_8_bits",
)
TOOLS: Mapping[str, Callable[[str, str], list[str]]] = {
    "resizefix repair": lambda before, after: ["resizefix", "repair", before, after, "--copy-unchanged"],
    "onnxslim": lambda before, after: ["onnxslim", before, after],
    "onnxsim": lambda before, after: ["onnxsim", before, after],
    "polygraphy surgeon sanitize --fold-constants": lambda before, after: [
        *("polygraphy", "surgeon", "sanitize", "--fold-constants"), before, "-o", after
    ],
}  # fmt: skip
OTHERS = "onnxslim onnxsim polygraphy onnx-graphsurgeon onnxruntime"
RUNS = 3
EQUAL = "equal"


class Model(NamedTuple):
    """A file, the right one, and what both are fed: shapes by the names of inputs."""

    name: str
    before: Path
    right: Path
    feeds: Mapping[str, Sequence[int]]


class Run(NamedTuple):
    """What a command took, printed and answered."""

    seconds: float
    printed: str
    code: int

    @property
    def lines(self) -> int:
        """How many lines are not empty."""
        return sum(bool(line.strip()) for line in self.printed.splitlines())


def models() -> list[Model]:
    """Four exports that are right as they are, and six files that a converter broke."""
    sound = {entry["file"]: entry for entry in json.loads((FIXTURES / "index.json").read_text())}
    broken = {entry["id"]: entry for entry in json.loads((BROKEN / "index.json").read_text())}
    chosen = []
    for name in SOUND:
        path, feeds = FIXTURES / f"{name}.onnx", sound[f"{name}.onnx"]["feeds"]
        chosen.append(Model(name, path, path, {key: [*map(int, text.split("x"))] for key, text in feeds.items()}))
    for name in REPAIRABLE:
        (feed,) = broken[name]["compare"]["feeds"]
        chosen.append(Model(name, BROKEN / f"{name}.onnx", BROKEN / "reference" / f"{name}.onnx", feed))
    return chosen


def ran(words: Sequence[str], tools: Path | None) -> Run:
    """The command, out of the folder `tools` if it lies there; this package's is run by this Python."""
    program, *rest = words
    of_tools = None if tools is None else shutil.which(program, path=str(tools))
    command = [sys.executable, "-m", "resizefix"] if program == "resizefix" else [of_tools or program]
    began = time.perf_counter()
    try:
        done = subprocess.run([*command, *rest], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
    except FileNotFoundError:
        raise SystemExit(f"{program} is not installed: pip install {OTHERS}") from None
    return Run(time.perf_counter() - began, done.stdout.decode("utf-8", "replace"), done.returncode)


def computed(path: Path, feeds: Mapping[str, Sequence[int]]) -> list[Any]:
    """The outputs of a model for seeded values of these shapes. Raises what onnxruntime raises."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    types = {node.name: node.type for node in session.get_inputs()}
    values = np.random.default_rng(0)
    fed = {name: values.standard_normal(shape).astype(np.float32) for name, shape in feeds.items()}
    for name, kind in types.items():
        if kind == "tensor(float16)":
            fed[name] = fed[name].astype(np.float16)
    return list(session.run(None, fed))


def judged(model: Model, after: Path, run: Run) -> str:
    """What became of the model, in a few words; how far its outputs are apart, as a share of the largest value."""
    if not after.exists():
        return f"writes nothing, exit code {run.code}"
    try:
        outputs = computed(after, model.feeds)
    except Exception:  # onnxruntime's errors have no common class that it promises
        return "does not run"
    apart = 0.0
    for right, output in zip(computed(model.right, model.feeds), outputs, strict=True):
        if right.shape != output.shape:
            return f"runs, output {'x'.join(map(str, output.shape))} instead of {'x'.join(map(str, right.shape))}"
        difference = np.abs(right.astype(np.float64) - output.astype(np.float64)).max()
        apart = max(apart, float(difference / np.abs(right.astype(np.float64)).max()))
    return EQUAL if apart == 0 else f"runs, differs by {apart:.2g}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    return "\n".join(["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)])


def main() -> int:
    """Run, judge, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tools", type=Path, help="the folder that holds the other commands (bin of an environment)")
    parser.add_argument("--runs", type=int, default=RUNS)
    arguments = parser.parse_args()
    chosen, verdicts, runs = models(), {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for model in chosen:
            for tool, words in TOOLS.items():
                after = Path(folder, "after.onnx")
                for _ in range(arguments.runs):
                    after.unlink(missing_ok=True)
                    runs.setdefault((tool, model.name), []).append(
                        ran(words(str(model.before), str(after)), arguments.tools)
                    )
                verdicts[tool, model.name] = judged(model, after, runs[tool, model.name][-1])
        after.unlink(missing_ok=True)
        missing = {
            tool: ran(words("missing.onnx", f"{folder}/after.onnx"), arguments.tools) for tool, words in TOOLS.items()
        }
    print(table(["model", *TOOLS], [[one.name, *(verdicts[tool, one.name] for tool in TOOLS)] for one in chosen]))
    rows = []
    for tool in TOOLS:
        of_tool = [verdicts[tool, model.name] for model in chosen]
        all_runs = [run for model in chosen for run in runs[tool, model.name]]
        wrong = missing[tool]
        last = wrong.printed.strip().splitlines()[-1] if wrong.printed.strip() else ""
        rows.append(
            [
                tool,
                f"{sum(word.startswith((EQUAL, 'runs')) for word in of_tool)} of {len(chosen)}",
                f"{of_tool.count(EQUAL)} of {len(chosen)}",
                f"{statistics.median(run.seconds for run in all_runs):.1f}",
                f"{statistics.median(run.lines for run in all_runs):.0f}",
                f"{wrong.lines} line{'s' * (wrong.lines != 1)}{', a traceback' * ('Traceback' in wrong.printed)}; "
                f"exit code {wrong.code}",
                f"`{last}`",
            ]
        )
    print()
    print(
        table(
            [
                "tool",
                "result runs",
                "equal",
                "seconds, median",
                "lines printed, median",
                "at a wrong path",
                "its last line",
            ],
            rows,
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

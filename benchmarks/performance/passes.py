"""What a promotion costs networks that people have, in forward passes of the original and in times of a copy.

`python -m benchmarks.performance.passes MODEL SHAPE RUNS` prints the processor's seconds of one forward pass.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.performance.networks import Built, autoencoder, coupled, in_the_middle
from benchmarks.performance.process import Taken, median, of_module, resizefix, run
from benchmarks.performance.streaming import write_embedded

SETTLE = 0.5  # seconds for the disk to forget what was removed
LONG = 5.0  # seconds of a forward pass: it and the proof are not repeated
LONGEST = 7200.0
SHORT = 0.5  # seconds that short forward passes are run for


@dataclass(frozen=True)
class Kind:
    """A network: what it is, how it is built, what is fed, and options of `promote-scales`."""

    what: str
    build: Callable[[], Built]
    shape: str
    options: tuple[str, ...] = ()


KINDS = (
    Kind(
        "U-Net 512×512, `--allow-coupled`",
        coupled,
        "1x3x512x512",
        ("--allow-coupled",),
    ),
    Kind("convolutions, two ×2 between, open sizes", partial(in_the_middle, 128), "1x3x32x32"),
    Kind("decoder, latent 64×64", autoencoder, "1x4x64x64"),
    Kind("1.4 GB of the same", partial(in_the_middle, 1856), "1x3x16x16"),
)


@dataclass(frozen=True)
class Cost:
    """A row. `times_cp`: wall time of `--no-verify` over that of cp and sync; `measured`: processor's time of a
    verified promotion over that of a forward pass; `stated`: the answer's `forward_passes`."""

    what: str
    megabytes: float
    forward: float
    stated: float
    measured: float
    times_cp: float
    own: float
    runs: int


def passes(folder: Path, runs: int) -> Iterator[Cost]:
    """The rows: in each round a forward pass, a copy, and both promotions, one after the other."""
    for kind in KINDS:
        before, after = folder / "passes.onnx", folder / "passes.after.onnx"
        write_embedded(*kind.build(), before)
        shape = ("--shape", f"input:{kind.shape.replace('x', ',')}")
        command = partial(resizefix, "promote-scales", str(before), str(after), "--force", *kind.options)
        forward: list[float] = []
        taken: dict[str, list[Taken]] = defaultdict(list)
        words = of_module("passes", str(before), kind.shape)
        for _ in range(runs):
            if not forward or forward[0] < LONG:
                forward.append(float(run(words, seconds=LONGEST, memory=1 << 40).stdout))
            for name, timed in (
                ("cp", ["sh", "-c", f"cp {before} {after} && sync {after}"]),
                ("bare", command("-q", "--no-verify")),
            ):
                after.unlink(missing_ok=True)
                os.sync()
                time.sleep(SETTLE)
                taken[name].append(run(timed))
            if not taken["proven"] or forward[0] < LONG:
                asked = command("--json", "--timeout", str(LONGEST), *shape)
                taken["proven"].append(run(asked, seconds=LONGEST, memory=1 << 40))
        size = before.stat().st_size / 1e6
        before.unlink()
        after.unlink(missing_ok=True)
        middle, once = {name: median(several) for name, several in taken.items()}, statistics.median(forward)
        proven = middle["proven"]
        if proven.exit_code != 0:
            raise SystemExit(f"{kind.what}: {proven.complaint}")
        stated = json.loads(proven.stdout)["verification"]["forward_passes"]
        times = statistics.median(bare.wall / cp.wall for bare, cp in zip(taken["bare"], taken["cp"], strict=True))
        yield Cost(
            kind.what,
            size,
            once,
            stated,
            (proven.user + proven.system) / once,
            times,
            proven.own / 1e6,
            len(taken["proven"]),
        )


def one_pass(path: str, shape: str) -> float:
    """The processor's seconds of a run without optimisation, on one thread."""
    import numpy as np
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = {"input": np.random.default_rng(0).standard_normal([*map(int, shape.split("x"))]).astype(np.float32)}
    began, count = time.process_time(), 0
    while not count or time.process_time() - began < SHORT:
        session.run(None, feed)
        count += 1
    return (time.process_time() - began) / count


if __name__ == "__main__":
    print(one_pass(*sys.argv[1:]))

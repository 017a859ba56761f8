"""Models through Dask while a worker is killed: `python benchmarks/killed_worker.py --models 500`.

Every model must be answered once, every promoted file must stand whole, and no unfinished file may be left. Exit code
0: so it was. Needs `pip install 'dask[distributed]'`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import resizefix

FIXTURES = Path(__file__).parents[1] / "fixtures"
KINDS = ("srcnn_x3_opset11", "bisenet_x8_nearest_opset9", "unet_nearest_opset11", "handmade/truncated")
ANSWERS = {
    "srcnn_x3_opset11": "1 passed",
    "bisenet_x8_nearest_opset9": "1 passed",
    "unet_nearest_opset11": "0 skipped",
    "truncated": "UnreadableModelError",
}


def promoted(path: str, folder: str) -> str:
    """As on docs/how-to/pipelines.md."""
    try:
        result = resizefix.promote_scales(path, on_refusal="return")
    except resizefix.ResizefixError as error:
        return type(error).__name__
    if result.changed:
        result.model.save(Path(folder) / Path(path).name, overwrite=True)
    return f"{len(result.inputs)} {result.verification.status.value}"


def main() -> int:
    """Run, kill, count."""
    from dask.distributed import Client, LocalCluster, as_completed

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=500)
    parser.add_argument("--kills", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        exported, written = Path(place, "exported"), Path(place, "any_scale")
        exported.mkdir()
        written.mkdir()
        models = []
        for number in range(arguments.models):
            kind = KINDS[number % len(KINDS)]
            models.append(str(exported / f"{number:04}-{Path(kind).name}.onnx"))
            shutil.copy(FIXTURES / f"{kind}.onnx", models[-1])
        began, killed = time.monotonic(), 0
        answers: list[tuple[str, str]] = []
        local = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
        with local as cluster, Client(cluster) as client:
            futures = client.map(promoted, models, folder=str(written), pure=False)
            by_key = {future.key: model for future, model in zip(futures, models, strict=True)}
            for future, answer in as_completed(futures, with_results=True):
                answers.append((by_key[future.key], answer))
                if killed < arguments.kills and len(answers) >= (killed + 1) * len(models) // (arguments.kills + 1):
                    busy = {worker for worker, keys in client.processing().items() if keys}
                    pids = {name: pid for name, pid in client.run(os.getpid).items() if name in busy}
                    if pids:
                        os.kill(next(iter(pids.values())), signal.SIGKILL)
                        killed += 1
        took = time.monotonic() - began
        counts = Counter(model for model, _ in answers)
        wrong = [(model, answer) for model, answer in answers if answer != ANSWERS[Path(model).stem.split("-", 1)[1]]]
        whole = [path for path in written.iterdir() if path.suffix == ".onnx"]
        scaled = sum(any(site.origin.kind.value == "graph-input" for site in resizefix.inspect(path)) for path in whole)
        left = [path.name for path in written.iterdir() if path.suffix != ".onnx"]
    expected = sum(ANSWERS[Path(model).stem.split("-", 1)[1]] == "1 passed" for model in models)
    lost = len(models) - len(counts)
    twice = sum(number > 1 for number in counts.values())
    print(
        f"{len(models)} models, {killed} workers killed, {took:.0f} s: {len(answers)} answers, {lost} lost, "
        f"{twice} answered twice, {len(wrong)} wrong; {scaled} of {expected} files promoted, "
        f"{len(left)} unfinished files left"
    )
    good = not (lost or twice or wrong) and killed == arguments.kills and scaled == len(whole) == expected
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

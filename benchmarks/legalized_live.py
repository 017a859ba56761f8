"""`legalize --target RUNTIME` of real models, run in that runtime and compared with the original in onnxruntime.

    python benchmarks/legalized_live.py MODELS mnn --every 8 --seconds 300

Right: every output within 1e-4 of its largest value. Each model with static sizes is run before and after; what is not
right afterwards is printed with what the runtime said. "resizes" counts models of which every resize was accepted or
rewritten; "other operators" are those that are wrong or refused though the resizes were.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

sys.path.append(str(Path(__file__).parents[1]))

import resizefix
from resizefix.document.document import Document
from resizefix.errors import ResizefixError
from resizefix.runtimes.catalogue import runtime_named
from resizefix.runtimes.inputs import model_inputs
from resizefix.runtimes.ort_session import open_session
from resizefix.runtimes.runtime import Ending, Runtime, RuntimeAnswer

RIGHT_WITHIN = 1e-4
MOST_ELEMENTS = 3_000_000
MOST_BYTES = 60_000_000
_DTYPES = {
    1: np.float32,
    2: np.uint8,
    3: np.int8,
    6: np.int32,
    7: np.int64,
    9: np.bool_,
    10: np.float16,
    11: np.float64,
}
Arrays = Mapping[str, npt.NDArray[Any]]


def judged(answer: object, wanted: Mapping[str, Any], *, flat: bool = False) -> tuple[str, str]:
    """right, wrong, shape, or how it ended, and why. `flat`: the runtime has no batch axis, and may drop ones."""
    if not isinstance(answer, RuntimeAnswer):
        return "not installed", str(getattr(answer, "reason", answer))
    if answer.ending is not Ending.RAN:
        return answer.ending.value, str(answer.message)
    for name, want in wanted.items():
        got = np.asarray(answer.results[0][name])
        if got.shape != want.shape and not (flat and got.size == want.size):
            return "shape", f"{got.shape} instead of {want.shape}"
        difference = np.abs(got.reshape(want.shape).astype(np.float64) - np.asarray(want, np.float64))
        largest = float(np.abs(np.asarray(want, np.float64)).max(initial=0))
        if want.size and not float(difference.max()) <= RIGHT_WITHIN * max(largest, 1e-6):
            return "wrong", f"{difference.max():.3g} where the largest value is {largest:.3g}"
    return "right", ""


def feeds_of(document: Document) -> dict[str, npt.NDArray[Any]] | None:
    """Random numbers for a model of static sizes; None for others, and for those whose scales are fed."""
    generator = np.random.default_rng(0)
    feeds: dict[str, npt.NDArray[Any]] = {}
    for entry in model_inputs(document.proto):
        if entry.has_default:
            continue
        shape = entry.shape
        dtype = _DTYPES.get(entry.elem_type or 0)
        if dtype is None or shape is None or any(not isinstance(size, int) for size in shape):
            return None
        sizes = [int(size) for size in shape]
        floating = np.issubdtype(dtype, np.floating)
        if np.prod(sizes) > MOST_ELEMENTS or len(sizes) < 2:  # the latter may be scales, sizes or a factor
            return None
        numbers = generator.normal(0, 1, sizes) if floating else generator.integers(0, 3, sizes)
        feeds[entry.name] = numbers.astype(dtype)
    return feeds


def outputs_of(path: Path) -> tuple[Arrays, Arrays] | str:
    """Feeds of a model and what onnxruntime makes of them; else why it is left out."""
    try:
        document = Document.open(path)
        feeds = feeds_of(document)
        if feeds is None:
            return "open sizes"
        outputs = open_session(document, optimized=False).run(feeds)
    except ResizefixError:
        return "onnxruntime does not run it"
    numbers = all(isinstance(value, np.ndarray) and value.dtype.kind in "fiub" for value in outputs.values())
    return (feeds, outputs) if numbers else "outputs that are no numbers"


def run_all(paths: Iterator[Path], runtime: Runtime, seconds: float) -> Counter[str]:
    """What becomes of each model, counted; all that is not right is printed."""
    counts: Counter[str] = Counter()
    end = time.monotonic() + seconds
    flat = runtime.row.name == "ncnn"
    for path in paths:
        if time.monotonic() > end:
            print("time is up")
            break
        known = outputs_of(path)
        if isinstance(known, str):
            counts[f"left out: {known}"] += 1
            continue
        feeds, wanted = known
        here = runtime.folder / "model.onnx"
        Document.open(path).save(here, overwrite=True)
        before, _ = judged(runtime.run(here, [feeds], list(wanted)), wanted, flat=flat)
        made = resizefix.legalize(str(path), target=runtime.row.name, verify=False)
        states = Counter(outcome.status.value for outcome in made.outcomes)
        made.model.save(here, overwrite=True)
        after, why = judged(runtime.run(here, [feeds], list(wanted)), wanted, flat=flat)
        group = "a resize refused" if states["refused"] else "resizes"
        counts[f"{group}: {before} before, {after} after"] += 1
        if after != "right":
            reasons = [str(outcome.reason)[:120] for outcome in made.outcomes if outcome.status.value == "refused"]
            print(f"{path}: {dict(states)} {before} -> {after} {why[-160:]!r} {'; '.join(reasons)}", flush=True)
    return counts


@click.command()
@click.argument("models", type=click.Path(exists=True, path_type=Path))
@click.argument("runtime")
@click.option("--every", default=1, help="Only every so manieth model.")
@click.option("--first", default=0, help="Begin with this one.")
@click.option("--seconds", default=600.0, help="Begin no model after this time.")
def main(models: Path, runtime: str, every: int, first: int, seconds: float) -> None:
    """Legalize the models of a folder for a runtime, and run them there."""
    paths = sorted(path for path in models.rglob("*.onnx") if path.stat().st_size < MOST_BYTES)
    with Runtime(runtime_named(runtime), time_limit=60) as asked:
        for what, count in sorted(run_all(iter(paths[first::every]), asked, seconds).items()):
            print(f"{count:5} {what}")


if __name__ == "__main__":
    main()

"""Raises every model of a folder to the newest opset known, and compares each with its original in onnxruntime.

    python benchmarks/raising_sweep.py FOLDER [--every 8] [--to 21]

Optimisation is disabled, so that every node runs as it stands; both are fed alike. Counts `bitwise`, `differs` (printed
with the largest difference, exit code 1), `refused` (by operator), `newest already` and `does not run` (the original).
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import click
import numpy as np

from resizefix.document.document import Document
from resizefix.document.scopes import default_opset
from resizefix.errors import ResizefixError
from resizefix.opsets.newest import NEWEST_RAISED
from resizefix.opsets.raising import raised_to
from resizefix.runtimes.inputs import model_inputs
from resizefix.runtimes.ort_session import CannotRunError, open_session
from resizefix.verification.feeds import Feeder
from resizefix.verification.fitting import fit_feeds


def judged(path: Path, to: int) -> tuple[str, str]:
    """What came of one model, and the details."""
    try:
        document = Document.open(path)
        if default_opset(document.proto.opset_import, fallback=1) >= to:
            return "newest already", ""
        session = open_session(document, optimized=False)
        fitted = fit_feeds(session, Feeder(model_inputs(document.proto), {}, 0))
    except ResizefixError as error:
        return "does not run", str(error)[:120]
    try:
        later = raised_to(document, to)
    except ResizefixError as error:
        operator = re.search(r"\b([A-Z]\w+) node\b", str(error))
        return "refused", operator[1] if operator else str(error)[:120]
    raised = open_session(later, optimized=False)
    found = raised.run(raised.taken(fitted.feeds))
    apart = [name for name, value in fitted.outputs.items() if not _same(value, found[name])]
    if not apart:
        return "bitwise", ""
    first = apart[0]
    wanted = np.asarray(fitted.outputs[first], np.float64)
    difference = float(np.abs(wanted - np.asarray(found[first], np.float64)).max())
    return "differs", f"{first}: {difference}"


def _same(one: object, other: object) -> bool:
    first, second = np.asarray(one), np.asarray(other)
    if first.dtype != second.dtype or first.shape != second.shape:
        return False
    return first.tobytes() == second.tobytes() if first.dtype.kind != "O" else bool(np.array_equal(first, second))


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(exists=True, path_type=Path))
@click.option("--every", default=1)
@click.option("--to", default=NEWEST_RAISED)
def main(folder: Path, every: int, to: int) -> None:
    """Prints the counts."""
    counts: Counter[str] = Counter()
    operators: Counter[str] = Counter()
    for path in sorted(folder.glob("**/*.onnx"))[::every]:
        try:
            outcome, why = judged(path, to)
        except CannotRunError as error:
            outcome, why = "raised does not run", str(error)[:160]
        counts[outcome] += 1
        if outcome == "refused":
            operators[why] += 1
        if outcome not in ("bitwise", "newest already"):
            print(f"{outcome:9} {path.relative_to(folder)}: {why}", flush=True)
    print(dict(counts))
    print("refused by operator:", dict(operators))
    raise SystemExit(bool(counts["differs"] + counts["raised does not run"]))


if __name__ == "__main__":
    main()

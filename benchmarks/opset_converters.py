"""Every model of a folder in other opsets, by resizefix and by onnx.version_converter, against the original.

Where onnxifier is installed, by that, too: its own conversion of the opset, without its optimisations.

    python benchmarks/opset_converters.py FOLDER [--to 17 --to 9 --to newest] [--every 8] [--json FILE]

Each result is run by plain onnxruntime with optimisation disabled, on the same random input as the original: `bitwise`,
`differs` (printed), `refused` (by operator), `does not run`. Models that the original's onnxruntime does not run, that
have that opset already, or (for "newest") whose result it cannot run for lack of a kernel, are counted apart. `newest`
is the newest opset of the installed onnx. Exit code 1 where a result of resizefix differs or does not run, but for
operators that onnxruntime has not at that opset.
"""

from __future__ import annotations

import importlib.util
import json
import multiprocessing
import re
from collections import Counter
from pathlib import Path
from typing import Any

import click
import numpy as np
import onnx
import onnxruntime as ort
from onnx import version_converter

import resizefix
from resizefix.document.document import Document
from resizefix.runtimes.inputs import model_inputs
from resizefix.runtimes.ort_session import open_session
from resizefix.verification.feeds import Feeder
from resizefix.verification.fitting import fit_feeds

_NO_KERNEL = re.compile(r"NOT_IMPLEMENTED|Could not find an implementation|is under development")
_SEED = 0


def _session(model: onnx.ModelProto) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _feeds(path: Path) -> dict[str, Any]:
    """Random values of the sizes with which the model runs, and sizes and scales that fit."""
    document = Document.open(path)
    session = open_session(document, optimized=False)
    return dict(fit_feeds(session, Feeder(model_inputs(document.proto), {}, _SEED)).feeds)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(_same, one, other))
    one, other = np.asarray(one), np.asarray(other)
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return one.tobytes() == other.tobytes() if one.dtype.kind != "O" else bool(np.array_equal(one, other))


def _by_resizefix(path: Path, to: int) -> onnx.ModelProto:
    return resizefix.opset(onnx.load(path), opset=to, verify=False).model


def _by_onnx(path: Path, to: int) -> onnx.ModelProto:
    return version_converter.convert_version(onnx.load(path), to)


def _by_onnxifier(path: Path, to: int) -> onnx.ModelProto:
    import onnxifier

    return onnxifier.convert(onnx.load(path), passes=[], print_passes=False, target_opset=to)


_CONVERTERS = {"resizefix": _by_resizefix, "onnx": _by_onnx}
if importlib.util.find_spec("onnxifier") is not None:
    _CONVERTERS["onnxifier"] = _by_onnxifier


def judged(path: Path, to: int) -> dict[str, tuple[str, str]]:
    """What came of one model, by each converter, with the details."""
    try:
        model = onnx.load(path)
        opset = next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 1)
        feeds = _feeds(path)
        session = _session(model)
        expected = session.run(None, {one.name: feeds[one.name] for one in session.get_inputs()})
    except Exception as error:  # whatever it is, there is nothing to compare with
        return dict.fromkeys(_CONVERTERS, ("the original does not run", str(error)[:100]))
    if opset == to:
        return dict.fromkeys(_CONVERTERS, ("has this opset", ""))
    return {name: _one(convert, path, to, feeds, expected) for name, convert in _CONVERTERS.items()}


def _one(convert: Any, path: Path, to: int, feeds: dict[str, np.ndarray], expected: list[Any]) -> tuple[str, str]:
    try:
        made = convert(path, to)
    except Exception as error:  # a converter may raise anything
        return "refused", str(error)[:300]
    if all(entry.version != to for entry in made.opset_import if entry.domain in ("", "ai.onnx")):
        return "refused", "the opset is another one"
    try:
        session = _session(made)
        found = session.run(None, {name: feeds[name] for name in (one.name for one in session.get_inputs())})
    except Exception as error:  # of onnxruntime
        return ("no kernel" if _NO_KERNEL.search(str(error)) else "does not run"), str(error)[:300]
    if len(expected) == len(found) and all(map(_same, expected, found)):
        return "bitwise", ""
    return "differs", "; ".join(_apart(one, other) for one, other in zip(expected, found, strict=False))[:300]


def _apart(one: Any, other: Any) -> str:
    if np.shape(one) != np.shape(other):
        return f"{np.shape(one)} {np.shape(other)}"
    return f"{np.abs(np.asarray(one, np.float64) - np.asarray(other, np.float64)).max(initial=0):.3g}"


def _apart_in_a_process(call: tuple[Path, int]) -> tuple[Path, int, dict[str, tuple[str, str]]]:
    return *call, judged(*call)


@click.command(help=__doc__)
@click.argument("folder", type=click.Path(exists=True, path_type=Path))
@click.option("--to", multiple=True, default=("newest", "17", "15", "13", "11", "9"))
@click.option("--every", default=1)
@click.option("--jobs", default=1)
@click.option("--json", "json_file", type=click.Path(path_type=Path))
def main(folder: Path, to: tuple[str, ...], every: int, jobs: int, json_file: Path | None) -> None:
    """Prints the counts for each opset and converter."""
    newest = onnx.defs.onnx_opset_version()
    paths = sorted(folder.glob("**/*.onnx"))[::every]
    calls = [(path, newest if one == "newest" else int(one)) for one in to for path in paths]
    counts: dict[tuple[int, str], Counter[str]] = {}
    refused: dict[int, Counter[str]] = {}
    rows = []
    wrong = 0
    with multiprocessing.Pool(jobs, maxtasksperchild=100) as pool:
        for path, opset, found in pool.imap(_apart_in_a_process, calls, chunksize=8):
            for name, (outcome, why) in found.items():
                counts.setdefault((opset, name), Counter())[outcome] += 1
                rows.append([str(path.relative_to(folder)), opset, name, outcome, why])
                if name == "resizefix" and outcome == "refused":
                    refused.setdefault(opset, Counter())[re.sub(r"'.*?'|\d", "", why)[:90]] += 1
                if name == "resizefix" and outcome in ("differs", "does not run"):
                    wrong += 1
                    print(f"{opset} {outcome}: {path.relative_to(folder)}: {why}", flush=True)
    for (opset, name), count in counts.items():
        print(opset, name, dict(count))
    for opset, reasons in refused.items():
        print(opset, "refused:", dict(reasons.most_common()))
    if json_file is not None:
        json_file.write_text(json.dumps(rows))
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()

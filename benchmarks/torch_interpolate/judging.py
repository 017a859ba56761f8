"""Holds each export against torch: what `inspect` says of it, and what `repair --prefer pytorch` makes of it.

A folder that exports.py wrote is enough; torch is not needed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort

import resizefix
from benchmarks.torch_interpolate.calls import Call, all_calls
from resizefix.library.repair import known_faults

CLOSE = 1e-5  # of inputs between 0 and 1


DIFFERS, MAY_DIFFER = "differs-from-pytorch", "may-differ-from-pytorch"


@dataclass(frozen=True)
class Judged:
    """What became of a call.

    `differs`: None where it is within CLOSE of torch at every size that was run, else by how much, `shape` for another
    output size, or `fails` where onnxruntime does not run it. `named` are the faults that `inspect` names. `operators`
    are those of the file where it has no resize. `repaired` is as `differs`, of what `repair --prefer pytorch` makes.
    """

    refused: str | None = None
    differs: float | str | None = None
    named: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    repaired: float | str | None = None
    unrepaired: str | None = None

    @property
    def verdict(self) -> str:
        """Whether what is named is right: `right`, `undecided` where the file admits both, else `wrong`. A file without
        a resize, of which nothing is said, is `other`."""
        if self.operators:
            return "other"
        if MAY_DIFFER in self.named:
            return "undecided"
        is_said = DIFFERS in self.named or (self.differs in ("fails", "shape") and bool(self.named))
        return "right" if is_said == (self.differs is not None) else "wrong"


def judged(folder: Path) -> Iterator[tuple[Call, Judged]]:
    """Every call of the folder."""
    refused = {row["name"]: row["refused"] for row in json.loads((folder / "index.json").read_text(encoding="utf-8"))}
    for call in all_calls():
        if call.name not in refused:
            continue
        if refused[call.name] is not None:
            yield call, Judged(refused=refused[call.name])
        else:
            with np.load(folder / f"{call.name}.npz") as arrays:
                yield call, judge(onnx.load(folder / f"{call.name}.onnx"), dict(arrays))


def judge(model: onnx.ModelProto, arrays: Mapping[str, Any]) -> Judged:
    """One export, against what torch computed."""
    names = tuple(dict.fromkeys(fault.name for _, fault in known_faults(model)))
    operators = () if resizefix.inspect(model) else tuple(sorted({node.op_type for node in model.graph.node}))
    differs = difference(model, arrays)
    why: str | None = None
    try:
        after = difference(resizefix.repair(model, prefer="pytorch").model, arrays)
    except resizefix.ResizefixError as error:
        after, why = differs, str(error)
    return Judged(None, differs, names, operators, after, why)


def difference(model: onnx.ModelProto, arrays: Mapping[str, Any]) -> float | str | None:
    """The largest difference from torch; None where it is at most CLOSE."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception:  # onnxruntime raises a class for each of its codes
        return "fails"
    worst = 0.0
    for place in range(len(arrays) // 2):
        wanted = arrays[f"y{place}"]
        try:
            (got,) = session.run(None, {session.get_inputs()[0].name: arrays[f"x{place}"]})
        except Exception:
            return "fails"
        if got.shape != wanted.shape:
            return "shape"
        worst = max(worst, float(np.abs(got.astype(np.float64) - wanted).max()))
    return float(f"{worst:.2g}") if worst > CLOSE else None


def row(call: Call, verdict: Judged) -> dict[str, Any]:
    """A call and what became of it, as JSON holds it, without what is empty."""
    stated = {name: value for name, value in asdict(verdict).items() if value not in (None, ())}
    return {**asdict(call), **({} if verdict.refused is not None else {"verdict": verdict.verdict}), **stated}

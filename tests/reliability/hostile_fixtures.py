"""The files in fixtures/hostile and what is answered to them: `python tests/reliability/hostile_fixtures.py` writes the
answers of today into the index."""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import onnx
from hostile_models import file_of
from survey import answered
from worker import Worker

HOSTILE = Path(__file__).resolve().parents[2] / "fixtures" / "hostile"
INDEX = HOSTILE / "index.json"
COMMANDS = {
    "inspect": ["inspect", "model.onnx"],
    "promote-scales": ["promote-scales", "model.onnx", "--dry-run", "--no-verify"],
    "freeze-scales": ["freeze-scales", "model.onnx", "--dry-run", "--no-verify"],
    "trt-legacy": ["trt-legacy", "model.onnx", "--dry-run", "--no-verify", "--allow-inexact"],
    "legalize": [
        "legalize", "model.onnx", "--dry-run", "--no-verify", "--allow-inexact", "--target", "tensorrt-5.0",
    ],
    "check": ["check", "model.onnx", "--target", "tensorrt-10"],
    "repair": ["repair", "model.onnx", "--dry-run", "--no-verify"],
    "input-size": ["input-size", "model.onnx", "any", "--dry-run", "--no-verify"],
}  # fmt: skip


def rows() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(INDEX.read_text(encoding="utf-8"))["files"]
    return found


def answers(worker: Worker, place: Path, names: Sequence[str]) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """By file the exit code and the sentence of each command; and what is wrong with them."""
    lines = list(COMMANDS.values())
    cases = [(name, file_of((HOSTILE / name).read_bytes()), lines) for name in names]
    report, found = answered(worker, place, cases)
    said = iter([run.code, " ".join(run.stderr.split())] for run in report.runs)
    return {name: {command: next(said) for command in COMMANDS} for name in names}, found


def main() -> None:
    files = rows()
    with Worker() as worker:
        for row in files:
            with tempfile.TemporaryDirectory() as place:
                said, found = answers(worker, Path(place), [row["file"]])
            row["answers"] = said[row["file"]]
            print(row["file"], *(text for texts in found.values() for text in texts), sep="\n  ")
    index = {"onnx": onnx.__version__, "files": files}
    INDEX.write_text(json.dumps(index, indent=1, ensure_ascii=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

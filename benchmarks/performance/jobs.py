"""The tools, side by side: what each is told to do with a model."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.performance.process import resizefix

PEERS = Path(__file__).with_name("peers.py")


@dataclass(frozen=True)
class Job:
    """A row of the table. `command(before, after)`; `package` must be installed; `writes` no file: there is no result.

    `promotes`: the scales shall be graph inputs afterwards. `in_place`: `after` is a copy of the model to begin with.
    """

    name: str
    command: Callable[[Path, Path], list[str]]
    package: str | None = None
    promotes: bool = False
    writes: bool = True
    in_place: bool = False
    beside: bool = False  # the result goes where the model is, and shares its data file

    def installed(self) -> str | None:
        """The version of its package; None if there is none."""
        try:
            return version(self.package) if self.package else ""
        except PackageNotFoundError:
            return None


def ours(command: str, *options: str) -> Callable[[Path, Path], list[str]]:
    return lambda before, after: resizefix(command, str(before), str(after), "--quiet", *options)


def peer(job: str) -> Callable[[Path, Path], list[str]]:
    return lambda before, after: [sys.executable, str(PEERS), job, str(before), str(after)]


def copy(before: Path, after: Path) -> list[str]:
    data = before.with_name(f"{before.name}.data")
    return ["cp", str(before), *([str(data)] if data.exists() else []), str(after.parent)]


def copy_to_disk(before: Path, after: Path) -> list[str]:
    return ["sh", "-c", '"$@" && sync "$0"/*', str(after.parent), *copy(before, after)]


JOBS = (
    Job("cp", copy),
    Job("cp, then sync", copy_to_disk),
    Job("resizefix promote-scales --no-verify", ours("promote-scales", "--no-verify"), promotes=True),
    Job("resizefix promote-scales", ours("promote-scales"), promotes=True),
    Job(
        "resizefix promote-scales --no-verify --in-place",
        lambda before, after: resizefix("promote-scales", str(after), "--quiet", "--no-verify", "--in-place"),
        promotes=True,
        in_place=True,
    ),
    Job("resizefix inspect", lambda before, after: resizefix("inspect", str(before), "--quiet"), writes=False),
    Job(
        "resizefix legalize --allow-inexact --no-verify",
        ours("legalize", "--target", "tensorrt-8.0", "--allow-inexact", "--no-verify"),
    ),
    Job("onnx.load, onnx.save", peer("onnx_load_save"), "onnx"),
    Job("onnx: a script of eight lines", peer("onnx_script"), "onnx", promotes=True),
    Job("onnx.utils.extract_model", peer("extract_model"), "onnx", promotes=True),
    Job("onnx.version_converter", peer("version_converter"), "onnx"),
    Job("onnx-graphsurgeon", peer("graphsurgeon"), "onnx-graphsurgeon", promotes=True),
    Job("polygraphy surgeon extract", peer("polygraphy"), "polygraphy", promotes=True),
    Job("onnx-ir", peer("onnx_ir"), "onnx-ir", promotes=True),
    Job("onnxsim", peer("onnxsim"), "onnxsim"),
    Job("onnxslim", peer("onnxslim"), "onnxslim"),
)
BESIDE = Job(
    "resizefix promote-scales --no-verify, beside the model",
    ours("promote-scales", "--no-verify"),
    promotes=True,
    beside=True,
)

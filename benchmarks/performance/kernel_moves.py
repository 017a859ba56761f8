"""Who moves the payload: the kernel between two files, or Python through its memory. Counted by strace."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.performance.inputs import Input
from benchmarks.performance.networks import convolutional
from benchmarks.performance.process import resizefix, run

KERNEL = ("copy_file_range", "sendfile")
READING = ("read", "pread64", "readv", "preadv")
WRITING = ("write", "pwrite64", "writev", "pwritev")
NAMING = ("rename", "renameat", "renameat2", "link", "linkat")
CALLS = (*KERNEL, *READING, *WRITING, *NAMING)
# NAME(ARGUMENTS) = RESULT; with -y, arguments name the files of descriptors
LINE = re.compile(r"^(?:\d+ +)?(\w+)\((.*)\) = (\d+)")
EMBEDDED = Input("moved", "convolutional, 50 MB", partial(convolutional, 256, 21))
EXTERNAL = Input("moved-external", "the same, data outside", partial(convolutional, 256, 21), external=True)


@dataclass(frozen=True)
class Moves:
    """Bytes of the model's files moved in one run: by the kernel, and read and written by Python."""

    case: str
    size: int
    kernel: int
    read: int
    written: int
    named: int


def counted(trace: str, folder: Path) -> Counter[str]:
    """Sums over the calls that concern a file in `folder`."""
    found: Counter[str] = Counter()
    for line in trace.splitlines():
        match = LINE.match(line)
        if match and str(folder) in match[2]:
            name, amount = match[1], int(match[3])
            found["kernel" if name in KERNEL else "read" if name in READING else "written"] += amount
            if name in NAMING:
                found["named"] += 1
    return found


def kernel_moves(folder: Path) -> Iterator[Moves]:
    """Nothing where strace is not installed."""
    if shutil.which("strace") is None:
        return
    work, other = folder / "moves", folder / "moves" / "other"
    shutil.rmtree(work, ignore_errors=True)
    other.mkdir(parents=True)
    embedded, external = EMBEDDED.write(work), EXTERNAL.write(work)
    cases = (
        ("a new file", embedded, [str(work / "out.onnx")]),
        ("--force, over an old file", embedded, [str(work / "out.onnx"), "--force"]),
        ("--save-as-external-data", embedded, [str(work / "apart.onnx"), "--save-as-external-data"]),
        ("--in-place", embedded, ["--in-place"]),
        ("data file, beside the model", external, [str(work / "beside.onnx")]),
        ("data file, to another folder", external, [str(other / "out.onnx")]),
        ("data file, --in-place", external, ["--in-place"]),
    )
    for case, before, options in cases:
        trace = folder / "trace"
        strace = ["strace", "-f", "-y", "-s", "1", "-e", f"trace={','.join(CALLS)}", "-o", str(trace)]
        size = sum(path.stat().st_size for path in work.glob(f"{before.name}*"))
        taken = run([*strace, *resizefix("promote-scales", str(before), "--no-verify", "-q", *options)], watch=False)
        if taken.exit_code != 0:
            raise SystemExit(f"{case}: {taken.complaint}")
        found = counted(trace.read_text(errors="replace"), work)
        trace.unlink()
        yield Moves(case, size, found["kernel"], found["read"], found["written"], found["named"])
    shutil.rmtree(work)

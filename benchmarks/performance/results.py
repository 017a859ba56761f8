"""Everything that was measured, in one JSON file: sections can be measured anew one by one, and tables drawn again."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterable
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = (
    "resizefix", "onnx", "onnxruntime", "onnx-graphsurgeon", "polygraphy", "onnxsim", "onnxslim", "onnx-ir", "numpy",
    "protobuf", "click",
)  # fmt: skip


def machine(folder: Path) -> dict[str, Any]:
    """Where and with what it was measured."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "processor": processor(),
        "cores": os.cpu_count(),
        "memory": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.release()}",
        "file system": file_system(folder),
        "python": platform.python_version(),
        "versions": {package: installed(package) for package in PACKAGES},
        "load": round(os.getloadavg()[0], 1),
    }


def installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else ():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def file_system(folder: Path) -> str:
    """The type of the mount that `folder` lies in."""
    found = ("", "unknown")
    for line in Path("/proc/mounts").read_text().splitlines() if Path("/proc/mounts").exists() else ():
        _, point, kind, *_ = line.split()
        if folder.resolve().is_relative_to(point):
            found = max(found, (point, kind), key=lambda row: len(row[0]))
    return found[1]


def as_rows(found: Iterable[Any]) -> list[dict[str, Any]]:
    """Dataclasses as JSON; what the commands printed is left out."""

    def kept(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: kept(inner) for key, inner in value.items() if key not in ("stdout", "stderr")}
        return value

    return [kept(asdict(row)) for row in found]


def load(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def store(path: Path, results: dict[str, Any]) -> None:
    path.write_text(json.dumps(results, indent=1))

"""All targets by the names that `--target` takes."""

from __future__ import annotations

import copyreg
import difflib
import importlib
import os
import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from resizefix.addresses import page_address
from resizefix.diagnostics import UsageError
from resizefix.targets.target import Target

if TYPE_CHECKING:
    TARGETS: tuple[Target, ...]
    """The measured ones, then those that files describe, by name."""

_MEASURED: Mapping[str, str] = {
    "tensorrt": "tensorrt.TENSORRT_TARGETS",
    "onnxruntime": "onnxruntime_target.ONNXRUNTIME",
    "openvino": "foreign.openvino.OPENVINO",
    "opencv": "foreign.opencv.OPENCV",
    "ncnn": "foreign.ncnn.NCNN",
    "mnn": "foreign.mnn.MNN",
    "tract": "foreign.tract.TRACT",
    "tvm": "foreign.tvm.TVM",
}
"""The runtimes that were measured, and where their targets stand: read when one of the runtime is asked for."""

FILE = ".toml"
"""What the name of a file of a target of one's own ends with."""

_VERSION = r"[0-9]{1,4}(\.[0-9]{1,4}){0,3}"
_VERSIONED = re.compile(rf"(?P<runtime>[a-z]+)-(?P<version>{_VERSION})")
_MOST_NUMBERS = 4  # that _VERSION takes
Row = tuple[tuple[int, ...], str]


_OTHER_NAMES = {
    "trt": "tensorrt",
    "trtexec": "tensorrt",
    "ort": "onnxruntime",
    "onnx-runtime": "onnxruntime",
    "cv2": "opencv",
    "dml": "directml",
    "vela": "ethos-u",
    "ethos": "ethos-u",
    "coral": "edge-tpu",
    "edgetpu": "edge-tpu",
    "htp": "qnn",
    "snpe": "qnn",
    "qualcomm": "qnn",
    "core-ml": "coreml",
    "rockchip": "rknn",
    "rdk": "horizon",
}
"""What people call a runtime, and its name here: proposed, never taken."""


_PAGE = "docs/reference/targets.md"


@cache
def _measured(runtime: str) -> tuple[Target, ...]:
    module, _, targets = _MEASURED[runtime].rpartition(".")
    one_or_more = getattr(importlib.import_module(f"resizefix.targets.{module}"), targets)
    return (one_or_more,) if isinstance(one_or_more, Target) else one_or_more


@cache
def _all() -> tuple[Target, ...]:
    from resizefix.targets.foreign.described import shipped  # which reads files

    return (*(target for runtime in _MEASURED for target in _measured(runtime)), *shipped())


def __getattr__(name: str) -> tuple[Target, ...]:
    if name == "TARGETS":
        return _all()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _namesakes(name: str) -> tuple[Target, ...]:
    """All targets of the runtime that a name begins with."""
    runtime = name.partition("-")[0]
    return _measured(runtime) if runtime in _MEASURED else _all()


def target_named(name: str | os.PathLike[str]) -> Target:
    """The target of that name, in any case, or of that file, whose name ends with .toml.

    A runtime's name alone is its newest numbered row, and a version between two rows is the older one's:
    `tensorrt-8.6` is `tensorrt-8.5`, and `tensorrt-8`, which is 8.0, is `tensorrt-8.0`. Raises UsageError, which
    proposes up to three near names and the page that has all, or says what is wrong with the file.
    """
    typed = os.fspath(name) if isinstance(name, (str, os.PathLike)) else ""
    if typed.lower().endswith(FILE):
        return _own(typed)
    row_name = row_named(typed.strip().lower())
    if row_name is None:
        near = near_names(typed.strip().lower())
        proposal = f"did you mean {' or '.join(near)}? " if near else ""
        if os.path.isfile(f"{typed}{FILE}"):
            proposal = f"did you mean {typed}{FILE}? "
        page = page_address(_PAGE) or _PAGE
        raise UsageError("targets.no-such-target", name=name, proposal=proposal, page=page, rule="target")
    return next(target for target in _namesakes(row_name) if target.name == row_name)


def _own(path: str) -> Target:
    from resizefix.targets.foreign.described import target_in  # which reads files

    target = target_in(path)
    if row_named(target.name) is not None:
        raise UsageError("targets.file-name-taken", path=path, name=target.name)
    return target


def row_named(wanted: str) -> str | None:
    """The name of the row that covers what was asked for; None: there is no such row."""
    if any(wanted == target.name for target in _namesakes(wanted)):
        return wanted
    versioned = _VERSIONED.fullmatch(wanted)
    rows = _rows(wanted if versioned is None else versioned["runtime"])
    if versioned is not None and rows:
        version = _padded(_numbers(versioned["version"]))
        rows = [row for row in rows if _padded(row[0]) <= version] if version[0] <= rows[-1][0][0] else []
    return rows[-1][1] if rows else None


def near_names(wanted: str) -> list[str]:
    """At most three targets that somebody who typed this may mean, the nearest first."""
    if not wanted:
        return []
    parts = re.fullmatch(rf"(?P<runtime>.*?)(?P<version>-?{_VERSION})?", wanted)
    runtime, version = (parts["runtime"], parts["version"]) if parts else (wanted, None)
    names = [target.name for target in _all()]
    families = list(dict.fromkeys([*(target.runtime for target in _all()), *_OTHER_NAMES]))
    runtime = runtime.strip("-_ ")
    close = [runtime] if runtime in families else difflib.get_close_matches(runtime, families, 2, 0.75)
    meant = [_OTHER_NAMES.get(family, family) for family in close]
    tail = f"-{version.strip('-')}" if version else ""
    versions = f"{meant[0]}{tail}" if meant and tail else ""
    covering: list[str | None] = [name for name in names if versions and name.startswith(f"{versions}.")]
    covering = covering or [row_named(versions)]
    newest = [row_named(family) for family in meant]
    alike = [name for name in names if any(f"{name}-".startswith(f"{family}-") for family in meant)] or names
    begun = [name for name in names if name.startswith(f"{wanted}-")]
    near = [*covering, *begun, *newest, *difflib.get_close_matches(wanted, alike, 3)]
    return list(dict.fromkeys(name for name in near if name is not None))[:3]


# By name: rules hold functions, which cannot be pickled.
copyreg.pickle(Target, lambda target: (target_named, (target.typed,)))


def covered() -> dict[str, str]:
    """The name of every target with the versions that its row stands for, in words."""
    return {target.name: _covers(target) for target in _all()}


def _covers(target: Target) -> str:
    if not re.fullmatch(_VERSION, target.version):
        return target.parser
    version = _numbers(target.version)
    later = [row[0] for row in _rows(target.runtime) if row[0] > version and row[0][0] == version[0]]
    if not later:
        before = "" if len(version) == 1 or version[1] == 0 else f"{target.version} and later "
        return f"{before}{version[0]}.x"
    last = target.last or f"{version[0]}.{later[0][1] - 1}"
    return target.version if last == target.version else f"{target.version} to {last}"


def releases_with(runtime: str, rule: str) -> str:
    """The numbered releases whose rows have a rule, in words: `6.0 to 8.2`, `10 and later`, `5.1 and older`.

    Where several rules have the name, words of its sentence follow it, behind a colon. Raises KeyError for a rule that
    no row has.
    """
    rows = [target_named(row) for _, row in _rows(runtime)]
    having = [_has(target, rule) for target in rows]
    if not any(having):
        raise KeyError(rule)
    first, last = having.index(True), len(having) - 1 - having[::-1].index(True)
    if last == len(rows) - 1:
        return f"{rows[first].version} and later"
    if first == last:
        return _covers(rows[first])
    if first == 0:
        return f"{rows[last].version} and older"
    return f"{rows[first].version} to {rows[last].last or rows[last].version}"


def targets_with(runtime: str, rule: str) -> list[str]:
    """The numbered targets of a runtime that have a rule, the oldest first."""
    return [name for _, name in _rows(runtime) if _has(target_named(name), rule)]


def _has(target: Target, rule: str) -> bool:
    name, _, words = rule.partition(": ")
    return any(one.name == name and words in one.because for one in target.rules)


def _rows(runtime: str) -> list[Row]:
    """The numbered targets of a runtime, oldest first."""
    versioned = (
        target for target in _namesakes(runtime) if target.runtime == runtime and re.fullmatch(_VERSION, target.version)
    )
    return sorted((_numbers(target.version), target.name) for target in versioned)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _padded(version: tuple[int, ...]) -> tuple[int, ...]:
    """With all four numbers: version 8 is 8.0, and no version before it."""
    return (*version, *(0,) * (_MOST_NUMBERS - len(version)))

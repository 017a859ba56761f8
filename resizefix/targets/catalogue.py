"""All targets by the names that `--target` takes."""

from __future__ import annotations

import copyreg
import re

from resizefix.errors import UsageError
from resizefix.targets.accelerators import MIGRAPHX, RKNN, TIDL
from resizefix.targets.mnn import MNN
from resizefix.targets.ncnn import NCNN
from resizefix.targets.onnxruntime_target import ONNXRUNTIME
from resizefix.targets.opencv import OPENCV
from resizefix.targets.openvino import OPENVINO
from resizefix.targets.providers import COREML, NNAPI, QNN
from resizefix.targets.target import Target
from resizefix.targets.tensorrt import TENSORRT_TARGETS
from resizefix.targets.tract import TRACT
from resizefix.targets.tvm import TVM

TARGETS: tuple[Target, ...] = (
    *TENSORRT_TARGETS,
    ONNXRUNTIME,
    *OPENVINO,
    *OPENCV,
    *NCNN,
    *MNN,
    *TRACT,
    *TVM,
    *QNN,
    *COREML,
    *NNAPI,
    *MIGRAPHX,
    *TIDL,
    *RKNN,
)

_VERSION = r"[0-9]{1,4}(\.[0-9]{1,4}){0,3}"
_VERSIONED = re.compile(rf"(?P<runtime>[a-z]+)-(?P<version>{_VERSION})")
Row = tuple[tuple[int, ...], str]


def target_named(name: str) -> Target:
    """The target of that name, in any case.

    A runtime's name alone is its newest numbered row, and a version between two rows is the older one's:
    `tensorrt-8.6` is `tensorrt-8.5`. Raises UsageError, which lists them all.
    """
    by_name = {target.name: target for target in TARGETS}
    wanted = name.strip().lower() if isinstance(name, str) else ""
    if wanted not in by_name:
        found = _VERSIONED.fullmatch(wanted)
        rows = _rows(wanted if found is None else found["runtime"])
        if found is not None:
            version = _numbers(found["version"])
            rows = [row for row in rows if row[0] <= version] if rows and version[0] <= rows[-1][0][0] else []
        if not rows:
            raise UsageError("targets.no-such-target", name=name, by_name=", ".join(by_name), rule="target")
        wanted = rows[-1][1]
    return by_name[wanted]


# By name: rules hold functions, which cannot be pickled.
copyreg.pickle(Target, lambda target: (target_named, (target.name,)))


def covered() -> dict[str, str]:
    """The name of every target with the versions that its row stands for, in words."""
    return {target.name: _covers(target) for target in TARGETS}


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
    name, _, words = rule.partition(": ")
    rows = [target_named(row) for _, row in _rows(runtime)]
    having = [any(one.name == name and words in one.because for one in target.rules) for target in rows]
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


def _rows(runtime: str) -> list[Row]:
    """The numbered targets of a runtime, oldest first."""
    versioned = (target for target in TARGETS if target.runtime == runtime and re.fullmatch(_VERSION, target.version))
    return sorted((_numbers(target.version), target.name) for target in versioned)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))

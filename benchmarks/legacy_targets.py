"""`trt-legacy` over a folder of models: whether the target that it wrote for accepts every file, and what `legalize`
for the same target makes that it does not.

A model counts where it has a resize. "written, rejected" must be none: the command's own target refuses the file, or
computes something else. Models that only `legalize` writes are listed with what kept `trt-legacy` from it: another
operator that opset 8 has no form of is no loss.

usage: legacy_targets.py FOLDER [--target tensorrt-5.0] [--verify] [--every N]
"""

from __future__ import annotations

import argparse
import collections
from pathlib import Path

import resizefix
from resizefix.diagnostics import ResizefixError
from resizefix.library.result import Result
from resizefix.outcome import ModelOutcome


def made(call: str, path: Path, target: str, verify: bool) -> Result | str:
    """The result of the call; the reason where it raises an error."""
    try:
        result: Result = getattr(resizefix, call)(str(path), target=target, verify=verify, on_refusal="return")
    except ResizefixError as error:
        return f"{type(error).__name__}: {error}"
    return result


def written(result: Result | str, target: str) -> bool | None:
    """Whether the target accepts what was written; None where nothing was."""
    if isinstance(result, str) or result.outcome is ModelOutcome.REFUSED:
        return None
    return resizefix.check(result.model, target=target).accepted


def why_not(result: Result | str) -> str:
    """What stood in the way."""
    if isinstance(result, str):
        return result
    blockers = [f"{one.op_type or one.node}: {one.reason}" for one in result.blockers]
    refused = [f"{one.node}: {one.reason}" for one in result.outcomes if one.status.value == "refused"]
    return "; ".join([*refused[:1], *blockers[:1]])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--target", default="tensorrt-5.0")
    parser.add_argument("--verify", action="store_true")
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    counts: collections.Counter[str] = collections.Counter()
    for path in sorted(options.folder.rglob("*.onnx"))[:: options.every]:
        try:
            if not resizefix.inspect(str(path)):
                counts["no resize"] += 1
                continue
        except ResizefixError:
            counts["unreadable"] += 1
            continue
        old = made("trt_legacy", path, options.target, options.verify)
        accepts = written(old, options.target)
        word = {None: "refused", True: "written, accepted", False: "written, rejected"}[accepts]
        counts[word] += 1
        if accepts is False:
            print(f"{word}: {path}", flush=True)
        legal = made("legalize", path, options.target, options.verify) if accepts is None else None
        if legal and not isinstance(legal, str) and written(legal, options.target):
            counts["refused, and legalize writes"] += 1
            print(f"legalize alone: {path}: {why_not(old)}", flush=True)
    for word, count in sorted(counts.items()):
        print(f"{count:5} {word}")


if __name__ == "__main__":
    main()

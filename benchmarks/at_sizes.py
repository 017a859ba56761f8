"""`trt-legacy --size` over a folder of models: of those refused because sizes are no constant, how many convert.

A model counts where an image input leaves its height or width open and a resize is refused for operands that are no
constant. It converts where every resize is changed or needs nothing at that size, and the verification passed.

usage: at_sizes.py FOLDER [--size HxW] [--every N]
"""

from __future__ import annotations

import argparse
import collections
from collections.abc import Sequence
from pathlib import Path

import onnx

import resizefix
from resizefix.diagnostics import ResizefixError
from resizefix.library.result import VerificationFailedError
from resizefix.outcome import Outcome, Status
from resizefix.reports.sentences.operations import SENTENCES
from resizefix.shapes.image_axes import open_images

# What the refusal says after "its sizes" or "its scales", in any command.
NO_CONSTANT = SENTENCES["operations.extent-not-constant"].partition("{value}")[2]
_AXES = ("height", "width")


def refused(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The sites that were not changed."""
    return [one for one in outcomes if one.status is Status.REFUSED]


def size_of(path: Path, wanted: tuple[int, int]) -> tuple[int, int] | None:
    """The wanted size, with what the file fixes; None where no image input is open."""
    images = open_images(onnx.load(path, load_external_data=False))
    if not images:
        return None
    height, width = (images[0].old(name) or length for name, length in zip(_AXES, wanted, strict=True))
    return height, width


def judged(path: Path, wanted: tuple[int, int]) -> tuple[str, str] | None:
    """The verdict and its reason; None for a model that is not counted."""
    size = size_of(path, wanted)
    if size is None:
        return None
    try:
        # Without verification no size is worth a proof yet: only the refusal counts.
        before = refused(resizefix.trt_legacy(str(path), verify=False, on_refusal="return").outcomes)
    except ResizefixError:
        return None
    if not any(NO_CONSTANT in (one.reason or "") for one in before):
        return None
    try:
        result = resizefix.trt_legacy(str(path), size=size, on_refusal="return")
    except VerificationFailedError as error:
        return "verification failed", str(error)
    except ResizefixError as error:
        return "error", str(error)
    left = refused(result.outcomes)
    if left or result.blockers:
        return "refused", f"{left[0].node}: {left[0].reason}" if left else str(result.blockers[0])
    return ("converted", "") if result.verification.passed else ("not proven", str(result.verification.reason))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size", default="224x224")
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    height, width = (int(part) for part in options.size.split("x"))
    counts: collections.Counter[str] = collections.Counter()
    for path in sorted(options.folder.rglob("*.onnx"))[:: options.every]:
        try:
            found = judged(path, (height, width))
        except Exception as error:  # a model that onnx cannot read
            print(path.name, type(error).__name__, str(error)[:100], flush=True)
            continue
        if found is not None:
            counts[found[0]] += 1
            if found[0] != "converted":
                print(f"{path.relative_to(options.folder)}: {found[0]}: {found[1][:200]}", flush=True)
    total = sum(counts.values())
    print(
        f"{counts['converted']} of {total} converted ({100 * counts['converted'] / max(1, total):.1f} %)", dict(counts)
    )


if __name__ == "__main__":
    main()

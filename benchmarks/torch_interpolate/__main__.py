"""Measures the table of torch's F.interpolate, and writes its pages.

python -m benchmarks.torch_interpolate                 the pages, out of the committed measurements; needs no torch
python -m benchmarks.torch_interpolate --measure       measures every cell with the torch installed (15 minutes)
python -m benchmarks.torch_interpolate --older FOLDER  reads what older versions wrote again, from FOLDER
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmarks.torch_interpolate.cells import all_cells, rows
from benchmarks.torch_interpolate.page import DATA, ROOT, load, page
from benchmarks.torch_interpolate.words import CHINESE, ENGLISH

PAGES = {
    ROOT / "docs" / "reference" / "torch-interpolate.md": ENGLISH,
    ROOT / "docs" / "zh" / "reference" / "torch-interpolate.md": CHINESE,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help="measure every cell again; needs torch and onnxscript")
    parser.add_argument("--older", type=Path, metavar="FOLDER", help="read the files of older exporters again")
    parser.add_argument("--exports", type=Path, metavar="FOLDER", help="judge the files that exports.py wrote again")
    options = parser.parse_args()
    data = load() if DATA.exists() else {"versions": {}, "cells": [], "older": []}
    if options.measure:
        import onnx
        import onnxruntime
        import torch

        from benchmarks.torch_interpolate.measuring import measured

        versions = {"torch": torch.__version__.split("+")[0]}
        data["versions"] = versions | {"onnx": onnx.__version__, "onnxruntime": onnxruntime.__version__}
        data["cells"] = rows(dict(measured(list(all_cells()))))
    if options.older is not None:
        from benchmarks.torch_interpolate.older import nodes_in

        data["older"] = nodes_in(options.older)
    if options.exports is not None:
        from benchmarks.torch_interpolate.judging import judged, row
        from benchmarks.torch_interpolate.tally import tally

        data["exports"] = tally(row(call, verdict) for call, verdict in judged(options.exports))
    write(data)


def write(data: dict[str, object]) -> None:
    """The measurements, one to a line, and the pages."""
    lines = [
        f'"{name}": '
        + ("[\n" + ",\n".join(map(json.dumps, value)) + "\n]" if isinstance(value, list) else json.dumps(value))
        for name, value in data.items()
    ]
    DATA.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    for path, words in PAGES.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(data, words), encoding="utf-8")


if __name__ == "__main__":
    main()

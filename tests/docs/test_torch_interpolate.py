"""The table of torch's F.interpolate: the committed measurements are whole, the pages are theirs, and torch agrees."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))

from benchmarks.torch_interpolate.__main__ import PAGES  # noqa: E402
from benchmarks.torch_interpolate.cells import (  # noqa: E402
    CLOSE,
    DYNAMO,
    EXTENTS,
    MODES,
    TORCHSCRIPT,
    Cell,
    all_cells,
    read,
    rows,
)
from benchmarks.torch_interpolate.page import load, page  # noqa: E402

DATA = load()
TABLE = read(DATA["cells"])


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_page_is_what_the_measurements_say(path):
    assert path.read_text(encoding="utf-8") == page(DATA, PAGES[path]), "run: python -m benchmarks.torch_interpolate"


def test_every_cell_is_measured_once():
    assert set(TABLE) == set(all_cells())
    assert sum(len(entry["opsets"]) for entry in DATA["cells"]) == len(TABLE)
    assert rows(TABLE) == DATA["cells"]


def test_a_verdict_agrees_with_what_is_beside_it():
    for cell, found in TABLE.items():
        if found.verdict in ("refused", "fails", "shape"):
            assert found.detail, cell
            assert found.difference is None
        else:
            limits = {"same": (None,), "close": (0, CLOSE), "differs": (CLOSE, 2)}[found.verdict]
            assert found.difference is None if limits == (None,) else limits[0] < found.difference <= limits[1], cell
        assert bool(found.node) == (found.verdict != "refused"), cell


def test_what_the_page_concludes_is_what_was_measured():
    by_mode = {
        (cell.mode, cell.exporter, cell.opset, cell.extent): found
        for cell, found in TABLE.items()
        if not cell.open_sizes
    }
    for opset in (9, 10):
        for extent in ("scale_factor=2", "scale_factor=1.8"):
            assert by_mode["bilinear", TORCHSCRIPT, opset, extent].verdict == "differs"
        assert by_mode["nearest", TORCHSCRIPT, opset, "size=(30, 9)"].detail == "29×5 gives 29×9, torch 30×9"
    assert by_mode["nearest", TORCHSCRIPT, 9, "scale_factor=0.5"].verdict == "fails"
    later = [found for cell, found in TABLE.items() if cell.exporter == TORCHSCRIPT and cell.opset >= 11]
    assert {found.verdict for found in later} == {"same", "close", "refused"}
    differing = {
        (cell.mode, cell.extent) for cell, f in TABLE.items() if cell.exporter == DYNAMO and f.verdict == "differs"
    }
    assert differing == {("bilinear, antialias", "scale_factor=0.5"), ("bilinear, antialias", "scale_factor=1.8")}
    (lost,) = [entry for entry in DATA["older"] if entry["torch"] == "1.3.1" and "floor" in entry["node"]]
    assert lost["computes"] == []


def sample(exporter: str, opsets: tuple[int, ...]) -> list[Cell]:
    return [
        Cell(mode, extent, exporter, opset, open_sizes)
        for opset in opsets
        for mode in MODES
        for extent in EXTENTS
        for open_sizes in (False, True)
    ]


@pytest.mark.parametrize(
    "cells",
    [sample(TORCHSCRIPT, (7, 9, 10, 11, 20)), [Cell("bilinear", "size=(30, 9)", DYNAMO, 18, False)]],
    ids=["TorchScript", "dynamo"],
)
def test_torch_exports_the_same_today(cells):
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed; `python -m benchmarks.torch_interpolate --measure` needs it")
    import torch

    if torch.__version__.split("+")[0] != DATA["versions"]["torch"]:
        pytest.skip(f"torch {torch.__version__} is not {DATA['versions']['torch']}, which was measured")
    from benchmarks.torch_interpolate.measuring import measured

    for cell, found in measured(cells):
        kept = TABLE[cell]
        assert (found.verdict, found.node, found.detail) == (kept.verdict, kept.node, kept.detail), cell

"""Cases that the table of runtimes has not: one of its own, with cells of others of its group or of the whole table."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from benchmarks.runtime_cases import Case, rows

CASES = Path(__file__).with_name("runtime_cases.tsv")
_CELLS = ("values", "values", "form", "dyn", "ct", "nm", "cubic", "opset", "shape", "dtype")
_COLUMNS = (
    *("op", "opset", "mode", "ct", "nm", "coeff", "excl", "aa", "form", "values", "dyn", "shape", "axes", "policy"),
    *("roi", "dtype"),
)


def exchanged_cases(seed: int) -> Iterator[dict[str, str]]:
    """Endless cases, none of them twice or of the table; onnxruntime does not run all. A case of a seed is the same on
    every machine."""
    table = rows(CASES)
    known = {_key(case) for case in table}
    number = 0
    while True:
        number += 1
        draw = random.Random(f"exchanged {seed}/{number}")
        case = dict(draw.choice(table))
        group = [other for other in table if other["group"] == case["group"]]
        for _ in range(draw.choice((1, 1, 2, 2, 3))):
            _exchange(draw.choice(_CELLS), case, draw.choice(group if draw.random() < 0.7 else table))
        if _key(case) not in known:
            known.add(_key(case))
            yield {**case, "id": f"x{seed}/{number}", "producer": ""}


def _key(case: Case) -> tuple[str, ...]:
    return tuple(case[column] for column in _COLUMNS)


def _exchange(cell: str, case: dict[str, str], other: Case) -> None:
    """Takes the cell of the other case where it goes with the rest."""
    ranks = [one["shape"].count("x") for one in (case, other)]
    alike = case["form"].startswith("scales") == other["form"].startswith("scales")
    later = int(case["opset"]) > 10
    match cell:
        case "values" if alike and case["values"].count(",") == other["values"].count(","):
            case["values"] = other["values"]
        case "form" if alike and ranks[0] == ranks[1] and case["axes"].count(",") == other["axes"].count(","):
            case["form"] = other["form"]
        case "form" if ranks == [3, 3] and later and not case["axes"] and not other["axes"]:
            case.update({column: other[column] for column in ("form", "values", "shape")})
        case "ct" if later and other["ct"] != "tf_crop_and_resize":
            case["ct"] = other["ct"]
        case "nm" if later and case["mode"] == "nearest":
            case["nm"] = other["nm"]
        case "cubic" if case["mode"] == "cubic":
            case.update(coeff=other["coeff"], excl=other["excl"])
        case "opset" if case["op"] == other["op"] and later == (int(other["opset"]) > 10):
            case["opset"] = other["opset"]
        case "shape" if ranks[0] == ranks[1] and case["form"].startswith("scales"):
            case["shape"] = other["shape"]
        case "dyn" | "dtype":
            case[cell] = other[cell]

"""Random single-node cases of Upsample and Resize, measured in every runtime: a table for `targets_agreement`.

    python benchmarks/random_cases.py TABLE.tsv --count 400 --seed 7
    python benchmarks/random_cases.py TABLE.tsv --count 500 --seed 2 --exchanged
    python benchmarks/targets_agreement.py TABLE.tsv

Of a table that is there already the columns stay, and only runtimes are asked that it has none of.

Everything that a file can say is drawn: opset, mode, coordinates, roundings, options, types, producer, which axes are
resized and by what, where the extent comes from, and which lengths are open. A case of a seed and a number is the same
on every machine. `--exchanged` draws cases like those of the table of runtimes instead.
"""

from __future__ import annotations

import csv
import random
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TypeVar

import click
import onnxruntime

sys.path.append(str(Path(__file__).parents[1]))

from benchmarks.exchanged_cases import exchanged_cases
from benchmarks.runtime_cases import model_of, rows
from benchmarks.runtimes import measure, reference

MEASURED = ("openvino", "opencv-4", "opencv-5", "mnn", "ncnn", "tract", "tvm")
Drawn = TypeVar("Drawn")

_OPSETS = {7: 5, 8: 3, 9: 8, 10: 9, 11: 17, 12: 6, 13: 22, 14: 2, 16: 3, 17: 4, 18: 12, 19: 9}
_RANKS = {1: 2, 2: 3, 3: 10, 4: 74, 5: 11}
_WHOLE = (2.0, 2.0, 2.0, 3.0, 4.0, 5.0, 8.0, 16.0)
_FRACTIONS = (1.5, 1.8, 2.5, 1.25, 4 / 3, 0.5, 0.5, 0.25, 0.75, 0.6, 0.2, 1 / 3, 1.1, 1.0000153, 3.7)
_LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 16, 17, 20)
_COORDINATES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn")
_ROUNDINGS = ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
_SCALES = {"scales": 60, "scales_cnode": 8, "scales_folded": 3, "scales_default": 2, "scales_in": 7, "scales_concat": 5}
_SIZES = {
    "sizes": 45,
    "sizes_cnode": 5,
    "sizes_folded": 3,
    "sizes_in": 7,
    "sizes_concat": 8,
    "sizes_shape": 10,
    "sizes_like": 6,
}
_TYPES = {"float32": 86, "float16": 4, "float64": 2, "uint8": 3, "int8": 2, "int32": 3}
_PRODUCERS = {"": 40, "pytorch": 40, "tf2onnx": 20}


def random_cases(seed: int) -> Iterator[dict[str, str]]:
    """Endless cases; some of them are no valid ONNX, or none that onnxruntime runs."""
    number = 0
    while True:
        yield _case(random.Random(f"{seed}/{number}"), f"{seed}/{number}")
        number += 1


def _case(draw: random.Random, name: str) -> dict[str, str]:
    opset, rank = _weighted(draw, _OPSETS), _weighted(draw, _RANKS)
    case = dict.fromkeys(("mode", "ct", "nm", "coeff", "excl", "aa", "axes", "policy", "roi"), "")
    case.update(id=name, op="Upsample" if opset < 10 else "Resize", opset=str(opset))
    case.update(dtype=_weighted(draw, _TYPES), producer=_weighted(draw, _PRODUCERS))
    shape = [draw.choice((1, 1, 1, 2)), draw.choice((1, 2, 3, 4)), *(_length(draw) for _ in range(3))]
    shape = shape[:rank] if rank > 1 else [_length(draw)]
    factors = _factors(draw, rank, case["op"] == "Upsample")
    by_sizes = opset >= 11 and draw.random() < 0.4
    case["form"] = _form(draw, opset, rank, by_sizes)
    if opset >= 11:
        case.update(_attributes(draw, opset, rank))
    else:
        case["mode"] = draw.choice(("nearest", "nearest", "linear", ""))
    values = list(factors)
    if by_sizes:
        values = [max(1, round(length * factor)) for length, factor in zip(shape, factors, strict=True)]
        if draw.random() < 0.3 and case["form"] in ("sizes", "sizes_cnode", "sizes_in", "sizes_like"):
            values = [value if factor == 1 else _length(draw) for value, factor in zip(values, factors, strict=True)]
    if opset >= 18 and draw.random() < 0.3 and case["form"] in ("scales", "sizes", "scales_in", "sizes_in"):
        values = _listed(draw, case, values, factors)
    if case["form"] == "scales_concat":
        values[:2] = [1.0, 1.0]  # its Concat says so
    case["values"] = ",".join(f"{value:.8g}" for value in values)
    case["shape"] = "x".join(map(str, shape))
    case["dyn"] = _open(draw, rank)
    return case


def _weighted(draw: random.Random, weights: dict[Drawn, int]) -> Drawn:
    return draw.choices(list(weights), list(weights.values()))[0]


def _length(draw: random.Random) -> int:
    return draw.choice(_LENGTHS)


def _factors(draw: random.Random, rank: int, only_up: bool) -> list[float]:
    """One for each axis; those of height and width are the same in most cases, the others 1."""
    where = draw.random()
    image = list(range(min(2, rank - 1), rank))
    if where < 0.06:
        image = sorted(draw.sample(range(rank), draw.randint(1, rank)))
    elif where < 0.11 and rank > 3:
        image = list(range(1, rank - 1))
    elif where < 0.20:
        image = [draw.choice(image)]
    same = draw.random() < 0.7
    first = _factor(draw, only_up)
    return [(first if same else _factor(draw, only_up)) if axis in image else 1.0 for axis in range(rank)]


def _factor(draw: random.Random, only_up: bool) -> float:
    found = draw.choice(_WHOLE if draw.random() < 0.5 else _FRACTIONS)
    return max(found, 1 / found) if only_up else found


def _form(draw: random.Random, opset: int, rank: int, by_sizes: bool) -> str:
    if opset < 9:
        return "scales"
    form = _weighted(draw, _SIZES if by_sizes else _SCALES)
    if form in ("sizes_concat", "sizes_shape", "scales_concat") and rank < 3:
        return "sizes" if by_sizes else "scales"
    return form


def _attributes(draw: random.Random, opset: int, rank: int) -> dict[str, str]:
    mode = draw.choices(("nearest", "linear", "cubic", ""), (43, 35, 15, 7))[0]
    coordinates = ["", "", *_COORDINATES[: 5 if opset < 13 else 4], *(["half_pixel_symmetric"] if opset >= 19 else [])]
    found = {"mode": mode, "ct": draw.choice(coordinates), "nm": draw.choice(("", *_ROUNDINGS))}
    if mode in ("linear", "cubic") and draw.random() < 0.7:
        found["nm"] = draw.choice(("", "floor"))
    if mode == "cubic":
        found["coeff"] = draw.choice(("", "", "-0.75", "-0.75", "-0.5"))
        found["excl"] = draw.choice(("", "", "", "0", "1"))
    if opset >= 18 and mode in ("linear", "cubic") and draw.random() < 0.25:
        found["aa"] = "1"
    if opset >= 18 and draw.random() < 0.12:
        found["policy"] = draw.choice(("stretch", "not_larger", "not_smaller"))
    if draw.random() < 0.03:
        found["ct"] = "tf_crop_and_resize"
        found["roi"] = ",".join(["0"] * max(rank - 1, 0) + ["0.1"] + ["1"] * max(rank - 1, 0) + ["0.8"])
    elif draw.random() < 0.02:
        found["roi"] = "1"
    return found


def _listed(
    draw: random.Random, case: dict[str, str], values: Sequence[float], factors: Sequence[float]
) -> list[float]:
    """The values of the axes that are listed: those that are resized, or all."""
    rank = len(values)
    axes = [axis for axis in range(rank) if factors[axis] != 1] if draw.random() < 0.8 else list(range(rank))
    axes = axes or [rank - 1]
    if draw.random() < 0.15:
        axes.reverse()
    back = rank if draw.random() < 0.25 else 0
    case["axes"] = ",".join(str(axis - back) for axis in axes)
    return [values[axis] for axis in axes]


def _open(draw: random.Random, rank: int) -> str:
    which = draw.random()
    if which < 0.75:
        return "0"
    if which < 0.85 and rank > 2:
        return "1"
    if which < 0.91:
        return "d0"
    if which < 0.96 and rank > 2:
        return "d0" + "".join(f"d{axis}" for axis in range(2, rank))
    return "d" + "d".join(map(str, range(rank)))


@click.command()
@click.argument("table", type=click.Path(path_type=Path))
@click.option("--count", default=400, help="How many cases that onnxruntime runs.")
@click.option("--seed", default=0)
@click.option("--exchanged", is_flag=True, help="Cases of the table of runtimes with cells exchanged.")
@click.option("--runtime", "names", multiple=True, type=click.Choice(MEASURED), help="These alone (repeatable).")
def main(table: Path, count: int, seed: int, exchanged: bool, names: tuple[str, ...]) -> None:
    """Draw the cases and measure them."""
    onnxruntime.set_default_logger_severity(4)
    endless = exchanged_cases(seed) if exchanged else random_cases(seed)
    cases = rows(table) if table.exists() else drawn(endless, count)
    for name in names or MEASURED:
        if name in cases[0]:
            continue
        found = measure(name, cases)
        if isinstance(found, str):
            print(f"{name}: not measured. {found}")
            continue
        version, cells = found
        cases = [{**case, name: cells[case["id"]]} for case in cases]
        print(f"{name}: {version}", flush=True)
        with table.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(cases[0]), delimiter="\t", lineterminator="\n")
            writer.writeheader()
            writer.writerows(cases)


def drawn(endless: Iterator[dict[str, str]], count: int) -> list[dict[str, str]]:
    """The first cases that onnxruntime runs."""
    return list(islice((case for case in endless if reference(*model_of(case)) is not None), count))


if __name__ == "__main__":
    main()

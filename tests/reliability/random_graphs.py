"""The laws over thousands of drawn models: `python tests/reliability/random_graphs.py --cases 5000 --seed 0`.

Each case prints nothing but what breaks a law, with the number that repeats it (`--seed N --cases 1`); at the end the
numbers. `--minutes M` ends a run in time; `--keep FOLDER` keeps the models that broke a law.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from random_graphs_called import TARGETS
from random_graphs_case import Case, Tally, plain
from random_graphs_laws import frozen, inspected, judged, promoted
from random_graphs_model import draw
from random_graphs_rewrites import legalized, made_legacy

Law = tuple[Callable[..., None], dict[str, Any]]


def laws(rng: random.Random) -> list[Law]:
    """The laws of one case: every operation, its options drawn."""
    chosen: list[Law] = [(inspected, {}), (frozen, {})]
    forms = [{"form": form} for form in ("scales", "spatial", "factor", "sizes")]
    options = [*forms, {"shared": True}, {"keep_default": True}, {"for_": "tensorrt"}, {"allow_coupled": True}]
    mixed = {**rng.choice(forms), **rng.choice(options), **rng.choice(options[4:6])}
    if mixed.get("for_"):
        mixed = {"for_": "tensorrt", "denominator": rng.choice((1, 4, 1000))}
    unproven = {"verify": False}  # the judge of the laws is another anyway
    chosen += [(promoted, {"form": "scales"}), (promoted, rng.choice(options) | unproven), (promoted, mixed | unproven)]
    chosen.append((legalized, {"target": rng.choice(TARGETS)}))
    chosen += [(legalized, {"target": target, **unproven}) for target in rng.sample(TARGETS, 2)]
    inexact = {"lower": False, "allow_inexact": rng.random() < 0.5}
    chosen.append((legalized, {"target": rng.choice(TARGETS), **inexact, **unproven}))
    chosen.append((made_legacy, rng.choice(({}, {}, {"lower": False}, {"allow_inexact": True}))))
    if rng.random() < 0.2:
        chosen.append((judged, {}))
    return chosen


def broken(case: Case, tally: Tally, rng: random.Random) -> list[str]:
    """What a case's laws say against it."""
    tally.models["onnxruntime runs" if case.runs else "onnxruntime does not run"] += 1
    found = []
    for law, options in laws(rng):
        try:
            law(case, tally, **options)
        except Exception as error:  # every one of them is a finding
            where = traceback.extract_tb(error.__traceback__)[-1]
            said = str(error) if isinstance(error, AssertionError) and str(error) else repr(error)
            place = f"{Path(where.filename).name}:{where.lineno}"
            found.append(f"{law.__name__} {options}: {type(error).__name__} at {place}: {said[:700]}")
    return found


def run(seed: int, tally: Tally, keep: Path | None = None) -> list[str]:
    """One case."""
    rng = random.Random(seed)
    drawn = draw(rng)
    with tempfile.TemporaryDirectory() as folder:
        case = Case(drawn, Path(folder), seed)
        found = broken(case, tally, rng)
        if found and keep is not None:
            shutil.copytree(folder, keep / str(seed), dirs_exist_ok=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--all", action="store_true", help="print every breach, not the first of its kind")
    given = parser.parse_args()
    tally, kinds, ends = Tally(), Counter[str](), time.monotonic() + 60 * given.minutes
    count = 0
    for seed in range(given.seed, given.seed + given.cases):
        if time.monotonic() > ends:
            break
        count += 1
        for text in run(seed, tally, given.keep):
            kind = plain(text)
            kinds[kind] += 1
            if kinds[kind] <= 2 or given.all:
                print(f"--seed {seed}: {text}", flush=True)
    for title, counter in (
        ("models", tally.models), ("sites", tally.sites), ("operations", tally.operations),
        ("refused or unchanged", tally.refusals), ("laws broken", kinds),
    ):  # fmt: skip
        print(f"\n{title}: {sum(counter.values())}")
        for text, number in counter.most_common():
            print(f"{number:7d}  {text}")
    print(f"\n{count} cases")


if __name__ == "__main__":
    main()

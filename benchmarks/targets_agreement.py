"""How far the rules of each target agree with what the runtimes did.

    python benchmarks/targets_agreement.py TABLE.tsv            against a table of measurements
    python benchmarks/targets_agreement.py TABLE.tsv --target mnn   with every case that disagrees

A table has the columns of `runtime_cases` and one for each runtime with what it did (`ANSWERS`). Agreement is of three
answers: it computes what ONNX says, something else, or refuses. "False acceptances" are the cases of which the rules
say that all is well and the runtime computes something else or stops; a note may have said when. Of the disagreements
those are counted that a number decides which the file does not tell: with what was fed the rules say what the runtime
did. The last figure is the agreement of the cases whose file tells all: no length is open, no extent is fed.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import click

sys.path.append(str(Path(__file__).parents[1]))

from benchmarks.runtime_cases import ANSWERS, Case, model_of, rows
from resizefix.interop import opened
from resizefix.targets.catalogue import target_named
from resizefix.targets.collect_facts import facts_of
from resizefix.targets.facts import SiteFacts
from resizefix.targets.target import Effect, Violation, accepted, judge

COLUMNS = {
    "openvino": ("openvino",),
    "opencv-4": ("opencv4", "opencv-4"),
    "opencv-5": ("opencv5_auto", "opencv-5"),
    "ncnn": ("ncnn",),
    "mnn": ("mnn",),
    "tract": ("tract",),
    "tvm": ("tvm",),
    "qnn": ("qnn_htp_sim", "qnn"),
    "rknn": ("rknn_sim", "rknn"),
}
"""Under which names a table may have a target's runtime."""
FED = frozenset({"scales_in", "scales_concat", "sizes_in", "sizes_like"})
"""Forms of which the numbers of the extent are fed."""
_SHOWN = (
    *("id", "op", "opset", "mode", "ct", "nm", "coeff", "excl", "aa", "form", "values", "shape", "axes", "policy"),
    *("dtype", "producer"),
)


def answer(violations: Iterable[Violation]) -> str:
    """What the rules say of a node: fine, different or refused."""
    found = tuple(violations)
    if accepted(found):
        return "fine"
    return "refused" if any(violation.effect is Effect.REJECTED for violation in found) else "different"


def with_facts(cases: Iterable[Case]) -> list[tuple[Case, SiteFacts]]:
    """Each case with the facts of its node."""
    return [(case, facts) for case in cases for facts in facts_of(opened(model_of(case)[0]))]


def judged(
    cases: Iterable[tuple[Case, SiteFacts]], target: str, column: str
) -> Iterator[tuple[Case, str, str, tuple[Violation, ...]]]:
    """Each case with what the runtime did, what the rules say, and which are broken; those that were not run are
    left out."""
    for case, facts in cases:
        did = ANSWERS.get(case[column], case[column])
        if did in ("fine", "different", "refused") and case.get("ref", "ort") == "ort":
            violations = judge(target_named(target), facts)
            yield case, did, answer(violations), violations


def is_decided(case: Case) -> bool:
    """Whether the file tells what is resized by how much: no length is open, and no extent is fed."""
    return case["form"] not in FED and (case.get("dyn") or "0") == "0"


def decided_by_feeds(case: Case, target: str, did: str) -> bool:
    """Whether the file does not tell what the rules need, and they say what the runtime did once they know what was
    fed: the input's shape, and the numbers of the extent."""
    if is_decided(case):
        return False
    (facts,) = facts_of(opened(model_of({**case, "dyn": "0"})[0]))
    if case["form"] in FED:
        values = tuple(float(value) for value in case["values"].split(","))
        facts = replace(facts, static_values=values)
    return answer(judge(target_named(target), facts)) == did


def described(case: Case) -> str:
    """A case on one line."""
    is_open = (case.get("dyn") or "0") != "0"
    return " ".join(case[column] for column in _SHOWN if case.get(column)) + (f" open {case['dyn']}" if is_open else "")


@click.command()
@click.argument("table", type=click.Path(exists=True, path_type=Path))
@click.option("--target", "only", default=None, help="This target alone, with every case that disagrees.")
def main(table: Path, only: str | None) -> None:
    """Print the agreement of each target that the table has a column for."""
    cases = rows(table)
    known = with_facts(cases)
    for target, names in COLUMNS.items():
        column = next((name for name in names if cases and name in cases[0]), None)
        if column is None or only not in (None, target):
            continue
        counts: Counter[tuple[str, str]] = Counter()
        decided: Counter[bool] = Counter()
        fed = unnoted = 0
        for case, did, said, violations in judged(known, target, column):
            counts[did, said] += 1
            by_feeds = did != said and decided_by_feeds(case, target, did)
            fed += by_feeds
            unnoted += did != "fine" and said == "fine" and not violations
            if is_decided(case):
                decided[did == said] += 1
            if only and did != said:
                print(
                    f"{did}, the rules say {said}: {described(case)} ({', '.join(v.rule for v in violations)})"
                    + (" - by what was fed" if by_feeds else "")
                )
        agreed = sum(count for (did, said), count in counts.items() if did == said)
        false = sum(count for (did, said), count in counts.items() if said == "fine" and did != "fine")
        print(
            f"{target:10} {_share(agreed, counts.total())}, false acceptances: {false}, {unnoted} of them without a "
            f"note, disagreements that what was fed decides: {fed}; of those that the file decides "
            f"{_share(decided[True], decided.total())}"
        )


def _share(agreed: int, total: int) -> str:
    return f"{agreed} of {total} ({100 * agreed / max(total, 1):.1f} %)"


if __name__ == "__main__":
    main()

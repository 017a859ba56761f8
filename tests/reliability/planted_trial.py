"""Plants one or two faults into networks of several resizes, and judges `repair` by the network without them.

    python tests/reliability/planted_trial.py --cases 500 --seed 1 [--models FOLDER --every 8]

The networks are built node by node (no text, no function of resizefix), with two to four resizes in a row or beside
each other, and run at two sizes with optimisation disabled. A fault leaves the trace that a converter leaves. Verdicts:
`right` (bitwise as before the fault), `refused`, `harmless` (left alone and right), `missed` (left alone, and wrong),
`wrong` (written, and it computes something else), `moved` (a node far from any resize was changed). Exit code 1 for
`wrong`, `moved` and `missed`.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import onnx
from onnx import ModelProto

import resizefix

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1])]
from planted_faults import FAULTS, opset_of, resizes
from planted_networks import SIZES, network, outputs, same

# ---- judging ----


def near(model: ModelProto) -> set[str]:
    """Names that resizes read and write, and what computes their operands."""
    made = {name: node for node in model.graph.node for name in node.output}
    found: set[str] = set()
    for node in resizes(model):
        found |= {*node.input, *node.output}
        todo = list(node.input[1:])
        while todo:
            maker = made.get(todo.pop())
            if maker is not None and maker.op_type != "Shape":
                todo += [name for name in maker.input if name not in found]
                found |= {*maker.input, *maker.output}
    return found - {""}


def moved(broken: ModelProto, repaired: ModelProto) -> bool:
    """Whether a node that has no part in a resize is not what it was; raising the opset changes none here."""
    apart = near(broken) | near(repaired)
    kept = Counter(node.SerializeToString() for node in repaired.graph.node)
    far = (node for node in broken.graph.node if not {*node.input, *node.output} & apart)
    return any(not kept[node.SerializeToString()] for node in far)


def judge(valid: ModelProto, broken: ModelProto) -> tuple[str, str]:
    """The verdict on one broken model, and why."""
    wanted = [outputs(valid, size) for size in SIZES]
    try:
        result = resizefix.repair(broken)
    except resizefix.ResizefixError as error:
        return "refused", str(error)[:200]
    refused = [outcome.reason or "" for outcome in result.outcomes if outcome.status.value == "refused"]
    after = [outputs(result.model, size) for size in SIZES]
    right = all(same(one, other) for one, other in zip(wanted, after, strict=True) if not isinstance(one, str))
    if result.changed and moved(broken, result.model):
        return "moved", ""
    if right:
        return ("right" if result.changed else "harmless"), ""
    if refused:
        return ("refused" if all(refused) else "wrong"), refused[0][:200]
    first = after[0]
    what = first if isinstance(first, str) else f"shapes {[value.shape for value in first]}"
    return ("wrong" if result.changed else "missed"), what


def cases(rng: random.Random, count: int, folder: Path | None, every: int) -> Iterator[tuple[str, ModelProto]]:
    for number in range(count):
        yield f"network {number}", network(rng)
    for path in sorted(folder.glob("**/*.onnx"))[::every] if folder is not None else ():
        try:
            model = onnx.load(path)
        except Exception:  # some are broken on purpose
            continue
        if path.stat().st_size < 1_000_000 and model.ir_version > 3 and resizes(model) and not is_broken(model):
            yield str(path.relative_to(folder)), model


def is_broken(model: ModelProto) -> bool:
    """Whether a shared model has a fault of its own: then it is no judge."""
    try:
        return resizefix.repair(model, verify=False).changed
    except resizefix.ResizefixError:
        return True


def trial(rng: random.Random, name: str, valid: ModelProto) -> tuple[str, str, str, ModelProto] | None:
    """Plants one or two faults; None where none fits, or the model does not run."""
    if isinstance(outputs(valid, SIZES[0]), str):
        return None
    broken = ModelProto.FromString(valid.SerializeToString())
    planted = []
    for fault in rng.sample(sorted(FAULTS), 8):
        if len(planted) < (2 if rng.random() < 0.6 else 1) and FAULTS[fault](broken, rng.choice(resizes(broken)), rng):
            planted.append(fault)
    if not planted:
        return None
    verdict, why = judge(valid, broken)
    return " + ".join(sorted(planted)), verdict, why, broken


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--cases", type=int, default=300)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--models", type=Path)
    options.add_argument("--every", type=int, default=8)
    options.add_argument("--keep", type=Path, help="where the models of a bad verdict are written")
    options.add_argument("--refusals", action="store_true", help="print what was refused, and why")
    given = options.parse_args()
    rng = random.Random(given.seed)
    verdicts: Counter[str] = Counter()
    for name, valid in cases(rng, given.cases, given.models, given.every):
        made = trial(rng, name, valid)
        if made is None:
            continue
        faults, verdict, why, broken = made
        verdicts[verdict] += 1
        if verdict in ("wrong", "moved", "missed") or (given.refusals and verdict == "refused"):
            print(f"{verdict:8} {faults}: {name} (opset {opset_of(valid)}): {why}", flush=True)
            if given.keep and verdict != "refused":
                stem = f"{verdict}_{sum(verdicts.values())}"
                onnx.save(broken, given.keep / f"{stem}.onnx")
                onnx.save(valid, given.keep / f"{stem}_valid.onnx")
    print(sum(verdicts.values()), dict(verdicts))
    return int(any(verdicts[bad] for bad in ("wrong", "moved", "missed")))


if __name__ == "__main__":
    sys.exit(main())

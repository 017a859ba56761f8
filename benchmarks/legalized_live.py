"""`legalize --target RUNTIME` of real models, run in that runtime and compared with the original in onnxruntime.

    python benchmarks/legalized_live.py MODELS mnn --every 4 --seconds 600
    python benchmarks/legalized_live.py MODELS opencv-4 --runtime-python /path/to/python --rows opencv-4.tsv

Right: every output within 1e-4 of its largest value, or within the last bits of half precision. Each model with static
sizes is run before and after, and what is not right afterwards is laid to somebody:

- refused: a resize was refused, with the reason, and not because the model must be raised first (`--opset`);
- other operator: the runtime does not run the model without its resizes either, which become inputs and outputs (of a
  model that is nothing but resizes, it does not add its tensors, nor copy them where the resizes do); or it computes
  something else though what took the place of each resize is right alone, fed what it is fed in the model;
- resize wrong, resize not run: neither. It is a fault of the rules or of a lowering.

The part that is right is of the models that the runtime takes apart from their resizes: of all but "other operator".
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt
from onnx import NodeProto, helper

sys.path.append(str(Path(__file__).parents[1]))

import resizefix
from resizefix.diagnostics import ResizefixError
from resizefix.document.document import Document
from resizefix.library.live import places_of
from resizefix.library.result import Result
from resizefix.operations.sites import find_sites
from resizefix.runtimes.catalogue import runtime_named
from resizefix.runtimes.inputs import model_inputs
from resizefix.runtimes.ort_session import open_session
from resizefix.runtimes.runtime import Ending, Runtime, RuntimeAnswer
from resizefix.shapes.stored_shapes import ModelView
from resizefix.verification.compare import relative_bounds
from resizefix.verification.extraction import Extraction
from resizefix.verification.in_runtime import fed, watched_tensors, write_sizes

RIGHT_WITHIN = 1e-4
MOST_ELEMENTS = 3_000_000
MOST_BYTES = 60_000_000
_DTYPES = {
    1: np.float32,
    2: np.uint8,
    3: np.int8,
    6: np.int32,
    7: np.int64,
    9: np.bool_,
    10: np.float16,
    11: np.float64,
}
Arrays = Mapping[str, npt.NDArray[Any]]


def judged(answer: object, wanted: Mapping[str, Any], *, flat: bool = False) -> tuple[str, str]:
    """right, wrong, shape, or how it ended, and why. `flat`: the runtime has no batch axis, and may drop ones."""
    if not isinstance(answer, RuntimeAnswer):
        return "not installed", str(getattr(answer, "reason", answer))
    if answer.ending is not Ending.RAN:
        return answer.ending.value, str(answer.message)
    bounds = relative_bounds(wanted, RIGHT_WITHIN)  # half precision has its last bits
    for name, want in wanted.items():
        got = np.asarray(answer.results[0][name])
        if got.shape != want.shape and not (flat and got.size == want.size):
            return "shape", f"{got.shape} instead of {want.shape}"
        difference = np.abs(got.reshape(want.shape).astype(np.float64) - np.asarray(want, np.float64))
        largest = float(np.abs(np.asarray(want, np.float64)).max(initial=0))
        if want.size and not float(difference.max()) <= bounds[name].bound * max(largest, 1e-6):
            return "wrong", f"{difference.max():.3g} where the largest value is {largest:.3g}"
    return "right", ""


def feeds_of(document: Document) -> dict[str, npt.NDArray[Any]] | None:
    """Random numbers for a model of static sizes; None for others, and for those whose scales are fed."""
    generator = np.random.default_rng(0)
    feeds: dict[str, npt.NDArray[Any]] = {}
    for entry in model_inputs(document.proto):
        if entry.has_default:
            continue
        shape = entry.shape
        dtype = _DTYPES.get(entry.elem_type or 0)
        if dtype is None or shape is None or any(not isinstance(size, int) for size in shape):
            return None
        sizes = [int(size) for size in shape]
        floating = np.issubdtype(dtype, np.floating)
        if np.prod(sizes) > MOST_ELEMENTS or len(sizes) < 2:  # the latter may be scales, sizes or a factor
            return None
        numbers = generator.normal(0, 1, sizes) if floating else generator.integers(0, 3, sizes)
        feeds[entry.name] = numbers.astype(dtype)
    return feeds


def outputs_of(path: Path) -> tuple[Arrays, Arrays, Document, Arrays] | str:
    """Feeds of a model, what onnxruntime makes of them, the model, and the tensors at its resizes as well; else why it
    is left out."""
    try:
        document = Document.open(path)
        feeds = feeds_of(document)
        if feeds is None:
            return "open sizes"
        tensors = watched_tensors(document, places_of(find_sites(document)))
        outputs = open_session(document, optimized=False).run(feeds)
        inside = open_session(document, optimized=False, extra_outputs=tensors).run(feeds) if tensors else outputs
    except ResizefixError:
        return "onnxruntime does not run it"
    numbers = all(isinstance(value, np.ndarray) and value.dtype.kind in "fiub" for value in outputs.values())
    return (feeds, outputs, document, {**inside, **feeds}) if numbers else "outputs that are no numbers"


def without_resizes(document: Document, values: Mapping[str, Any]) -> Document:
    """The model with every resize cut out: what it resized is an output, what it made an input.

    Raises LookupError for a resize in a body, which cannot be cut out so.
    """
    cut = document.copy()
    graph = cut.proto.graph
    sites = find_sites(document)
    if any(site.key[0].steps for site in sites):
        raise LookupError
    made = {site.output for site in sites}
    nodes = [node for node in graph.node if not made & set(node.output)]
    own = {name for node in nodes for name in node.output}
    known = {value.name for value in graph.output}
    wanted = [name for name in dict.fromkeys(site.input for site in sites) if name in own and name not in known]
    kept = [value for value in graph.output if value.name not in made]
    needed = {value.name for value in kept} | set(wanted)
    alive = []
    for node in reversed(nodes):  # what computed a size has no reader any more
        if needed & set(node.output):
            alive.append(node)
            needed |= names_read(node)
    del graph.node[:], graph.output[:]
    graph.node.extend(reversed(alive))
    graph.output.extend(kept)
    for names, entries in ((wanted, graph.output), (sorted(made & needed), graph.input)):
        for name in names:
            kind = helper.np_dtype_to_tensor_dtype(values[name].dtype)
            entries.append(helper.make_tensor_value_info(name, kind, values[name].shape))
    for entry in [entry for entry in graph.input if entry.name not in needed]:
        graph.input.remove(entry)
    return cut


def names_read(node: NodeProto) -> set[str]:
    """What a node reads, its bodies included."""
    inner = (attribute.g for attribute in node.attribute if attribute.HasField("g"))
    return set(node.input) | {name for body in inner for each in body.node for name in names_read(each)}


def laid_to(before: Document, after: Document, runtime: Runtime, ending: str, values: Mapping[str, Any]) -> str:
    """Whose fault it is that the legalized model is not right."""
    if ending in ("wrong", "shape"):
        alone = resizes_alone(before, after, runtime, values)
        return "other operator" if alone == "right" else alone
    try:
        cut = without_resizes(before, values)
    except LookupError:
        return "other operator"  # a body: only onnxruntime runs those that the models have
    here = runtime.folder / "cut.onnx"
    cut.save(here, overwrite=True)
    names = [value.name for value in cut.proto.graph.output]
    if not names:  # the model is nothing but resizes
        return "resize not run" if takes_tensors(before, runtime, values) else "other operator"
    answer = runtime.run(here, [fed(cut, values)], names)
    ran = isinstance(answer, RuntimeAnswer) and answer.ending is Ending.RAN
    return "resize not run" if ran else "other operator"


def takes_tensors(document: Document, runtime: Runtime, values: Mapping[str, Any]) -> bool:
    """Whether the runtime takes the tensors that are resized at all: it runs a model that adds each to itself, or
    copies each, as the resizes do."""
    sites = find_sites(document)
    copies = all(np.array_equal(values.get(site.input, ()), values.get(site.output, ())) for site in sites)
    names = [name for name in dict.fromkeys(site.input for site in sites) if name in values]
    model = document.copy()
    graph = model.proto.graph
    del graph.node[:], graph.input[:], graph.output[:], graph.initializer[:], graph.value_info[:]
    for name in names:
        kind = helper.np_dtype_to_tensor_dtype(values[name].dtype)
        inputs = [name] if copies else [name, name]
        graph.node.append(helper.make_node("Identity" if copies else "Add", inputs, [f"{name}_out"], f"{name}_out"))
        graph.input.append(helper.make_tensor_value_info(name, kind, values[name].shape))
        graph.output.append(helper.make_tensor_value_info(f"{name}_out", kind, values[name].shape))
    here = runtime.folder / "tensors.onnx"
    model.save(here, overwrite=True)
    answer = runtime.run(here, [{name: values[name] for name in names}], [f"{name}_out" for name in names])
    return isinstance(answer, RuntimeAnswer) and answer.ending is Ending.RAN


def resizes_alone(before: Document, after: Document, runtime: Runtime, values: Mapping[str, Any]) -> str:
    """Whether what took the place of every resize is right in the runtime, each cut out and fed what it is fed in the
    model: right, resize wrong or resize not run."""
    extraction = Extraction(ModelView(before), ModelView(after))
    for place in places_of(find_sites(before)):
        if place.key[0].steps or place.key[1] not in values:
            continue  # in a body, which only onnxruntime runs
        cut = extraction.extract({place.key: place.data})[1]
        cut.proto.producer_name = before.proto.producer_name  # OpenCV looks at it
        write_sizes(cut.proto, values)
        here = runtime.folder / "alone.onnx"
        cut.save(here, overwrite=True)
        answer = runtime.run(here, [fed(cut, values)], [place.key[1]])
        found, why = judged(answer, {place.key[1]: values[place.key[1]]}, flat=runtime.row.name == "ncnn")
        if found != "right":
            print(f"  {place.label} alone: {found} {why[-200:]!r}")
            return "resize wrong" if found in ("wrong", "shape") else "resize not run"
    return "right"


def legalized(document: Document, target: str) -> Result:
    """The model for the target; raised first where every refusal says that this helps."""
    made = resizefix.legalize(document, target=target, verify=False, on_refusal="return")
    advice = {one.retry_args for one in made.outcomes if one.status.value == "refused"}
    if len(advice) == 1 and (told := advice.pop())[:1] == ("--opset",):
        return resizefix.legalize(document, target=target, verify=False, opset=int(told[1]), on_refusal="return")
    return made


def run_all(paths: Iterator[Path], runtime: Runtime, seconds: float, rows: list[tuple[str, ...]]) -> None:
    """What becomes of each model; all that is not right is printed."""
    end = time.monotonic() + seconds
    flat = runtime.row.name == "ncnn"
    for path in paths:
        if time.monotonic() > end:
            print("time is up")
            return
        known = outputs_of(path)
        if isinstance(known, str):
            rows.append((str(path), f"left out: {known}", "", "", ""))
            continue
        feeds, wanted, document, values = known
        here = runtime.folder / "model.onnx"
        document.save(here, overwrite=True)
        before, _ = judged(runtime.run(here, [feeds], list(wanted)), wanted, flat=flat)
        made = legalized(document, runtime.row.target)
        made.model.save(here, overwrite=True)
        after, why = judged(runtime.run(here, [feeds], list(wanted)), wanted, flat=flat)
        refused = [str(one.reason) for one in made.outcomes if one.status.value == "refused"]
        what = "right" if after == "right" else laid_to(document, made.model, runtime, after, values)
        if refused and what.startswith("resize"):
            what = "refused"
        rows.append((str(path), what, before, after, "; ".join(refused) or why))
        if what not in ("right", "other operator"):
            print(f"{path}: {what}, {before} -> {after}: {why[-200:]!r} {'; '.join(refused)[:200]}", flush=True)


@click.command()
@click.argument("models", type=click.Path(exists=True, path_type=Path))
@click.argument("runtime")
@click.option("--every", default=1, help="Only every so manieth model.")
@click.option("--first", default=0, help="Begin with this one.")
@click.option("--seconds", default=600.0, help="Begin no model after this time.")
@click.option("--runtime-python", help="The Python that has the runtime.")
@click.option("--rows", "file", type=click.Path(path_type=Path), help="Also write a row for each model.")
def main(
    models: Path, runtime: str, every: int, first: int, seconds: float, runtime_python: str | None, file: Path | None
) -> None:
    """Legalize the models of a folder for a runtime, and run them there."""
    paths = sorted(path for path in models.rglob("*.onnx") if path.stat().st_size < MOST_BYTES)
    rows: list[tuple[str, ...]] = []
    with Runtime(runtime_named(runtime), python=runtime_python, time_limit=60) as asked:
        run_all(iter(paths[first::every]), asked, seconds, rows)
    if file is not None:
        file.write_text("".join("\t".join(" ".join(cell.split()) for cell in row) + "\n" for row in rows))
    counts = Counter(row[1] for row in rows)
    for what, count in sorted(counts.items()):
        print(f"{count:5} {what}")
    taken = sum(counts[what] for what in ("right", "refused", "resize wrong", "resize not run"))
    print(f"right before {sum(row[2] == 'right' for row in rows)}, after {counts['right']} of {taken}", end="")
    print(f": {100 * counts['right'] / max(taken, 1):.1f} %")


if __name__ == "__main__":
    main()

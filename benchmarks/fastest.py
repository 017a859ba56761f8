"""`legalize --fastest` on twenty real exports, and the table of before and after in docs/performance.md.

    python benchmarks/fastest.py MODELS              # all of them, some minutes; writes the table
    python benchmarks/fastest.py MODELS --only unet  # those with the word in their path; prints alone

Each model that was rewritten is timed once more against the original, in a process of its own: none may be slower.
Times mean most on a machine that does nothing else; that runs take turns makes up for some of it.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import click

import resizefix
from resizefix.document.document import Document
from resizefix.library.at_size import fixed_at
from resizefix.library.fastest import Speed, milliseconds, ratio
from resizefix.runtimes.catalogue import runtime_named
from resizefix.runtimes.inputs import model_inputs
from resizefix.runtimes.runtime import LiveUnavailable, ModelToTime, Runtime
from resizefix.verification.in_runtime import fed, watched_runs
from resizefix.verification.verification import Conditions

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- begin fastest -->", "<!-- end fastest -->"
SLOWER = 1.05  # times as long: more than chance

MODELS: tuple[tuple[str, tuple[int, int] | None], ...] = (
    ("torch-2.0.1/srcnn_x3_bicubic_dyn_ts_op18", (128, 128)),
    ("torch-1.7.1/srcnn_x3_bicubic_ts_op12", None),
    ("torch-1.4.0/srcnn_x3_bicubic_ts_op11", None),
    ("keras-3.15.1-torch/ops_resize_bicubic", None),
    ("zoo-torch-2.13.0/transformers_dinov2_ts", None),
    ("zoo-torch-2.13.0/transformers_vit_interp_pos_ts", (224, 224)),
    ("zoo-torch-2.13.0/transformers_depth_anything_ts", None),
    ("zoo-torch-2.13.0/transformers_glpn_ts", None),
    ("zoo-torch-2.13.0/transformers_swin2sr_nearestconv_dynamo", None),
    ("zoo-torch-2.13.0/diffusers_vae_decoder_dynamo", None),
    ("public-ShiqiYu_libfacedetection.train/onnx_yunet_n_320_320", None),
    ("torch-2.0.1/yolov8_dyn_ts_op18", (320, 320)),
    ("torch-2.13.0/bisenet_scale_ts_op20", None),
    ("torch-1.13.1/bisenet_dynsize_ts_op17", (256, 256)),
    ("torch-2.13.0/unet_bilinear_ac_ts_op17", None),
    ("torch-1.13.1/fpn_size_dyn_ts_op14", (256, 256)),
    ("torch-2.13.0/hrnet_fuse_ts_op20", None),
    ("tool-onnx_graphsurgeon/torch-2.13.0__esrgan_x4_dyn_dynamo_op18", (64, 64)),
    ("tf-2.6.5_tf2onnx-1.9.3/keras_unet_nearest_keras_op14", None),
    ("tf-2.21.0_tf2onnx-1.17.0/keras_unet_bilinear_keras_op11", None),
)


@dataclass(frozen=True)
class Row:
    """One model: what it was before and is now, and both times of the second measurement (None: it was not changed)."""

    name: str
    size: str
    forms: str
    before: float
    after: float
    again: float | None


def timed(name: str, path: Path, size: tuple[int, int] | None) -> tuple[Row, str]:
    """The row of a model, and the runtime's title."""
    result = resizefix.legalize(str(path), fastest=True, allow_inexact=True, size=size, on_refusal="return")
    document = Document.open(path)
    base = document if size is None else fixed_at(document, size)
    speed = result.speed
    assert speed is not None
    again = None
    if result.changed:
        before, after, part = measured(base, result.model)
        again = part
    elif speed.whole is not None:
        before = after = speed.whole.before_ms
    else:
        before, after, _ = measured(base, base)
        after = before
    shown = "as exported" if size is None else "×".join(map(str, size))
    return Row(name, shown, forms(speed), before, after, again), speed.runtime


def measured(before: Document, after: Document) -> tuple[float, float, float]:
    """Milliseconds of two models in turns, in a new process, and the part of the time that the second takes."""
    (run,) = watched_runs(before, (), model_inputs(before.proto), {}, Conditions(seed=1))
    with Runtime(runtime_named("onnxruntime")) as runtime:
        models = []
        for place, document in enumerate((after, before)):
            path = runtime.folder / f"{place}.onnx"
            document.save(path, overwrite=True)
            outputs = tuple(value.name for value in document.proto.graph.output)
            models.append(ModelToTime(path, fed(document, run.feeds), outputs))
        answer = runtime.time(models, 15, 4.0)
    assert not isinstance(answer, LiveUnavailable), answer.reason
    new, old = answer.models
    return milliseconds(old), milliseconds(new), ratio(old.times, new.times)


def forms(speed: Speed) -> str:
    """What became of how many nodes."""
    counts = Counter(row.after.form for row in speed.nodes if row.after != row.before)
    return ", ".join(f"{count} × {form}" for form, count in counts.items()) or "unchanged"


def table(rows: list[Row], runtime: str) -> str:
    """The table and what it was measured on."""
    machine = f"{date.today()}, {runtime}, {os.cpu_count()} cores, load of the machine {os.getloadavg()[0]:.1f}."
    text = [
        machine,
        "",
        "| model | size | resizes | before, ms | after, ms | times as fast |",
        "|---|---|---|---|---|---|",
    ]
    changed = [row for row in rows if row.again is not None]
    text += [
        f"| {row.name} | {row.size} | {row.forms} | {row.before:.3g} | {row.after:.3g} | {row.before / row.after:.3g} |"
        for row in changed
    ]
    if len(changed) < len(rows):
        text.append(f"| {len(rows) - len(changed)} others | | unchanged | | | 1 |")
    return "\n".join(text)


@click.command()
@click.argument("models", type=click.Path(exists=True, path_type=Path))
@click.option("--only", default="", help="Only the models with this in their path; nothing is written.")
def main(models: Path, only: str) -> None:
    """Measure, print, and write the table."""
    rows, runtime = [], ""
    for name, size in MODELS:
        if only in name:
            row, runtime = timed(name, models / f"{name}.onnx", size)
            rows.append(row)
            print(row, flush=True)
    made = table(rows, runtime)
    print(made)
    slower = [row.name for row in rows if row.again is not None and row.after > row.before * SLOWER]
    if slower:
        raise SystemExit(f"slower than before: {', '.join(slower)}")
    if not only:
        page = PAGE.read_text(encoding="utf-8")
        head, _, rest = page.partition(BEGIN)
        PAGE.write_text(f"{head}{BEGIN}\n{made}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Commands that write a model, and what the files may be afterwards: all as they were, or all new."""

import shutil
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
from hostile_models import model, resize, scales
from onnx import helper, numpy_helper
from worker import Report, Worker

from resizefix.document.document import Document

Files = dict[str, bytes]


class Save(NamedTuple):
    """A command that writes `out`, in a folder as `prepared` makes it."""

    command: list[str]
    out: str
    old: bool = False  # whether OUT is there already
    external: bool = False  # whether the model keeps its weights in other files


SAVES = {
    "new": Save(["model.onnx", "out.onnx"], "out.onnx"),
    "replacing": Save(["model.onnx", "out.onnx", "--force"], "out.onnx", old=True),
    "in place": Save(["model.onnx", "--in-place"], "model.onnx"),
    "with a data file": Save(["model.onnx", "out.onnx", "--save-as-external-data"], "out.onnx"),
    "replacing, with a data file": Save(
        ["model.onnx", "out.onnx", "--force", "--save-as-external-data"], "out.onnx", old=True
    ),
    "in place, with a data file": Save(["model.onnx", "--in-place", "--save-as-external-data"], "model.onnx"),
    "beside its data": Save(["model.onnx", "out.onnx"], "out.onnx", external=True),
    "in place, with data beside it": Save(["model.onnx", "--in-place"], "model.onnx", external=True),
    "away from its data": Save(["model.onnx", "away/out.onnx"], "away/out.onnx", external=True),
    "away, replacing": Save(["model.onnx", "away/out.onnx", "--force"], "away/out.onnx", old=True, external=True),
}


def with_weights() -> onnx.ModelProto:
    """A small model with two tensors of 16 KiB, large enough to be copied by the kernel."""
    weights = np.random.default_rng(0).standard_normal((2, 64, 64)).astype(np.float32)
    nodes = [
        helper.make_node("Constant", [], ["w"], value=numpy_helper.from_array(weights[0], "w")),
        helper.make_node("Add", ["x", "w"], ["t"]),
        helper.make_node("Add", ["t", "v"], ["u"]),
        resize("u"),
    ]
    inputs = [helper.make_tensor_value_info("x", 1, [1, 1, 64, 64])]
    return model(nodes, [scales(1, 1, 2, 2), numpy_helper.from_array(weights[1], "v")], inputs=inputs)


def prepared(place: Path, save: Save) -> Path:
    """The folder `work` in `place`, made anew, as the command finds it."""
    folder = place / "work"
    if folder.exists():
        shutil.rmtree(folder)
    (folder / "away").mkdir(parents=True)
    made = with_weights()
    if save.external:
        onnx.save(
            made, folder / "model.onnx", save_as_external_data=True, all_tensors_to_one_file=False, size_threshold=0
        )
    else:
        onnx.save(made, folder / "model.onnx")
    (folder / "model.onnx").chmod(0o640)
    if save.old:
        (folder / save.out).write_bytes(model().SerializeToString())
    return folder


def files(folder: Path) -> Files:
    """All files below a folder, with what is in them."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def run(worker: Worker, folder: Path, save: Save, **fault: object) -> Report:
    """The command with a fault in it, or with its calls counted."""
    return worker.run(["promote-scales", *save.command, "--no-verify"], folder=folder, fault=fault or {"count": True})


def temporary(name: str) -> bool:
    """Whether a file has a name that only an unfinished write gives."""
    return Path(name).name.startswith(".resizefix-") and name.endswith(".tmp")


def is_old_or_new(found: Files, save: Save, old: Files, new: Files) -> str:
    """Which of the two the files are, apart from files under names that nothing reads. Anything else fails."""
    lasting = {name: content for name, content in found.items() if not temporary(name)}
    assert {name: content for name, content in lasting.items() if name in old and name != save.out} == {
        name: content for name, content in old.items() if name != save.out
    }
    if lasting.get(save.out) == new[save.out]:
        assert lasting == new
        return "new"
    assert lasting.get(save.out) == old.get(save.out)
    # A data file may be there already, whole, and the model that reads it not yet.
    assert all(new[name] == content for name, content in lasting.items() if name not in old)
    return "old"


def before_and_after(worker: Worker, place: Path, save: Save) -> tuple[Files, Files, list[str]]:
    """The files without and with the command, and the calls by which it changed them."""
    folder = prepared(place, save)
    old = files(folder)
    report = run(worker, folder, save)
    assert report.last.code == 0, report.last
    Document.open(folder / save.out).to_proto()
    return old, files(folder), report.calls

"""Files that others use too: who reads OUT meanwhile, who writes it as well, and files with more names or owners."""

import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import onnx
import pytest
from saves import SAVES, files, prepared, with_weights
from worker import Worker

from resizefix.document.document import Document

FORMS = ("scales", "sizes")
PROMOTE = ["promote-scales", "--no-verify"]


def promoted(worker, folder, *arguments):
    return worker.run([*PROMOTE, *arguments], folder=folder).last


@pytest.fixture
def folder(tmp_path):
    return prepared(tmp_path, SAVES["new"])


@pytest.fixture
def expected(worker, folder):
    """What promotion makes of the model."""
    assert promoted(worker, folder, "model.onnx", "expected.onnx").code == 0
    content = (folder / "expected.onnx").read_bytes()
    (folder / "expected.onnx").unlink()
    return content


def test_who_reads_out_meanwhile_reads_one_whole_model_or_the_other(tmp_path):
    path = tmp_path / "out.onnx"
    models = [with_weights(), with_weights()]
    models[1].producer_name = "another, and longer" * 1000
    contents = [model.SerializeToString(deterministic=True) for model in models]
    path.write_bytes(contents[0])
    held = path.open("rb")
    done = threading.Event()
    seen: set[bytes] = set()

    def read():
        count = 0
        while not done.is_set():
            seen.add(path.read_bytes())
            count += 1
        return count

    with ThreadPoolExecutor(1) as others:
        reads = others.submit(read)
        for turn in range(100):
            Document.from_proto(models[turn % 2]).save(path, overwrite=True)
        done.set()
        assert reads.result() > 0
    assert seen <= set(contents)
    # Whoever had the file open goes on reading what it was.
    assert held.read() == contents[0]


def test_of_two_writers_of_a_new_out_one_succeeds_and_the_other_is_reported(worker, folder, expected):
    def writing(by, form):
        return promoted(by, folder, "model.onnx", "out.onnx", "--form", form)

    with Worker() as other, ThreadPoolExecutor(2) as both:
        for _ in range(5):
            runs = list(both.map(writing, (worker, other), FORMS))
            assert sorted(run.code for run in runs) == [0, 2]
            assert re.search("out.onnx:? exists", next(run.stderr for run in runs if run.code == 2))
            winner = next(form for form, run in zip(FORMS, runs, strict=True) if run.code == 0)
            assert ((folder / "out.onnx").read_bytes() == expected) == (winner == "scales")
            assert files(folder).keys() == {"model.onnx", "out.onnx"}
            (folder / "out.onnx").unlink()


def test_of_two_writers_that_replace_out_one_is_last_and_its_model_is_whole(worker, folder, expected):
    assert promoted(worker, folder, "model.onnx", "sizes.onnx", "--form", "sizes").code == 0
    sizes = (folder / "sizes.onnx").read_bytes()

    def writing(by, form):
        return promoted(by, folder, "model.onnx", "out.onnx", "--force", "--form", form)

    with Worker() as other, ThreadPoolExecutor(2) as both:
        for _ in range(5):
            runs = list(both.map(writing, (worker, other), FORMS))
            assert [run.code for run in runs] == [0, 0]
            assert (folder / "out.onnx").read_bytes() in (expected, sizes)
            assert files(folder).keys() == {"model.onnx", "sizes.onnx", "out.onnx"}


def same_file(folder, how):
    """Another name of `model.onnx`."""
    match how:
        case "dot":
            return "./model.onnx"
        case "detour":
            return "away/../model.onnx"
        case "absolute":
            return str(folder / "model.onnx")
        case "symbolic link":
            (folder / "link.onnx").symlink_to("model.onnx")
        case "link of a link":
            (folder / "between.onnx").symlink_to(folder / "model.onnx")
            (folder / "link.onnx").symlink_to("between.onnx")
        case "hard link":
            (folder / "link.onnx").hardlink_to(folder / "model.onnx")
        case "folder by a link":
            (folder / "here").symlink_to(".")
            return "here/model.onnx"
    return "link.onnx"


NAMES = ["dot", "detour", "absolute", "symbolic link", "link of a link", "hard link", "folder by a link"]


@pytest.mark.parametrize("how", NAMES)
def test_in_is_never_replaced_by_another_name_of_it(worker, folder, how):
    out = same_file(folder, how)
    old, before = (folder / "model.onnx").read_bytes(), sorted(os.listdir(folder))
    for words in ((), ("--force",)):
        run = promoted(worker, folder, "model.onnx", out, *words)
        assert run.code == 2
        assert "is the input model" in run.stderr
        assert "--in-place" in run.stderr
        assert (folder / "model.onnx").read_bytes() == old
        assert sorted(os.listdir(folder)) == before


def test_in_place_keeps_mode_and_symbolic_links_and_detaches_no_hard_link(worker, folder, expected):
    (folder / "away" / "link.onnx").symlink_to("../model.onnx")
    (folder / "other.onnx").hardlink_to(folder / "model.onnx")
    old = (folder / "model.onnx").read_bytes()
    assert promoted(worker, folder, "away/link.onnx", "--in-place").code == 2
    assert (folder / "model.onnx").samefile(folder / "other.onnx")
    assert (folder / "model.onnx").read_bytes() == old
    (folder / "other.onnx").unlink()
    assert promoted(worker, folder, "away/link.onnx", "--in-place").code == 0
    assert os.readlink(folder / "away" / "link.onnx") == "../model.onnx"
    assert (folder / "model.onnx").stat().st_mode & 0o777 == 0o640
    assert (folder / "model.onnx").read_bytes() == expected


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root may give files away")
def test_in_place_keeps_the_owner(worker, folder):
    os.chown(folder / "model.onnx", 1234, 4321)
    assert promoted(worker, folder, "model.onnx", "--in-place").code == 0
    status = (folder / "model.onnx").stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (1234, 4321, 0o640)


@pytest.mark.parametrize(
    ("link", "sentence"), [("nowhere.onnx", None), ("away", "is a folder"), ("/dev/null", "is not a regular file")]
)
def test_out_may_be_a_link_to_what_is_not_there_and_to_nothing_else_but_a_file(worker, folder, link, sentence):
    (folder / "out.onnx").symlink_to(link)
    old = files(folder)
    assert promoted(worker, folder, "model.onnx", "out.onnx").code == 2
    run = promoted(worker, folder, "model.onnx", "out.onnx", "--force")
    assert os.readlink(folder / "out.onnx") == link
    if sentence is None:
        assert run.code == 0
        assert (folder / link).is_file()
    else:
        assert run.code == 2
        assert sentence in run.stderr
        assert files(folder) == old


def sharing(folder):
    """Two models whose weights are the same parts of one file."""
    for name in ("a.onnx", "b.onnx"):
        onnx.save(
            with_weights(), folder / name, save_as_external_data=True, location="weights.bin", size_threshold=0,
            convert_attribute=True,
        )  # fmt: skip
        if name == "a.onnx":
            (folder / "weights.bin").rename(folder / "kept")
    assert (folder / "kept").read_bytes() == (folder / "weights.bin").read_bytes()
    (folder / "kept").unlink()
    return files(folder)


@pytest.mark.parametrize(
    "arguments",
    [
        ["a.onnx", "out.onnx"],
        ["a.onnx", "--in-place"],
        ["a.onnx", "away/out.onnx"],
        ["a.onnx", "out.onnx", "--save-as-external-data"],
        ["a.onnx", "--in-place", "--save-as-external-data"],
        ["a.onnx", "b.onnx", "--force"],
        ["a.onnx", "weights.bin", "--force"],
    ],
    ids=" ".join,
)
def test_weights_that_two_models_share_stay_as_they_are(worker, folder, arguments):
    old = sharing(folder)
    whole = onnx.load(folder / "a.onnx").SerializeToString()
    run = promoted(worker, folder, *arguments)
    new = files(folder)
    out = arguments[0] if arguments[1] == "--in-place" else arguments[1]
    assert {name: new[name] for name in old if name != out} == {n: c for n, c in old.items() if n != out}
    if out == "weights.bin":
        assert run.code == 2
        assert "holds the data of tensor" in run.stderr
        assert new == old
        return
    assert run.code == 0, run.stderr
    written, before = onnx.load(folder / out), onnx.load_from_string(whole)
    assert weights_of(written) == weights_of(before)


def weights_of(model):
    tensors = [tensor for tensor in model.graph.initializer if tensor.name == "v"]
    tensors += [attribute.t for node in model.graph.node for attribute in node.attribute if attribute.name == "value"]
    return [tensor.raw_data for tensor in tensors]

"""benchmarks/corpus.py finds every broken promise of a command line: a made-up one breaks them by file name."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from child_python import ended
from onnx_text import model

RUNNER = Path(__file__).parent.parent / "benchmarks" / "corpus.py"
MODEL = model("(float[2] x) => (float[2] y) { y = Relu (x) }").SerializeToString()

FAKE = """
import json, os, signal, sys, time

def main():
    command, model, *rest = sys.argv[1:]
    out = rest[0] if rest[0] != "--json" else None
    name = os.path.basename(model).partition(".")[0]
    codes = {"refused": 1, "writes_and_refuses": 1, "no_reason": 1, "unusable": 2, "silent": 2, "odd_code": 3}
    code = codes.get(name, 0)
    reason = "cannot change 'node_%d' at scale 2.5" % len(name)
    document = {"resizefix": "0", "command": command, "model": model, "output": out, "exit_code": code, "error": None}
    if code in (1, 3) and name != "no_reason":
        document["outcomes"] = [{"status": "refused", "reason": reason}]
    if code == 2:
        document["error"] = model + ": not an ONNX model"
        if name != "silent":
            print(document["error"], file=sys.stderr)
    if name == "wrong_fields":
        document.update(command="other", exit_code=7, model="elsewhere.onnx", error="oh")
    if name == "missing_field":
        del document["output"]
    if name == "traceback":
        raise KeyError("scales")
    if name == "crash":
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "hangs":
        time.sleep(60)
    if name == "changes_input":
        with open(model, "ab") as stream:
            stream.write(bytes([0x12, 0x00]))
    if name == "litters":
        open(model + ".log", "w").close()
    if out and (code == 0 or name == "writes_and_refuses") and name != "writes_nothing":
        content = b"no model" if name == "writes_nonsense" else open(model, "rb").read()
        if name == "writes_invalid":
            content = content.replace(b"Relu", b"Rela")
        with open(out, "wb") as stream:
            stream.write(content)
    print("NaN" if name == "not_json" else json.dumps(document))
    if name == "two_documents":
        print("{}")
    return code

if __name__ == "__main__":
    sys.exit(main())
"""

BROKEN = {
    "crash": "killed by signal 9",
    "traceback": "traceback: KeyError: 'scales'",
    "odd_code": "exit code 3",
    "two_documents": "stdout is not one JSON document: Extra data",
    "not_json": "stdout is not one JSON document: NaN is not JSON",
    "wrong_fields": "JSON says exit_code 7, the process 0",
    "missing_field": "JSON without output",
    "no_reason": "exit code 1 without a reason",
    "silent": "exit code 2 and nothing on stderr",
    "changes_input": "the input was changed",
    "writes_and_refuses": "wrote out.onnx without exit code 0",
    "writes_nothing": "exit code 0, but OUT is not there",
    "writes_nonsense": "OUT is no model",
    "writes_invalid": "OUT is refused by onnx.checker",
}
KEPT = ("fine", "refused", "unusable")


class Corpus:
    """A folder of models in two sub-folders, the made-up command, and the runner over them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.models = folder, folder / "models"
        self.executable = folder / "fake_command.py"
        self.executable.write_text(f"#!{sys.executable}{FAKE}")
        self.executable.chmod(0o755)

    def add(self, *names: str) -> None:
        for name in names:
            path = self.models / ("kept" if name in KEPT else "broken") / f"{name}.onnx"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(MODEL)

    def run(self, *options: str, shared: bool = False) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
        how = ["--chunk", "50", "--entry", "fake_command:main"] if shared else ["--executable", str(self.executable)]
        report = self.folder / "report.json"
        words = [RUNNER, self.models, "--json", report, *how, *options]
        done = ended(*words, env={"PYTHONPATH": str(self.folder)})
        return done, json.loads(report.read_text()) if report.exists() else {}


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return Corpus(tmp_path)


@pytest.mark.parametrize("shared", [False, True], ids=["a process per file", "a shared process"])
def test_every_broken_promise_is_found(corpus: Corpus, shared: bool) -> None:
    corpus.add(*BROKEN, *KEPT)
    done, report = corpus.run(shared=shared)
    assert done.returncode == 1, done.stderr
    found = {Path(record["file"]).stem: record["anomalies"] for record in report["records"]}
    assert set(found) == {*BROKEN, *KEPT}
    for name, anomaly in BROKEN.items():
        assert any(text.startswith(anomaly) for text in found[name]), (name, found[name])
    assert [found[name] for name in KEPT] == [[], [], []]


@pytest.mark.parametrize("shared", [False, True], ids=["a process per file", "a shared process"])
def test_a_file_past_the_limit_is_an_anomaly_and_the_next_one_still_runs(corpus: Corpus, shared: bool) -> None:
    corpus.add("hangs", "missing_field", "refused")
    _, report = corpus.run("--limit", "2", shared=shared)
    codes = {Path(record["file"]).stem: record["exit_code"] for record in report["records"]}
    assert codes == {"hangs": None, "missing_field": 0, "refused": 1}
    (hangs,) = [record for record in report["records"] if record["file"] == "broken/hangs.onnx"]
    assert hangs["anomalies"] == ["past the time limit"]


def test_a_kept_contract_is_exit_code_zero_and_counts_by_folder_and_reason(corpus: Corpus) -> None:
    corpus.add(*KEPT)
    done, report = corpus.run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert report["anomalies"] == []
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["kept", "3", "1", "1", "1", "0", "0"] in [line[:7] for line in lines]
    assert ["1", "1", *["refused:", "cannot", "change", "…", "at", "scale", "N"]] in lines
    assert ["1", "2", *["FILE:", "not", "an", "ONNX", "model"]] in lines


def test_a_file_left_beside_the_inputs_is_an_anomaly(corpus: Corpus) -> None:
    corpus.add("litters", "fine")
    done, report = corpus.run()
    assert done.returncode == 1
    assert report["anomalies"] == ["left or changed beside the inputs: broken/litters.onnx.log"]


ECHO = """
import json, sys
command, model, *rest = sys.argv[1:]
error = " ".join([command, *rest])
document = {"resizefix": "0", "command": command, "model": model, "output": None, "exit_code": 1, "error": error}
print(json.dumps(document))
sys.exit(1)
"""


def test_a_command_that_writes_nothing_gets_no_out_and_what_follows_the_dashes_is_passed_on(corpus: Corpus) -> None:
    corpus.add("fine")
    corpus.executable.write_text(f"#!{sys.executable}{ECHO}")
    _, report = corpus.run("--command", "inspect", "--command", "check", "--", "--quiet")
    reasons = [record["reasons"] for record in report["records"]]
    assert reasons == [["inspect --json --quiet"], ["check --target tensorrt-N --json --quiet"]]
    assert report["anomalies"] == []


def test_an_empty_folder_is_unusable(corpus: Corpus) -> None:
    corpus.models.mkdir()
    done, _ = corpus.run()
    assert done.returncode == 2
    assert "no .onnx below" in done.stderr


def test_an_entry_that_cannot_be_imported_is_said(corpus: Corpus) -> None:
    corpus.add("fine")
    done, _ = corpus.run("--entry", "no_such_module:main", shared=True)
    assert done.returncode == 1
    assert "cannot import no_such_module:main" in done.stderr

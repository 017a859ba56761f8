"""The same input and options give the same bytes: what every writing command makes of every model, as hashes.

`python tests/reliability/determinism.py FOLDER [--python OTHER…]` makes everything twice or more in processes that
differ in all that must not matter (hash seed, time zone, locale, working folder, temporary folder, the name of the
folder that holds the models, the interpreter) and prints what comes out differently.
"""

import argparse
import contextlib
import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

COMMANDS = {
    "promote": ["promote-scales", "{model}", "{out}", "--no-verify"],
    "promote and prove": ["promote-scales", "{model}", "{out}"],
    "promote sizes": ["promote-scales", "{model}", "{out}", "--no-verify", "--form", "sizes"],
    "promote shared": ["promote-scales", "{model}", "{out}", "--no-verify", "--shared", "--keep-default"],
    "promote for tensorrt": ["promote-scales", "{model}", "{out}", "--no-verify", "--for", "tensorrt"],
    "promote to a data file": ["promote-scales", "{model}", "{out}", "--no-verify", "--save-as-external-data"],
    "freeze": ["freeze-scales", "{model}", "{out}", "--no-verify"],
    "legacy": ["trt-legacy", "{model}", "{out}", "--no-verify", "--allow-inexact"],
    "legal for 5.0": ["legalize", "{model}", "{out}", "--no-verify", "--target", "tensorrt-5.0", "--allow-inexact"],
    "legal for 8.0": ["legalize", "{model}", "{out}", "--no-verify", "--target", "tensorrt-8.0"],
    "inspect": ["inspect", "{model}", "--html", "{out}"],
}
"""Most with `--no-verify`: what verification measures decides which sites are coupled, and no other byte of OUT."""

PLACES = (
    {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8"},
    {"PYTHONHASHSEED": "4242", "TZ": "Pacific/Kiritimati", "LC_ALL": "C", "COLUMNS": "40", "PYTHONUTF8": "0"},
)
Made = dict[str, str]
Work = tuple[str, str]
"""A model and the name of a command."""


def made(works: Sequence[Work], place: Path) -> Iterator[tuple[str, str]]:
    """`MODEL: COMMAND` with the exit code and the hashes of the files that came out."""
    from resizefix.cli import main

    for model, name in works:
        out = place / "out.onnx"
        said = io.StringIO()
        code: object = None
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            try:
                main([word.format(model=model, out=out) for word in COMMANDS[name]])
            except SystemExit as exit_:
                code = exit_.code
        files = sorted(place.iterdir())
        hashes = [f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in files]
        for path in files:
            path.unlink()
        yield f"{model}: {name}", f"{code} {' '.join(hashes)}"


def in_a_process(
    folder: Path, works: Sequence[Work], environment: dict[str, str], python: str = sys.executable
) -> Made:
    """What a process of its own makes of the models, which it finds under another path."""
    with tempfile.TemporaryDirectory(prefix=f"place-{environment['PYTHONHASHSEED']}-") as name:
        place = Path(name).resolve()
        (place / "models").symlink_to(folder.resolve())
        for part in ("tmp", "out", "cwd"):
            (place / part).mkdir()
        process = subprocess.run(
            [python, __file__, "--make", str(place / "models"), str(place / "out")],
            input=json.dumps(list(works)), capture_output=True, text=True, cwd=place / "cwd", check=False,
            env={**os.environ, "TMPDIR": str(place / "tmp"), **environment},
        )  # fmt: skip
    if process.returncode != 0:
        raise RuntimeError(process.stderr)
    found: Made = json.loads(process.stdout)
    return found


def differing(all_made: Sequence[Made]) -> list[str]:
    """The works whose results are not the same everywhere."""
    first = all_made[0]
    return [work for work in first if any(other.get(work) != first[work] for other in all_made[1:])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", nargs="?", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--make", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--python", action="append", default=[], help="another interpreter that has resizefix")
    parser.add_argument("--every", type=int, default=1, help="only every N-th model")
    given = parser.parse_args()
    if given.make:
        sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
        os.chdir(given.folder)
        print(json.dumps(dict(made(json.load(sys.stdin), given.out))))
        return
    models = sorted(str(path.relative_to(given.folder)) for path in given.folder.rglob("*.onnx"))[:: given.every]
    pythons = [sys.executable] * len(PLACES) + given.python
    places = [PLACES[number % len(PLACES)] for number in range(len(pythons))]
    bad = works = 0
    written: Counter[str] = Counter()
    for start in range(0, len(models), 20):
        chosen = [(model, name) for model in models[start : start + 20] for name in COMMANDS]
        several = [in_a_process(given.folder, chosen, *each) for each in zip(places, pythons, strict=True)]
        works += len(several[0])
        written.update(work.split(": ", 1)[1] for work, result in several[0].items() if result.startswith("0 "))
        for work in differing(several):
            bad += 1
            print(work, *(result[work][:90] for result in several), sep="\n  ", flush=True)
    print(f"{len(models)} models, {works} works in {len(pythons)} processes each, {written.total()} files written")
    print(", ".join(f"{count} {name}" for name, count in written.items()))
    print(bad, "differ")
    raise SystemExit(bad > 0)


if __name__ == "__main__":
    main()

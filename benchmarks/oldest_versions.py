"""The oldest versions that pyproject.toml allows, really tried: every command over the fixtures, with exactly these.

`python benchmarks/oldest_versions.py [--python PYTHON] [--extra NAME…] [--folder FOLDER] [MODEL_OR_FOLDER…]` makes a
virtual environment of PYTHON (this one, else) in FOLDER (a temporary one, else), prints what it holds, and runs
every_command.py in it. The exit code is 1 where a process ended without an answer.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from importlib.metadata import requires
from pathlib import Path

HERE = Path(__file__).parent
TARGETS = {"opencv": "opencv-5", "tensorrt": "tensorrt-rtx"}
_LOWEST = re.compile(r"(?P<name>[\w.-]+)>=(?P<version>[\w.]+)(?:; (?P<marker>.*))?")


def oldest(extras: list[str], package: str = "resizefix") -> list[str]:
    """What pip is to install: every dependency at its lowest version; or extras at theirs, beside what fits of the
    dependencies (OpenCV 5 wants numpy 2). A bound of two numbers is a series there: the first release has more.
    """
    wanted = []
    for line in requires(package) or ():
        required = _LOWEST.fullmatch(line.replace(" ;", ";"))
        if required is None:
            continue
        name, version, marker = required["name"], required["version"], required["marker"] or ""
        if "extra ==" not in marker:
            wanted.append(f"{name}>={version}" if extras else f"{name}=={version}")
        elif any(f'extra == "{extra}"' in marker for extra in extras):
            wanted.append(f"{name}=={version}" if version.count(".") > 1 else f"{name}=={version}.*")
    return wanted


def environment(python: str, folder: Path, wanted: list[str]) -> str:
    """The Python of a new virtual environment that holds these."""
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    inside = str(folder / "bin" / "python")
    subprocess.run([inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted], check=True)
    return inside


def main() -> None:
    """Make the environment, and run the commands in it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--extra", action="append", default=[])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--jobs", default="2")
    options = parser.parse_args()
    wanted = oldest(options.extra)
    with tempfile.TemporaryDirectory(prefix="oldest-") as place:
        python = environment(options.python, options.folder or Path(place, "venv"), wanted)
        version = subprocess.run([python, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        print(f"{version}, {', '.join(wanted)}", flush=True)
        live = [word for extra in options.extra for word in ("--live", TARGETS.get(extra, extra))]
        ran = [python, str(HERE / "every_command.py"), *options.models, *live, "--jobs", options.jobs]
        sys.exit(subprocess.run(ran, check=False).returncode)


if __name__ == "__main__":
    main()

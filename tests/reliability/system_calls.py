"""Faults in the system calls themselves: `strace` kills a command, or has a call fail, at each call that changes files.

`python tests/reliability/system_calls.py` (Linux, with strace). The tests of crash safety strike in Python's `os`, as
often as there is time for; this strikes below everything, in every call of every kind, and takes minutes.
"""

import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from saves import SAVES, Files, Save, files, is_old_or_new, prepared, temporary

CHANGING = (
    "write", "pwrite64", "writev", "copy_file_range", "sendfile", "link", "linkat", "unlink", "unlinkat", "rename",
    "renameat", "renameat2", "mkdir", "mkdirat", "rmdir", "fchmod", "fchown", "fsync", "fdatasync", "ftruncate",
    "fallocate",
)  # fmt: skip
FAULTS = ("signal=SIGKILL", "error=ENOSPC", "error=EIO")
COMMAND = "import sys; from resizefix.cli import main; main(sys.argv[1:])"
ROOT = Path(__file__).resolve().parents[2]


def traced(folder: Path, save: Save, log: Path, *faults: str) -> subprocess.CompletedProcess[str]:
    injected = [word for fault in faults for word in ("-e", f"inject={fault}")]
    return subprocess.run(
        ["strace", "-qq", "-e", f"trace={','.join(CHANGING)}", *injected, "-o", log, sys.executable, "-c", COMMAND,
         "promote-scales", *save.command, "--no-verify"],
        cwd=folder, env={"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


def calls_in(log: Path) -> Counter[str]:
    return Counter(re.findall(r"^(\w+)\(", log.read_text(errors="replace"), re.MULTILINE))


def was_printing(log: Path) -> bool:
    """Whether the call that was struck wrote to stdout or stderr, where OUT stands already or never will."""
    return re.search(r"^write\([12],.*INJECTED", log.read_text(errors="replace"), re.MULTILINE) is not None


def wrong(found: Files, save: Save, old: Files, new: Files, fault: str, code: int, printing: bool) -> str | None:
    """What is not as promised."""
    try:
        state = is_old_or_new(found, save, old, new)
    except AssertionError as error:
        return f"neither old nor new: {error}"
    if "SIGKILL" in fault:
        return None if code in (-9, 137) else f"not killed: {code}"
    if code not in (0, 2):
        return f"exit code {code}"
    if (code == 0) != (state == "new") and not printing:
        return f"exit code {code}, and the files are {state}"
    left = [name for name in found if temporary(name)]
    # What a failing unlink cannot remove remains.
    return f"left {left}" if left and not fault.startswith("unlink") else None


def main() -> None:
    struck: Counter[str] = Counter()
    bad = 0
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        log = place / "log"
        for title, save in SAVES.items():
            folder = prepared(place, save)
            old = files(folder)
            assert traced(folder, save, log).returncode == 0
            new, calls = files(folder), calls_in(log)
            print(f"{title}: {', '.join(f'{count} {call}' for call, count in calls.items())}", flush=True)
            for call, count in calls.items():
                for fault in (f"{call}:{how}:when={at}" for how in FAULTS for at in range(1, count + 1)):
                    folder = prepared(place, save)
                    code = traced(folder, save, log, fault).returncode
                    struck[call] += 1
                    why = wrong(files(folder), save, old, new, fault, code, was_printing(log))
                    if why is not None:
                        bad += 1
                        print(f"  {fault}: {why}", flush=True)
    print(f"{struck.total()} faults: {', '.join(f'{count} {call}' for call, count in struck.items())}")
    print(bad, "not as promised")
    raise SystemExit(bad > 0)


if __name__ == "__main__":
    main()

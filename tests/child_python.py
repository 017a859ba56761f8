"""Interpreters of their own, with the package as a user's script finds it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any


def ended(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """How an interpreter with these words on its command line ended, and what it printed."""
    return subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True, **options)


def printed(*words: object, **options: Any) -> str:
    """What it printed on stdout; it must succeed."""
    done = ended(*words, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout

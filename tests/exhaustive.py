"""RESIZEFIX_EXHAUSTIVE=1: everything that a normal run of the tests only samples, in minutes instead of seconds."""

from __future__ import annotations

import os

EXHAUSTIVE = bool(os.environ.get("RESIZEFIX_EXHAUSTIVE"))

"""Times verification's session: `python -m benchmarks.performance.open_session MODEL`. Prints the seconds."""

from __future__ import annotations

import sys
import time

import onnxruntime  # noqa: F401 - imported before the clock starts

from resizefix.document.document import Document
from resizefix.runtimes.ort_session import open_session

document = Document.open(sys.argv[1])
start = time.perf_counter()
open_session(document, optimized=False)
print(time.perf_counter() - start)

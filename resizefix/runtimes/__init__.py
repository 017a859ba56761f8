"""The runtimes that a model can be given to, one door each, and what a run may take.

onnxruntime ≥ 1.29 reports every session to its vendor, unless its environment says no before it is imported: importing
this package says no. Who sets the variable, to whatever value, has decided otherwise.
"""

import os

ORT_DISABLE_TELEMETRY = "ORT_DISABLE_TELEMETRY"

os.environ.setdefault(ORT_DISABLE_TELEMETRY, "1")

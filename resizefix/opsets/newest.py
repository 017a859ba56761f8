"""The last opset whose changes of operators were read (raising_rows.py, table.py)."""

from onnx import defs

NEWEST_READ = 28
NEWEST_RAISED = min(NEWEST_READ, defs.onnx_opset_version())
"""What a model can be raised to: no further than the installed onnx, whose schemas say what is valid."""

"""The last opset whose changes of operators were read (raising.py)."""

NEWEST_RAISED = 21

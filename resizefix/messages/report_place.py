"""Where an unknown message is to be reported."""

ADDRESS: str | None = None
"""The address of the issue list, the one place where it is written; None: this copy has no public one."""

"""What calls give back, shown in a notebook as a small table.

The tables stand in `resizefix.reports`, above everything that they show; so they are looked up when a notebook asks.
"""

from __future__ import annotations

import importlib


class InNotebook:
    """What Jupyter shows as HTML."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        html: str = importlib.import_module("resizefix.reports.notebook").html_of(self)
        return html

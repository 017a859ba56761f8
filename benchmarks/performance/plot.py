"""Draws docs/performance.svg: time and memory on the largest embedded model, and growth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LARGE = "conv-1.5GB"
OURS, OTHERS, COPY = "#1f6feb", "#9aa4b2", "#2da44e"


def draw(target: Path, results: dict[str, Any]) -> bool:
    """Whether it could: matplotlib is optional."""
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "resizefix", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 2, figsize=(12, 9), layout="constrained", facecolor="white")
    rows = [row for row in results.get("side_by_side", []) if row["input"] == LARGE]
    bars(axes[0][0], rows, "wall", 1, "Wall time on a convolutional model of 1.5 GB, s")
    bars(axes[0][1], rows, "peak", 1e6, "Peak memory there, MB")
    lines(axes[1][0], results.get("growth", []), "nodes")
    lines(axes[1][1], results.get("growth", []), "sites")
    figure.savefig(target, metadata={"Date": None})
    pyplot.close(figure)
    return True


def bars(axes: Axes, rows: list[dict[str, Any]], number: str, unit: float, title: str) -> None:
    done = [row for row in rows if row["taken"] and row["taken"]["exit_code"] == 0][::-1]
    values = [row["taken"][number] / unit for row in done]
    colours = [
        COPY if row["job"].startswith("cp") else OURS if row["job"].startswith("resizefix") else OTHERS for row in done
    ]
    drawn = axes.barh([row["job"] for row in done], values, color=colours)
    axes.bar_label(drawn, fmt=lambda value: f"{value:.2f}" if unit == 1 else f"{value:.0f}", padding=3)
    if done:
        axes.set_xscale("log")
    axes.margins(x=0.15)
    axes.set_title(title, loc="left")
    axes.spines[["top", "right"]].set_visible(False)


def lines(axes: Axes, rows: list[dict[str, Any]], what: str) -> None:
    mine = [row for row in rows if row["what"] == what and row["taken"]["exit_code"] == 0]
    for command, marker in zip(dict.fromkeys(row["command"] for row in mine), "osD", strict=False):
        points = [(row["count"], row["taken"]["user"]) for row in mine if row["command"] == command]
        axes.plot(*zip(*points, strict=True), marker=marker, label=command)
    if mine:
        counts = sorted({row["count"] for row in mine})
        last = max(row["taken"]["user"] for row in mine)
        axes.plot(counts, [last * count / counts[-1] for count in counts], ":", color=OTHERS, label="proportional")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.legend(frameon=False)
    axes.set_title(f"User time against {what}, s", loc="left")
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)

"""Two tensors and their difference as pictures, side by side in one range of grey: PNGs as data URLs
(https://www.w3.org/TR/png-3/)."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from resizefix.reports.wording import times
from resizefix.verification.views import PlaneView

Plane = npt.NDArray[Any]
# From no difference to the largest: black, violet, red, orange, pale yellow, even in lightness.
_STOPS = np.array([[0, 0, 4], [81, 18, 124], [183, 55, 121], [252, 137, 97], [252, 253, 191]], np.float64)
_TAILS = (0.5, 99.5)  # percent of the values that may be clipped at each end


class Figure(NamedTuple):
    """One picture: its name, where its pixels are, what it shows, and what its darkest and its palest pixel mean."""

    name: str
    url: str
    alt: str
    scale: str


class Compared(NamedTuple):
    """Two tensors and their difference, each `height` x `width` pixels."""

    caption: str
    figures: tuple[Figure, ...]
    height: int
    width: int


def pictures(view: PlaneView, names: tuple[str, str] = ("Before", "After")) -> Compared:
    """The two under `names`, and how far they are apart."""
    low, high = common_range(view.before, view.after)
    most = float(np.max(view.apart[np.isfinite(view.apart)], initial=0.0))
    label, greys = f"{view.difference.tensor}, {view.difference.feed}", f"black {low:.3g}, white {high:.3g}"
    planes = (
        (names[0], grey(view.before, low, high), greys),
        (names[1], grey(view.after, low, high), greys),
        ("Difference", heat(view.apart, most), f"black 0, palest {most:.3g}"),
    )
    figures = tuple(Figure(name, data_url(pixels), f"{name}: {label}", scale) for name, pixels, scale in planes)
    parts = [times(view.shape), view.plane, f"averaged over {view.shrunk}×{view.shrunk}" if view.shrunk > 1 else ""]
    height, width = view.before.shape[:2]
    return Compared(f"{label}: {'; '.join(part for part in parts if part)}", figures, height, width)


def data_url(pixels: Plane) -> str:
    """A PNG of uint8[h, w] (grey) or uint8[h, w, 3] (RGB)."""
    return "data:image/png;base64," + base64.b64encode(png(pixels)).decode()


def png(pixels: Plane) -> bytes:
    """The bytes of the file."""
    height, width = pixels.shape[:2]
    colour = 2 if pixels.ndim == 3 else 0
    rows = np.zeros((height, 1 + pixels[0].size), np.uint8)  # each row begins with its filter: none
    rows[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def common_range(*planes: Plane) -> tuple[float, float]:
    """The values to show as black and as white in all of the planes; rare ones beyond are clipped."""
    finite = np.concatenate([plane[np.isfinite(plane)].reshape(-1) for plane in planes])
    if not finite.size:
        return 0.0, 1.0
    low, high = (float(each) for each in np.percentile(finite, _TAILS))
    return low, high


def grey(plane: Plane, low: float, high: float) -> Plane:
    """The plane as pixels, `low` black and `high` white (for each of three channels as for one)."""
    return _bytes(255 * _share(plane, low, high))


def heat(difference: Plane, most: float) -> Plane:
    """Differences, float32[h, w], from 0 to `most` as colours."""
    at = _share(difference, 0.0, most) * (len(_STOPS) - 1)
    low = np.minimum(at.astype(np.int64), len(_STOPS) - 2)
    part = (at - low)[..., None]
    return _bytes(_STOPS[low] * (1 - part) + _STOPS[low + 1] * part)


def _share(plane: Plane, low: float, high: float) -> Plane:
    wide = np.nan_to_num(plane.astype(np.float64), nan=low, posinf=high, neginf=low)
    return np.clip((wide - low) / (high - low), 0, 1) if high > low else np.zeros_like(wide)


def _bytes(values: Plane) -> Plane:
    return np.rint(values).astype(np.uint8)

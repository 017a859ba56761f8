"""Two tensors and their difference as pictures, side by side in one range of grey."""

from __future__ import annotations

import numpy as np

from resizefix.reports.markup import Markup, element
from resizefix.reports.png import common_range, data_url, grey, heat
from resizefix.reports.wording import times
from resizefix.verification.views import View


def pictures(view: View, names: tuple[str, str] = ("Before", "After")) -> Markup:
    """The two under `names`, and how far they are apart."""
    low, high = common_range(view.before, view.after)
    most = float(np.max(view.apart[np.isfinite(view.apart)], initial=0.0))
    label = f"{view.difference.tensor}, {view.difference.feed}"
    figures = [
        _figure(names[0], data_url(grey(view.before, low, high)), view, f"black {low:.3g}, white {high:.3g}"),
        _figure(names[1], data_url(grey(view.after, low, high)), view, f"black {low:.3g}, white {high:.3g}"),
        _figure("Difference", data_url(heat(view.apart, most)), view, f"black 0, palest {most:.3g}"),
    ]
    parts = [times(view.shape), view.plane, f"averaged over {view.shrunk}×{view.shrunk}" if view.shrunk > 1 else ""]
    caption = element("p", f"{label}: {'; '.join(part for part in parts if part)}", class_="quiet")
    return element("div", caption, element("div", *figures, class_="compared"), class_="pictured")


def _figure(name: str, url: str, view: View, scale: str) -> Markup:
    height, width = view.before.shape[:2]
    alt = f"{name}: {view.difference.tensor}, {view.difference.feed}"
    image = element("img", src=url, alt=alt, width=width, height=height)
    return element("figure", image, element("figcaption", f"{name} ", element("span", scale, class_="quiet")))

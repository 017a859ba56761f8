"""What a proof may have fed: it does not know the values drawn for an input that decides how a node resizes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from random_graphs_case import Case

_FACTORS = (1.0, 2.0, 0.5, 4.0, 0.25)


def feeds_that_run(case: Case) -> Iterator[dict[str, np.ndarray]]:
    """The drawn feeds, then others for the inputs that decide a size; only feeds at which the original runs."""
    yield case.drawn.feeds
    fed = [site for site in case.drawn.sites if site.input]
    if not fed:
        return
    for factor in _FACTORS:
        for spatial in (True, False):
            values = {site.input: _scaled(site.x.sizes, case.drawn.feeds[site.input], factor, spatial) for site in fed}
            feeds = case.drawn.feeds | values
            if case.runner.run(feeds).error is None:
                yield feeds


def _scaled(sizes: tuple[int, ...], drawn: np.ndarray, factor: float, spatial: bool) -> np.ndarray:
    """What asks for an image of these sizes to be scaled by the factor: on its last two axes alone, or on all."""
    count = drawn.size
    scales = np.array([factor if at >= count - 2 or not spatial else 1.0 for at in range(count)])
    if drawn.dtype.kind == "f":
        return scales.astype(drawn.dtype).reshape(drawn.shape)
    whole = np.array(sizes[-count:] if count <= len(sizes) else [1] * count)
    return np.maximum(1, whole * scales).astype(drawn.dtype).reshape(drawn.shape)

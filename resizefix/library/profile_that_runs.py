"""A profile whose smallest and largest sizes and values go together: where they do not, the ranges are narrowed.

TensorRT builds for all that a profile says at once, and refuses one at whose ends the sizes do not fit. A dimension's
name says nothing of that: sizes are followed, and where these do not tell, the promoted model is run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice

from resizefix.document.document import Document
from resizefix.errors import ResizefixError, UsageError
from resizefix.library.tensorrt_profile import Range
from resizefix.promotion import PromotedInput
from resizefix.runtimes.inputs import model_inputs
from resizefix.shapes.model_view import ModelView
from resizefix.verification.sizing import image_of

_ENDS = ("min", "max")
_MOST_RUN = 2**20  # elements that are fed: a larger model is not run for its profile
_READINGS = 4  # of small vectors beside an image


def that_runs(
    ranges: Mapping[str, Range], before: ModelView, promoted: Document, inputs: Sequence[PromotedInput]
) -> dict[str, Range]:
    """The ranges, as wide as the model runs at their ends. `before` is the model that was promoted."""
    driving = {source.name for source in inputs}
    return _widest(ranges, promoted, driving, lambda tried, end: _runs(tried, end, before, promoted, inputs))


def that_runs_with(ranges: Mapping[str, Range], model: Document, driving: Collection[str]) -> dict[str, Range]:
    """The ranges, as wide as onnxruntime runs the model at their ends; `driving` are the inputs whose range is one of
    values."""

    def runs(tried: Mapping[str, Range], end: str) -> bool | None:
        numbers = {name: getattr(of, end) for name, of in tried.items()}
        values = {name: value for name, value in numbers.items() if name in driving}
        return _runs_in_onnxruntime(model, {name: numbers[name] for name in numbers.keys() - driving}, values)

    return _widest(ranges, model, driving, runs)


def _widest(
    ranges: Mapping[str, Range],
    model: Document,
    driving: Collection[str],
    runs: Callable[[Mapping[str, Range], str], bool | None],
) -> dict[str, Range]:
    tried: dict[str, Range] = {}
    for tried in _narrowed(ranges, model, driving):
        if all(runs(tried, end) is not False for end in _ENDS):
            break
    return tried


def _narrowed(ranges: Mapping[str, Range], promoted: Document, driving: Collection[str]) -> Iterator[dict[str, Range]]:
    """All ranges; then the new inputs hold their values; then all but the image their sizes, and the image, too."""
    image = image_of(entry for entry in model_inputs(promoted.proto) if entry.name in ranges)
    beside = {name for name in ranges if name not in driving and (image is None or name != image.name)}
    for held in (set(), beside, set(driving), beside.union(driving), set(ranges)):
        yield {name: Range(of.opt, of.opt, of.opt) if name in held else of for name, of in ranges.items()}


def _runs(
    ranges: Mapping[str, Range], end: str, before: ModelView, promoted: Document, inputs: Sequence[PromotedInput]
) -> bool | None:
    """Whether the model runs at one end of all ranges; None: that is not known."""
    from resizefix.library.coupling import moved_to
    from resizefix.shapes.walk import OldSizesError, SizeFlow

    numbers: dict[str, tuple[int, ...]] = {name: getattr(of, end) for name, of in ranges.items()}
    driving = {source.name for source in inputs}
    sizes = {name: shape for name, shape in numbers.items() if name not in driving}
    with suppress(OldSizesError):
        moved = moved_to({source: numbers[source.name] for source in inputs if source.name in numbers})
        ended = SizeFlow(before, sizes).ends(moved, [0]).get(0)
        if ended is None or ended.fits is not None:
            return ended is None
    values = {name: value for name, value in numbers.items() if name in driving}
    return _runs_in_onnxruntime(promoted, sizes, values)


def _runs_in_onnxruntime(
    promoted: Document, sizes: Mapping[str, tuple[int, ...]], values: Mapping[str, tuple[int, ...]]
) -> bool | None:
    from resizefix.runtimes.ort_session import CannotLoadError, open_session
    from resizefix.verification.feeds import Feeder

    if sum(map(math.prod, sizes.values())) > _MOST_RUN:
        return None
    try:
        session = open_session(promoted, optimized=False)
        feeder = Feeder(session.inputs, sizes, hints=values)
    except (CannotLoadError, UsageError):
        return None
    for feeds in islice(feeder.candidates(), _READINGS):
        with suppress(ResizefixError):
            session.run(session.taken(feeds))
            return True
    return False

"""What an input that only one of two models has is fed, so that its resizes are what they are in the other.

`resizefix.verify`: two models run on the same feeds and compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import cast

from resizefix.diagnostics import UsageError
from resizefix.document.document import Document
from resizefix.interop import Model, opened
from resizefix.interop.feed_file import read_feeds
from resizefix.interpolation import ExtentKind
from resizefix.library.bounded import bounded
from resizefix.operations.site import Site
from resizefix.operations.sites import find_sites
from resizefix.origins.classify import OriginKind
from resizefix.outcome import ErrorBound
from resizefix.runtimes.inputs import model_inputs
from resizefix.verification.verification import RunOptions, Unpack, Verification, conditions

Numbers = tuple[float, ...]


def old_values(before: Document, after: Document) -> dict[str, Numbers]:
    """By the name of the input; for those inputs alone that drive a resize whose size the other model fixes.

    They are good for a proposal: an input may be divided or shifted on its way to the node.
    """
    numbers: dict[str, Numbers] = {}
    for fed, fixed in ((after, before), (before, after)):
        shapes = {entry.name: entry.shape for entry in model_inputs(fed.proto)}
        twins = {site.key: site for site in find_sites(fixed)}
        for site in find_sites(fed):
            name, twin = site.origin.name, twins.get(site.key)
            if site.origin.kind is not OriginKind.GRAPH_INPUT or name is None or twin is None:
                continue
            values = _extent(twin, site.extent.kind)
            fitting = [form for form in _forms(values) if form and (len(form),) == shapes.get(name)]
            if fitting:
                numbers.setdefault(name, fitting[0])
    return numbers


def _extent(site: Site, kind: ExtentKind) -> Numbers:
    """The scales or the sizes of a site that is fixed; none where they are not known."""
    if site.extent.kind is kind:
        return tuple(site.extent.values or ())
    sizes = tuple(size for size in site.output_dims or () if isinstance(size, int))
    return sizes if kind is ExtentKind.SIZES and len(sizes) == len(site.output_dims or ()) else ()


def _forms(values: Numbers) -> Sequence[Numbers]:
    """The values as they are, of the scaled axes alone, and the one that these share."""
    scaled = tuple(value for value in values if value != 1)
    return values, scaled, tuple(dict.fromkeys(scaled))


@bounded
def verify(
    before: Model,
    after: Model | None = None,
    *,
    runtime: str | None = None,
    runtime_python: Mapping[str, str] | None = None,
    runs: int | None = None,
    atol: float = 0.0,
    rtol: float = 0.0,
    feed: Mapping[str, object] | str | PathLike[str] | None = None,
    expect: Mapping[str, object] | str | PathLike[str] | None = None,
    **run: Unpack[RunOptions],
) -> Verification:
    """Whether `after` computes in onnxruntime what `before` does.

    There are as many feeds as the models need, or `runs` of them. The first holds the likeliest values. The others are
    drawn at random, and kept where `before` runs on them.

    `feed` gives values, numbers or arrays, for inputs that only one of them has. The path of a picture or a .npy file
    feeds any input; `Verification.views` then holds planes of the outputs to look at. The path of an .npz file or of a
    folder of ONNX's tests alone feeds every input.

    With `expect` the only model is compared with outputs that were computed elsewhere: arrays by name, or the path of
    an .npz or .npy file or of such a folder. Other tensors of the main graph may be in it: they tell the first resize
    that differs (`Verification.sites`). `feed` must then give every input, unless `expect` holds them, too.

    With `runtime` (the name of one: "openvino") AFTER runs there, or BEFORE where there is no AFTER, and every resize
    is compared (`Verification.sites`). A tensor is right within 1e-4 of its largest value unless `atol` or `rtol` say
    otherwise. `runtime_python` gives, by its name, the Python that has a runtime.

    With optimisation disabled every bit must agree unless `atol` or `rtol` allow more. Raises UsageError for names and
    shapes that do not fit the models.
    """
    from resizefix.verification.signatures import Feeding
    from resizefix.verification.verify import verify as run_both

    rules, allowed = conditions(**run), ErrorBound.elementwise(atol, rtol)
    given = cast("Mapping[str, object]", feed or {})  # by input: checked, a path has the name ""
    if expect is not None:
        from resizefix.library.expected import verify_against

        others = {"the second model": after, "runtime": runtime, "runs": runs, "shape": run.get("shape")}
        if unfit := [word for word, value in others.items() if value]:
            raise UsageError("library.expect-alone", words=", ".join(unfit))
        return verify_against(opened(before), cast("str | Mapping[str, object]", expect), given, rules, allowed)
    if after is None and runtime is None:
        raise UsageError("library.verify-needs-two-models")
    first = opened(before)
    documents = first, first if after is None else opened(after)
    entries = {entry.name: entry for document in reversed(documents) for entry in model_inputs(document.proto)}
    fed = read_feeds(given, tuple(entries.values()))

    feeding = Feeding(fed.values, fed.paths, lambda: old_values(*documents), runs)
    if runtime is None:
        verification = run_both(*documents, rules, allowed, feeding)
    else:
        from resizefix.library.live import verify_in

        verification = verify_in(*documents, runtime, rules, allowed, feeding, runtime_python)
    return replace(verification, reason=fed.with_notes(verification.reason))

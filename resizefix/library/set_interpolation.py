"""`resizefix.set_interpolation`: the interpolation of nodes changed on purpose, and the difference measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from resizefix.document.document import Document
from resizefix.document.text import node_text
from resizefix.errors import UsageError
from resizefix.interop.feed_file import read_feeds
from resizefix.library import seam
from resizefix.library.advice import Asked, Words
from resizefix.library.bounded import operation
from resizefix.library.inlining import never
from resizefix.library.model_outcome import Demand
from resizefix.library.plans import runs_in
from resizefix.library.raising import raised, require_raised_alike
from resizefix.library.result import Result, failed, not_verified, skipped
from resizefix.operations.set_interpolation import Changed
from resizefix.operations.set_interpolation import set_interpolation as make
from resizefix.operations.settings import RESIZE, Settings, settings_of
from resizefix.operations.sites import find_sites, select
from resizefix.outcome import Outcome, Status
from resizefix.runtimes.inputs import model_inputs
from resizefix.shapes.model_view import ModelView
from resizefix.verification.conditions import ChangeOptions, Unpack, conditions
from resizefix.verification.plan import Plan

if TYPE_CHECKING:
    from resizefix.verification.changed_nodes import Measured


def _raised(asked: Asked, outcome: Outcome) -> Iterable[Words]:
    """The opset that has a word for what is set, where the raised model can be verified."""
    if outcome.retry_args and all(runs_in(ModelView(asked.document))):
        yield outcome.retry_args


@operation(Demand(needs_resize=True), advice=_raised, tells_why=True, inlines=never)
def set_interpolation(
    document: Document,
    *,
    mode: str | None = None,
    coordinates: str | None = None,
    coordinate_transformation_mode: str | None = None,
    nearest_mode: str | None = None,
    cubic_coeff_a: float | None = None,
    antialias: bool | None = None,
    exclude_outside: bool | None = None,
    form: str | None = None,
    scale: float | None = None,
    scales: Sequence[float] | None = None,
    sizes: Sequence[int] | str | None = None,
    node: Sequence[str] = (),
    opset: int | None = None,
    inline: bool = False,
    feed: Mapping[str, object] | None = None,
    allow_inexact: bool = False,
    verify: bool = True,
    **run: Unpack[ChangeOptions],
) -> Result[Document]:
    """Change the interpolation of the selected resizes on purpose, and measure what that changes.

    Values are those of the ONNX specification ("linear", "half_pixel", …); `form` is "scales", "sizes", "axes", or a
    lowering by name ("gather", "matmul", "conv-transpose", …). The form "resize" writes other operators as Resize. A
    change that keeps what a node computes at its sizes is verified bit for bit, or within the bound that its outcome
    states. For any other change, each outcome says how far
    the node is from what it was (`max_abs_diff`, `node_diffs`), and how far the outputs are (`output_diffs`). They are
    measured on random values and on those of `feed`: for each input an array, numbers, or the path of a .npy file or a
    picture. `result.views` holds planes of the tensors to look at. `opset` raises the model first; `inline`
    inlines its local functions before that.

    `scale`, `scales` or `sizes`, set in a call of their own, give the nodes another constant extent. `sizes="partner"`
    gives them, at run time, the sizes of the tensor that the result meets at Add, Sub, Mul, Concat or Where. Each
    changed node is compared with the original that holds this extent, bit for bit, and the rest must run. Where sizes
    would sample otherwise than the scales did, a node is refused unless `allow_inexact`.

    Raises UsageError for values that there are not, VerificationFailedError where a changed node does not compute what
    was asked for.
    """
    settings = settings_of(
        {
            "mode": mode,
            "coordinates": coordinates,
            "coordinate_transformation_mode": coordinate_transformation_mode,
            "nearest_mode": nearest_mode,
            "cubic_coeff_a": cubic_coeff_a,
            "antialias": antialias,
            "exclude_outside": exclude_outside,
            "form": form,
            "scale": scale,
            "scales": scales,
            "sizes": sizes,
        }
    )
    if settings.is_extent:
        from resizefix.library.set_extent import set_extent  # a change of another kind

        return set_extent(document, settings, node, opset, feed, run, verify=verify, allow_inexact=allow_inexact)
    if settings.form == RESIZE:
        from resizefix.library.set_resize import set_resize  # of nodes that are no resizes

        if len([value for value in vars(settings).values() if value is not None]) > 1:
            raise UsageError("operations.set-extent-alone", key="form=resize")
        return set_resize(document, node, opset, run, verify=verify)
    base, made = _made(document, settings, node, opset)
    fed = read_feeds(feed or {}, model_inputs(document.proto))
    if not made.intended:
        return Result(document, made.outcomes, (), skipped("library.nothing-changed"))
    made = replace(
        made, document=seam.submitted(base, made.document, Plan(frozenset(one.key for one in made.intended)))
    )
    if not verify:
        return Result(made.document, made.outcomes, (), not_verified())
    rules = conditions(**run)
    if base is not document:
        require_raised_alike(document, base, made.outcomes, rules, fed.numbers)
    # onnxruntime is imported where it runs
    from resizefix.verification.changed_nodes import RANDOM, Feed, measure_change

    files = [Feed(", ".join(fed.paths.values()), fed.values)] if fed.paths else []
    measured = measure_change(base, made.document, made.intended, [Feed(RANDOM, fed.numbers), *files], rules)
    outcomes = _with_differences(made, measured)
    why = measured.verification.reason
    verification = replace(measured.verification, reason=fed.with_notes(why))
    if not verification.passed:
        raise failed(Result(document, outcomes, (), verification), why=why)
    return Result(made.document, outcomes, (), verification, views=measured.views)


def _made(document: Document, settings: Settings, node: Sequence[str], opset: int | None) -> tuple[Document, Changed]:
    """The document raised to `opset`, and its selected nodes changed; outcomes show each node as it was before."""
    given = find_sites(document)
    indices = {site.index for site in select(given, node)}
    base = raised(document, opset)
    sites = [site for site in (given if base is document else find_sites(base)) if site.index in indices]
    made = make(base, sites, settings)
    before = {site.index: node_text(site.node) for site in given}
    as_given = (replace(outcome, before=before[outcome.index]) for outcome in made.outcomes)
    return base, replace(made, outcomes=tuple(as_given))


def _with_differences(made: Changed, measured: Measured) -> tuple[Outcome, ...]:
    """The outcomes with what was measured, at each node and at the outputs.

    Of half precision the last bits follow the casts around a node, which other operators move: then it is not exact.
    """
    kept = all(outcome.exact for outcome in made.outcomes)
    moved = kept and any(diff.max_abs_diff for diff in measured.outputs)
    found = []
    for outcome in made.outcomes:
        if outcome.status is Status.CHANGED:
            diffs = measured.nodes.get(outcome.index, ())
            largest = max((diff.max_abs_diff for diff in diffs), default=None)
            exact = outcome.exact and not largest and not moved
            outcome = replace(
                outcome,
                exact=exact,
                max_abs_diff=None if exact else largest,
                measured_at=None if exact else measured.shapes,
                node_diffs=diffs,
                output_diffs=measured.outputs,
            )
        found.append(outcome)
    return tuple(found)

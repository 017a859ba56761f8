"""The proof of another input size: what can be proven where there is no original of that size to compare with."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.errors import UsageError
from resizefix.origins.input_sizes.following import Following
from resizefix.runtimes.limits import BrokenOffError
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError, Session, open_session
from resizefix.verification.bounds import default_level_bounds, within
from resizefix.verification.compare import compare
from resizefix.verification.conditions import Conditions
from resizefix.verification.feeds import Feeder
from resizefix.verification.fitting import fit_feeds
from resizefix.verification.verification import Run, Status, Verification


def prove_size(
    before: Document, after: Document, found: Following | None, wanted: Mapping[str, int], rules: Conditions
) -> Verification:
    """Run the model of the new size at both optimisation levels; every output must have the derived size.

    Where no constant had to change (`found` is None), the original takes this size too, and is compared.
    """
    try:
        return _same(before, after, rules) if found is None else _proof(after, found, wanted, rules)
    except (CannotLoadError, CannotRunError, BrokenOffError, UsageError) as error:
        reason = getattr(error, "reason", str(error))
        return Verification(Status.FAILED, Diagnostic("verification.input-size-does-not-run", reason=reason))


def _proof(after: Document, found: Following, wanted: Mapping[str, int], rules: Conditions) -> Verification:
    plain = _open(after, rules, optimized=False)
    feeder = Feeder(plain.inputs, rules.shapes, rules.seed, {}, rules.limits.bytes)
    fitted = fit_feeds(plain, feeder)
    shapes = {name: np.shape(value) for name, value in fitted.feeds.items() if isinstance(value, np.ndarray)}
    for name, value in fitted.outputs.items():
        dims = found.flow.dims.get(name)
        if dims is None or not isinstance(value, np.ndarray):
            continue
        derived = [None if found.sizes.is_opaque(dim) else found.length(wanted, dim) for dim in dims]
        if len(derived) != value.ndim or any(
            d is not None and d != s for d, s in zip(derived, value.shape, strict=True)
        ):
            why = Diagnostic("verification.input-size-shape", name=name, found=list(value.shape), wanted=derived)
            return Verification(Status.FAILED, why)
    optimized = _open(after, rules, optimized=True).run(plain.taken(fitted.feeds))
    level = compare(fitted.outputs, optimized)
    if level.max_rel_diff == np.inf or not within(level, default_level_bounds(fitted.outputs, optimized)):
        return Verification(Status.FAILED, Diagnostic("verification.input-size-optimized", reason=level.reason))
    run = Run({}, shapes, True, level.bitwise, level.max_abs_diff, level.max_rel_diff)
    return Verification(Status.PASSED, Diagnostic("verification.input-size-fixed"), (run,))


def _same(before: Document, after: Document, rules: Conditions) -> Verification:
    plain = _open(after, rules, optimized=False)
    fitted = fit_feeds(plain, Feeder(plain.inputs, rules.shapes, rules.seed, {}, rules.limits.bytes))
    original = _open(before, rules, optimized=False)
    level = compare(original.run(original.taken(fitted.feeds)), fitted.outputs)
    shapes = {name: np.shape(value) for name, value in fitted.feeds.items() if isinstance(value, np.ndarray)}
    run = Run({}, shapes, False, level.bitwise, level.max_abs_diff, level.max_rel_diff)
    return Verification(Status.PASSED if level.bitwise else Status.FAILED, level.reason, (run,))


def _open(document: Document, rules: Conditions, *, optimized: bool) -> Session:
    return open_session(
        document,
        optimized=optimized,
        custom_op_libraries=rules.custom_op_libraries,
        limits=rules.limits,
        label="the model of the new size",
    )

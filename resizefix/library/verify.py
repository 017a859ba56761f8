"""`resizefix.verify`: two models run on the same feeds and compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from resizefix.interop import Model, opened
from resizefix.library.bounded import bounded
from resizefix.verification.conditions import RunOptions, conditions
from resizefix.verification.verification import Verification

if TYPE_CHECKING:
    from typing_extensions import Unpack


@bounded
def verify(
    before: Model,
    after: Model,
    *,
    runs: int = 1,
    atol: float = 0.0,
    rtol: float = 0.0,
    feed: Mapping[str, object] | None = None,
    **run: Unpack[RunOptions],
) -> Verification:
    """Whether `after` computes in onnxruntime what `before` does; `feed` gives values for inputs that only one of
    them has.

    With optimisation disabled every bit must agree unless `atol` or `rtol` allow more. Raises UsageError for names and
    shapes that do not fit the models.
    """
    from resizefix.verification.verify import verify as run_both

    rules = conditions(**run)
    documents = opened(before), opened(after)

    def examples() -> Mapping[str, Sequence[float]]:
        from resizefix.library.old_values import old_values

        return old_values(*documents)

    return run_both(
        *documents,
        shapes=rules.shapes,
        seed=rules.seed,
        runs=runs,
        atol=atol,
        rtol=rtol,
        feeds=feed,
        custom_op_libraries=rules.custom_op_libraries,
        limits=rules.limits,
        tell=rules.tell,
        examples=examples,
    )

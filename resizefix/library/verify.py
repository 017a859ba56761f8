"""`resizefix.verify`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from resizefix.interop import Model, opened
from resizefix.library.bounded import bounded
from resizefix.verification.limits import Limits
from resizefix.verification.steps import Tell
from resizefix.verification.verification import Verification


@bounded
def verify(
    before: Model,
    after: Model,
    *,
    shape: Mapping[str, Sequence[int]] | None = None,
    seed: int = 0,
    runs: int = 1,
    atol: float = 0.0,
    rtol: float = 0.0,
    feed: Mapping[str, object] | None = None,
    custom_op_library: Sequence[str] = (),
    timeout: float | None = None,
    memory_limit: int | None = None,
    progress: Tell | None = None,
) -> Verification:
    """Whether `after` computes in onnxruntime what `before` does; `feed` gives values for inputs that only one of
    them has.

    With optimisation disabled every bit must agree unless `atol` or `rtol` allow more. Raises UsageError for names and
    shapes that do not fit the models.
    """
    from resizefix.verification.verify import verify as run_both

    documents = opened(before), opened(after)

    def examples() -> Mapping[str, Sequence[float]]:
        from resizefix.library.old_values import old_values

        return old_values(*documents)

    return run_both(
        *documents,
        shapes={name: tuple(dims) for name, dims in (shape or {}).items()},
        seed=seed,
        runs=runs,
        atol=atol,
        rtol=rtol,
        feeds=feed,
        custom_op_libraries=custom_op_library,
        limits=Limits.starting_now(timeout, memory_limit),
        tell=progress,
        examples=examples,
    )

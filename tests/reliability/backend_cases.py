"""The ONNX standard's own cases of Resize and Upsample through every operation.

`python tests/reliability/backend_cases.py` counts what came of them.

Their scales and sizes are inputs: each is frozen with its case's value, then promoted again, legalized for every target
and brought to the old form. Every file that comes out must give the case's expected output within the standard's own
tolerance wherever onnxruntime gives it for the original, and onnxruntime's own output for the original: bit for bit
where the outcome says exact.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from random_graphs_called import TARGETS
from random_graphs_case import plain
from random_graphs_claims import LOWERED
from random_graphs_runs import Ran, Runner, difference, fed_value

import resizefix

FORMS = ("scales", "spatial", "factor", "sizes")


@dataclass(frozen=True)
class BackendCase:
    """One case of the standard: what is fed, what must come out, and how nearly."""

    name: str
    model: onnx.ModelProto
    feeds: dict[str, np.ndarray]
    expected: np.ndarray
    rtol: float
    atol: float

    def is_met(self, ran: Ran) -> bool:
        """Whether this is the expected output."""
        found = next(iter(ran.outputs.values()), None)
        return (
            found is not None
            and found.shape == self.expected.shape
            and np.allclose(found, self.expected, rtol=self.rtol, atol=self.atol)
        )


@cache
def backend_cases() -> tuple[BackendCase, ...]:
    """Made by the wheel itself: its modules write them when they are imported."""
    from onnx.backend.test.case import node as standard
    from onnx.backend.test.case.node import resize, upsample  # noqa: F401  for the cases that they add

    found = []
    for case in standard._NodeTestCases:
        if case.name.startswith(("test_resize_", "test_upsample_")):
            inputs, outputs = case.data_sets[0]
            names = [entry.name for entry in case.model.graph.input]
            feeds = dict(zip(names, inputs, strict=True))
            found.append(BackendCase(case.name, case.model, feeds, outputs[0], case.rtol, case.atol))
    return tuple(found)


def through(case: BackendCase, folder: Path, targets: Sequence[str], book: Counter[str]) -> Ran:
    """One case through every operation; what came of each is counted in `book`. What the original computes."""

    def ran(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> Ran:
        path = folder / f"{book['files written']}.onnx"
        book["files written"] += 1
        onnx.save(model, path)
        return Runner(path).run(feeds)

    def applied(name: str, call: Callable[..., Any], model: Any, **options: Any) -> Any:
        """The result, compared; None where the operation is refused or changes nothing."""
        try:
            result = call(model, **options)
        except resizefix.VerificationFailedError as error:
            if original.error is None:
                raise AssertionError(f"{case.name}: {name}: {error}") from error
            book[f"{name}: not proven: {plain(str(error))}"] += 1
            return None
        for outcome in result.outcomes:
            book[f"{name}: {outcome.status.value}"] += 1
            assert outcome.reason or outcome.status.value != "refused", f"{case.name}: {name}: no reason"
        if not result.changed:
            return None
        made = ran(result.model, case.feeds | {source.name: fed_value(source) for source in result.inputs})
        exact = all(outcome.exact for outcome in result.outcomes)
        measured = max((outcome.max_abs_diff or 0.0) for outcome in result.outcomes)
        largest = max(float(np.max(np.abs(case.expected), initial=0.0)), 1.0)
        apart, bound = difference(original, made), 0.0 if exact else max(LOWERED, measured * 2)
        assert apart <= bound, f"{case.name}: {name}: {apart} apart (exact: {exact})"
        if case.is_met(original) and (exact or measured < LOWERED * largest):
            assert case.is_met(made), f"{case.name}: {name}: not the expected output"
        book[f"{name}: same {'bits' if apart == 0 else 'within the bound'}"] += 1
        return result

    original = ran(case.model, case.feeds)
    book["the original gives the expected output" if case.is_met(original) else "the original does not"] += 1
    assert_what_is_fed_is_refused(case)
    fed = {name: case.feeds[name].tolist() for name in ("scales", "sizes") if name in case.feeds}
    shapes = {name: value.shape for name, value in case.feeds.items() if name not in fed}
    frozen = applied("freeze-scales", resizefix.freeze_scales, case.model, set=fed)
    if frozen is None:
        return original
    for options in ({"form": form} for form in FORMS):
        made = applied("promote-scales", resizefix.promote_scales, frozen.model, shape=shapes, **options)
        if made is not None:
            values = {source.name: source.value for source in made.inputs}
            again = applied("promote→freeze", resizefix.freeze_scales, made.model, set=values)
            assert again is not None, f"{case.name}: {options}"
    for options in ({"keep_default": True}, {"for_": "tensorrt"}):
        applied("promote-scales", resizefix.promote_scales, frozen.model, shape=shapes, **options)
    for target in targets:
        applied("legalize", resizefix.legalize, frozen.model, target=target)
    applied("trt-legacy", resizefix.trt_legacy, frozen.model)
    return original


def assert_what_is_fed_is_refused(case: BackendCase) -> None:
    (outcome,) = resizefix.promote_scales(case.model, on_refusal="return").outcomes
    assert outcome.status.value == "unchanged", outcome
    assert "already follow the graph input" in (outcome.reason or "")
    legacy = resizefix.trt_legacy(case.model, on_refusal="return")
    assert not legacy.changed
    assert "fed at run time" in (legacy.outcomes[0].reason or "")


def main() -> None:
    book: Counter[str] = Counter()
    for case in backend_cases():
        with tempfile.TemporaryDirectory() as folder:
            through(case, Path(folder), TARGETS, book)
    print(f"{len(backend_cases())} cases")
    for text, count in sorted(book.items()):
        print(f"{count:6d}  {text}")


if __name__ == "__main__":
    main()

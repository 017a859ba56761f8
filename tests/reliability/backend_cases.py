"""The ONNX standard's own cases of Resize and Upsample through every operation.

`python tests/reliability/backend_cases.py` counts what came of them.

Their scales and sizes are inputs: each is frozen with its case's value, then promoted again, legalized for every target
and brought to the old form. Every file that comes out must give the case's expected output within the standard's own
tolerance wherever onnxruntime gives it for the original, and onnxruntime's own output for the original: bit for bit
where the outcome says exact.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from random_graphs_called import TARGETS
from random_graphs_case import plain
from random_graphs_claims import LOWERED
from random_graphs_runs import Ran, Runner, difference

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


class Through:
    """One case, with what came of each operation counted in `book`."""

    def __init__(self, case: BackendCase, folder: Path, book: Counter[str]) -> None:
        self._case = case
        self._folder = folder
        self._book = book
        self._files = 0
        self._shapes: dict[str, tuple[int, ...]] = {}
        self.original = self._run(case.model, case.feeds)
        self._meets = case.is_met(self.original)

    def _run(self, model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> Ran:
        path = self._folder / f"{self._files}.onnx"
        self._files += 1
        onnx.save(model, path)
        return Runner(path).run(feeds)

    def all(self, targets: Sequence[str] = TARGETS) -> None:
        """Every operation."""
        case = self._case
        self._book["the original gives the expected output" if self._meets else "the original does not"] += 1
        self._refuses_what_is_fed()
        fed = {name: case.feeds[name].tolist() for name in ("scales", "sizes") if name in case.feeds}
        self._shapes = {name: value.shape for name, value in case.feeds.items() if name not in fed}
        frozen = self._applied("freeze-scales", lambda: resizefix.freeze_scales(case.model, set=fed))
        if frozen is None:
            return
        for form in FORMS:
            made = self._applied("promote-scales", lambda form=form: self._promoted(frozen, form=form))
            if made is not None:
                again = self._applied(
                    "promote→freeze", lambda made=made: resizefix.freeze_scales(made.model, set=_values(made))
                )
                assert again is not None, f"{case.name}: {form}"
        self._applied("promote-scales", lambda: self._promoted(frozen, keep_default=True))
        self._applied("promote-scales", lambda: self._promoted(frozen, for_="tensorrt"))
        for target in targets:
            self._applied("legalize", lambda target=target: resizefix.legalize(frozen, target=target))
        self._applied("trt-legacy", lambda: resizefix.trt_legacy(frozen))

    def _promoted(self, model: onnx.ModelProto, **options: Any) -> Any:
        return resizefix.promote_scales(model, shape=self._shapes, **options)

    def _refuses_what_is_fed(self) -> None:
        outcomes = resizefix.promote_scales(self._case.model).outcomes
        assert [outcome.status.value for outcome in outcomes] == ["unchanged"], outcomes
        assert "already follow the graph input" in (outcomes[0].reason or "")
        legacy = resizefix.trt_legacy(self._case.model)
        assert not legacy.changed
        assert "fed at run time" in (legacy.outcomes[0].reason or "")

    def _applied(self, name: str, call: Callable[[], Any]) -> Any:
        """The result's model (of a promotion the whole result), compared; None where it was refused."""
        case = self._case
        try:
            result = call()
        except resizefix.VerificationFailedError as error:
            if self.original.error is None:
                raise AssertionError(f"{case.name}: {name}: {error}") from error
            self._book[f"{name}: not proven: {plain(str(error))}"] += 1
            return None
        for outcome in result.outcomes:
            self._book[f"{name}: {outcome.status.value}"] += 1
            if outcome.status.value == "refused":
                assert outcome.reason, f"{case.name}: {name}: no reason"
                self._book[f"{name} refused: {plain(outcome.reason)}"] += 1
        if not result.changed:
            return None
        feeds = case.feeds | {source.name: _fed(source) for source in result.inputs}
        ran = self._run(result.model, feeds)
        exact = all(outcome.exact for outcome in result.outcomes)
        apart = difference(self.original, ran)
        measured = max((outcome.max_abs_diff or 0.0) for outcome in result.outcomes)
        largest = max(float(np.max(np.abs(case.expected), initial=0.0)), 1.0)
        bound = 0.0 if exact else max(LOWERED, measured * 2)
        assert apart * largest <= bound * largest, f"{case.name}: {name}: {apart} apart (exact: {exact})"
        if self._meets and (exact or measured < LOWERED * largest):
            assert case.is_met(ran), f"{case.name}: {name}: not the expected output"
        self._book[f"{name}: same {'bits' if apart == 0 else 'within the bound'}"] += 1
        return result if result.inputs else result.model


def _fed(source: Any) -> np.ndarray:
    return np.array(source.value, np.int64 if source.elem_type == "int64" else np.float32)


def _values(result: Any) -> dict[str, tuple[float, ...]]:
    return {source.name: source.value for source in result.inputs}


def run(cases: Iterator[BackendCase] | tuple[BackendCase, ...], book: Counter[str]) -> None:
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            Through(case, Path(folder), book).all()


def main() -> None:
    book: Counter[str] = Counter()
    run(backend_cases(), book)
    print(f"{len(backend_cases())} cases")
    for text, count in sorted(book.items()):
        print(f"{count:6d}  {text}")


if __name__ == "__main__":
    main()

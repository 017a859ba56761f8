"""One drawn model as a file, run once, and the book in which its laws are counted."""

import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from random_graphs_model import Drawn
from random_graphs_places import Placed
from random_graphs_runs import (
    Ran,
    Runner,
    fed_value,
    has_needed_ranks,
    holders,
    lost_records,
    only_for,
    signature,
    visible,
)

import resizefix
from resizefix.document.document import Document
from resizefix.opsets.raising import raised_to

EXTERNAL = "Cannot parse data from external tensors"


@dataclass
class Tally:
    """What was run: models, sites, operations with what came of them, refusals by reason."""

    models: Counter[str] = field(default_factory=Counter)
    sites: Counter[str] = field(default_factory=Counter)
    operations: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)

    def refused(self, operation: str, reason: str | None) -> None:
        self.refusals[f"{operation}: {plain(reason or '')}"] += 1


def plain(reason: str) -> str:
    """A reason without the names and numbers of its model."""
    text = re.sub(r"\[[^\]]*\]|'[^']*'|\"[^\"]*\"", "…", reason)
    text = re.sub(r"\([^()]*\)", "(…)", text)
    return re.sub(r"[-\w.#]*\d[-\w.×e+]*", "N", text)[:110]


class Case:
    """A model in a folder of its own."""

    def __init__(self, drawn: Drawn, folder: Path, seed: int) -> None:
        self.drawn = drawn
        self.folder = folder
        self.rng = random.Random(seed)
        self.path = folder / "in.onnx"
        if drawn.external:
            onnx.save_model(
                _copied(drawn.model), self.path, save_as_external_data=True, location="in.data", size_threshold=16
            )
        else:
            self.path.write_bytes(drawn.model.SerializeToString())
        self.model = onnx.load(str(self.path), load_external_data=False)
        self.bytes = self.path.read_bytes()
        self._count = 0

    @cached_property
    def runner(self) -> Runner:
        return Runner(self.path)

    @cached_property
    def ran(self) -> Ran:
        return self.runner.run(self.drawn.feeds)

    @property
    def runs(self) -> bool:
        return self.ran.error is None

    @cached_property
    def optimized(self) -> Ran:
        """At the default level, where constants are folded and onnxruntime infers sizes from them."""
        return Runner(self.path, optimized=True).run(self.drawn.feeds)

    @cached_property
    def halves(self) -> bool:
        """Whether anything is float16: onnxruntime has no kernels for it and computes between casts whose places depend
        on the neighbours. Everything else is the same bits."""
        return "float16" in self._dtypes

    @cached_property
    def largest_resized(self) -> float:
        """The largest value of what the nodes of the main graph resize, and of what they make of it."""
        names = [name for site in self.sites if not site.scope.path for name in (site.input, site.output)]
        ran = Runner(self.save_proto(visible(self.model, names), "visible")).run(self.drawn.feeds)
        values = [ran.outputs[name] for name in names if name in ran.outputs]
        finite = [np.abs(value[np.isfinite(value)].astype(np.float64)) for value in values]
        return max((float(np.max(value, initial=0.0)) for value in finite), default=0.0)

    @cached_property
    def rounds_to_steps(self) -> bool:
        return any(node.op_type == "QuantizeLinear" for node in self.model.graph.node)

    step = 0.05  # of the quantization that `random_graphs_neighbours` draws

    @property
    def _dtypes(self) -> set[str]:
        return {site.x.dtype for site in self.drawn.sites} | {str(v.dtype) for v in self.ran.outputs.values()}

    @property
    def says_nothing(self) -> bool:
        """Whether its outputs are empty: there is nothing that could be compared."""
        return all(not value.size for value in self.ran.outputs.values())

    @property
    def is_fed(self) -> bool:
        """Whether an input decides how a node resizes: a proof feeds it other values than those drawn."""
        return any(site.origin.kind.value == "graph-input" for site in self.sites)

    @property
    def fixes_what_is_fed(self) -> bool:
        """Whether the file fixes sizes that an input decides: fed other values than those drawn, it contradicts itself,
        and no proof can know the drawn ones."""
        entries = (*self.model.graph.output, *self.model.graph.value_info)
        return self.is_fed and any(dim.dim_value for entry in entries for dim in entry.type.tensor_type.shape.dim)

    def is_empty_and_fed(self, error: str) -> bool:
        """Whether what cannot be compared by itself is empty at the drawn feeds too, and an input decides a size before
        it: fed other values than those drawn, the whole model need not run."""
        if not self.is_fed:
            return False
        if "Every output is empty at the shapes tried" in error and "around" not in error:
            # of an input that is a part of the scales nobody knows which
            return any(site.way.name == "part of an input" for site in self.drawn.sites)
        found = re.search(r"around '([^']*)': Every output is empty", error)
        if found is None:
            return False
        names = {name for node in self.model.graph.node for name in node.output} & {found[1]}
        shown = Runner(self.save_proto(visible(self.model, sorted(names)), "visible")).run(self.drawn.feeds)
        return any(not shown.outputs[name].size for name in names & set(shown.outputs))

    def is_limit(self, error: str) -> bool:
        """Whether onnxruntime says what it says of the original, too, where all sizes are known to it: its shape
        inference reads no scales that lie in another file, and reads them only where it knows what is scaled."""
        if EXTERNAL not in error or not self.drawn.external:
            return False
        told = onnx.ModelProto()
        told.CopyFrom(self.model)
        names = [site.x.name for site in self.drawn.sites if site.place == "main"]
        ran = Runner(self.save_proto(visible(self.model, names), "visible")).run(self.drawn.feeds)
        for name in names:
            if name in ran.outputs:
                value = ran.outputs[name]
                elem_type = onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
                told.graph.value_info.append(onnx.helper.make_tensor_value_info(name, elem_type, value.shape))
        return EXTERNAL in (Runner(self.save_proto(told, "told")).error or "")

    @cached_property
    def sites(self) -> list[resizefix.Site]:
        return resizefix.inspect(str(self.path))

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """What the inputs are fed: a file may leave sizes open that cannot be any."""
        names = {entry.name for entry in self.model.graph.input} - {t.name for t in self.model.graph.initializer}
        return {name: value.shape for name, value in self.drawn.feeds.items() if name in names}

    def placed_by(self, output: str) -> Placed:
        return next(site for site in self.drawn.sites if site.output == output)

    def save(self, result: Any, word: str) -> Path:
        """The result's file, beside the original; twice, for the same bytes must come out."""
        paths = [self.folder / f"{word}{self._count}{twin}.onnx" for twin in ("", "_twin")]
        self._count += 1
        for path in paths:
            result.model.save(path)
        assert paths[0].read_bytes() == paths[1].read_bytes(), "two saves, other bytes"
        assert self.path.read_bytes() == self.bytes, "the input was touched"
        return paths[0]

    def save_proto(self, model: onnx.ModelProto, word: str) -> Path:
        path = self.folder / f"{word}{self._count}.onnx"
        self._count += 1
        path.write_bytes(model.SerializeToString())
        return path

    def assert_only_changed(self, result: Any, after: Path, *, removed: set[str] = frozenset()) -> None:  # type: ignore[assignment]
        """Whatever no outcome names lies in the output byte for byte; scales in an attribute want opset 9, and with it
        what opset 9 says of other nodes."""
        changed = {self.sites[o.index].output for o in result.outcomes if o.status.value == "changed"}
        base = self._base(result)
        model = onnx.ModelProto.FromString(base)
        vanish = only_for(model, changed) | removed
        lost = lost_records(base, after.read_bytes(), holders(model, changed), may_vanish=vanish)
        fed = {source.name: fed_value(source) for source in getattr(result, "inputs", ())}
        told = " ".join(o.reason or "" for o in result.outcomes if o.status.value == "changed")
        for name in (node.output[0] for node in self.model.graph.node if node.op_type == "Scan"):
            record, feeds = f"node {name!r}", self.drawn.feeds | fed
            if record in lost and has_needed_ranks(self.model, after, name, feeds, told):
                lost.remove(record)
        assert not lost, f"not as they were: {lost}"

    def _base(self, result: Any) -> bytes:
        """The bytes that were edited: the file's, or those of the model raised to opset 9."""
        sites = [self.sites[o.index] for o in result.outcomes if o.status.value == "changed"]
        if not result.inputs or all(site.origin.kind.value != "attribute" for site in sites):
            return self.bytes
        made: bytes = raised_to(Document.from_proto(self.model), 9).proto.SerializeToString(deterministic=True)
        return made

    def assert_signature(self, after: Path, *, added: Sequence[tuple[str, int]] = (), removed: set[str]) -> None:
        """The same inputs and outputs in the same order; new inputs come last, those that became constants are gone."""
        made = onnx.load(after, load_external_data=False)
        (inputs, outputs), (new_inputs, new_outputs) = signature(self.model), signature(made)
        assert new_outputs == outputs, f"outputs {outputs} became {new_outputs}"
        wanted = [entry for entry in inputs if entry[0] not in removed] + list(added)
        if self.model.ir_version < 4:  # there constants are listed too, wherever
            constants = {tensor.name for model in (self.model, made) for tensor in model.graph.initializer}
            wanted, new_inputs = ([e for e in side if e[0] not in constants] for side in (wanted, new_inputs))
        assert new_inputs == wanted, f"inputs {new_inputs} instead of {wanted}"


def _copied(model: onnx.ModelProto) -> onnx.ModelProto:
    made = onnx.ModelProto()
    made.CopyFrom(model)
    return made

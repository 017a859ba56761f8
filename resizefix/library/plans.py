"""Which commands would change which sites of a document, found out by planning them: what a report may suggest.

An operation is imported by the plan that needs it: most reports need none.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from resizefix.diagnostics import RefusedError, UsageError
from resizefix.document.scopes import DEFAULT_DOMAINS, Definition, is_operator
from resizefix.document.values import dims_of
from resizefix.interpolation import ExtentKind
from resizefix.operations.forms import bind_input, retry_args
from resizefix.operations.site import ReadSite, Site
from resizefix.origins.classify import OriginKind
from resizefix.promotion import Form, Freedom
from resizefix.shapes.operand import attribute_of
from resizefix.shapes.stored_shapes import ModelView
from resizefix.shapes.table import pairs, schema_of
from resizefix.targets.collect_facts import facts_in
from resizefix.targets.facts import DENOMINATOR
from resizefix.targets.onnxruntime_target import ONNXRUNTIME
from resizefix.targets.target import Target, accepts, judge, taken
from resizefix.targets.tensorrt import LEGACY_TARGETS

if TYPE_CHECKING:
    from resizefix.faults.fault import Fault
    from resizefix.interop import Model

# What an input is tried with that scales: a factor, as it is or over a usual denominator.
_FACTORS = (2, 1, 2000, 1000)
_ROUNDING = frozenset({
    "QuantizeLinear", "DynamicQuantizeLinear", "Round", "Floor", "Ceil", "ArgMax", "ArgMin", "TopK",
    "NonMaxSuppression",
})  # fmt: skip
_USUAL_SIZE = 16  # of an axis that the file leaves open


class Plans:
    """The plans for the sites of one view, each made when it is first asked for."""

    def __init__(self, view: ModelView, sites: Sequence[Site], faults: Sequence[Sequence[Fault]] | None = None) -> None:
        """`faults` are those of every site of the view, where they are known."""
        self._view = view
        self._sites = sites
        self._faults = faults
        self._legal: dict[str, frozenset[int]] = {}

    @cached_property
    def repairs(self) -> bool:
        """Whether `repair` changes a site, or names of dimensions, and leaves a model that loads; what is broken
        elsewhere it does not fix."""
        from resizefix.faults.fault import Preferences
        from resizefix.faults.names import known_names
        from resizefix.operations.repair import repair, why_not_loaded
        from resizefix.outcome import Status

        repaired = repair(self._view.document, self._sites, Preferences())
        changes = any(outcome.status is Status.CHANGED for outcome in repaired.outcomes)
        changes = changes or bool(known_names(self._view.document))
        return changes and why_not_loaded(repaired.document) is None

    def promotion(self, site: Site) -> tuple[str, ...] | None:
        """The options with which `promote-scales` changes the site; None where it does not, or that is not known."""
        if not site.promotable or site.coupling is None or not self._runs[site.index]:
            return None
        if site.coupling.verdict is not Freedom.FREE:
            return ("--shared",) if site.coupling.shared else None
        try:
            bind_input(site.read, Form.SCALES)
        except RefusedError:
            return retry_args(site.read, Form.SCALES, None, integers=False) or None
        return ()

    def freezing(self, site: Site) -> tuple[str, ...] | None:
        """The options with which `freeze-scales` changes a site that is fed, with example values; None if it does
        not."""
        return self._freezing.get(site.index) if self._runs[site.index] else None

    def is_rewritable(self, site: Site, target: Target) -> bool:
        """Whether `legalize --target` changes the site."""
        from resizefix.operations.legalize import rewritable

        if not self._runs[site.index]:
            return False
        if target.name not in self._legal:
            legal = rewritable(self._view, self._sites, target, exactly=self._rounds)
            self._legal[target.name] = legal | _read_otherwise(self._view, self._sites, target)
        return site.index in self._legal[target.name]

    def shape_inputs(self, target: Target) -> tuple[str, ...] | None:
        """The options with which `legalize` writes a model that this TensorRT accepts, its float inputs that decide
        sizes made integers; None: there are none, or the model is refused then, too."""
        from resizefix.operations.integer_inputs import (
            deciding_floats,
            shape_input_options,
            violations_of_the_whole,
            with_integer_inputs,
        )
        from resizefix.operations.legalize import legalize
        from resizefix.operations.sites import sites_in

        floats = deciding_floats(self._view) if target.runtime == "tensorrt" and self.all_run else []
        if not floats:
            return None
        inputs = [replace(one, denominator=DENOMINATOR if one.gives_scales else 1) for one in floats]
        view = ModelView(with_integer_inputs(self._view.document, inputs))
        legal = ModelView(legalize(view.document, sites_in(view), target, view=view).document)
        is_taken = all(accepts(target, facts) for facts in facts_in(legal))
        return shape_input_options(floats) if is_taken and not violations_of_the_whole(legal, target) else None

    def taken_as_they_are(self, target: Target) -> list[bool]:
        """Of each site, whether the target accepts it."""
        return [accepts(target, facts) for facts in facts_in(self._view)]

    def has_legacy_form(self, target: Target) -> bool:
        """Whether `trt-legacy` writes a model that the target accepts."""
        if target not in LEGACY_TARGETS or not self._sites or not self.all_run:
            return False
        from resizefix.operations.trt_legacy import trt_legacy

        return trt_legacy(self._view.document, target=target).complete

    def mistakes_nodes(self, target: str) -> bool:
        """Whether the target takes nodes of another domain for resizes."""
        from resizefix.operations.integer_inputs import violations_of_the_whole
        from resizefix.targets.catalogue import target_named

        return bool(violations_of_the_whole(self._view, target_named(target)))

    @property
    def all_run(self) -> bool:
        """Whether onnxruntime runs every site, so that a change of some can be verified with the others."""
        return all(self._runs)

    @property
    def every_rewrite_passes(self) -> bool:
        """Whether nothing keeps a rewrite of any site from being verified."""
        return self.all_run and not self._rounds

    @cached_property
    def _rounds(self) -> bool:
        """Whether a node makes a whole step of a last bit, so that what is not exact may fail verification."""
        return any(node.op_type in _ROUNDING for scope in self._view.scopes.all for node in scope.body.node)

    @cached_property
    def _runs(self) -> list[bool]:
        return runs_in(self._view, self._faults) if not mixes_types(self._view) else [False] * len(self._view.resizes)

    @cached_property
    def _freezing(self) -> Mapping[int, tuple[str, ...]]:
        document = self._view.document
        fed = [
            site for site in self._sites if site.origin.kind is OriginKind.GRAPH_INPUT and isinstance(site, ReadSite)
        ]
        if not fed:
            return {}
        from resizefix.operations.freeze_scales import freeze_scales
        from resizefix.operations.given_values import GivenValues
        from resizefix.outcome import Status

        given = GivenValues(self._view, fed, {})
        behind = {site.index: [name for name in given.behind(site.index) if name not in given.arrays] for site in fed}
        from resizefix.operations.integer_inputs import deciding_floats

        # read by others, too, an input lives on and still decides shapes
        others = {one.name for one in deciding_floats(self._view) if one.slices or len(one.resizes) > 1}
        shares_input = {site.index for site in fed if not others.isdisjoint(behind[site.index])}
        declared = {value.name: value for value in document.proto.graph.input}
        settings_of: dict[int, tuple[str, ...]] = {}
        for factor in _FACTORS:
            left = [site for site in fed if site.index not in settings_of]
            values: dict[str, tuple[int, ...]] = {}
            for site in left:
                for name in behind[site.index]:
                    values.setdefault(name, _example(site, dims_of(declared[name].type), factor))
            if not left:
                break
            try:
                frozen, _ = freeze_scales(document, left, values=values, all_uses=bool(shares_input))
            except UsageError:
                continue
            for site, outcome in zip(left, frozen.outcomes, strict=True):
                if outcome.status is Status.CHANGED:
                    settings = (f"{name}={','.join(map(str, values[name]))}" for name in behind[site.index])
                    words = tuple(word for setting in settings for word in ("--set", setting))
                    settings_of[site.index] = (*words, *(("--all-uses",) if site.index in shares_input else ()))
        return settings_of


def _read_otherwise(view: ModelView, sites: Sequence[Site], target: Target) -> frozenset[int]:
    """The sites that the target accepts once they read the size that their scales aim at, or once what reads them
    sees their length; `legalize` does both first."""
    from resizefix.operations.quotient_sizes import pinned, quotient_sites, with_sizes_read
    from resizefix.operations.sites import sites_in

    by_size = quotient_sites(view, sites, target)
    reading = ModelView(with_sizes_read(view.document, by_size)) if by_size else view
    pins = pinned(reading, sites_in(reading), target)
    if not by_size and pins is None:
        return frozenset()
    facts = facts_in(reading if pins is None else pins.after)
    at_partners = () if pins is None else {one.index for one in pins.outcomes}
    moved = (site.index for site in sites if site.key in by_size or site.index in at_partners)
    return frozenset(index for index in moved if accepts(target, facts[index]))


def runs_in(view: ModelView, faults: Sequence[Sequence[Fault]] | None = None) -> list[bool]:
    """For each site of the model, whether a change of it can be verified: the rules of onnxruntime accept the node, and
    it has no fault that `repair` must fix first. `faults` are those of every site, if they are known."""
    from resizefix.faults.extents import SHORT_EXTENT
    from resizefix.faults.table import faults_in, repaired_first

    faults = faults_in(view) if faults is None else faults
    counted = [
        all(fault.name != SHORT_EXTENT for fault in site_faults) for site_faults in faults
    ]  # in a function no rule sees it
    sites = zip(taken_by(ONNXRUNTIME, view), repaired_first(faults), counted, strict=True)
    return [runs and not repaired and fits for runs, repaired, fits in sites]


def taken_by(target: Target, view: ModelView) -> list[bool]:
    """For each site of the model, whether the rules of the target accept the node."""
    return [taken(judge(target, facts)) for facts in facts_in(view)]


def repair_helps(model: Model, indices: Collection[int]) -> bool:
    """Whether one of these sites has a fault that `repair` fixes, or any site one that keeps the model from loading,
    and `repair` leaves a model that loads."""
    from resizefix.faults.table import faults_in
    from resizefix.interop import opened
    from resizefix.operations.sites import sites_in

    view = ModelView(opened(model))
    faults = [(index, fault) for index, of_site in enumerate(faults_in(view)) for fault in of_site]
    in_the_way = (fault.change is not None and (fault.stops_loading or index in indices) for index, fault in faults)
    return any(in_the_way) and Plans(view, sites_in(view)).repairs


def mixes_types(view: ModelView) -> bool:
    """Whether a node reads two element types where its schema wants one, as half-converted models do: no runtime
    loads them. A Cast makes what it says, whatever type is stored for its output."""
    casts = (node for scope in view.scopes.all for node in scope.body.node if node.op_type == "Cast")
    suspects = view.shapes.names_of_rarer_types | {name for cast in casts for name in cast.output}
    if not suspects:
        return False
    for scope in view.scopes.all:
        for node in scope.body.node:
            if suspects.isdisjoint(node.input):  # of two types one is not the commonest; most nodes read no such
                continue
            types: dict[str, set[int]] = {}
            schema = schema_of(node.op_type, scope.opset) if node.domain in DEFAULT_DOMAINS else None
            for name, formal in () if schema is None else pairs(node.input, schema.inputs):
                definition = view.scopes.definition(scope, name) if name and formal.is_homogeneous else None
                if definition is not None and (kind := _elem_type(definition, view)):
                    types.setdefault(formal.type_str, set()).add(kind)
            if any(len(kinds) > 1 for kinds in types.values()):
                return True
    return False


def _elem_type(definition: Definition, view: ModelView) -> int | None:
    if is_operator(definition.node, "Cast"):
        to: int | None = attribute_of(definition.node, "to")
        return to
    return view.shapes.elem_type(definition.key)


def _example(site: Site, declared: Sequence[int | str | None], factor: int) -> tuple[int, ...]:
    """Values for an input of that shape: one size for each axis, or `factor` for height and width."""
    dims = site.input_dims or ()
    full = (*(1,) * min(2, len(dims)), *(factor,) * max(len(dims) - 2, 0))
    count = math.prod(size if isinstance(size, int) else len(full) or 1 for size in declared)
    if site.extent.kind is ExtentKind.SIZES and count == len(full):
        return _sizes(site)
    return full if count == len(full) else full[-count:] if count < len(full) else (factor,) * count


def _sizes(site: Site) -> tuple[int, ...]:
    """The output's sizes as far as the file knows them."""
    dims = site.output_dims if site.output_dims is not None else site.input_dims or ()
    sizes = zip(dims, site.input_dims or dims, strict=False)
    return tuple(
        next((size for size in pair if isinstance(size, int)), _USUAL_SIZE if axis else 1)
        for axis, pair in enumerate(sizes)
    )

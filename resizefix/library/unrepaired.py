"""What onnxruntime says of a model that `repair` leaves as it is, or is about to give back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import TensorProto

from resizefix.diagnostics import Diagnostic, RefusedError, code_of
from resizefix.dialects.dialect import RESIZES
from resizefix.document.document import Document
from resizefix.document.scopes import DEFAULT_DOMAINS, bodies
from resizefix.document.values import dims_of
from resizefix.faults.table import faults_in
from resizefix.library.result import not_verified, skipped
from resizefix.operations.repair import has_operators_of_others, why_not_loaded, why_resizes_refused
from resizefix.operations.site import Site
from resizefix.operations.sites import find_sites, sites_in
from resizefix.origins.classify import OriginKind
from resizefix.runtimes.limits import BrokenOffError
from resizefix.shapes.stored_shapes import ModelView
from resizefix.verification.verification import Conditions, Verification

if TYPE_CHECKING:
    from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError

MOST_NAMED = 3  # nodes in one sentence
_REAL = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE)


def left_broken(document: Document) -> str:
    """Of each resize that is broken yet, why it was not repaired."""
    view = ModelView(document)
    reasons: list[str] = []
    for site, faults in zip(sites_in(view), faults_in(view), strict=True):
        if faults and not faults[0].is_optional:
            fix = Diagnostic("library.not-selected") if faults[0].change is not None else faults[0].fix
            why = {"because": faults[0].because, "fix": fix}
            reasons.append(Diagnostic("library.fault-not-repaired", label=site.label, **why))
        elif site.interpolation is None:
            reasons.append(Diagnostic("library.not-repaired", label=site.label, why=site.reason))
    return ". ".join(reasons[:MOST_NAMED]) or Diagnostic("library.fault-of-no-resize")


def loaded(document: Document, rules: Conditions) -> Verification | RefusedError:
    """What onnxruntime says of a model that is not to be run, and its rules of its resizes."""
    try:
        error = _load_error(document, rules, as_written=True)
    except BrokenOffError as broken_off:
        return skipped("library.unrepaired-not-opened", why=str(broken_off))
    if error is not None:
        return _refused_by_runtime(document, error)
    broken = why_resizes_refused(document)
    if broken is not None:
        return RefusedError("library.unrepaired-not-loaded", why=broken["why"], left=left_broken(document))
    return not_verified()


def why_refused(repaired: Document, rules: Conditions) -> str | None:
    """Why onnxruntime does not load a repaired model. Its own answer counts: onnx refuses some that it loads. Where
    operators are missing that are in a library of the user's, or time is up, onnx says what is known."""
    if has_operators_of_others(repaired) and not rules.custom_op_libraries:
        return why_not_loaded(repaired)
    try:
        error = _load_error(repaired, rules)
    except BrokenOffError:
        return why_not_loaded(repaired)
    if error is not None:
        return error.reason
    broken = why_resizes_refused(repaired)
    return None if broken is None else broken["why"]


def _load_error(document: Document, rules: Conditions, *, as_written: bool = False) -> CannotLoadError | None:
    # onnxruntime is imported where it loads
    from resizefix.runtimes.ort_session import CannotLoadError
    from resizefix.verification.engine import Engine

    try:
        Engine(rules, "the model", as_written=as_written).open(document, optimized=True)
    except CannotLoadError as error:
        return error
    return None


def as_it_is(document: Document, rules: Conditions) -> Verification | RefusedError:
    """What onnxruntime makes of a model in which nothing was repaired: it must load, and run if it can be fed.

    A run that fails at both levels and at no resize may be the fault of what was fed, where that can be at fault.
    """
    # onnxruntime is imported where it runs
    from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError
    from resizefix.verification.engine import Engine
    from resizefix.verification.fitting import OverBudgetError

    engine = Engine(rules, "the model", as_written=True)
    first: CannotRunError | None = None
    for optimized in (False, True):
        try:
            engine.fit(document, optimized=optimized)
        except (BrokenOffError, OverBudgetError) as error:
            return skipped("library.unrepaired-not-run", why=str(error))
        except CannotLoadError as error:
            return _refused_by_runtime(document, error)
        except CannotRunError as error:
            site = _site_at(document, error)
            of_feeds = (OriginKind.GRAPH_INPUT, OriginKind.RUNTIME)
            is_fed = _is_choosy(document) if site is None else site.origin.kind in of_feeds
            if optimized != (first is not None) or not is_fed:
                return _refused_by_runtime(document, error)
            first = error
        else:
            if first is not None:
                return _refused_by_runtime(document, first)
    return skipped("library.unrepaired-runs" if first is None else "library.unrepaired-not-run", why=first)


def _refused_by_runtime(document: Document, error: CannotLoadError | CannotRunError) -> RefusedError:
    """What onnxruntime says of the model, and whether it is about a resize."""
    site = _site_at(document, error)
    by_rules = None if site is not None or error.node or error.op_type else why_resizes_refused(document)
    if site is not None:
        left = site.reason if code_of(site.reason) == "operations.scales-below" else left_broken(document)
        about = Diagnostic("library.unrepaired-resize", label=site.label, left=left)
    elif by_rules is not None:
        about = Diagnostic("library.unrepaired-rule", **by_rules)
    else:
        about = Diagnostic(
            "library.unrepaired-elsewhere" if error.node or error.op_type else "library.unrepaired-nowhere"
        )
    why = str(error).rstrip(".")
    return RefusedError("library.unrepaired-refused", node=None if site is None else site.label, why=why, about=about)


def _site_at(document: Document, error: CannotLoadError | CannotRunError) -> Site | None:
    """The resize that onnxruntime complains of."""
    if error.op_type not in (*RESIZES, None) or (error.op_type is None and error.node is None):
        return None
    sites = [site for site in find_sites(document) if error.op_type in (site.op_type, None)]
    named = (site for site in sites if error.node in (site.label, site.node.name))
    return next(named, sites[0] if sites and error.op_type else None)


def _is_choosy(document: Document) -> bool:
    """Whether the model may refuse some feeds and take others: it leaves a size open, takes other things than real
    numbers, or is fed what decides a size, a count or a position."""
    # onnxruntime is imported where it runs
    from resizefix.verification.upstream import DECIDING, PLACING, deciding_inputs

    model = document.proto
    domains = {*DEFAULT_DOMAINS, *(function.domain for function in model.functions)}
    if any(node.domain not in domains for _, body in bodies(model) for node in body.node):
        return True
    defaulted = {tensor.name for tensor in model.graph.initializer}
    for value in model.graph.input:
        tensor = value.type.tensor_type
        dims = dims_of(value.type) if tensor.HasField("shape") else (None,)
        is_one = tensor.elem_type in _REAL and all(isinstance(size, int) for size in dims)
        if value.name not in defaulted and not is_one:
            return True
    return any(deciding_inputs(model, operands) for operands in (DECIDING, PLACING))

"""Resizes that a converter broke, made right: the first fault of each node is fixed until none is left."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from onnx import TensorProto, helper

from resizefix.diagnostics import Diagnostic
from resizefix.dialects.dialect import RESIZES
from resizefix.dialects.intended import IntendedNode
from resizefix.document import structure as validity
from resizefix.document.document import Document
from resizefix.document.edits import apply_around, insert_nodes, remove_unread
from resizefix.document.scopes import DEFAULT_DOMAINS, Scope, bodies
from resizefix.document.text import node_text
from resizefix.document.values import Dims, dims_of, known_types
from resizefix.faults.extents import unknown_count
from resizefix.faults.fault import Fault, Preferences
from resizefix.faults.meaning import Meanings
from resizefix.faults.resize_node import ResizeNode
from resizefix.faults.table import first_fault, resize_nodes
from resizefix.interpolation import ExtentKind
from resizefix.operations.rewriter import Rewritten
from resizefix.operations.site import ReadSite, Site
from resizefix.operations.sites import sites_in
from resizefix.opsets.lowering import sort_nodes, spell_default_domain
from resizefix.outcome import Outcome, Status
from resizefix.scope_path import Key
from resizefix.shapes.output_size import kernel_length
from resizefix.shapes.stored_shapes import ModelView, rederive
from resizefix.targets.collect_facts import facts_in
from resizefix.targets.onnxruntime_target import ONNXRUNTIME, as_proven
from resizefix.targets.target import judge, taken

_MOST_ROUNDS = 24  # no node has as many faults behind each other as there are rows
_Shown = tuple[int, ResizeNode, Fault]  # a site, its node, and the fault of it that is fixed


def repair(document: Document, sites: Sequence[Site], preferences: Preferences) -> Rewritten:
    """A copy of the document whose selected sites have no fault left that can be fixed; `document` stays as it is. What
    each repaired node must compute (`intended`) its fault says.

    A site keeps its place among the resizes of the file, since no fix adds or removes one: it identifies the site.
    """
    selected = {site.index: site for site in sites}
    rounds = _Rounds(document, selected, preferences)
    for _ in range(_MOST_ROUNDS):
        shown = rounds.look()
        if not shown:
            break
        rounds.fix(shown)
        if rounds.has_removed:
            break  # an Identity is no site: it comes last, and the count of sites changes with it
    fixed, resized = rounds.fixed, rounds.resized
    after = sites_in(ModelView(rounds.current)) if not rounds.has_removed else []
    others = [index for index in fixed if fixed[index] and index not in resized and index < len(after)]
    current, rederived = _with_true_shapes(
        rounds.current, [index for index in sorted(resized) if index < len(after)], others
    )
    outcomes = tuple(
        _outcome(
            site,
            fixed[index],
            rounds.refused.get(index),
            after[index] if index < len(after) else None,
            rounds.unseen.get(index),
            rounds.left.get(index),
        )
        for index, site in selected.items()
    )
    changed = {outcome.index for outcome in outcomes if outcome.status is Status.CHANGED}
    intended = [
        rounds.meanings.of(_as_read(site)) for site in after if site.index in changed and isinstance(site, ReadSite)
    ]
    return Rewritten(
        ModelView(document),
        ModelView(current),
        outcomes,
        touched=frozenset(rounds.touched),
        types=frozenset(rounds.types),
        opset=rounds.opset,
        intended=tuple(intended),
        rederived=rederived,
    )


class _Rounds:
    """The rounds of one repair: in each, the first fault of every selected node is fixed.

    `current` is the document so far, `fixed` the faults of each site that are gone. Of the last look: `refused` have a
    fault that cannot be fixed (the fix of a node can tell the sizes that another one's needs, in the next round),
    `left` one that may be wanted as it is; `unseen` says what is not known of a site that is sound otherwise.
    """

    def __init__(self, document: Document, selected: Collection[int], preferences: Preferences) -> None:
        self.current = document
        self.fixed: dict[int, list[Fault]] = {index: [] for index in selected}
        self.left: dict[int, Fault] = {}
        self.refused: dict[int, Fault] = {}
        self.unseen: dict[int, str | None] = {}
        self.resized: set[int] = set()
        self.touched: set[Key] = set()
        self.types: set[Key] = set()
        self.opset: int | None = None
        self.has_removed = False
        self.meanings = Meanings(ModelView(document))
        self._preferences = preferences

    def look(self) -> list[_Shown]:
        """The first fault of each selected site that can be fixed."""
        self.left, self.refused = {}, {}
        shown: list[_Shown] = []
        for index, node in enumerate(resize_nodes(ModelView(self.current))):
            fault = first_fault(node, self._preferences) if index in self.fixed else None
            if fault is not None and fault.change is None:
                (self.left if fault.is_optional else self.refused)[index] = fault
            elif fault is not None:
                shown.append((index, node, fault))
            elif index in self.fixed and not self.fixed[index]:
                self.unseen[index] = unknown_count(node)
        return shown

    def fix(self, shown: Sequence[_Shown]) -> None:
        """Fixes what was shown, all in one copy."""
        for index, node, fault in shown:
            assert fault.change is not None
            # What you decided may contradict the stored shapes.
            if fault.change.resized or (self._preferences.extent and _is_decided(node, fault)):
                self.resized.add(index)
            self.meanings.add(index, node, fault)
            self.touched |= _edited(node, fault)
            self.types |= {(node.scope.path, name) for name in fault.change.types}
            self.opset = fault.change.opset or self.opset
            self.fixed[index].append(fault)
            self.has_removed |= fault.name == "identity"
        self.current = _applied(self.current, shown)


def _is_decided(node: ResizeNode, fault: Fault) -> bool:
    """Whether the fault is fixed so as somebody decided it."""
    undecided = first_fault(node, Preferences())
    return undecided is None or undecided.fix != fault.fix


def _as_read(site: ReadSite) -> IntendedNode:
    """What the node computes as it stands."""
    operands, wanted = site.reading.operands, site.interpolation
    return IntendedNode(site.index, site.label, site.key, site.input, wanted, operands, True, True, None, 0.0)


def _edited(node: ResizeNode, fault: Fault) -> set[Key]:
    """The nodes that a fix edits, each by the tensors that it makes."""
    body = node.scope.body
    others = [] if fault.change is None else [body.node[index] for index in fault.change.others]
    return {(node.scope.path, name) for edited in (node.node, *others) for name in edited.output if name}


def why_not_loaded(document: Document) -> str | None:
    """Why onnxruntime does not load a repaired model, as far as onnx.checker and its own rules tell; None: nothing is
    known against it."""
    proto = document.copy().proto
    spell_default_domain(proto)
    sort_nodes(proto)
    broken = why_resizes_refused(document)
    return validity.why_not_loaded(proto) or (None if broken is None else broken["why"])


def why_resizes_refused(document: Document) -> dict[str, str] | None:
    """The first resize that onnxruntime refuses by its rules, `label`, and `why`; None: there is none."""
    broken = (
        violation for facts in facts_in(ModelView(document)) for violation in judge(ONNXRUNTIME, as_proven(facts))
    )
    first = next((one for one in broken if not taken([one])), None)
    return None if first is None else {"label": first.node, "why": str(first.because)}


def has_operators_of_others(document: Document) -> bool:
    """Whether a node is of a domain that neither onnxruntime nor a function of the model has, so that a library of the
    user's must."""
    functions = {function.domain for function in document.proto.functions}
    defined = {*DEFAULT_DOMAINS, *functions}
    domains = {node.domain for _, body in bodies(document.proto) for node in body.node} - defined
    return any(not domain.startswith(("ai.onnx", "com.microsoft", "com.ms")) for domain in domains)


def _applied(document: Document, shown: Sequence[_Shown]) -> Document:
    """A copy of the document with the changes made, and without what nothing reads afterwards."""
    repaired = document.copy()
    edited = ModelView(repaired)
    unread: list[Key] = []
    constants: list[tuple[Scope, TensorProto]] = []  # a function has no initializers, and sees none of the main graph
    opset = None
    touched: set[tuple[object, int]] = set()
    # Behind first, so that positions before stay true.
    for _, node, fault in sorted(shown, key=lambda item: (item[1].scope.order, item[1].index), reverse=True):
        change = fault.change
        assert change is not None
        places = {(node.scope.path, node.index), *((node.scope.path, index) for index in change.others)}
        if places & touched:
            continue  # another fix edits the same node; the next round sees what is left
        touched |= places
        read = {name for name in node.node.input[1:] if name}
        read |= {name for index in change.others for name in node.scope.body.node[index].input if name}
        unread += [home.key for name in read if (home := node.definition(name)) is not None]
        scope = next(scope for scope in edited.scopes.all if scope.path == node.scope.path)
        constants += [(scope, tensor) for tensor in change.initializers if scope.in_function]
        here = change._replace(initializers=()) if scope.in_function else change
        apply_around(repaired.proto, scope.body, node.index, here)
        opset = max(opset or 0, change.opset) if change.opset is not None else opset
    for scope, tensor in constants:  # last, so that the positions above stay true
        insert_nodes(scope.body, 0, [helper.make_node("Constant", [], [tensor.name], value=tensor)])
    if opset is not None:
        from resizefix.opsets.raising import raised_to

        repaired = raised_to(repaired, opset, RESIZES)
    remove_unread(repaired.proto, unread)
    return repaired


def _with_true_shapes(
    document: Document, resized: Sequence[int], others: Sequence[int]
) -> tuple[Document, frozenset[Key]]:
    """The document, or a copy where stored shapes that the new sizes of these sites contradict are derived again, and
    the outputs whose shapes these are. Those of `others` are, where a number or the rank contradicts the node.

    onnxruntime believes a stored shape and folds Shape nodes to it: what a fault made of the batch of the export, say.
    Shape inference does not see constants of the outer graph in a body. Sizes that it loses there are computed from the
    scales or sizes of the site.
    """
    changed = document.copy()
    keys = [site.key for site in sites_in(ModelView(changed)) if site.index in resized]
    wrong = _contradicted(document, [*resized, *others])
    if not keys and not wrong:
        return document, frozenset()
    before = _stored(changed, [*keys, *wrong])
    seeds: dict[Key, Dims | None] = {key: None if key in wrong else (None,) * len(before[key]) for key in before}
    for _ in range(len(before) + 1):  # the output of one site can be the input of the next
        rederive(changed.proto, seeds)
        after = _stored(changed, list(before))
        if all(_keeps_numbers(before[key], after[key]) for key in before):
            break
        sizes = {site.key: _known_sizes(site) for site in sites_in(ModelView(changed)) if site.key in before}
        if sizes == seeds:
            break
        seeds = sizes
    return (document, frozenset()) if before == after else (changed, frozenset(before))


def _contradicted(document: Document, indices: Sequence[int]) -> set[Key]:
    """The outputs of these sites whose stored shapes have another rank or number than the node gives them."""
    keys = [site.key for site in sites_in(ModelView(document)) if site.index in indices] if indices else []
    stored = _stored(document, keys)
    if not stored:
        return set()
    derived = document.copy()
    rederive(derived.proto, dict.fromkeys(stored))
    return {key for key, dims in _stored(derived, keys).items() if _contradicts(stored[key], dims)}


def _contradicts(before: Dims, after: Dims) -> bool:
    return len(before) != len(after) or any(
        isinstance(was, int) and isinstance(now, int) and was != now for was, now in zip(before, after, strict=True)
    )


def _keeps_numbers(before: Dims, after: Dims) -> bool:
    return len(before) == len(after) and all(
        isinstance(now, int) or not isinstance(was, int) for was, now in zip(before, after, strict=True)
    )


def _known_sizes(site: Site) -> Dims | None:
    """The sizes that constant scales or sizes give the output; None on axes where the input's is not known."""
    dims, said = site.input_dims, site.interpolation
    if dims is None or said is None:
        return None
    values, axes = site.extent.values, said.axes or tuple(range(len(dims)))
    constant = values is not None and len(values) == len(axes) and site.origin.kind.is_constant
    if not constant or said.keep_aspect_ratio_policy is not None or min(axes, default=0) < -len(dims):
        return (None,) * len(dims)
    sizes = list(dims)
    for axis, value in zip(axes, values or (), strict=True):
        size = dims[axis]
        if site.extent.kind is ExtentKind.SIZES:
            sizes[axis] = int(value)
        elif value != 1:
            sizes[axis] = kernel_length(float(value), size) if isinstance(size, int) else None
    return tuple(sizes)


def _stored(document: Document, keys: Sequence[Key]) -> dict[Key, Dims]:
    """The shapes that the file states of these tensors."""
    dims_by_key: dict[Key, Dims] = {}
    for path, body in bodies(document.proto):
        for name, kind in known_types(body).items():
            if (path, name) in keys and kind.tensor_type.HasField("shape"):
                dims_by_key[path, name] = dims_of(kind)
    return dims_by_key


def _outcome(
    site: Site,
    fixed: Sequence[Fault],
    refused: Fault | None,
    after: Site | None,
    unseen: str | None,
    left: Fault | None,
) -> Outcome:
    names = ", ".join(dict.fromkeys(fault.name for fault in fixed)) or None
    if refused is not None:
        reason = f"{refused.because}; {refused.fix}"
        return site.outcome(Status.REFUSED, reason, retry_args=refused.retry_args, fault=refused.name)
    if not fixed and site.interpolation is None:
        return site.outcome(Status.REFUSED, site.reason)
    if not fixed and left is not None:
        said = Diagnostic("operations.fault-left", because=left.because, fix=left.fix)
        return site.outcome(Status.UNCHANGED, said, retry_args=left.retry_args, fault=left.name)
    if not fixed:
        none = Diagnostic("operations.no-fault")
        said = none if unseen is None else Diagnostic("operations.no-fault-seen", unseen=unseen)
        return site.outcome(Status.UNCHANGED, said)
    if after is not None and after.interpolation is None:
        return site.outcome(Status.REFUSED, Diagnostic("operations.not-fixed-enough", why=after.reason), fault=names)
    reason = "; ".join(f"{fault.because}: {fault.fix}" for fault in (*fixed, *([left] if left is not None else [])))
    text = (node_text(after.node),) if after is not None else ()
    exact = all(fault.keeps_numbers for fault in fixed)
    return site.outcome(Status.CHANGED, reason, after=text, exact=exact, fault=names)

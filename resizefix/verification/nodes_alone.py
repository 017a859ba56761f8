"""Nodes compared alone: extracted from two models with what drives them, where whole models show nothing of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from resizefix.diagnostics import Diagnostic
from resizefix.document.document import Document
from resizefix.errors import UsageError
from resizefix.runtimes.limits import BrokenOffError
from resizefix.runtimes.ort_session import CannotLoadError, CannotRunError
from resizefix.scope_path import Key
from resizefix.verification.conditions import Conditions
from resizefix.verification.engine import Engine
from resizefix.verification.extraction import Extraction
from resizefix.verification.verification import Verification, VerificationStatus


def compare_alone(
    extraction: Extraction,
    data: Mapping[Key, str],
    conditions: Conditions,
    proof: Callable[[Document, Document, Engine], Verification],
    *,
    open_sizes: bool = False,
    sizes_stay: bool = False,
) -> Verification:
    """What the proof of two models comes to that consist of these nodes (`Extraction.extract`); skipped with the reason
    where they cannot be extracted from both, or do not run alone.

    The engine counts their runs as the part of the original that they are. Shapes that the user gave are not theirs.
    """
    for path, output in data:
        if not extraction.is_common((path, output)):
            return Verification(VerificationStatus.SKIPPED, Diagnostic("verification.node-left-out", key=output))
    try:
        conditions.limits.left()
        before, after = extraction.extract(data, open_sizes=open_sizes, sizes_stay=sizes_stay)
        return proof(before, after, Engine(replace(conditions, shapes={}), part=extraction.part_of(before)))
    except (CannotLoadError, CannotRunError, BrokenOffError, UsageError) as error:
        return Verification(VerificationStatus.SKIPPED, str(error))

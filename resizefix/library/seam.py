"""The seam between an operation and its proof: every candidate of every command that writes passes through it."""

from __future__ import annotations

from resizefix.document.document import Document
from resizefix.library.result import Result, failed
from resizefix.verification.plan import Plan
from resizefix.verification.verification import Verification, VerificationStatus


def submitted(before: Document, candidate: Document, plan: Plan) -> Document:
    """The candidate, to be proven and then written; with or without verification it differs as planned alone.

    Callers name it as an attribute of this module, so that a test can put errors in between. Raises
    VerificationFailedError for anything that differs outside the plan.
    """
    from resizefix.verification.outside_plan import outside_plan  # of what was changed

    why = outside_plan(before, candidate, plan)
    if why is not None:
        raise failed(Result(before, (), (), Verification(VerificationStatus.FAILED, why)))
    return candidate

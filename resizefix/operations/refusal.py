"""Why a selected site is not promoted."""

from __future__ import annotations

from typing import NamedTuple

from resizefix.operations.site import Site
from resizefix.outcome import Outcome, Status


class Refusal(NamedTuple):
    """Why a site is not promoted, and the options with which it can be."""

    reason: str
    retry_args: tuple[str, ...] = ()

    def with_retry(self, words: tuple[str, ...]) -> Refusal:
        """The same with the options that help."""
        return Refusal(self.reason, words)

    def outcome(self, site: Site) -> Outcome:
        """The site's outcome."""
        return site.outcome(Status.REFUSED, self.reason, retry_args=self.retry_args)

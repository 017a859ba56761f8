"""Why a selected site is not promoted."""

from __future__ import annotations

from typing import NamedTuple

from resizefix.document.text import node_text
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
        before = node_text(site.node)
        return Outcome(site.index, site.label, Status.REFUSED, self.reason, before, retry_args=self.retry_args)

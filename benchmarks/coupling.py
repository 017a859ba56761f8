"""Compares what sizes say about each resize (free, coupled) with what onnxruntime does when its scale changes.

    python benchmarks/coupling.py FOLDER --every 8

Prints the counts of both answers, and every contradiction: a site that sizes call free and a run coupled, or the other
way round, or coupled at another node. Exit code 1 if there is any.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from resizefix.diagnostics import ResizefixError
from resizefix.document.document import Document
from resizefix.library.coupling import named_in_original, sites_with_coupling, without_coupled
from resizefix.operations.promote_scales import promote_scales
from resizefix.operations.rewriter import Rewritten
from resizefix.operations.site import Site
from resizefix.promotion import Coupling, Freedom, NewInputs
from resizefix.scope_path import Key
from resizefix.shapes.stored_shapes import ModelView
from resizefix.verification.proof import Prover
from resizefix.verification.verification import conditions

MEMORY = 2 << 30


class Answer(NamedTuple):
    """What sizes and what a run say of one site: the verdict, and the node where the model breaks."""

    site: str
    by_sizes: tuple[str, str | None]
    by_run: tuple[str, str | None] | None

    @property
    def contradicts(self) -> bool:
        """Whether both know and do not agree."""
        if self.by_run is None or "unknown" in (self.by_sizes[0], self.by_run[0]):
            return False
        return self.by_sizes != self.by_run


def answers(path: Path) -> Iterator[Answer]:
    """One for each promotable site, and one for all of them together where sizes say that `--shared` works.

    Raises ResizefixError for a model that onnxruntime does not run.
    """
    document = Document.open(str(path))
    sites = sites_with_coupling(ModelView(document))
    if not any(site.promotable for site in sites):
        return
    prover = Prover(ModelView(document), conditions(memory_limit=MEMORY))
    for shared in (False, True):
        made = partial(promoted, document, sites, NewInputs(shared=shared))

        def probe(made: Rewritten) -> dict[Key, Coupling]:
            return named_in_original(prover.couplings(made.after, made.inputs), made.document, document)

        _, found = without_coupled(made({}), sites, made, probe, shared=shared)
        for site in sites:
            by_sizes, by_run = site.coupling, found.get(site.key)
            ran = None if by_run is None else (by_run.verdict.value, by_run.breaks_at)
            if site.promotable and by_sizes is not None and not shared:
                yield Answer(site.label, (by_sizes.verdict.value, by_sizes.breaks_at), ran)
            elif by_sizes is not None and by_sizes.shared:
                yield Answer(f"{site.label} with --shared", (Freedom.FREE.value, None), ran)


def promoted(document: Document, sites: Sequence[Site], wanted: NewInputs, refused: Mapping[int, str]) -> Rewritten:
    return promote_scales(document, sites, wanted, refused=refused)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--every", type=int, default=1, metavar="K", help="one model in K (default: all)")
    options = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    contradictions = []
    for path in sorted(options.folder.rglob("*.onnx")):
        if zlib.crc32(path.name.encode()) % options.every:
            continue
        try:
            for answer in answers(path):
                counts[answer.by_sizes[0], answer.by_run[0] if answer.by_run else "not run"] += 1
                if answer.contradicts:
                    contradictions.append(f"{path}: {answer}")
        except ResizefixError as error:
            counts["-", type(error).__name__] += 1
    for (by_sizes, by_run), number in counts.most_common():
        print(f"{number:>6}  by sizes {by_sizes:<8} by run {by_run}")
    print(f"{len(contradictions)} contradictions", *contradictions, sep="\n")
    return 1 if contradictions else 0


if __name__ == "__main__":
    sys.exit(main())

"""The corpus that fuzzing left in fixtures/fuzz_corpus, through what is fuzzed, and mutations of it: without atheris.

The mutations are the same in every run; RESIZEFIX_FUZZ_SEED=… makes others, RESIZEFIX_EXHAUSTIVE=1 150 times as many.
A failure prints the seed, and where the file is that it failed with.
"""

import os
import random
from pathlib import Path

import pytest
from exhaustive import EXHAUSTIVE
from fuzz_mutation import mutated
from fuzz_targets import TARGET_OF, folder

from resizefix.diagnostics import ResizefixError
from resizefix.document.document import Document
from resizefix.operations.sites import find_sites
from resizefix.origins.classify import OriginKind

CORPUS = Path(__file__).resolve().parents[2] / "fixtures" / "fuzz_corpus"
SEED = int(os.environ.get("RESIZEFIX_FUZZ_SEED", "20261121"))
MUTATIONS = {"document": 500, "commands": 100}  # a second or three of each
MOST_FILES, MOST_BYTES = 150, 200_000


def corpus(target):
    return sorted((CORPUS / target).iterdir())


def by_bytes(value, rng):
    """One byte flipped, removed or put in; nothing becomes something."""
    at = rng.randrange(len(value) + 1)
    match rng.randrange(3):
        case 0 if value[at:]:
            return value[:at] + bytes([value[at] ^ 1 << rng.randrange(8)]) + value[at + 1 :]
        case 1 if value[at:]:
            return value[:at] + value[at + 1 :]
        case _:
            return value[:at] + rng.randbytes(1) + value[at:]


def mutations(target, count):
    rng = random.Random(f"{SEED} {target}")
    originals = [path.read_bytes() for path in corpus(target)]
    for _ in range(count):
        yield mutated(rng.choice(originals), rng, lambda value: by_bytes(value, rng))


@pytest.mark.parametrize(
    ("target", "path"),
    [(target, path) for target in TARGET_OF for path in corpus(target)],
    ids=[f"{target}-{path.name}" for target in TARGET_OF for path in corpus(target)],
)
def test_a_file_of_the_corpus_breaks_nothing(target, path):
    TARGET_OF[target](path.read_bytes())


@pytest.mark.parametrize("target", TARGET_OF)
def test_mutations_of_the_corpus_break_nothing(target, tmp_path):
    count = MUTATIONS[target] * (150 if EXHAUSTIVE else 1)
    kept = tmp_path / "mutation"
    print(f"RESIZEFIX_FUZZ_SEED={SEED}: {count} mutations, the last one is {kept}")
    for data in mutations(target, count):
        kept.write_bytes(data)
        TARGET_OF[target](data)


def test_mutations_are_the_same_in_every_run_and_get_beyond_the_parser():
    first, again = (list(mutations("commands", 100)) for _ in range(2))
    assert first == again
    assert sum(origins(data) is not None for data in first) > 25


def test_the_corpus_is_small_and_reaches_what_the_operations_tell_apart():
    paths = [path for target in TARGET_OF for path in corpus(target)]
    assert len(paths) <= MOST_FILES
    assert sum(path.stat().st_size for path in paths) <= MOST_BYTES
    reached = [origins(path.read_bytes()) for path in corpus("commands")]
    assert set().union(*(found for found in reached if found)) == set(OriginKind)
    assert None in [origins(path.read_bytes()) for path in corpus("document")]


def origins(data):
    """Where the scales of the resizes in a file come from; None if the file cannot be read."""
    with folder() as place:
        (place / "in.onnx").write_bytes(data)
        try:
            return {site.origin.kind for site in find_sites(Document.open(place / "in.onnx"))}
        except ResizefixError:
            return None

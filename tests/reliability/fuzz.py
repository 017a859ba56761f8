"""Coverage-guided fuzzing with atheris: `python tests/reliability/fuzz.py document|commands CORPUS…`.

Options of libFuzzer follow, such as `-max_total_time=1800 -timeout=25 -rss_limit_mb=3000`. atheris is no dependency of
the tests: `pip install atheris` (Python 3.11 or 3.12) into an environment of its own, beside the package. What is found
is kept as `crash-…` in the working folder; `test_fuzz_corpus.py` replays the corpus without atheris.
"""

import random
import sys
from pathlib import Path

import atheris

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

with atheris.instrument_imports(include=["resizefix"]):
    from fuzz_mutation import mutated
    from fuzz_targets import TARGET_OF


def mutation(data: bytes, max_size: int, seed: int) -> bytes:
    rng = random.Random(seed)

    def by_bytes(value: bytes) -> bytes:
        return bytes(atheris.Mutate(value, len(value) + 16)) if value else rng.randbytes(rng.randrange(1, 5))

    changed = by_bytes(data) if rng.random() < 0.2 else mutated(data, rng, by_bytes)
    return changed[:max_size]


def main() -> None:
    target, *rest = sys.argv[1:]
    atheris.Setup([sys.argv[0], *rest], TARGET_OF[target], custom_mutator=mutation)
    atheris.Fuzz()


if __name__ == "__main__":
    main()

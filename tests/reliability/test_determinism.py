from __future__ import annotations

from pathlib import Path

from determinism import COMMANDS, PLACES, differing, in_a_process
from exhaustive import EXHAUSTIVE

FIXTURES = Path(__file__).parents[2] / "fixtures"


def models() -> list[str]:
    every = sorted(str(path.relative_to(FIXTURES)) for path in FIXTURES.rglob("*.onnx") if "hostile" not in path.parts)
    return every if EXHAUSTIVE else every[::12]


def test_hash_seed_time_zone_locale_and_folders_change_no_byte():
    chosen = models()
    results = [in_a_process(FIXTURES, chosen, place) for place in PLACES]
    assert len(results[0]) == len(chosen) * len(COMMANDS)
    assert differing(results) == []
    # There is something to compare: of each command several files came out.
    for name in COMMANDS:
        assert sum(result.startswith("0 ") for work, result in results[0].items() if work.endswith(f": {name}")) >= 2


def test_what_is_not_the_same_is_noticed():
    assert differing([{"a": "0 x", "b": "0 y"}, {"a": "0 x", "b": "0 z"}]) == ["b"]

from determinism import COMMANDS, PLACES, differing, in_a_process
from exhaustive import EXHAUSTIVE
from fixture_models import FIXTURES

# One of each kind of export and of each place that a scale may have.
KINDS = (
    "computed_sizes_dynamo18",
    "computed_sizes_opset13",
    "handmade/every_kind_of_metadata",
    "handmade/function_scales_argument",
    "handmade/loop_body",
    "handmade/unsorted_nodes",
    "srcnn_x3_opset11_dynamic",
    "unet_nearest_opset11",
)


def models():
    every = sorted(str(path.relative_to(FIXTURES)) for path in FIXTURES.rglob("*.onnx") if "hostile" not in path.parts)
    return every if EXHAUSTIVE else [f"{name}.onnx" for name in KINDS]


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

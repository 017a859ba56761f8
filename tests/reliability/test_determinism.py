from determinism import COMMANDS, PLACES, differing, in_a_process
from exhaustive import EXHAUSTIVE
from fixture_models import FIXTURES

# One of each kind of export and of each place that a scale may have. Those that are given sizes stand at even places:
# a command meets every other one.
KINDS = (
    "handmade/every_kind_of_metadata",
    "computed_sizes_dynamo18",
    "handmade/unsorted_nodes",
    "handmade/loop_body",
    "computed_sizes_opset13",
    "srcnn_x3_opset11_dynamic",
    "handmade/function_scales_argument",
    "unet_nearest_opset11",
)


def works():
    """Each command with every other model, and each model with every other command; with RESIZEFIX_EXHAUSTIVE=1 all of
    them with all models."""
    every = sorted(str(path.relative_to(FIXTURES)) for path in FIXTURES.rglob("*.onnx") if "hostile" not in path.parts)
    models = every if EXHAUSTIVE else [f"{name}.onnx" for name in KINDS]
    pairs = [(row + column, (model, name)) for row, model in enumerate(models) for column, name in enumerate(COMMANDS)]
    return [work for place, work in pairs if EXHAUSTIVE or place % 2 == 0]


def test_hash_seed_time_zone_locale_and_folders_change_no_byte():
    chosen = works()
    results = [in_a_process(FIXTURES, chosen, place) for place in PLACES]
    assert len(results[0]) == len(chosen)
    assert differing(results) == []
    # There is something to compare: of each command several files came out.
    for name in COMMANDS:
        assert sum(result.startswith("0 ") for work, result in results[0].items() if work.endswith(f": {name}")) >= 2


def test_what_is_not_the_same_is_noticed():
    assert differing([{"a": "0 x", "b": "0 y"}, {"a": "0 x", "b": "0 z"}]) == ["b"]

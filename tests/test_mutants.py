"""A fixed sample of the mutation score (benchmarks/mutants.py): 200 programming errors between operation and proof, and
none that computes something else is written."""

import random
import sys
from itertools import count
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from mutants import COMMANDS, Mutant, mutants_of  # noqa: E402
from mutations import FAMILIES  # noqa: E402

ERRORS = 200
FAMILIES_OF_A_FILE = 6  # each file costs a call without an error, too
FOLDER = ROOT / "fixtures"
FILES = (
    "handmade/shared_scales", "handmade/scales_concat", "handmade/resize10_up_and_down", "handmade/resize18_antialias",
    "handmade/resize13_exclude_outside", "handmade/if_outer_initializer", "handmade/function_called_twice",
    "handmade/stale_value_info", "handmade/scales_from_own_shape",
)  # fmt: skip
BROKEN = tuple(
    f"broken/{name}"
    for name in ("fp16_scales_const_03", "lost_asymmetric_01", "mode_bilinear_opset9", "scales_of_two_axes_caffe2onnx")
)
IMAGES = ("srcnn_x3_opset11", "sizes/torch213ts_coordconv_a", "handmade/resize11_tf_crop")
# What the others do not change.
OWN = {"repair": BROKEN, "input-size": IMAGES, "input-size --batch": IMAGES}


def sample() -> list[Mutant]:
    """Errors in what every row of commands makes of files that are drawn once and for all."""
    found: list[Mutant] = []
    for number in count():
        for command in COMMANDS:
            draw = random.Random(f"{number} {command.name} {command.options}")
            path = FOLDER / f"{draw.choice(OWN.get(command.name, FILES))}.onnx"
            made = mutants_of(path, command, 1, number, draw.sample(FAMILIES, FAMILIES_OF_A_FILE))
            found += [mutant for mutant in made if mutant.verdict != "equivalent"]
        if len(found) >= ERRORS:
            return random.Random(0).sample(found, ERRORS)
    raise AssertionError


def test_no_error_of_the_sample_is_written() -> None:
    errors = sample()
    written = [one for one in errors if one.verdict == "survived"]
    assert [f"{one.command} {one.options} {one.file}: {one.family} #{one.number}" for one in written] == []
    assert {one.command for one in errors} == {command.name for command in COMMANDS}

"""A fixed sample of the mutation score (benchmarks/mutants.py): 200 programming errors between operation and proof, and
none that computes something else is written."""

import random
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from mutants import COMMANDS, mutants_of  # noqa: E402
from mutations import FAMILIES  # noqa: E402

ERRORS = 200
FILES = (
    "shared_scales", "scales_concat", "resize10_up_and_down", "resize11_tf_crop",
    "resize13_exclude_outside", "resize18_antialias",
    "if_outer_initializer", "function_called_twice", "stale_value_info", "scales_from_own_shape",
)  # fmt: skip
BROKEN = ("fp16_scales_const_03", "lost_asymmetric_01", "mode_bilinear_opset9", "scales_of_two_axes_caffe2onnx")


def sample():
    """Errors in what every row of commands makes of files that are drawn once and for all."""
    found = []
    folder = ROOT / "fixtures"
    for number in range(100):
        for command in COMMANDS:
            draw = random.Random(f"{number} {command.name} {command.options}")
            broken = command.name == "repair"
            path = folder / (f"broken/{draw.choice(BROKEN)}.onnx" if broken else f"handmade/{draw.choice(FILES)}.onnx")
            for mutant in mutants_of(path, command, 1, number, draw.sample(FAMILIES, 3)):
                if mutant.verdict != "equivalent":
                    found.append(mutant)
            if len(found) >= ERRORS:
                return found[:ERRORS]
    raise AssertionError("too few errors")


def test_no_error_of_the_sample_is_written():
    errors = sample()
    assert [f"{one.command} {one.options} {one.file}: {one.family} #{one.number}" for one in errors
            if one.verdict == "survived"] == []  # fmt: skip
    assert {one.command for one in errors} == {command.name for command in COMMANDS}

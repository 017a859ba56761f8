"""The environment of the oldest allowed versions holds all that pyproject.toml names, at its bounds."""

import re
import sys
from pathlib import Path

from click import Context

from resizefix.cli import group

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks"))

from every_command import COMMANDS, Run, models_in, why_died  # noqa: E402
from oldest_versions import oldest  # noqa: E402

DECLARED = (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def listed(key: str) -> list[str]:
    (text,) = re.findall(rf"^{key} = \[(.*?)\]$", DECLARED, re.MULTILINE | re.DOTALL)
    return [bound.split(";")[0] for bound in re.findall(r'"([^"]+)"', text)]


def test_every_dependency_has_a_lower_bound_and_is_tried_at_it():
    bounds = listed("dependencies")
    assert all(">=" in bound for bound in bounds)
    assert oldest([]) == [bound.replace(">=", "==") for bound in bounds]


def test_an_extra_is_tried_at_its_bound_or_in_the_series_that_the_bound_names():
    beside = listed("dependencies")
    assert oldest(["openvino"]) == [*beside, *(f"{bound.replace('>=', '==')}.*" for bound in listed("openvino"))]
    assert oldest(["ncnn"]) == [*beside, *(bound.replace(">=", "==") for bound in listed("ncnn"))]


def test_every_command_is_run():
    assert {command for command, *_ in COMMANDS} == set(group.list_commands(Context(group)))


def test_every_hostile_file_is_run():
    hostile = ROOT / "fixtures" / "hostile"
    named = {path.name for path in hostile.iterdir() if path.suffix != ".md"}
    assert (
        {path.name for path in models_in([hostile])} >= {name for name in named if name.endswith(".hostile")} != set()
    )


def test_a_process_that_gave_no_answer_is_told_from_one_that_did():
    assert why_died(0, "") is why_died(1, "refused x: no") is None
    assert why_died(-11, "") == "exit code -11"
    assert why_died(2, "model.onnx: the process that worked on it was ended by signal 11. Nothing was written.")
    assert Run("inspect IN", ROOT, 0, None).died is None

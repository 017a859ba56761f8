"""Many sites are probed in groups, with the verdicts that each alone would get."""

import onnx
import onnx_text
import pytest
from onnx import helper

import resizefix
from resizefix.document.document import Document
from resizefix.operations.promote_scales import promote_scales
from resizefix.operations.sites import find_sites
from resizefix.runtimes.ort_session import Session
from resizefix.verification import promotion_comparison
from resizefix.verification.proof import Prover
from resizefix.verification.verification import Conditions

NEAREST = 'mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"'


def model(pattern: str) -> onnx.ModelProto:
    """A letter for each resize: `f` free, in turn up and down; `c` coupled by an Add with what it came from."""
    steps, x, large = "", "x", False
    for index, letter in enumerate(pattern):
        if letter == "f":
            steps += f" [free_{index}] r{index} = Resize <{NEAREST}> ({x}, , {'down' if large else 'up'})"
            x, large = f"r{index}", not large
        else:
            steps += f""" [pool_{index}] p{index} = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> ({x})
            [coupled_{index}] r{index} = Resize <{NEAREST}> (p{index}, , up)
            [add_{index}] a{index} = Add ({x}, r{index})"""
            x = f"a{index}"
    return onnx_text.model(f"""(float[1,1,32,32] x) => (float[?,?,?,?] {x})
        <float[4] up = {{1, 1, 2, 2}}, float[4] down = {{1, 1, 0.5, 0.5}}> {{ {steps} }}""")


@pytest.fixture
def runs(monkeypatch):
    """Counts how often any session runs."""
    made = []
    run = Session.run
    monkeypatch.setattr(Session, "run", lambda self, feeds: (made.append(1), run(self, feeds))[1])
    return made


def test_a_hundred_free_sites_cost_few_runs(runs):
    result = resizefix.promote_scales(model("f" * 100))
    assert len(result.inputs) == 100
    assert {coupling.verdict.value for coupling in result.verification.coupling} == {"free"}
    assert len(runs) < 20
    moved = [run for run in result.verification.runs if not run.optimized]
    assert any(len(run.values) == 100 and all(value != (1, 1, 2, 2) for value in run.values.values()) for run in moved)


@pytest.mark.parametrize("pattern", ["c", "fc" * 20, "c" + "f" * 38 + "c", "ffcc" * 10])
def test_a_run_comes_to_the_verdicts_that_sizes_come_to(pattern):
    document = Document.from_proto(model(pattern))
    made = promote_scales(document, find_sites(document))
    ran = Prover(made.before, Conditions()).couplings(made.after, made.inputs)
    verdicts = [ran[driven.key] for source in made.inputs for driven in source.sites]
    assert [coupling.verdict.value[0] for coupling in verdicts] == list(pattern)
    by_sizes = resizefix.promote_scales(document.proto, allow_coupled=True).verification.coupling
    assert [one.breaks_at for one in verdicts] == [one.breaks_at for one in by_sizes]


def test_inputs_that_only_fit_together_are_not_taken_for_free():
    """Two branches, each enlarged by an input of its own, that meet at an Add: moved alike they fit."""
    graph = model("f" * 33)
    for name in ("left", "right"):
        graph.graph.node.append(helper.make_node("Resize", ["x", "", "up"], [name], f"up_{name}", mode="nearest"))
    graph.graph.node.append(helper.make_node("Add", ["left", "right"], ["sum"], "meet"))
    graph.graph.output.append(helper.make_tensor_value_info("sum", 1, None))
    verdicts = {c.node: c for c in resizefix.promote_scales(graph).verification.coupling}
    assert {verdicts[f"up_{name}"].verdict.value for name in ("left", "right")} == {"coupled"}
    assert verdicts["up_left"].breaks_at == "meet"
    assert {c.verdict.value for name, c in verdicts.items() if name.startswith("free_")} == {"free"}


def test_what_probing_cannot_afford_is_unknown_and_said(monkeypatch):
    monkeypatch.setattr(promotion_comparison, "_LITTLE", 0.0)
    monkeypatch.setattr(promotion_comparison, "_MOST_PROBED", 0.0)
    document = Document.from_proto(model("fcf"))
    made = promote_scales(document, find_sites(document))
    prover = Prover(made.before, Conditions())
    assert {found.verdict.value for found in prover.couplings(made.after, made.inputs).values()} == {"unknown"}
    said = " ".join(prover.prove(made.after, made.inputs, {}).not_tested)
    assert all(source.name in said for source in made.inputs)
    assert "can change alone" in said

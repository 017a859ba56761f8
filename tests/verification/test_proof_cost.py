"""What a proof of a promotion runs does not grow with the number of resizes, or with where they stand."""

import numpy as np
import onnx
import onnx_text
import onnxruntime
import ort_runs
import pytest

import resizefix
from resizefix.promotion import PromotedInput
from resizefix.runtimes.ort_session import Session
from resizefix.verification.scale_points import moved_points

NEAREST = '<mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">'
MOST = 12


def branch(index: int) -> str:
    """An If that takes its first branch, with a resize in it that nothing undoes."""
    read = f"t{index}"
    return f"""[up_{index}] t{index + 1} = If (c) <
        then_branch = a{index} () => (float[?,?,?,?] y{index}) {{
            u{index} = Resize {NEAREST} ({read}, , s)
            y{index} = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (u{index}) }},
        else_branch = b{index} () => (float[?,?,?,?] z{index}) {{ z{index} = Relu ({read}) }}>"""


def of_branches(count: int):
    steps = " ".join(map(branch, range(count)))
    return onnx_text.model(f"""(float[1,3,16,16] t0) => (float[?,?,?,?] t{count})
        <float[4] s = {{1, 1, 2, 2}}, bool c = {{1}}> {{ {steps} }}""")


@pytest.fixture
def runs(monkeypatch):
    """Counts how often any session runs."""
    made = []
    run = Session.run
    monkeypatch.setattr(Session, "run", lambda self, feeds: (made.append(1), run(self, feeds))[1])
    return made


@pytest.mark.parametrize("count", [1, 3, 6])
def test_bodies_that_run_are_proven_where_they_stand(runs, count):
    result = resizefix.promote_scales(of_branches(count))
    assert len(result.inputs) == count
    assert len(runs) <= MOST
    moved = [run.values for run in result.verification.runs if not run.optimized]
    assert all({run[source.name] for run in moved} > {source.value} for source in result.inputs)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_nodes_that_take_multiples_alone_cost_no_more(runs, count):
    steps = " ".join(f"t{place + 1} = Resize {NEAREST} (t{place}, , s)" for place in range(count))
    model = onnx_text.model(f"""(float[1,1,16,16] t0) => (float[?,?,?,?] y)
        <float[4] s = {{1, 1, 2, 2}}> {{ {steps} y = SpaceToDepth <blocksize = 8> (t{count}) }}""")
    result = resizefix.promote_scales(model)
    assert len(result.inputs) == count
    assert len(runs) <= MOST + 4  # those at which the model does not run
    moved = [run.values for run in result.verification.runs if not run.optimized]
    assert all({run[source.name] for run in moved} > {source.value} for source in result.inputs)


def test_of_two_points_the_cheaper_ones_are_taken():
    steps = " ".join(f"t{place} = Resize {NEAREST} (x, , s)" for place in range(3))
    model = onnx_text.model(
        f"(float[1,1,8,8] x) => (float[?,?,?,?] t0, float[?,?,?,?] t1, float[?,?,?,?] t2) "
        f"<float[4] s = {{1, 1, 2, 2}}> {{ {steps} }}"
    )
    inputs: tuple[PromotedInput, ...] = resizefix.promote_scales(model).inputs
    free = moved_points(inputs)
    bounded = moved_points(inputs, cost=lambda point: sum(area(value) for _, value in point.values) / 3)
    assert len(bounded) == 2
    assert total(bounded) <= min(total(free), 6.6)


def area(value):
    return value[2] * value[3] / 4


def total(points):
    first, second = (sum(area(value) for _, value in point.values) / 3 for point in points)
    return 2 * first + 4 * second


def elements(model: bytes, feeds: dict[str, np.ndarray]) -> int:
    """What a model computes of these feeds: the elements of all that its nodes make."""
    shown = onnx.load_model_from_string(model)
    del shown.graph.value_info[:], shown.graph.output[:]
    named = [name for node in shown.graph.node for name in node.output if node.op_type not in ("Constant", "Identity")]
    shown.graph.output.extend(onnx.ValueInfoProto(name=name) for name in named)
    return sum(value.size for value in ort_runs.run(shown, feeds))


@pytest.mark.parametrize("factors", [[2, 2, 2], [2, 0.5] * 5, [3, 1.5]])
def test_forward_passes_are_the_elements_of_all_runs_over_those_of_the_original(factors, monkeypatch):
    steps = " ".join(
        f"s{at} = Constant <value = float[4] {{1, 1, {by}, {by}}}> () r{at} = Resize {NEAREST} (t{at}, , s{at})"
        f" t{at + 1} = Relu (r{at})"
        for at, by in enumerate(factors)
    )
    model = onnx_text.model(f"(float[1,3,16,16] t0) => (float[?,?,?,?] t{len(factors)}) {{ {steps} }}")
    opened, made = {}, []
    start, run = onnxruntime.InferenceSession.__init__, onnxruntime.InferenceSession.run

    def starts(self, model, *rest, **options):
        opened[id(self)] = self, model
        start(self, model, *rest, **options)

    def runs(self, names, feeds, *rest):
        if any(value.ndim == 4 for value in feeds.values()):
            made.append((opened[id(self)][1], feeds))
        return run(self, names, feeds, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(onnxruntime.InferenceSession, "__init__", starts)
        patched.setattr(onnxruntime.InferenceSession, "run", runs)
        stated = resizefix.promote_scales(model).verification.forward_passes
    counted = [elements(*one) for one in made]
    assert len(counted) <= MOST
    assert stated == pytest.approx(sum(counted) / counted[0], rel=0.1)


def test_sizes_that_contradict_the_file_leave_their_share_to_other_scales():
    """The output is declared as the export made it, so that every size but one of the open axis contradicts it."""
    linear = '<mode = "linear", coordinate_transformation_mode = "half_pixel">'
    model = onnx_text.model(f"""(float[batch,10,frames] x) => (float[1,1,240] y)
        <float[3] four = {{1, 1, 4}}, float[3] five = {{1, 1, 5}}, float[1,10,3] w = {{{", ".join(["0.1"] * 30)}}}> {{
            a = Resize {linear} (x, , four) b = Conv <pads = [1, 1]> (a, w) y = Resize {linear} (b, , five) }}""")
    verification = resizefix.promote_scales(model).verification
    assert not [line for line in verification.not_tested if "forward passes" in line]
    assert len({tuple(sorted(map(str, run.values.items()))) for run in verification.runs}) > 1
    assert verification.forward_passes <= MOST + 4

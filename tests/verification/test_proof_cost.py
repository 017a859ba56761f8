"""What a proof of a promotion runs does not grow with the number of resizes, or with where they stand."""

import onnx_text
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


def test_forward_passes_are_stated_by_time():
    verification = resizefix.promote_scales(of_branches(2)).verification
    assert 5 < verification.forward_passes < 100

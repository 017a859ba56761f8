"""`legalize --fastest` with a clock that runs as the test says: no test depends on a time."""

import itertools

import onnx
import onnx_text
import pytest
from onnx import TensorProto, helper
from ort_runs import opened

import resizefix
from resizefix.diagnostics import RefusedError, ResizefixError, UsageError
from resizefix.runtimes.runtime import LiveUnavailable, Runtime, TimedModel, Timings
from resizefix.runtimes.runtime_worker import take_turns


def model(*scales, mode="cubic", size=8, dims=None, **attributes):
    """x, then one Resize after the other."""
    given = {"mode": mode, **attributes}
    said = ", ".join(
        f'{name} = "{value}"' if isinstance(value, str) else f"{name} = {value}" for name, value in given.items()
    )
    names = ["x", *(f"y{number}" for number in range(len(scales)))]
    steps = [
        f"[up{number}] y{number} = Resize <{said}> ({names[number]}, , s{number})" for number in range(len(scales))
    ]
    constants = ", ".join(f"float[4] s{number} = {{1, 1, {scale}, {scale}}}" for number, scale in enumerate(scales))
    shape = ",".join(map(str, dims or (1, 3, size, size)))
    return onnx_text.model(f"""(float[{shape}] x) => (float[?,?,?,?] z)
        <{constants}> {{ {" ".join(steps)} z = Relu ({names[-1]}) }}""")


class Clock:
    """Answers as Runtime.time does. `cost` gives the milliseconds of a model; `spoiled` models give other numbers."""

    def __init__(self, cost, spoiled=lambda loaded: False):
        self.cost, self.spoiled, self.asked = cost, spoiled, []

    def __call__(self, runtime, models, rounds, seconds):
        found = []
        for one in models:
            loaded = onnx.load(one.path)
            results = opened(str(one.path), optimized=True).run(list(one.outputs), dict(one.feeds))
            if self.spoiled(loaded):
                results = [result + 1 for result in results]
            milliseconds = self.cost(loaded)
            times = () if milliseconds is None else (milliseconds / 1e3,) * rounds
            found.append(TimedModel(times, dict(zip(one.outputs, results, strict=True))))
        self.asked.append([[node.op_type for node in onnx.load(one.path).graph.node] for one in models])
        return Timings("a clock", tuple(found))


def by_operator(**milliseconds):
    """The cost of a model: the sum of its nodes', one millisecond for those that are not named."""
    return lambda loaded: sum(milliseconds.get(node.op_type, 1) for node in loaded.graph.node)


def by_coordinates(mode, ms):
    def cost(loaded):
        resizes = (node for node in loaded.graph.node if node.op_type == "Resize")
        return 1 + sum(ms if any(a.s == mode.encode() for a in node.attribute) else 10 for node in resizes)

    return cost


@pytest.fixture
def timed(monkeypatch):
    def set_clock(cost, **more):
        clock = Clock(cost, **more)
        monkeypatch.setattr(Runtime, "time", lambda *given: clock(*given))
        return clock

    return set_clock


def fastest(given, **options):
    """Also of what comes within a bound alone."""
    return resizefix.legalize(given, fastest=True, allow_inexact=True, **options)


def operators(result):
    return [node.op_type for node in result.model.graph.node]


def test_a_cubic_node_becomes_the_matrix_products_that_are_faster(timed):
    timed(by_operator(Resize=100))
    result = fastest(model(3))
    assert operators(result) == ["MatMul", "MatMul", "Relu"]
    (row,) = result.speed.nodes
    assert (row.before.form, row.before.ms, row.after.form, row.after.ms) == ("as it is", 100, "matmul", 2)
    assert (result.speed.runtime, result.speed.whole.before_ms, result.speed.whole.kept) == ("a clock", 101, True)
    assert "alone 100 ms before, 2 ms now" in result.outcomes[0].reason
    assert result.verification.passed


def test_what_comes_within_a_bound_alone_is_not_timed_unasked_and_is_named(timed):
    clock = timed(by_operator(Resize=100))
    result = resizefix.legalize(model(3), fastest=True)
    assert not result.changed
    assert all("MatMul" not in operators for asked in clock.asked for operators in asked)
    assert "allow_inexact=True also times conv_transpose, matmul" in result.outcomes[0].reason.replace("small_", "")


def test_another_spelling_of_the_node_is_exact_and_may_be_the_fastest(timed):
    timed(by_coordinates("asymmetric", 2))
    given = model(2, mode="nearest", coordinate_transformation_mode="half_pixel")
    result = resizefix.legalize(given, fastest=True, lower=False)
    assert operators(result) == ["Resize", "Relu"]
    assert result.outcomes[0].exact
    assert result.speed.nodes[0].after.form == "asymmetric floor by scales"
    assert all(run.bitwise for run in result.verification.runs)


def test_a_form_that_is_slower_stays_out(timed):
    timed(by_operator(Resize=1, MatMul=50, ConvTranspose=50))
    result = fastest(model(3))
    assert not result.changed
    assert result.speed.whole is None
    assert result.outcomes[0].reason.startswith("no other form is 5 % faster: 1 ms as it is, ")


def test_less_than_five_percent_of_the_whole_model_is_not_worth_a_change(timed):
    timed(by_operator(Resize=100, Relu=3000))
    result = fastest(model(3))
    assert not result.changed
    assert (result.speed.whole.before_ms, result.speed.whole.after_ms, result.speed.whole.kept) == (3100, 3002, False)
    assert "matmul is faster alone, but the whole model is not 5 % faster" in result.outcomes[0].reason
    assert result.speed.nodes[0].after.form == "as it is"


def test_where_one_form_spoils_the_model_the_other_is_kept(timed):
    """The matrix products of the second node cost 1000 in the model, as where a layout is lost."""

    def cost(loaded):
        whole = loaded.graph.node[-1].op_type == "Relu"
        shapes = {tuple(tensor.dims) for tensor in loaded.graph.initializer}
        spoiled = whole and (48, 24) in shapes
        return by_operator(Resize=100)(loaded) + 1000 * spoiled

    timed(cost)
    result = fastest(model(3, 2))
    assert operators(result) == ["MatMul", "MatMul", "Resize", "Relu"]
    assert [outcome.status.value for outcome in result.outcomes] == ["changed", "unchanged"]


def test_a_form_that_is_wrong_or_does_not_run_there_is_not_chosen(timed):
    matmul = lambda loaded: any(node.op_type == "MatMul" for node in loaded.graph.node)  # noqa: E731
    timed(by_operator(Resize=100, ConvTranspose=5), spoiled=matmul)
    result = fastest(model(3))
    assert "ConvTranspose" in operators(result)
    timed(lambda loaded: None if matmul(loaded) else by_operator(Resize=100)(loaded))
    result = fastest(model(3))
    assert "ConvTranspose" in operators(result)


def test_nodes_that_are_alike_are_timed_once(timed):
    clock = timed(by_operator(Resize=100))
    given = model(3)
    twin = given.graph.node.add()
    twin.CopyFrom(given.graph.node[0])
    twin.output[0], twin.name = "other", "twin"
    given.graph.output.append(helper.make_tensor_value_info("other", TensorProto.FLOAT, [None] * 4))
    result = fastest(given)
    assert [outcome.status.value for outcome in result.outcomes] == ["changed", "changed"]
    assert len(clock.asked) == 3  # the node, and the model in both orders


def test_a_runtime_that_ran_out_of_time_is_not_taken_for_one_that_does_not_run_the_node(monkeypatch):
    def late(runtime, models, rounds, seconds):
        monkeypatch.setattr("resizefix.runtimes.limits.time.monotonic", lambda: float("inf"))
        return Timings("a clock", (), "too slow")

    monkeypatch.setattr(Runtime, "time", late)
    with pytest.raises(ResizefixError, match="time was up"):
        fastest(model(2), verify=False)


def test_a_size_that_is_open_is_asked_for(timed):
    timed(by_operator(Resize=100))
    given = model(3, dims=["n", 3, "h", "w"])
    with pytest.raises(RefusedError, match=r"size=\(HEIGHT, WIDTH\), or with shape={'x'"):
        fastest(given)
    fed = fastest(given, shape={"x": (1, 3, 8, 8)})
    assert "ConvTranspose" not in operators(fed)  # its channels are known, but matrices need sizes
    sized = fastest(given, size=(8, 8))
    assert operators(sized) == ["MatMul", "MatMul", "Relu"]


def test_an_open_batch_is_no_hindrance(timed):
    timed(by_operator(Resize=100))
    result = fastest(model(3, dims=["n", 3, 8, 8]))
    assert operators(result) == ["MatMul", "MatMul", "Relu"]


def test_scales_that_are_fed_stay_as_they_are(timed):
    clock = timed(by_operator(Resize=100))
    promoted = resizefix.promote_scales(model(3)).model
    result = fastest(promoted, shape={"x": (1, 3, 8, 8)})
    assert not result.changed
    assert clock.asked == []
    assert result.outcomes[0].reason == "its scales are known at run time only, and stay as they are"


def test_a_target_that_is_not_run_here_and_a_runtime_that_is_not_there_say_so(timed, monkeypatch):
    with pytest.raises(UsageError, match=r"cannot be timed in tensorrt-8\.0 here; .* onnxruntime, openvino"):
        resizefix.legalize(model(3), target="tensorrt-8.0", fastest=True)
    monkeypatch.setattr(Runtime, "time", lambda *given: LiveUnavailable("OpenVINO is not installed"))
    with pytest.raises(UsageError, match="OpenVINO is not installed"):
        fastest(model(3), target="openvino")
    with pytest.raises(UsageError, match="name the target"):
        resizefix.legalize(model(3))


def test_for_a_target_that_refuses_a_node_the_forms_it_takes_are_compared(timed):
    timed(by_operator(ConvTranspose=2, MatMul=20))
    given = model(3)
    plain = resizefix.legalize(given, target="opencv-4", live=False)
    assert "MatMul" in operators(plain)
    result = fastest(given, target="opencv-4", live=False)
    (row,) = result.speed.nodes
    assert row.before.form == "small_matmul"
    assert all("Resize" not in form.form for form in row.measured)


def test_the_command_prints_a_table_and_writes_nothing_where_nothing_is_gained(timed, tmp_path, call):
    timed(by_operator(Resize=100))
    path, out = tmp_path / "x.onnx", tmp_path / "out.onnx"
    onnx.save(model(3), path)
    code, printed, _ = call("legalize", path, out, "--fastest", "--allow-inexact")
    assert code == 0
    assert "  up0          as it is  100  matmul   2\n  whole model            101           3\n" in printed
    out.unlink()
    for more in ([], ["--copy-unchanged"]):
        code, printed, _ = call("legalize", path, out, "--fastest", *more)
        assert (code, out.exists()) == (0, bool(more))
        assert "no other form makes the model 5 % faster in onnxruntime" in printed
    code, _, error = call("legalize", path, out, "--force")
    assert code == 2
    assert "--target is missing" in error


def test_runs_take_turns_and_the_fastest_of_each_round_counts():
    seconds, order = iter(itertools.count()), []
    clock = {"now": 0.0}

    def run(name, *costs):
        left = itertools.cycle(costs)

        def one():
            order.append(name)
            clock["now"] += next(left)

        return one

    found = take_turns([run("a", 0.02), run("b", 0.03, 0.01)], 3, 0.0, now=lambda: clock["now"])
    assert [[round(time, 6) for time in times] for times in found] == [[0.02] * 3, [0.03, 0.01, 0.03]]
    assert order == ["a", "b", "b", "a", "a", "b"]
    assert next(seconds) == 0


def test_short_runs_are_repeated_within_their_turn_and_hopeless_ones_leave():
    clock = {"now": 0.0}
    calls = {"a": 0, "b": 0, "c": 0}

    def run(name, cost):
        def one():
            calls[name] += 1
            clock["now"] += cost

        return one

    runs = [run("a", 1.0), run("b", 0.001), run("c", 0.005)]
    found = take_turns(runs, 4, 0.0, now=lambda: clock["now"])
    assert calls["b"] == pytest.approx(40, abs=4)
    assert [len(times) for times in found] == [4, 4, 3]  # the first stays, with which the others are compared

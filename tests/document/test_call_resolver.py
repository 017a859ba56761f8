from onnx_text import model

from resizefix.document.scopes import Definition, Scopes
from resizefix.document.view import CallResolver

TEXT = """(float[n] x, bool c, int64 n) => (float[n] y) {
  a = local.Once (x)
  b = local.Twice (a)
  d = local.Twice (b)
  e = If (c) <
    then_branch = t () => (float[n] p) { p = Relu (d) },
    else_branch = f () => (float[n] q) { q = Neg (x) }
  >
  y = Loop (n, c, e) <
    body = l (int64 i, bool c1, float[n] s) => (bool c2, float[n] r) { c2 = Identity (c1) r = Relu (s) }
  >
}
<domain: "local", opset_import: ["" : 15]> Once <k: int = 3> (u) => (v) { v = Relu (u) }
<domain: "local", opset_import: ["" : 15]> Twice (u) => (v) { v = Neg (u) }
"""
SCOPES = Scopes(model(TEXT, 15, "local"))
CALLS = CallResolver(SCOPES)
ONCE, TWICE = (scope for scope in SCOPES.all if scope.in_function)


def define(name: str, scope=SCOPES.main) -> Definition:
    found = SCOPES.definition(scope, name)
    assert found is not None
    return found


def test_an_input_of_a_function_is_what_its_only_call_gives():
    assert CALLS.argument(define("u", ONCE)) == define("x")


def test_an_input_of_a_function_with_two_calls_is_open():
    assert CALLS.argument(define("u", TWICE)) is None


def test_an_input_of_the_model_is_nobodys_argument():
    assert CALLS.argument(define("x")) is None


def test_an_output_of_a_call_is_what_the_function_computes():
    assert CALLS.result(define("a")) == define("v", ONCE)
    assert CALLS.result(define("d")) == define("v", TWICE)
    assert CALLS.result(define("y")) is None


def test_an_output_of_an_if_is_one_of_two():
    branches = CALLS.branches(define("e"))
    assert branches is not None
    assert [branch.name for branch in branches] == ["p", "q"]
    assert CALLS.branches(define("y")) is None


def test_an_attribute_of_a_function_is_the_calls_or_the_default():
    attribute = CALLS.argument_attribute(ONCE, "k")
    assert attribute is not None
    assert attribute.i == 3
    assert CALLS.argument_attribute(ONCE, "other") is None


def test_only_a_loops_body_is_repeated():
    inner = [scope for scope in SCOPES.all if scope.parent is not None]
    assert [scope.is_repeated for scope in inner] == ["body" in scope.path.attribute for scope in inner]
    assert sum(scope.is_repeated for scope in SCOPES.all) == 1

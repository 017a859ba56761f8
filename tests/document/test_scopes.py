import pytest
from onnx_text import model

from resizefix.document.edits import FreshNames
from resizefix.document.scopes import DefinitionKind, Scopes, names_in

NESTED = model("""(float[1,3,8,8] x, bool c) => (float[?,?,?,?] y) <float[4] s = {1, 1, 2, 2}> {
  y = If (c) <
    then_branch = t () => (float[?,?,?,?] a) <float[4] k = {1, 1, 3, 3}> { a = Resize (x, , k) },
    else_branch = e () => (float[?,?,?,?] a) { a = Resize (x, , s) }
  >
}""")
FUNCTION = model(
    """(float[1,3,8,8] x) => (float[?,?,?,?] y) { y = d.F (x) }
    <domain: "d", opset_import: ["" : 11]> F (a) => (b) { b = Relu (a) }""",
    13,
    "d",
)


def test_bodies_and_functions_are_scopes_of_their_own():
    scopes = Scopes(NESTED)
    assert [scope.path.steps for scope in scopes.all] == [(), ("If(y).then_branch",), ("If(y).else_branch",)]
    scopes = Scopes(FUNCTION)
    assert [(scope.path.steps, scope.opset) for scope in scopes.all] == [((), 13), (("function d::F",), 11)]


def test_a_body_sees_the_names_around_it_and_a_function_does_not():
    scopes = Scopes(NESTED)
    inner = scopes.all[2]
    found = scopes.definition(inner, "s")
    assert found is not None
    assert (found.scope.path, found.kind) == ((), DefinitionKind.INITIALIZER)
    scopes = Scopes(FUNCTION)
    assert scopes.definition(scopes.all[1], "x") is None


def test_readers_in_bodies_are_found_from_the_outer_definition():
    scopes = Scopes(NESTED)
    definition = scopes.definition(scopes.main, "s")
    assert definition is not None
    readers = [(reader.scope.path.steps, reader.position) for reader in scopes.readers(definition)]
    assert readers == [(("If(y).else_branch",), 2)]


def test_the_same_name_in_two_branches_is_two_definitions():
    scopes = Scopes(NESTED)
    a, b = (scopes.definition(scope, "a") for scope in scopes.all[1:])
    assert a is not None
    assert b is not None
    assert a.key != b.key


@pytest.mark.parametrize(("version", "kind"), [(3, DefinitionKind.INITIALIZER), (4, DefinitionKind.DEFAULTED_INPUT)])
def test_an_initializer_that_is_an_input_is_a_default_from_ir_4_on_only(version, kind):
    scopes = Scopes(model("(float[1] x, float[1] w) => (float[1] y) <float[1] w = {1}> { y = Add (x, w) }", ir=version))
    definition = scopes.definition(scopes.main, "w")
    assert definition is not None
    assert definition.kind is kind


def test_fresh_names_collide_with_nothing_in_any_scope():
    names = FreshNames(names_in(NESTED))
    assert names.fresh("k") == "k_1"
    assert names.fresh("k") == "k_2"
    assert names.fresh("new") == "new"
    assert not names.is_free("new")


def test_the_path_of_a_body_stays_when_a_node_without_bodies_that_has_the_holders_name_goes():
    made = model(
        """(float[1,1,4,4] x) => (float[?,?,?,?] y) <bool c = {1}> {
        [same] s = Constant <value = float[4] {1, 1, 2, 2}> ()
        [same] y = If (c) <then_branch = t () => (float[?,?,?,?] a) { a = Resize (x, , s) },
            else_branch = e () => (float[?,?,?,?] b) { b = Resize (x, , s) }> }""",
        18,
    )
    before = [scope.path for scope in Scopes(made).all]
    del made.graph.node[0]
    assert [scope.path for scope in Scopes(made).all] == before

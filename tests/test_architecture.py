"""The folder listing is the architecture: imports point downward only, and each heavy package has one door."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "resizefix"

# From the bottom up; a room may import its own, those below, and the words everybody uses.
FLOORS = (
    ("document", "messages"),
    ("dialects",),
    ("shapes",),
    ("equivalences", "opsets", "runtimes"),
    ("targets",),
    ("faults", "lowerings"),
    ("origins",),
    ("operations",),
    ("verification",),
    ("input_sizes",),
    ("interop",),
    ("library",),
    ("reports", "graphsurgeon"),
    ("cli", "__init__"),
    ("__main__",),
)
WORDS = {
    "addresses",
    "diagnostics",
    "interpolation",
    "outcome",
    "pool",
    "printable",
    "process",
    "promotion",
    "scope_path",
    "words",
    "version",
    "worker",
}
# Tables of words, which import nothing; only a diagnostic reads them.
SENTENCES = "resizefix.reports.sentences"
DOORS = {
    "onnxruntime": {"runtimes/ort_session.py"},
    "click": {"cli/"},
    "jinja2": {"reports/page.py"},
    "rich": {"reports/"},
    "onnx_graphsurgeon": {"interop/", "graphsurgeon.py"},
    "onnx_ir": {"interop/"},
    "PIL": {"interop/feed_file.py"},
    "tensorrt_rtx_bindings": {"runtimes/tensorrt_worker"},
    "openvino": {"runtimes/adapters/openvino.py"},
    "cv2": {"runtimes/adapters/opencv.py"},
    "ncnn": {"runtimes/adapters/ncnn.py"},
    "pnnx": {"runtimes/adapters/ncnn.py"},
    "_mnncengine": {"runtimes/adapters/mnn.py"},
    "_tools": {"runtimes/adapters/mnn.py"},
    "tract": {"runtimes/adapters/tract.py"},
    "tvm": {"runtimes/adapters/tvm.py"},
    "MNN": set(),  # its wrappers install and run telemetry
}
DOORS["onnxruntime"].add("runtimes/adapters/onnxruntime.py")
# What runs in Pythons of others, which have their runtime and numpy alone; tvm's importer wants onnx besides.
ABROAD = (
    "worker.py",
    "process.py",
    "runtimes/runtime_worker.py",
    "runtimes/confinement.py",
    "runtimes/adapters/",
)

LATE = ("import_module", "find_spec")
# The one import upward: what Jupyter shows is made above everything that is shown, when a notebook asks.
UPWARD = {("printable.py", "resizefix.reports.notebook")}
# Who imports by a computed name: a module of its own room or below, an adapter, or what another process calls.
BY_NAME = {
    "__init__.py",
    "cli/__init__.py",
    "cli/files.py",
    "diagnostics.py",
    "library/advice.py",
    "library/bounded.py",
    "runtimes/runtime_worker.py",
    "runtimes/tensorrt.py",
    "runtimes/tensorrt_worker.py",
    "targets/catalogue.py",
    "worker.py",
}
FILES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


@cache  # not at the collection, which each worker does
def tree(file: str) -> ast.Module:
    return ast.parse((PACKAGE / file).read_text())


@cache
def imports(file: str) -> frozenset[str]:
    """Absolute names of all imported modules, those inside functions too."""
    found: set[str] = set()
    for node in ast.walk(tree(file)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{file}: relative import"
            found.add(node.module)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in LATE:
            found.update(argument.value for argument in node.args if isinstance(argument, ast.Constant))
    return frozenset(found)


def room(name: str) -> str:
    return name.split("/")[0].removesuffix(".py")


def floor(name: str) -> int:
    return next(height for height, rooms in enumerate(FLOORS) if name in rooms)


def imported() -> Iterator[tuple[str, str]]:
    return ((file, module) for file in FILES for module in imports(file))


def test_imports_point_downward():
    for file, module in imported():
        here = room(file)
        if not module.startswith("resizefix.") or module.startswith(SENTENCES) or (file, module) in UPWARD:
            continue
        there = module.split(".")[1]
        if there in WORDS or there == here:
            continue
        assert here not in WORDS, f"{file} is a word everybody uses; it imports {module}"
        assert floor(there) < floor(here), f"{file} imports {module}"


def test_a_late_import_names_its_module_where_it_stands():
    by_name = {
        file
        for file in FILES
        for node in ast.walk(tree(file))
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in LATE
        if not isinstance(node.args[0], ast.Constant)
    }
    assert by_name == BY_NAME
    assert set(imported()) >= UPWARD


def test_only_diagnostics_read_the_sentences_and_those_import_nothing():
    reading = {file for file in FILES if SENTENCES in (PACKAGE / file).read_text()}
    assert reading == {"diagnostics.py"}
    for file in FILES:
        if file.startswith("reports/sentences/"):
            assert not any(module.startswith("resizefix") for module in imports(file)), file


def test_what_verifies_shares_no_code_with_what_it_verifies():
    for file, module in imported():
        forbidden = ["resizefix.operations", "resizefix.library", "resizefix.input_sizes.writing"]
        if file == "verification/reference_model.py":
            forbidden += ["resizefix.document.edits", "resizefix.dialects.write"]
            forbidden += ["resizefix.equivalences", "resizefix.opsets"]
        if file.startswith(("verification/", "input_sizes/experiments/")):
            assert not module.startswith(tuple(forbidden)), f"{file} imports {module}"


def test_heavy_packages_have_one_door():
    for file, module in imported():
        doors = DOORS.get(module.split(".")[0])
        assert doors is None or file.startswith(tuple(doors)), f"{file} imports {module}"


def test_what_runs_in_the_python_of_another_runtime_needs_nothing_but_that():
    for file, module in imported():
        if not file.startswith(ABROAD) or module == "resizefix":
            continue
        own = {package for package, doors in DOORS.items() if file in doors} | {"numpy"}
        own |= {"onnx"} if file == "runtimes/adapters/tvm.py" else set()
        if module.startswith("resizefix."):
            path = module.removeprefix("resizefix.").replace(".", "/")
            assert path.startswith("runtimes/adapters") or f"{path}.py" in ABROAD, f"{file} imports {module}"
        else:
            assert module.split(".")[0] in sys.stdlib_module_names | own, f"{file} imports {module}"


def test_the_document_knows_nothing_of_resizing():
    for file in FILES:
        for node in ast.walk(tree(file)) if room(file) == "document" else ():
            names = [getattr(node, "id", ""), getattr(node, "attr", ""), getattr(node, "name", "")]
            constant = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            if constant in ("Resize", "Upsample"):
                raise AssertionError(f"{file} names the operator {constant}")
            assert not any(word in str(name).lower() for name in names for word in ("resize_", "upsample")), file


def test_a_state_of_a_model_is_looked_at_in_one_place():
    made = {
        file
        for file in FILES
        for node in ast.walk(tree(file))
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) == "Scopes"
    }
    assert made == {"document/view.py"}


def test_files_stay_small_and_say_what_they_are():
    for file in FILES:
        text = (PACKAGE / file).read_text()
        assert text.count("\n") <= 400, f"{file} is longer than 400 lines"
        assert ast.get_docstring(tree(file)), f"{file} has no docstring"


def test_a_class_name_stands_once():
    homes: dict[str, list[str]] = {}
    for file in FILES:
        for node in ast.walk(tree(file)):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(file)
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}


def test_no_circle_of_imports():
    """Imports at the top of a module; those inside functions are there to be late."""
    modules = {
        f"resizefix.{file.removesuffix('.py').replace('/', '.')}".removesuffix(".__init__"): file for file in FILES
    }
    imported = {
        name: {
            module
            for node in tree(file).body
            if isinstance(node, ast.ImportFrom) and node.module
            for module in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
            if module in modules and modules[module] != file
        }
        for name, file in modules.items()
    }
    while leaves := {name for name, others in imported.items() if not others & imported.keys()}:
        imported = {name: others for name, others in imported.items() if name not in leaves}
    assert not imported, sorted(imported)

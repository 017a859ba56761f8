"""What keeps the package and its tests from being imported on Windows, as far as their source says it."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
POSIX_ONLY = {"fcntl", "grp", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"}
NAMED = re.compile(rf"^(?:import|from) .*\b(?:{'|'.join(POSIX_ONLY)})\b", re.MULTILINE)
FILES = sorted(path for folder in ("resizefix", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py"))
SCRIPTS = {"benchmarks/performance/launcher.py"}  # which no test imports


def imported_at_once(tree: ast.Module) -> set[str]:
    """The modules that a file imports when it is imported, outside of functions and of conditions."""
    found = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


def test_no_module_that_windows_lacks_is_imported_at_once():
    texts = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in FILES}
    named = {name: text for name, text in texts.items() if NAMED.search(text)}  # parsing takes longer
    assert named.keys() >= SCRIPTS
    assert {name for name, text in named.items() if imported_at_once(ast.parse(text)) & POSIX_ONLY} - SCRIPTS == set()


def test_such_an_import_is_noticed():
    tree = ast.parse("import pty\nfrom resource import getrlimit\ndef f():\n    import fcntl\n")
    assert imported_at_once(tree) == {"pty", "resource"}


def test_files_are_read_and_written_as_utf_8():
    """Elsewhere the default is the encoding of the place."""
    for path in sorted((ROOT / "resizefix").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in (
                "read_text",
                "write_text",
            ):
                words = {keyword.arg for keyword in node.keywords}
                assert "encoding" in words or node.args, f"{path}:{node.lineno}"

"""What is built: a wheel with the package and nothing else, a source distribution with all of the repository."""

import email
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
from child_python import printed

ROOT = Path(__file__).parents[2]
# What is no part of the source distribution although the repository has it.
FOR_THE_REPOSITORY = (".ci/", ".github/", ".gitignore", ".gitattributes")


@pytest.fixture(scope="module")
def distributions(tmp_path_factory):
    """The names in the wheel and in the source distribution, and the wheel's metadata."""
    place = tmp_path_factory.mktemp("build")
    for name in in_the_repository():
        (place / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, place / "source" / name)
    printed("-m", "build", "--no-isolation", "--outdir", place / "dist", place / "source")
    (wheel,) = (place / "dist").glob("*.whl")
    (source,) = (place / "dist").glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = set(archive.namelist())
        (name,) = (name for name in in_wheel if name.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(name))
    with tarfile.open(source) as archive:
        in_source = {member.name.split("/", 1)[1] for member in archive.getmembers() if member.isfile()}
    return in_wheel, in_source, metadata


def in_the_repository() -> list[str]:
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True)
    if listed.returncode != 0:
        pytest.skip("no repository here that says what belongs to the project")
    return [name for name in listed.stdout.splitlines() if (ROOT / name).exists()]


def test_the_wheel_holds_the_package_and_nothing_else(distributions):
    in_wheel, _, _ = distributions
    others = {name for name in in_wheel if ".dist-info/" not in name}
    package = {name for name in in_the_repository() if name.startswith("resizefix/")}
    assert others == package
    assert {"resizefix/py.typed", "resizefix/reports/page.css", "resizefix/reports/page.js"} <= others


def test_the_source_distribution_holds_the_repository_and_nothing_else(distributions):
    _, in_source, _ = distributions
    wanted = {name for name in in_the_repository() if not name.startswith(FOR_THE_REPOSITORY)}
    made = {name for name in in_source if name == "PKG-INFO" or name.startswith("resizefix.egg-info/")}
    assert in_source - made == wanted


def test_the_metadata_say_for_which_pythons_it_is_and_what_else_can_be_installed(distributions):
    _, _, metadata = distributions
    assert metadata["Requires-Python"] == ">=3.10"
    classifiers = metadata.get_all("Classifier")
    assert [f"Programming Language :: Python :: 3.{minor}" for minor in range(10, 14)] == [
        name for name in classifiers if "3." in name
    ]
    runtimes = {"mnn", "ncnn", "opencv", "openvino", "tensorrt", "tract", "tvm"}
    assert set(metadata.get_all("Provides-Extra")) == {"bench", "docs", "images", "test", *runtimes}
    required = [name for name in metadata.get_all("Requires-Dist") if "extra ==" not in name]
    names = " ".join(sorted(name.split(">")[0] for name in required))
    assert names == "click jinja2 numpy onnx onnx-graphsurgeon onnxruntime rich tomli"

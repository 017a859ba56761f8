"""The page and the picture of what runtimes do with a Resize, out of the measurements: see `runtimes.py`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.runtime_cases import ANSWERS, Case

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
NOTE = "<!-- Made by benchmarks/runtimes.py out of docs/reference/runtimes.tsv; edit the script. -->\n"
GROUPS = {
    "nearest": "nearest: coordinates × roundings × scales",
    "linear": "linear",
    "cubic": "cubic: coefficients, exclude_outside",
    "antialias": "antialias",
    "forms": "scales or sizes: constant, computed, fed, static and open input",
    "resize10": "Resize-10",
    "upsample7": "Upsample-7",
    "upsample9": "Upsample-9",
    "axes": "axes",
    "policy": "keep_aspect_ratio_policy",
    "crop": "tf_crop_and_resize",
    "rank": "ranks 3 and 5",
    "nhwc": "height and width in the middle (NHWC)",
    "otheraxes": "batch or channels scaled",
    "batch": "batch of 3",
    "dtype": "other types",
}
COLOURS = {"fine": "#2a9d5c", "different": "#d1495b", "refused": "#b8bec6", "": "#ffffff"}
WORDS = {"fine": "right", "different": "silently different", "refused": "refused", "": "not measured"}
CAUSES: dict[str, str] = {}
"""Why the rules say otherwise, by case."""
Table = Mapping[str, Mapping[str, str]]
Versions = Mapping[str, Mapping[str, str]]

TEXT = """# What runtimes do with a Resize

{count} single-node cases, each run in every runtime and compared with onnxruntime (optimisation disabled). **Right**:
its shape, and every number within 1e-4 of the largest. **Silently different**: it runs, without an error, and computes
something else. **Refused**: an error when it loads or runs. Measured on the CPU of an x86-64 machine.

![Each case in each runtime: right, silently different, or refused](runtimes.svg)

{overall}

The last column counts the cells for which `check --target` says otherwise than what was measured.

## By kind of case

Right / silently different / refused.

{groups}

## Where the rules say otherwise

{disagreements}

## Each case

[runtimes.tsv](runtimes.tsv) has a row for each case: the attributes, where the extent comes from (`form`), and what
each runtime did: `equal`, `close`, `wrong` (numbers), `shape`, `refused-load`, `refused-run`, `crash`, `crash-load`,
`timeout`, `not-run` (onnxruntime does not run the case either).

## Measure again

`python benchmarks/runtimes.py` runs the cases in every runtime that is installed, and makes this page again. A runtime
in another Python is named by its variable, as `RESIZEFIX_OPENCV_4_PYTHON`. Where a runtime no longer does what the
rules say, the script prints the cell and ends with exit code 1. `--compare` prints what another table says otherwise.

Another program measured these cases before, with the same versions: all 3,656 cells that both judged agree.

## Runtimes that were not run here

`rknn` and `qnn` have rules by what another program measured in their simulators. `rknn` agrees with 407 of 407 cases,
`qnn` with 175 of 177:

- Case 80: nearest, asymmetric, round_prefer_ceil, by 0.5. The simulator computed what ONNX says, and the rules say
  different. It is the only case of this rounding. The rules suppose that it divides the two lengths and rounds up.
- Case 611: nearest of a batch of three, by 1.8. Another shape came out, and the rules say refused. With a batch of 1 it
  is refused, because the lengths of shape inference and of the kernel differ.

The rules of `migraphx`, `tidl`, `coreml` and `nnapi` are read in sources alone.

## Other cases

`python benchmarks/random_cases.py TABLE.tsv --count 400 --seed 23` draws everything that a file can say. With
`--exchanged` it draws cases like those above: each is one of them with cells of others. `python
benchmarks/targets_agreement.py TABLE.tsv --target mnn` compares the rules of `check --target` with what was measured,
and prints every case that disagrees. In per cent, on 2026-11-23; by seeds 21, 22 and 2 rules were corrected, by 23
and 3 none:

| runtime | like those above: 2, 3 | any: 21, 22, 23 | of these the file tells all | not explained by what was fed |
|---|---|---|---|---|
| OpenVINO | 99.6, 100 | 99.2, 98.2, 99.2 | 100, 100, 100 | 2 of 13 |
| OpenCV 4 | 99.8, 99.6 | 99.2, 99.2, 99.2 | 100, 100, 100 | 0 of 9 |
| OpenCV 5 | 99.0, 99.6 | 98.0, 97.0, 97.8 | 100, 98.8, 99.6 | 5 of 29 |
| ncnn | 99.8, 100 | 99.5, 98.2, 99.8 | 100, 99.6, 100 | 3 of 10 |
| MNN | 99.2, 99.4 | 97.2, 96.2, 96.8 | 99.6, 98.5, 99.6 | 10 of 39 |
| tract | 100, 100 | 99.8, 98.5, 99.8 | 99.6, 98.5, 100 | 7 of 8 |
| TVM | 99.8, 100 | 99.0, 98.8, 99.2 | 100, 100, 100 | 4 of 12 |

Every case that was said to be well and was not has a note. The causes:

- **A number that the file does not tell.** The extent is fed, or a length is open. By whole factors the runtime is
  right, by others it is not (`fed-fractions`, `fed-axes`), or of a short input nothing is left.
- **Memory that is not the tensor's.** OpenCV 5 reads it in linear over a height of 1, MNN in lines and in volumes
  of bytes. The rules say different; what lies there is sometimes harmless.
- **Integers.** tract cuts sums off, and adds them in another order than onnxruntime. A sum may fall on the other side
  of a whole number, and need not.
- **Steps too small to see.** Scales like 1.0000153 move samples by less than 1e-4 on short axes, and by more on long
  ones.
- **onnxruntime itself.** With a policy and negative axes it returns the input's size, whatever the policy says.
- **Five axes in ncnn.** Where the batch is not 1 its arrays have no room for them, and it refuses. The rules say
  different.
"""


def write_page(cases: Sequence[Case], table: Table, versions: Versions, said: Mapping[str, Mapping[str, str]]) -> None:
    """docs/reference/runtimes.md and runtimes.svg."""
    (REFERENCE / "runtimes.md").write_text(page_of(cases, table, versions, said))
    _draw(cases, table, list(versions))


def page_of(cases: Sequence[Case], table: Table, versions: Versions, said: Mapping[str, Mapping[str, str]]) -> str:
    """The page, made of what was measured and of what the rules say."""
    names = list(versions)
    overall = [["runtime", "version", "right", "silently different", "refused", "not as the rules say"]]
    for name in names:
        cells = [_answer(table, case, name) for case in cases]
        found = Counter(cells)
        odd = [case for case in cases if _is_odd(table, case, name, said)]
        total = sum(found[kind] for kind in ("fine", "different", "refused"))
        shares = [
            f"{found[kind]} ({100 * found[kind] / max(total, 1):.0f} %)" for kind in ("fine", "different", "refused")
        ]
        version = f"{versions[name]['version']}, {versions[name]['date']}"
        overall.append([f"`{name}`", version, *shares, str(len(odd)) if name in said else "–"])
    shown = [name for name in names if not name.startswith("opencv-5-")]  # the engines of OpenCV 5 stand above
    groups = [["", *(f"`{name}`" for name in shown)]]
    for group, words in GROUPS.items():
        own = [case for case in cases if case["group"] == group]
        if own:
            groups.append([f"{words} ({len(own)})", *(_three(table, own, name) for name in shown)])
    page = TEXT.format(
        count=len(cases),
        overall=_table(overall),
        groups=_table(groups),
        disagreements=_disagreements(cases, table, names, said),
    )
    return f"{NOTE}\n{page}"


def _answer(table: Table, case: Case, name: str) -> str:
    return ANSWERS.get(table.get(case["id"], {}).get(name, ""), "")


def _is_odd(table: Table, case: Case, name: str, said: Mapping[str, Mapping[str, str]]) -> bool:
    did = _answer(table, case, name)
    return bool(did) and name in said and said[name][case["id"]] != did


def _three(table: Table, cases: Sequence[Case], name: str) -> str:
    found = Counter(_answer(table, case, name) for case in cases)
    return f"{found['fine']} / {found['different']} / {found['refused']}"


def _disagreements(
    cases: Sequence[Case], table: Table, names: Sequence[str], said: Mapping[str, Mapping[str, str]]
) -> str:
    lines = []
    for name in names:
        odd = [case for case in cases if _is_odd(table, case, name, said)]
        kinds: dict[tuple[str, str], list[str]] = {}
        for case in odd:
            kinds.setdefault((said[name][case["id"]], _answer(table, case, name)), []).append(case["id"])
        for (says, did), found in kinds.items():
            causes = "; ".join(dict.fromkeys(CAUSES.get(key, "cause not known") for key in found))
            lines.append(
                f"- `{name}`, case {', '.join(found)}: the rules say {WORDS[says]}, it is {WORDS[did]} ({causes})"
            )
    return "\n".join(lines) or "Nowhere."


def _table(rows: Sequence[Sequence[str]]) -> str:
    first, *others = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([first, "|" + "---|" * len(rows[0]), *others])


def _draw(cases: Sequence[Case], table: Table, names: Sequence[str]) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "resizefix", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot as plt
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Patch

    ordered = [case for group in GROUPS for case in cases if case["group"] == group]
    pixels = [[to_rgb(COLOURS[_answer(table, case, name)]) for name in names] for case in ordered]
    figure, axes = plt.subplots(figsize=(9, 11), layout="constrained")
    axes.imshow(pixels, aspect="auto", interpolation="nearest")
    axes.set_xticks(range(len(names)), names, rotation=30, ha="left")
    axes.xaxis.tick_top()
    at, places = 0, []
    for group, words in GROUPS.items():
        count = sum(case["group"] == group for case in cases)
        if count:
            places.append((at + count / 2 - 0.5, words.split(":")[0]))
            at += count
            axes.axhline(at - 0.5, color="white", linewidth=1)
    for column in range(1, len(names)):
        axes.axvline(column - 0.5, color="white", linewidth=2)
    axes.set_yticks([place for place, _ in places], [words for _, words in places], fontsize=7)
    axes.tick_params(length=0)
    handles = [Patch(facecolor=COLOURS[kind], label=WORDS[kind]) for kind in ("fine", "different", "refused")]
    axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.005), ncol=3, frameon=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    figure.savefig(REFERENCE / "runtimes.svg", metadata={"Date": None})
    plt.close(figure)

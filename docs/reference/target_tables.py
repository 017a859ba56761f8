"""What the rules of every target say: the matrix of features, and each rule with its source.

make_reference.py makes targets.md of it, in English and in Chinese.
"""

from __future__ import annotations

from itertools import groupby

from feature_matrix import section, tables

from resizefix.targets.catalogue import TARGETS
from resizefix.targets.target import Effect, Target

MATRIX_LEGEND = (
    "Each cell is what the target's rules say of a small model with this resize: ✓ accepted, ≠ accepted and computed\n"
    "otherwise without an error, ✗ rejected. Where nothing else is said, the node is Resize-13 and the input's size\n"
    "is fixed. A model with ≠ or ✗ is what `legalize` rewrites.",
    "每一格是该目标的规则对一个只含这种缩放的小模型的判断：✓ 接受，≠ 接受但算出别的结果而不报错，✗ 拒绝。"
    "没有另外说明时，节点是 Resize-13，输入尺寸固定。遇到 ≠ 或 ✗，`legalize` 会改写模型。",
)
MARKS = {Effect.REJECTED: "✗", Effect.DIFFERENT: "≠", Effect.NOTED: "·"}
# What the sources of rules have in common, which the page says once at its head.
ALIKE = (
    ("TensorRT-RTX 1.4.0, 1.5.0, 1.6.1, 1.7.1", "RTX"),
    ("TensorRT-RTX 1.4.0 … 1.7.1", "RTX"),
    ("TensorRT-RTX", "RTX"),
    ("onnx-tensorrt ", ""),
    ("importers of Upsample and Resize", "both importers"),
    ("importer or checker of ", ""),
    ("importer of ", ""),
    (" … ", "…"),
)
CHINESE_EFFECTS = {Effect.REJECTED: "拒绝", Effect.DIFFERENT: "结果不同", Effect.NOTED: "仅作提示"}


def page() -> str:
    """The English page without the note at its head."""
    text = ["# Targets and their rules\n", "English | [简体中文](../zh/reference/targets.md)\n"]
    text.append(
        "What `check` judges by and `legalize` aims at. `check MODEL --target TARGET` prints why a rule rejects a\n"
        "node, and how to fix it. Four releases of TensorRT-RTX (1.4.0, 1.5.0, 1.6.1, 1.7.1) were measured. They\n"
        "stand in for TensorRT 10, and `check --live` asks one. Older cores are not available: their rules are\n"
        "read in the open source of the parsers (importers and checkers of each operator), at the commits named.\n\n"
        "In the tables of rules, ✗ means rejected, ≠ computed otherwise, and · only noted. The number in the last\n"
        "column is that of its source, under the heading. *Measured* is what was run in that release; other text says\n"
        "where a rule was read. A range such as rtx–7.0 names every release from the newer to the older.\n"
    )
    text.append(f"## What each target does with which resize\n\n{MATRIX_LEGEND[0]}\n")
    text += tables()
    releases = [target for target in TARGETS if target.runtime == "tensorrt"][::-1]
    text.append("## TensorRT\n\n| release | parser |\n|---|---|")
    text += [f"| `{target.name}` | {_in_a_cell(target.parser)} |" for target in releases]
    rules = _rules_of(releases)
    sources = list(dict.fromkeys(_short_source(source) for *_, source in rules))
    text.append("")
    text += [f"{number}. {source}" for number, source in enumerate(sources, 1)]
    text.append("\n| rule | effect | releases | source |\n|---|---|---|---|")
    text += [
        f"| `{name}` | {mark} | {_range_of(having, releases)} | {sources.index(_short_source(source)) + 1} |"
        for (name, mark, source), having in rules.items()
    ]
    for target in TARGETS:
        if target.runtime != "tensorrt":
            rows = [(name, mark, _without_parser(source, target.parser)) for name, mark, source in _rules_of([target])]
            sources = list(dict.fromkeys(source for *_, source in rows))
            text.append(f"\n## {target.name}\n\n{target.parser}\n")
            text += [f"{number}. {source}" for number, source in enumerate(sources, 1)]
            text.append("\n| rule | effect | source |\n|---|---|---|")
            text += [f"| `{name}` | {mark} | {sources.index(source) + 1} |" for name, mark, source in rows]
    return "\n".join(text).rstrip() + "\n"


def _rules_of(targets: list[Target]) -> dict[tuple[str, str, str], list[Target]]:
    """Each rule, as a row of the page shows it, with the targets that have it; `check` prints how to fix a node."""
    rows: dict[tuple[str, str, str], list[Target]] = {}
    for target in targets:
        for rule in target.rules:
            having = rows.setdefault((rule.name, MARKS[rule.effect], _in_a_cell(rule.source)), [])
            if target not in having:
                having.append(target)
    return rows


def chinese_page() -> str:
    """The matrix in Chinese, and for each target how many rules it has; the rules themselves are in English."""
    text = ["# 目标及其规则\n", "[English](../../reference/targets.md) | 简体中文\n"]
    text.append("`check` 按这些规则判断，`legalize` 以它们为目标。规则的来源和改法逐条写在英文页面上。\n")
    text.append(f"## 各目标如何处理各种缩放\n\n{MATRIX_LEGEND[1]}\n")
    text += tables(chinese=True)
    shown = [target for target in TARGETS if target.runtime == "tensorrt"][::-1]
    shown += [target for target in TARGETS if target.runtime != "tensorrt"]
    for heading, targets in groupby(shown, key=section):
        text.append(f"## {'TensorRT' if heading == 'tensorrt' else heading}\n")
        text.append(
            f"| 目标 | 规则 | {' | '.join(CHINESE_EFFECTS.values())} |\n|---|---|{'---|' * len(CHINESE_EFFECTS)}"
        )
        for target in targets:
            effects = [rule.effect for rule in target.rules]
            counts = " | ".join(str(effects.count(effect)) for effect in CHINESE_EFFECTS)
            text.append(f"| `{target.name}` | {len(effects)} | {counts} |")
        text.append(f"\n[逐条列出（英文）](../../reference/targets.md#{heading})\n")
    return "\n".join(text).rstrip() + "\n"


def _range_of(having: list[Target], releases: list[Target]) -> str:
    """The releases that have a rule, newest first; three or more in a row are a range."""
    runs: list[list[str]] = []
    for place, target in enumerate(releases):
        if target not in having:
            continue
        if not runs or releases[place - 1] not in having:
            runs.append([])
        runs[-1].append(target.name.removeprefix("tensorrt-"))
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)


def _without_parser(source: str, parser: str) -> str:
    """The source of a rule without what the heading of its table says."""
    return source.replace(f" on {parser}", "").removesuffix("; not run here")


def _short_source(source: str) -> str:
    for long, short in ALIKE:
        source = source.replace(long, short)
    return source


def _in_a_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("{f.", "{")

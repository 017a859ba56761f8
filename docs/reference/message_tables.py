"""Every message that `explain` knows, by runtime: each row of resizefix/messages with its page and command.

make_reference.py makes messages.md of it, in English and in Chinese.
"""

from __future__ import annotations

import re

from resizefix.library.explain import explain
from resizefix.messages.message import Message
from resizefix.messages.table import MESSAGES

MOST_SHOWN = 2  # wordings of a row
ALIKE = 0.5  # the share of its words that a wording has in common with one that is shown instead of it

ENGLISH = (
    "# Messages\n\nEnglish | [简体中文](../zh/reference/messages.md)\n",
    "What `resizefix explain` knows, {count} wordings of {rows} messages. Of each, two are shown at most.\n"
    "`…` stands for any name, path or shape, and a number mostly for any number. The last column is\n"
    "the command that `explain` tries first, without `resizefix`,\n"
    "`MODEL` and `OUT`; it leads to the page about the message. Give your model after the message, and `explain`\n"
    "finds the command that helps. A message that is not here is answered with the nearest, and a text to report it.\n",
    "| message | first command |\n|---|---|",
    "page",
)
CHINESE = (
    "# 报错信息\n\n[English](../../reference/messages.md) | 简体中文\n",
    "`resizefix explain` 认识的报错：{rows} 条，共 {count} 种写法，每条最多列出两种。"
    "`…` 代表任意名称、路径或形状，数字大多代表任意数字。"
    "最后一列是 `explain` 最先尝试的命令（省去 `resizefix`、`MODEL` 和 `OUT`），并链接到讲这条报错的页面；"
    "在报错后面给出模型，就能找到真正有用的命令。表中没有的报错，会得到最接近的几条，以及可用来报告的文字。\n",
    "| 报错 | 最先尝试的命令 |\n|---|---|",
    "详情",
)


def page(*, chinese: bool = False) -> str:
    """The page without the note at its head."""
    title, about, head, more = CHINESE if chinese else ENGLISH
    text = [title, about.format(count=sum(len(row.texts) for row in MESSAGES), rows=len(MESSAGES))]
    runtimes: dict[str, list[Message]] = {}
    for row in MESSAGES:
        runtimes.setdefault(row.runtime, []).append(row)
    for runtime, rows in runtimes.items():
        text.append(f"## {runtime}\n\n{head}")
        text += [f"| {_texts(row)} | {_command(row, more)} |" for row in rows]
        text.append("")
    return "\n".join(text).rstrip() + "\n"


def _texts(row: Message) -> str:
    return "<br>".join(f"`` {_in_a_cell(text)} ``" for text in _apart([wording.text for wording in row.wordings]))


def _apart(texts: list[str]) -> list[str]:
    """The texts without those that share most of their words with one before."""
    shown: list[tuple[str, set[str]]] = []
    for text in texts:
        words = set(re.findall(r"\w+", text.lower()))
        if not any(len(words & others) >= ALIKE * len(words) for _, others in shown):
            shown.append((text, words))
    return [text for text, _ in shown[:MOST_SHOWN]]


def _command(row: Message, more: str) -> str:
    """The command as a link to the page; every page that a row names is there in both languages, at the same place."""
    first = next((one.command for one in explain(row.text) if one.message == row.text), None)
    words = more if first is None else f"`{_in_a_cell(_short(first))}`"
    return f"[{words}](../{row.page.removeprefix('docs/')})"


def _short(command: str) -> str:
    """Without the words that every command has."""
    return re.sub(r" (MODEL|OUT)\b", "", command).removeprefix("resizefix ")


def _in_a_cell(text: str) -> str:
    return text.replace("|", "\\|")

"""Targets that tests describe in a file."""

from resizefix.targets.foreign.described import target_in

HEAD = 'name = "mine"\ntitle = "Mine"\nsource = "a page"\n'
RULE = f'{HEAD}[[rule]]\nname = "r"\nbecause = "b"\n'


def written(folder, text, name="mine.toml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return target_in(path)


def rule(folder, text, head=HEAD):
    (only,) = written(folder, f'{head}[[rule]]\nname = "r"\nbecause = "b"\n{text}\n').rules
    return only

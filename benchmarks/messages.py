"""How many messages of public threads `explain` knows, and whether the commands that it gives help.

    python benchmarks/messages.py [FOLDER]

benchmarks/messages.tsv has an address and what a runtime printed there, shortened. Prints the share that is found and
those that are not. With FOLDER, tests/library of the repository, the command of each message is tried on a model that
has its fault (`models_of_messages.py`): it must change the model, and where a target's rules or a run can tell, the
cause of the message must be gone. Exit code 1 below 90 % or where a command does not help.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import resizefix
from resizefix.messages.message import Message
from resizefix.messages.pasted_text import fed_sizes
from resizefix.messages.table import MESSAGES, messages_in

TABLE = Path(__file__).with_suffix(".tsv")
LEAST = 0.9


class Thread(NamedTuple):
    """A public thread, and what a runtime printed there."""

    address: str
    message: str


def threads() -> list[Thread]:
    """All rows of the table."""
    with open(TABLE, encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [Thread(row["address"], row["message"]) for row in rows]


def not_found(table: list[Thread]) -> list[Thread]:
    """The threads whose message no row has."""
    return [thread for thread in table if not messages_in(thread.message)]


def misleading(thread: Thread) -> str | None:
    """Why the command that is given without a model cannot help with what the text itself says; None: it may."""
    fed = fed_sizes(thread.message).axes
    first = next(iter(resizefix.explain(thread.message)), None)
    if first is None or first.command is None or not fed:
        return None
    words = first.command.split()
    if 0 in fed and words[-2:] != ["--batch", str(fed[0])]:
        return "the batch that was fed is not asked for"
    if {2, 3} <= fed.keys() and f"{fed[2]}x{fed[3]}" not in words:
        return "the size that was fed is not asked for"
    if fed.keys() == {1}:
        return "another size does not change the channels"
    return None


def useless(message: Message, models: Mapping[str, object], folder: Path) -> str | None:
    """Why the command does not help a model that has the message's fault; None: it helps, or none is given."""
    model = models.get(message.text)
    if model is None or not message.fixes:
        return None
    source = folder / f"{model}.onnx" if isinstance(model, str) else model
    found = next(one for one in resizefix.explain(message.text, source) if one.message == message.text)
    if found.command is None:
        return "no command"
    return "the cause is still there" if found.cause_gone is False and found.then is None else None


def main(folder: str | None = None) -> int:
    """Print the shares; the exit code."""
    table = threads()
    missing = not_found(table)
    wrong = [(thread.address, why) for thread in table if (why := misleading(thread))]
    print(f"{len(table)} threads, {1 - len(missing) / len(table):.1%} found")
    for thread in missing:
        print(f"not found: {thread.address}: {thread.message[:100]}")
    if folder is not None:
        sys.path[:0] = [folder, str(Path(folder).parent)]
        import models_of_messages as faulty  # type: ignore[import-not-found]

        models = {**{text: model for text, (model, _) in faulty.MODELS.items()}, **faulty.OTHERS}
        rows = {message for thread in table for message in messages_in(thread.message)[:1]}
        fixtures = Path(folder).parents[1] / "fixtures"
        wrong += [(row.text, why) for row in MESSAGES if row in rows and (why := useless(row, models, fixtures))]
    for what, why in wrong:
        print(f"does not help: {what}: {why}")
    return 1 if wrong or len(missing) > (1 - LEAST) * len(table) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))

"""What runtimes printed in public threads is known, and a command is given for none that it cannot help."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))

from benchmarks.messages import LEAST, misleading, not_found, threads  # noqa: E402

TABLE = threads()


def test_there_are_150_threads_each_with_an_address_of_its_own():
    assert len(TABLE) >= 150
    assert len({thread.address for thread in TABLE}) == len(TABLE)
    assert [thread for thread in TABLE if not thread.address.startswith("https://github.com/")] == []
    assert [thread for thread in TABLE if not thread.message.strip() or len(thread.message) > 400] == []


def test_nine_of_ten_are_found():
    assert len(not_found(TABLE)) <= (1 - LEAST) * len(TABLE)


def test_no_command_contradicts_what_the_text_says_was_fed():
    assert [(thread.address, why) for thread in TABLE if (why := misleading(thread))] == []

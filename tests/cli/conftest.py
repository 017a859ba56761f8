from __future__ import annotations

from collections.abc import Iterator

import pytest
from forked_commands import Commands


@pytest.fixture(scope="session")
def commands() -> Iterator[Commands]:
    with Commands() as started:
        yield started

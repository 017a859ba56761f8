from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from forked_commands import Commands


@pytest.fixture(scope="session")
def commands() -> Iterator[Commands]:
    if not hasattr(os, "fork"):
        pytest.skip("no process can be forked here")
    with Commands() as started:
        yield started

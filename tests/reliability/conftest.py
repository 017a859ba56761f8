from __future__ import annotations

from collections.abc import Iterator

import pytest
from worker import Worker


@pytest.fixture(scope="session")
def worker() -> Iterator[Worker]:
    with Worker() as started:
        yield started

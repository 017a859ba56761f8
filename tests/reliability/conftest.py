from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from worker import Worker


@pytest.fixture(scope="session")
def worker() -> Iterator[Worker]:
    if sys.platform != "linux":
        pytest.skip("the worker counts its memory as Linux shows it")
    with Worker() as started:
        yield started

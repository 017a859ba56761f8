import sys

import pytest
from worker import Worker


@pytest.fixture(scope="session")
def worker():
    if sys.platform != "linux":
        pytest.skip("the worker counts its memory as Linux shows it")
    with Worker() as started:
        yield started

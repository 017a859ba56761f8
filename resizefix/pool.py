"""Many requests, answered by a few workers that live on from one to the next.

A worker is started anew after it ended, and after a number of requests. A request whose process ended while it was
worked on is answered by how it ended; no other request is touched.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from resizefix.worker import Worker, WorkerEndedError

REQUESTS_A_WORKER = 250
"""After so many a process is replaced: what libraries keep of each model does not add up without end."""
_TRIES = 3  # of a request that no process has begun: what ended them was not the request
_UNTIL_STOPPED = 1.0


class Answered(NamedTuple):
    """The answer to the request with this number, or the error that came instead: WorkerEndedError, TimeoutError, or an
    OSError where no process could be started."""

    number: int
    seconds: float
    answer: Any
    error: Exception | None = None


class Pool(contextlib.AbstractContextManager["Pool"]):
    """Workers for these requests, each of which is asked of `function` as `Worker` says.

    `seconds`: how long one request may take.
    """

    def __init__(self, function: str, requests: Sequence[object], jobs: int, seconds: float | None = None) -> None:
        self._requests = requests
        self._seconds = seconds
        self._waiting = iter(range(len(requests)))
        self._is_stopped = False
        self._turn = threading.Lock()
        self._ready: queue.SimpleQueue[Answered] = queue.SimpleQueue()
        self._workers = [Worker(function) for _ in range(min(jobs, len(requests)))]
        # A worker ends with the thread that started it, so each thread has its own.
        self._threads = [threading.Thread(target=self._work, args=(worker,), daemon=True) for worker in self._workers]

    def __exit__(self, *_: object) -> None:
        self.stop()

    def answers(self) -> Iterator[Answered]:
        """Each answer as it is ready."""
        for thread in self._threads:
            thread.start()
        for _ in self._requests:
            yield self._ready.get()

    def stop(self) -> list[Answered]:
        """End all workers; the answers that were ready, and the ends of those that were not."""
        with self._turn:
            self._is_stopped = True
        for worker in self._workers:
            worker.close()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(_UNTIL_STOPPED)
        left = []
        with contextlib.suppress(queue.Empty):
            while True:
                left.append(self._ready.get_nowait())
        return left

    def _work(self, worker: Worker) -> None:
        done = 0
        while (index := self._next()) is not None:
            began = time.monotonic()
            answer, error = None, None
            try:
                answer = self._asked(worker, self._requests[index])
            except Exception as reason:  # belongs to the one that reads the answers
                error = reason
            self._ready.put(Answered(index, time.monotonic() - began, answer, error))
            done += 1
            if done % REQUESTS_A_WORKER == 0:
                worker.close()
        worker.close()

    def _next(self) -> int | None:
        with self._turn:
            return None if self._is_stopped else next(self._waiting, None)

    def _asked(self, worker: Worker, request: object) -> Any:
        for tries_left in reversed(range(_TRIES)):
            with self._turn:
                if self._is_stopped:
                    raise TimeoutError
                worker.start()
            answers: list[Any] = []
            try:
                for answer in worker.ask(request, self._seconds):
                    answers.append(answer)
            except WorkerEndedError as ended:
                if not answers and (ended.notes.get("begun") or not tries_left):
                    raise
            if answers:  # also where the process ended right behind it
                return answers[-1]
        raise AssertionError("the last try raises")

"""Work in separate processes: the end of one is an answer like any other."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

__all__ = ["Worker", "serve"]

Request = TypeVar("Request")
Answer = TypeVar("Answer")


class Worker:
    """A process that answers lines of JSON; it starts at the first request, and again after it died.

    Args:
        module: what the process runs; it reads requests and answers a line or more to each.
        timeout: seconds that a line may take; the process is killed after that.
        arguments: of the process.
        environment: of the process; this one's by default.
        python: the interpreter; this one's by default.
    """

    def __init__(
        self,
        module: str,
        timeout: float,
        arguments: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        python: str = sys.executable,
    ) -> None:
        self._command = [python, "-m", module, *arguments]
        self._timeout, self._environment = timeout, environment
        self._process: subprocess.Popen[str] | None = None

    def send(self, request: object) -> None:
        """Asks something."""
        if self._process is None:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self._environment
            )
        assert self._process.stdin is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)

    def line(self) -> Any:
        """Returns the next line of an answer as what it says; None where the process ended without one."""
        assert self._process is not None
        assert self._process.stdout is not None
        timer = threading.Timer(self._timeout, self._process.kill)
        timer.start()
        try:
            text = self._process.stdout.readline()
        finally:
            timer.cancel()
        return json.loads(text) if text else None

    def epitaph(self) -> str:
        """Returns how the process ended; the next request starts another."""
        assert self._process is not None
        status, self._process = self._process.wait(), None
        return f"the process ended with status {status}"

    def stop(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


class _Done:
    """Said by a thread that has no more to do."""


class _Threads(Generic[Request, Answer]):
    def __init__(self, requests: Iterable[Request], ask: Callable[[Worker, Request], Iterable[Answer]]) -> None:
        self.waiting: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self.answers: queue.SimpleQueue[Answer | _Done] = queue.SimpleQueue()
        self.ask = ask
        for request in requests:
            self.waiting.put(request)

    def run(self, worker: Worker) -> None:
        try:
            while True:
                for answer in self.ask(worker, self.waiting.get_nowait()):
                    self.answers.put(answer)
        except queue.Empty:
            worker.stop()
        finally:
            self.answers.put(_Done())


def serve(
    requests: Iterable[Request],
    ask: Callable[[Worker, Request], Iterable[Answer]],
    *,
    module: str,
    timeout: float,
    jobs: int,
) -> Iterator[Answer]:
    """Yields the answers to requests, as they come, from several workers at once.

    Args:
        requests: what to ask, each of one worker.
        ask: asks a worker; yields the answers to one request.
        module, timeout: of each worker.
        jobs: how many workers.
    """
    threads = _Threads(requests, ask)
    for _ in range(jobs):
        threading.Thread(target=threads.run, args=(Worker(module, timeout),), daemon=True).start()
    while jobs:
        answer = threads.answers.get()
        if isinstance(answer, _Done):
            jobs -= 1
        else:
            yield answer

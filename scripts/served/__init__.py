"""Programs that start in milliseconds: as children of a process that has loaded them. See `server`."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["Programs"]


class Programs:
    """A server of programs, which ends when it is told to, or this process does.

    Args:
        keeps: whether its compilers keep what they answer, for equal requests.

    Raises:
        RuntimeError: if it does not start.
    """

    def __init__(self, keeps: bool = False) -> None:
        self._owner = os.getpid()
        here = Path(__file__).resolve().parent
        self._folder = tempfile.mkdtemp(prefix="served-")  # short: names of sockets have 107 characters at most
        self.answers = Path(self._folder, "answers")
        socket = os.path.join(self._folder, "socket")
        self._client = [sys.executable, "-I", "-S", str(here / "client.py"), socket]
        command = [sys.executable, here / "server.py", socket]
        if keeps:
            command.append(self.answers)
            self.answers.mkdir()
        # Ctrl-C in a terminal goes to the whole group; it is for the caller.
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        assert self._process.stdout is not None
        if self._process.stdout.readline() != b"ready\n":
            self.end()
            raise RuntimeError("expected the server of programs to start")

    def command(self, name: str) -> list[str]:
        """Returns the command that runs `mlir-sparse`, `filecheck` or `python`."""
        return [*self._client, name]

    def python(self) -> str:
        """Returns the path of a program that runs `python`."""
        path = Path(self._folder, "python")
        if not path.exists():
            path.write_text(f'#!/bin/sh\nexec {shlex.join(self.command("python"))} "$@"\n')
            path.chmod(0o755)
        return str(path)

    def end(self) -> None:
        """Ends the server and what it still runs; in a fork of the process that started it, does nothing."""
        if os.getpid() == self._owner:
            self._process.kill()
            self._process.communicate()
            shutil.rmtree(self._folder, ignore_errors=True)

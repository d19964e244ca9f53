"""Runs programs in children of a process that has loaded them: Python starts once, not once a command.

    python server.py SOCKET

Each connection brings a command, its folder, its environment and its three streams, and takes back its exit status; a
connection that closes without one says that the command died. The server ends with its standard input.
"""

import array
import ast
import atexit
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from typing import NoReturn

import filecheck.main
from client import LENGTH

from mlir_sparse._mlir import bindings
from mlir_sparse.tools import cli

PROGRAMS: dict[str, Callable[[], object]] = {"mlir-sparse": cli.main, "filecheck": filecheck.main.main}


def serve(path: str) -> None:
    """Answers connections until standard input ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen(64)
        print("ready", flush=True)
        while listening in select.select([listening, sys.stdin], [], [])[0]:
            connection, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                run(connection)
            connection.close()


def run(connection: socket.socket) -> NoReturn:
    """Runs one command as the only thing that this process is for."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    streams = array.array("i")
    head, ancillary, _, _ = connection.recvmsg(LENGTH, socket.CMSG_SPACE(3 * streams.itemsize))
    streams.frombytes(ancillary[0][2])
    request = connection.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL).decode()
    folder, environment, sys.argv = ast.literal_eval(request)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115 - till the end
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    connection.sendall(bytes([_status(PROGRAMS[sys.argv[0]])]))
    os._exit(0)


def _status(program: Callable[[], object]) -> int:
    """Returns the exit status of a program, after all that is done at the end of a process."""
    try:
        found = program()
    except SystemExit as end:
        found = end.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        found = 1
    if isinstance(found, str):
        print(found, file=sys.stderr)
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return found if isinstance(found, int) else int(found is not None)


if __name__ == "__main__":
    for dialect in ("arith", "func", "linalg", "math", "sparse_tensor", "tensor"):
        bindings().module(f"dialects.{dialect}")
    serve(sys.argv[1])

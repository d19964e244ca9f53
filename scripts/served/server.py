"""Runs programs in children of a process that has loaded them: Python starts once, not once a command.

    python server.py SOCKET [FOLDER]

With a folder, compilers keep their answers there, and give them to equal requests, of later processes too.

Each connection brings a command, its folder, its environment and its three streams, and takes back its exit status; a
command ends when its connection does. The server ends with its standard input.
"""

import array
import ast
import atexit
import contextlib
import gc
import hashlib
import io
import os
import pickle
import runpy
import select
import shutil
import signal
import socket
import sys
import threading
import types
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import filecheck.main
from client import LENGTH, STATUS

from mlir_sparse._mlir import bindings, require_fit
from mlir_sparse.pipeline import worker
from mlir_sparse.pipeline.process_messages import PassOutcome, PassRequest
from mlir_sparse.tools import cli

_DIALECTS = ("arith", "func", "linalg", "llvm", "math", "memref", "scf", "sparse_tensor", "tensor", "vector")


def _keep_answers(folder: Path) -> None:
    """Makes compilers keep what they answer, except where they die."""
    compiled = worker._answer

    def answer(request: PassRequest, used: list[object]) -> PassOutcome:
        settings = [os.environ.get(f"MLIR_SPARSE_{name}") for name in ("BINDINGS", "LIBDEVICE")]
        path = folder / hashlib.blake2b(pickle.dumps((request, settings)), digest_size=20).hexdigest()
        if path.exists():
            kept: PassOutcome = pickle.loads(path.read_bytes())
            return kept
        made = compiled(request, used)
        written = path.with_suffix(f".{os.getpid()}")
        written.write_bytes(pickle.dumps(made))
        written.rename(path)
        return made

    worker._answer = answer


def _python() -> object:
    """Runs `python [-P] [-s] (-c CODE | -m MODULE | FILE) ...`, but for what was imported before."""
    given = sys.argv[1:]
    flags = [given.pop(0) for _ in range(len(given)) if given[0] in ("-P", "-s")]
    what, *sys.argv = given
    added = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    first = [] if "-P" in flags else [os.getcwd() if what in ("-c", "-m") else os.path.dirname(what)]
    sys.path[:1] = [*first, *added]
    if what == "-c":
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        code, sys.argv[0] = sys.argv[0], "-c"
        exec(compile(code, "<string>", "exec"), main.__dict__)
    elif what == "-m":
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [what, *sys.argv]
        runpy.run_path(what, run_name="__main__")
    return None


PROGRAMS: dict[str, Callable[[], object]] = {
    "filecheck": filecheck.main.main,
    "mlir-sparse": cli.main,
    "python": _python,
}


class Server:
    """Serves at a socket until standard input ends.

    Args:
        listening: where connections come.
        ended: where signals of children that ended are noted.
    """

    def __init__(self, listening: socket.socket, ended: socket.socket) -> None:
        self._listening, self._ended = listening, ended
        self._children: dict[int, socket.socket] = {}
        self._poll = select.poll()
        for one in (listening.fileno(), ended.fileno(), sys.stdin.fileno()):
            self._poll.register(one, select.POLLIN)

    def serve(self) -> None:
        """Answers connections until standard input ends."""
        while sys.stdin.fileno() not in (found := {number for number, _ in self._poll.poll()}):
            if self._ended.fileno() in found:
                self._ended.recv(4096)
                self._reap()
            for child, connection in self._children.items():
                if connection.fileno() in found:  # the client is gone
                    os.kill(child, signal.SIGKILL)
                    self._poll.unregister(connection)
            if self._listening.fileno() in found:
                self._start(self._listening.accept()[0])

    def _start(self, connection: socket.socket) -> None:
        child = os.fork()
        if child == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for other in (self._listening, self._ended, *self._children.values()):
                other.close()
            run(connection)
        self._children[child] = connection
        self._poll.register(connection, 0)  # its end only: the child reads the request

    def _reap(self) -> None:
        while self._children:
            child, status = os.waitpid(-1, os.WNOHANG)
            if child == 0:
                return
            connection = self._children.pop(child)
            code = os.waitstatus_to_exitcode(status)
            try:
                self._poll.unregister(connection)
                connection.sendall(code.to_bytes(STATUS, "big", signed=True))
            except (OSError, KeyError):  # nobody waits
                pass
            connection.close()


def serve(path: str) -> None:
    """Serves at a socket of this name until standard input ends."""
    ended, wake = socket.socketpair()
    wake.setblocking(False)
    signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen(64)
        print("ready", flush=True)
        Server(listening, ended).serve()


def run(connection: socket.socket) -> NoReturn:
    """Runs one command as the only thing that this process is for."""
    streams = array.array("i")
    head, ancillary, _, _ = connection.recvmsg(LENGTH, socket.CMSG_SPACE(3 * streams.itemsize))
    streams.frombytes(ancillary[0][2])
    request = connection.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL)
    connection.close()
    folder, environment, sys.argv = ast.literal_eval(request.decode("utf-8", "surrogateescape"))
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115 - till the end
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    os._exit(_status(PROGRAMS[sys.argv[0]]))


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
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return found & 255 if isinstance(found, int) else int(found is not None)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        _keep_answers(Path(sys.argv[2]))
    for dialect in _DIALECTS:
        bindings().module(f"dialects.{dialect}")
    # A probe loads what MLIR's ExecutionEngine has of the runtime library, in place of which programs in the children
    # may ask for another release's: a child makes it, and keeps the answer.
    if (probing := os.fork()) == 0:
        with contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(SystemExit):
            require_fit()
        os._exit(0)
    os.waitpid(probing, 0)
    with contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            require_fit()  # the children need not
        except SystemExit:
            sys.exit(said.getvalue())
    gc.collect()
    gc.freeze()  # what the children share is not looked through by each
    serve(sys.argv[1])
    shutil.rmtree(Path(sys.argv[1]).parent, ignore_errors=True)  # whoever started this may have been killed

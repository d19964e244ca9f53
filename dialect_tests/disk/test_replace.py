"""Writing files: whole or not at all, whoever else writes, whatever happens meanwhile."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.processes import python_of_forks
from mlir_sparse.disk import PARTIAL, replacing, write_whole


def left_over(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith(PARTIAL)]


def test_the_mode_is_that_of_the_umask_or_of_the_file_that_was_there(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "new", b"1")
        assert stat.S_IMODE(os.stat(tmp_path / "new").st_mode) == 0o640
        os.chmod(tmp_path / "new", 0o600)
        write_whole(tmp_path / "new", b"2")
        assert stat.S_IMODE(os.stat(tmp_path / "new").st_mode) == 0o600
        ms.write(tmp_path / "a.mtx", np.eye(2))
        assert stat.S_IMODE(os.stat(tmp_path / "a.mtx").st_mode) == 0o640
    finally:
        os.umask(before)


def test_a_private_file_takes_the_place_of_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"other")
    (tmp_path / "a").symlink_to("other")
    before = os.umask(0o002)
    try:
        write_whole(tmp_path / "a", b"1", private=True)
    finally:
        os.umask(before)
    assert not (tmp_path / "a").is_symlink()
    assert stat.S_IMODE(os.stat(tmp_path / "a").st_mode) == 0o600
    assert (tmp_path / "other").read_bytes() == b"other"


def test_links_are_followed_though_they_lead_nowhere_yet(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder/file")
    (tmp_path / "chain").symlink_to(tmp_path / "link")
    write_whole(tmp_path / "chain", b"1")
    assert (tmp_path / "folder" / "file").read_bytes() == b"1"
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "chain").is_symlink()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="symbolic links"):
        write_whole(tmp_path / "loop", b"1")


def test_names_as_long_as_names_can_be(tmp_path: Path) -> None:
    path = tmp_path / f"{'a' * 251}.tns"
    ms.write(path, np.eye(2))
    assert ms.read(path).shape == (2, 2)


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    write_whole(tmp_path / "a", b"old")

    def interrupted() -> None:
        with replacing(tmp_path / "a") as file:
            file.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert (tmp_path / "a").read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


# Each writes some 100 kB, which 50 kB a file do not hold.
BEHIND_A_LIMIT = {
    "a.mtx": "ms.write(sys.argv[1], np.random.default_rng(0).random((100, 100)))",
    "a.ttx": "ms.write(sys.argv[1], np.random.default_rng(0).random((100, 100)))",
    "a.tns.gz": "ms.write(sys.argv[1], np.random.default_rng(0).random((100, 100)))",
    "a": "from mlir_sparse.disk import write_whole; write_whole(sys.argv[1], bytes(100_000))",
}


@pytest.mark.parametrize("name", BEHIND_A_LIMIT)
def test_a_full_disk_leaves_the_old_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"old")
    code = f"""
import resource, sys
import numpy as np, mlir_sparse as ms
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try: {BEHIND_A_LIMIT[name]}
except OSError as error: print(type(error).__name__)
"""
    ran = subprocess.run([python_of_forks(), "-c", code, path], capture_output=True, text=True, check=True)
    assert ran.stdout == "OSError\n"
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == [name]


WRITERS: dict[str, Callable[[Path, int], None]] = {
    "a.mtx": lambda path, number: ms.write(path, np.full((40, 40), float(number))),
    "a.tns": lambda path, number: ms.write(path, np.full((40, 40), float(number))),
    "a": lambda path, number: write_whole(path, bytes([number]) * 100_000),
}


@pytest.mark.parametrize("name", WRITERS)
def test_many_threads_write_one_file(tmp_path: Path, name: str) -> None:
    path, failures = tmp_path / name, []

    def work(number: int) -> None:
        try:
            for _ in range(20):
                WRITERS[name](path, number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert os.listdir(tmp_path) == [name]
    content = set(path.read_bytes()) if name == "a" else set(np.asarray(ms.read(path)).ravel().tolist())
    assert len(content) == 1


def test_a_writer_that_was_killed_is_in_nobodys_way(tmp_path: Path) -> None:
    path = tmp_path / "a.mtx"
    code = "import sys, time; from mlir_sparse.disk import replacing\n"
    code += "with replacing(sys.argv[1]) as file: file.write(b'half'); print(flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    assert len(left_over(tmp_path)) == 1
    ms.write(path, np.eye(2))
    assert ms.read(path).tolist() == [[1, 0], [0, 1]]
    assert len(left_over(tmp_path)) == 1


def test_a_pipe_is_written_to_as_it_is(tmp_path: Path) -> None:
    path, got = tmp_path / "a.tns", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()), daemon=True)
    reader.start()
    ms.write(path, np.eye(2))
    reader.join(30)
    assert got == [b"# shape: 2 2\n1 1 1.0\n2 2 1.0\n"]
    assert stat.S_ISFIFO(os.stat(path).st_mode)


STREAM = "import os, sys; from mlir_sparse.disk import write_whole; write_whole({}, b'1\\n'); os.write(1, b'2\\n')"


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/%d/fd/1"])
def test_standard_output_is_written_to_wherever_it_leads(tmp_path: Path, name: str) -> None:
    code = STREAM.format("sys.argv[1] % os.getpid() if '%' in sys.argv[1] else sys.argv[1]")
    command = [python_of_forks(), "-c", code, name]
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"1\n2\n"
    log = tmp_path / "log"
    log.write_bytes(b"0\n")
    with log.open("ab") as appended:  # as `>> log` does: what was there stays
        subprocess.run(command, stdout=appended, check=True)
    assert log.read_bytes() == b"0\n1\n2\n"
    assert os.listdir(tmp_path) == ["log"]


def test_devices_are_written_to(tmp_path: Path) -> None:
    write_whole("/dev/null", b"1")
    (tmp_path / "a.mtx").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space"):
        ms.write(tmp_path / "a.mtx", np.eye(2))
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path, b"1")

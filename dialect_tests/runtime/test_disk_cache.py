"""The cache of compiled kernels: what is found is what was compiled, and what is broken or not ours is never run."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from collections import OrderedDict
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.conditions import needs_objects
from dialect_tests.processes import python_of_forks
from mlir_sparse._mlir import bindings_stamp
from mlir_sparse._mlir.provider import _stamp
from mlir_sparse.compile.cpu_build import Build
from mlir_sparse.compile.cpu_kernel import Kernel
from mlir_sparse.program import ProgramSteps, read_steps, write_steps
from mlir_sparse.runtime import (
    LoadedObject,
    cache_state,
    disk_cache,
    fetch,
    link_program,
    operand_of,
    package_sources,
    sent_code,
    sources_changed,
    store,
)
from mlir_sparse.runtime import operand_check as arguments

pytestmark = needs_objects
SPMV = "y(i) = A(i,j) * x(j)"
DENSE = np.array([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0], [0.0, 0.0, 5.0]])
X = np.array([1.0, 10.0, 100.0])
Made = tuple[ProgramSteps, LoadedObject]


@pytest.fixture(scope="module")
def made() -> Made:
    """A kernel's steps and machine code, y = A x."""
    kernel = ms.compile(SPMV, A="f64[?,?] CSR", x="f64[?]")
    tensor = ms.tensor(DENSE)
    build = kernel._build_for((tensor.type, arguments.type_of(X)))
    code = build.executable.module.object_file()
    return build.steps, LoadedObject(code, build.steps.functions)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, also while sources are edited, and without what kernels of other tests were sent with."""
    monkeypatch.setattr(sent_code, "_kept", OrderedDict())
    monkeypatch.setenv("MLIR_SPARSE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(package_sources, "_loaded", ("these", 0))
    monkeypatch.setattr(package_sources, "have_changed", lambda: False)
    return tmp_path / "cache"


def computes(found: Made | None) -> bool:
    """Whether what was found is the kernel that was stored."""
    if found is None:
        return False
    steps, machine = found
    tensor = ms.tensor(DENSE)
    operand_of(tensor)  # what the launcher reads
    result = link_program(steps, machine).run({"A": tensor, "x": X}, {"i": 3, "j": 3}, None)
    return bool(np.array_equal(result, DENSE @ X))


def stored(made: Made, key: str = "key") -> None:
    store(key, (), *made, changed=sources_changed())


def entry(folder: Path) -> Path:
    (path,) = folder.glob("*.kernel")
    return path


# across processes

KERNELS: tuple[tuple[str, dict[str, str], dict[str, str]], ...] = (
    (SPMV, {"A": "CSR"}, {}),
    ("C(i,j) = A(i,k) * B(k,j)", {"A": "CSR", "B": "CSR"}, {"out": "CSR"}),
    ("C(i,j) = A(i,j) + B(j,i)", {"A": "CSR", "B": "DCSC"}, {"out": "COO"}),
    ("d(i) = A(i,i) * x(i)", {"A": "CSR"}, {}),
    ("y(i) = A(i,j) * x(j)", {"A": "DIA"}, {}),
    ("y(i) = A(i,j) * x(j)", {"A": "BSR(2, 2)"}, {"semiring": "min_plus"}),
    ("y(i) = argmax(j : A(i,j))", {"A": "CSR"}, {}),
    ("y(i) = max(j : A(i,j)) + exp(x(i))", {"A": "COO"}, {}),
)
PROGRAM = """
import sys
import numpy as np
import mlir_sparse as ms
from dialect_tests.runtime.test_disk_cache import KERNELS, DENSE, X
from mlir_sparse import lower, pipeline, plan
from mlir_sparse.runtime import package_sources

package_sources._loaded, package_sources.have_changed = ("these", 0), lambda: False
def forbidden(*arguments, **named):
    raise AssertionError("not found in the cache")
if sys.argv[1] == "find":
    plan.plan = lower.lower = pipeline.compile_module = pipeline.warm_up = forbidden
for text, storage, options in KERNELS:
    assignment = ms.parse(text)
    values = {n: ms.tensor(DENSE, storage[n]) if n in storage else X for n in assignment.inputs}
    kernel = ms.compile(text, tensors={n: v.type if n in storage else "f64[?]" for n, v in values.items()}, **options)
    for _ in range(2):
        result = kernel(**values)
        print(text, storage, (result.to_numpy() if isinstance(result, ms.SparseTensor) else result).tolist())
    if isinstance(result, ms.SparseTensor):
        structure = kernel.assemble(**values)
        print(kernel.compute(**values, out=structure).to_numpy().tolist())
print([name for name in ("mlir", "torch_mlir", "mlir_finch") if name in sys.modules])
"""


def run(program: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    root = Path(__file__).resolve().parents[2]
    env = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'scripts'}", **environment}
    return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, env=env)


def test_another_process_finds_kernels_and_loads_no_compiler(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    filled = run(PROGRAM, "fill", MLIR_SPARSE_CACHE=str(folder))
    assert filled.returncode == 0, filled.stderr
    assert filled.stdout.count("[20.0, 403.0, 500.0]") >= 2
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    before = sorted(path.name for path in folder.iterdir())
    found = run(PROGRAM, "find", MLIR_SPARSE_CACHE=str(folder))
    assert found.returncode == 0, found.stderr
    assert found.stdout.splitlines()[:-1] == filled.stdout.splitlines()[:-1]
    assert found.stdout.splitlines()[-1] == "[]"
    assert sorted(path.name for path in folder.iterdir()) == before


def _write_and_read(made_by: tuple[str, bytes], seconds: float, index: int) -> None:
    """What each of several processes does: stores and finds kernels, in the same few files."""
    steps = read_steps(made_by[0], ())
    machine = LoadedObject(made_by[1], steps.functions)
    random = np.random.default_rng(index)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        key = f"key {random.integers(4)}"
        if random.random() < 0.5:
            store(key, (), steps, machine)
        else:
            found = fetch(key, ())
            assert found is None or computes(found)


def test_eight_processes_at_once(made: Made, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some of them are killed at any moment; no reader sees half an entry, and nothing is locked afterwards."""
    monkeypatch.setattr(disk_cache, "_MOST_BYTES", 20_000)  # entries are removed as well
    monkeypatch.setattr(disk_cache, "_SELDOM", 3)
    parts = write_steps(made[0], ()), made[1].object_file()
    context = multiprocessing.get_context("fork")
    seconds = (*[600] * 3, *[0.8] * 5)  # the first ones go on until they are killed
    workers = [
        context.Process(target=_write_and_read, args=(parts, *how)) for how in zip(seconds, range(8), strict=True)
    ]
    for worker in workers:
        worker.start()
    for doomed in workers[:3]:
        time.sleep(0.15)
        doomed.kill()
    for worker in workers:
        worker.join(100)
    assert [worker.exitcode for worker in workers] == [-signal.SIGKILL] * 3 + [0] * 5
    stored(made)
    assert computes(fetch("key", ()))


def test_processes_that_compile_the_same_at_once(tmp_path: Path) -> None:
    program = """
import numpy as np
import mlir_sparse as ms
from mlir_sparse.runtime import package_sources
package_sources._loaded, package_sources.have_changed = ("these", 0), lambda: False
print(ms.evaluate("y(i) = 7 * x(i)", x=np.arange(3.0)).tolist())
"""
    command = [python_of_forks(), "-c", program]
    environment = {**os.environ, "MLIR_SPARSE_CACHE": str(tmp_path / "cache")}
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) for _ in range(4)]
    assert [process.communicate()[0] for process in running] == ["[0.0, 7.0, 14.0]\n"] * 4
    assert len(list((tmp_path / "cache").iterdir())) == 1


# broken and foreign files


def test_what_was_stored_is_found(made: Made, folder: Path) -> None:
    assert fetch("key", ()) is None
    assert not folder.exists()
    stored(made)
    assert computes(fetch("key", ()))
    assert fetch("another key", ()) is None
    assert cache_state().startswith(f"{folder}, 1 kernels, 0.0 MB of at most")


def test_encodings_of_the_key_are_not_written(made: Made, folder: Path) -> None:
    known = (ms.tensor(DENSE).encoding, None)
    store("key", known, *made)
    assert b", []]" in entry(folder).read_bytes()  # the table of other encodings
    assert computes(fetch("key", known))
    assert fetch("key", ()) is None  # the table of encodings is shorter than it was


def test_files_that_end_early_are_compiled_anew(made: Made, folder: Path) -> None:
    stored(made)
    path = entry(folder)
    whole = path.read_bytes()
    for length in (0, 1, 7, 8, 40, 51, 52, 53, 200, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        assert fetch("key", ()) is None
    path.write_bytes(whole + b"\0")
    assert fetch("key", ()) is None
    stored(made)
    assert path.read_bytes() == whole
    assert computes(fetch("key", ()))


def test_no_byte_may_change(made: Made, folder: Path) -> None:
    stored(made)
    path = entry(folder)
    whole = path.read_bytes()
    for at in (*range(60), *range(60, len(whole), 61)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x40]) + whole[at + 1 :])
        assert fetch("key", ()) is None


def test_an_entry_of_another_key(made: Made, folder: Path) -> None:
    """A file is taken for what it says that it is, not for its name."""
    stored(made)
    one = entry(folder)
    stored(made, "other")
    (other,) = set(folder.iterdir()) - {one}
    os.replace(other, one)
    assert fetch("key", ()) is None


def test_what_is_no_file(made: Made, folder: Path, tmp_path: Path) -> None:
    stored(made)
    path = entry(folder)
    kept = path.rename(tmp_path / "kept")
    path.symlink_to(kept)
    assert fetch("key", ()) is None
    path.unlink()
    os.mkfifo(path)
    assert fetch("key", ()) is None
    path.unlink()
    with socket.socket(socket.AF_UNIX) as listening:
        at = os.getcwd()
        os.chdir(folder)  # names of sockets are short
        listening.bind(path.name)
        os.chdir(at)
        assert fetch("key", ()) is None
        path.unlink()
    path.mkdir()
    assert fetch("key", ()) is None
    stored(made)  # cannot be: nothing is left behind
    assert [item.name for item in folder.iterdir()] == [path.name]
    path.rmdir()
    stored(made)
    assert computes(fetch("key", ()))


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_files_that_others_may_write(made: Made, folder: Path, mode: int) -> None:
    stored(made)
    entry(folder).chmod(mode)
    assert fetch("key", ()) is None
    stored(made)
    assert computes(fetch("key", ()))


@pytest.mark.parametrize("mode", [0o770, 0o703, 0o777])
def test_folders_that_others_may_write(made: Made, folder: Path, mode: int) -> None:
    stored(made)
    folder.chmod(mode)
    assert fetch("key", ()) is None
    stored(made, "second")
    assert len(list(folder.iterdir())) == 1
    assert cache_state() == f"off: others own {folder}, or may write to it"


def test_other_users(made: Made, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither another user's folder is used, nor another's file in a folder of one's own."""
    stored(made)
    user, path = os.geteuid(), entry(folder)
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    assert fetch("key", ()) is None
    assert cache_state().startswith("off: others own")
    stored(made, "second")
    assert list(folder.iterdir()) == [path]
    monkeypatch.setattr(os, "geteuid", lambda: user)
    if user == 0:
        os.chown(path, 12345, -1)
        assert fetch("key", ()) is None
        stored(made)
    assert computes(fetch("key", ()))


def test_folders_that_cannot_be(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/nowhere/cache")):
        monkeypatch.setenv("MLIR_SPARSE_CACHE", str(place))
        stored(made)
        assert fetch("key", ()) is None
        np.testing.assert_array_equal(ms.evaluate("y(i) = 2 * x(i)", x=X), 2 * X)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_folder_that_is_read_only(made: Made, folder: Path) -> None:
    stored(made)
    folder.chmod(0o500)
    stored(made, "second")
    assert computes(fetch("key", ()))
    folder.chmod(0o700)


def test_a_full_disk(made: Made, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(os, "replace", full)
    stored(made)
    assert list(folder.iterdir()) == []


def test_code_that_does_not_load_is_not_kept(made: Made, folder: Path) -> None:
    class Broken:
        addresses: dict[str, int] = {}  # noqa: RUF012

        def kept_code(self) -> bytes:
            return b"no object"

    store("key", (), made[0], Broken())
    assert not folder.exists()


# size


def test_what_was_not_used_for_longest_goes(made: Made, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(made, "first")
    size = entry(folder).stat().st_size
    monkeypatch.setattr(disk_cache, "_MOST_BYTES", 10 * size + 500)
    monkeypatch.setattr(disk_cache, "_SELDOM", 1)
    paths = {}
    for number in range(9):
        before = set(folder.iterdir())
        stored(made, f"key {number}")
        (paths[number],) = set(folder.iterdir()) - before
        os.utime(paths[number], (0, time.time() - 100_000 + number))
    os.utime(disk_cache._path_of(str(folder), disk_cache._complete("first")), (0, time.time() - 200_000))
    assert computes(fetch("first", ()))  # used now, and the youngest by that
    for name in ("x", "y"):
        stored(made, name)
    left = set(folder.iterdir())
    assert sum(path.stat().st_size for path in left) <= 10 * size + 500
    assert [number for number in paths if paths[number] in left] == [4, 5, 6, 7, 8]
    assert all(computes(fetch(name, ())) for name in ("first", "x", "y"))


def test_what_dead_processes_left_goes_and_other_files_stay(
    made: Made, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(made)
    monkeypatch.setattr(disk_cache, "_SELDOM", 1)
    old, new, other = folder / ".partial-old", folder / ".partial-new", folder / "notes.txt"
    for path in (old, new, other):
        path.write_bytes(b"x")
    for path in (old, other):
        os.utime(path, (0, time.time() - 10_000))
    stored(made, "second")
    assert not old.exists()
    assert new.exists()
    assert other.exists()


# keys


def _build(**changes: Any) -> Build:
    given = {"A": "f64[?,?] CSR", "x": "f64[?]", **changes.pop("types", {})}
    kernel: Kernel = ms.compile(changes.pop("text", SPMV), tensors=given, **changes)
    return Build(kernel.spec, schedule=kernel.schedule)


def test_keys_tell_kernels_apart() -> None:
    builds = (
        _build(),
        _build(text="y(i) = A(i,j) * x(j) * 2"),
        _build(types={"A": "f64[?,?] CSC"}),
        _build(types={"A": "f64[8,?] CSR"}),
        _build(types={"A": "f32[?,?] CSR", "x": "f32[?]"}),
        _build(types={"A": str(ms.tensor(DENSE, ms.encoding("CSR", pos_width=64)).type)}),
        _build(types={"A": str(ms.tensor(DENSE, ms.encoding("CSR", crd_width=64)).type)}),
        _build(semiring="min_plus"),
        _build(semiring="max_plus"),
        _build(schedule="lanes=0"),
        _build(schedule="order=i,j"),
        _build(out="dense"),
    )
    assert len({build.key for build in builds}) == len(builds) - 1  # the last is the first in other words
    assert _build(text="y( i )=A(i,j)*x(j)").key == builds[0].key


def test_every_field_of_a_build_is_in_its_key() -> None:
    build = _build()
    for field in fields(build):
        assert field.repr, field.name
        assert f"{field.name}={getattr(build, field.name)!r}" in build.key
    for name in type(build.schedule).__slots__:
        assert f"{name}=" in repr(build.schedule)
    assert replace(build, densified=True).key != build.key


def test_keys_tell_machines_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    build = _build()
    before = build.key
    monkeypatch.setenv("MLIR_SPARSE_VECTOR_LANES", "4")
    assert build.key != before
    monkeypatch.delenv("MLIR_SPARSE_VECTOR_LANES")
    monkeypatch.setattr("mlir_sparse.pipeline.machine_key._processor", lambda: "another")
    assert build.key != before


def test_other_bindings_are_another_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    libraries = tmp_path / "own_mlir" / "_mlir_libs"
    libraries.mkdir(parents=True)
    (libraries.parent / "__init__.py").write_text("raise AssertionError('imported')")
    library = libraries / "libMLIR.so"
    library.write_bytes(b"1")
    monkeypatch.syspath_prepend(tmp_path)
    stamps = [bindings_stamp()]
    monkeypatch.setenv("MLIR_SPARSE_BINDINGS", "own_mlir.python")
    stamps.append(bindings_stamp())
    _stamp.cache_clear()
    library.write_bytes(b"12")
    stamps.append(bindings_stamp())
    _stamp.cache_clear()
    assert len(set(stamps)) == 3


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "package" / "below").mkdir(parents=True)
    for name in ("one.py", "below/two.py", "notes.txt"):
        (tmp_path / "package" / name).write_text("1\n")
    return tmp_path / "package"


def test_edited_sources_are_others(tree: Path) -> None:
    stamps = [package_sources.look(str(tree))[0]]
    (tree / "notes.txt").write_text("no source\n")
    assert package_sources.look(str(tree))[0] == stamps[0]
    (tree / "below" / "two.py").write_text("12\n")
    stamps.append(package_sources.look(str(tree))[0])
    (tree / "three.py").write_text("")
    stamps.append(package_sources.look(str(tree))[0])
    os.utime(tree / "one.py", (1, 1))
    stamps.append(package_sources.look(str(tree))[0])
    assert len(set(stamps)) == 4


def test_sources_edited_while_they_were_loaded(made: Made, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(made)
    monkeypatch.setattr(
        package_sources, "have_changed", lambda: True
    )  # since: what runs here is known, the compiler is not
    stored(made, "second")
    assert computes(fetch("key", ()))
    assert fetch("second", ()) is None
    monkeypatch.setattr(package_sources, "_loaded", ("these", time.time_ns()))  # before
    assert fetch("key", ()) is None
    assert cache_state().startswith("off: sources of the package changed")
    monkeypatch.setattr(package_sources, "_loaded", ("those", 0))
    assert fetch("key", ()) is None


# settings


def test_where_the_folder_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLIR_SPARSE_CACHE", "off")
    assert disk_cache.cache_folder() is None
    assert cache_state() == "off"
    monkeypatch.setenv("MLIR_SPARSE_CACHE", "")
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert disk_cache.cache_folder() == "/home/someone/.cache/mlir_sparse"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert disk_cache.cache_folder() == "/home/someone/.cache/mlir_sparse"
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert disk_cache.cache_folder() == "/caches/mlir_sparse"


ELSEWHERE = """
import collections, os, types
from mlir_sparse import _native
from mlir_sparse.pipeline import machine_key
machine = collections.namedtuple("uname", "sysname nodename release version machine")
system, name, platform = {}
os.uname = lambda: machine(system, "", "", "", name)
machine_key.sys = types.SimpleNamespace(platform=platform)
machine_key.cpu_info = lambda: {{}}  # there is no /proc/cpuinfo, or one with other fields
machine_key._processor.cache_clear()
assert machine_key.host_text().startswith(f"{{platform}} {{name}}\\n")
_native.loads_objects = False
"""


@pytest.mark.parametrize("where", [("Darwin", "arm64", "darwin"), ("Linux", "riscv64", "linux")])
def test_where_objects_are_not_loaded_modules_are_kept(tmp_path: Path, where: tuple[str, ...]) -> None:
    """A later process needs MLIR's engine for them, but no passes and no process of the compiler's."""
    program = ELSEWHERE.format(where) + PROGRAM.replace("in KERNELS:", "in KERNELS[:2]:")
    ends = [run(program, what, MLIR_SPARSE_CACHE=str(tmp_path / "cache")) for what in ("fill", "find")]
    assert [end.returncode for end in ends] == [0, 0], [end.stderr for end in ends]
    filled, found = (end.stdout.splitlines()[:-1] for end in ends)
    assert found == filled
    assert len(filled) == 5
    kernels = [path.read_bytes() for path in (tmp_path / "cache").glob("*.kernel")]
    assert len(kernels) >= 2
    assert all(b"ML\xefR" in kernel and b"\x7fELF" not in kernel for kernel in kernels)


def test_kernels_that_are_found_say_the_same_of_their_loops(folder: Path) -> None:
    def called() -> Kernel:
        kernel = Kernel(ms.compile(SPMV, A="f64[?,?] CSR", x="f64[?]").spec)
        np.testing.assert_array_equal(kernel(ms.tensor(DENSE), X), DENSE @ X)
        return kernel

    compiled, found = called(), called()
    assert len(list(folder.iterdir())) == 1
    assert found.remarks() == compiled.remarks()
    assert "fuse-fill" in {remark.strategy for remark in found.remarks() if remark.applied}

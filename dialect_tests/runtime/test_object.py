"""Object files loaded natively: what is none, or is broken, is refused before anything of it is mapped or run."""

from __future__ import annotations

import platform
import random
import struct

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.conditions import needs_objects
from mlir_sparse import _native
from mlir_sparse.runtime import LoadedObject

pytestmark = needs_objects
SYMBOL = "_mlir__mlir_ciface_kernel"


@pytest.fixture(scope="module")
def code() -> bytes:
    """The object of a kernel with constants, calls of libm and of the C library."""
    kernel = ms.compile("y(i) = 2.5 * A(i,j) * sinh(x(j))", A="f64[?,?] CSR", x="f64[?]")
    kernel(ms.tensor(np.eye(2)), np.ones(2))
    (build,) = kernel._builds.values()
    return build.executable.module.object_file()


def test_addresses_are_those_of_the_functions_asked_for(code: bytes) -> None:
    found = _native.Code(code, [SYMBOL, "_mlir_ciface_kernel"]).addresses
    assert sorted(found) == [SYMBOL, "_mlir_ciface_kernel"]
    assert len(set(found.values())) == 2


def test_code_is_never_writeable(code: bytes) -> None:
    loaded = LoadedObject(code, ["kernel"])
    address = loaded.addresses["kernel"]
    with open("/proc/self/maps") as maps:
        spans = [(line.split()[0].split("-"), line.split()[1]) for line in maps]
    rights = [kind for (low, high), kind in spans if int(low, 16) <= address < int(high, 16)]
    assert rights == ["r-xp"]


@pytest.mark.parametrize("name", ["no_such_function", "", "memset"])
def test_functions_that_are_not_there(code: bytes, name: str) -> None:
    with pytest.raises(ValueError, match="expected an object file, but got one without the function"):
        _native.Code(code, [name])


def test_every_shorter_file_is_refused(code: bytes) -> None:
    for length in (0, 1, 4, 16, 63, 64, 65, len(code) // 2, len(code) - 1):
        with pytest.raises(ValueError, match="expected an object file, but got"):
            _native.Code(code[:length], [SYMBOL])


@pytest.mark.parametrize(
    ("at", "content", "message"),
    [
        (0, b"\x7fFLE", "no ELF file"),
        (4, b"\x01", "another word size"),
        (5, b"\x02", "another word size or byte order"),
        (16, struct.pack("<H", 3), "another kind or machine"),
        (18, struct.pack("<H", 62 if platform.machine() == "aarch64" else 183), "another kind or machine"),
        (40, struct.pack("<Q", 1 << 63), "ends early"),
        (40, struct.pack("<Q", (1 << 64) - 8), "ends early"),
        (58, struct.pack("<H", 40), "broken table of sections"),
        (60, struct.pack("<H", 0), "broken table of sections"),
        (60, struct.pack("<H", 0xFFFF), "broken table of sections"),
    ],
)
def test_headers_are_checked(code: bytes, at: int, content: bytes, message: str) -> None:
    changed = code[:at] + content + code[at + len(content) :]
    with pytest.raises(ValueError, match=message):
        _native.Code(changed, [SYMBOL])


def test_calls_of_what_no_library_has(code: bytes) -> None:
    assert code.count(b"\0sinh\0") == 1
    with pytest.raises(ValueError, match="calls sinq, which no library has"):
        _native.Code(code.replace(b"\0sinh\0", b"\0sinq\0"), [SYMBOL])


def test_broken_files_never_take_the_process_with_them(code: bytes) -> None:
    """Every file of the same bytes but some is refused or loaded: what is loaded here is not run."""
    generator, accepted = random.Random(5), 0
    for _ in range(4000):
        changed = bytearray(code)
        for _ in range(generator.choice((1, 1, 2, 8))):
            at = generator.randrange(len(changed))
            changed[at] = generator.choice((0, 1, 0x7F, 0x80, 0xFF, generator.randrange(256)))
        try:
            _native.Code(bytes(changed), [SYMBOL])
            accepted += 1
        except (ValueError, RuntimeError, MemoryError):
            pass
    assert 0 < accepted < 4000


def test_tables_of_headers_are_broken_in_every_word(code: bytes) -> None:
    """Each word of the tables that say where things lie takes the values that arithmetic goes wrong at."""
    (sections,) = struct.unpack_from("<Q", code, 40)
    for at in (*range(0, 64, 4), *range(sections, len(code) - 7, 8)):
        for word in (0, 1, 7, (1 << 31) - 1, 1 << 32, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 1):
            changed = bytearray(code)
            struct.pack_into("<Q", changed, at, word)
            try:
                _native.Code(bytes(changed), [SYMBOL])
            except (ValueError, RuntimeError, MemoryError):
                continue

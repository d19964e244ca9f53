"""Text of tensors: each number against Python's, each file against SciPy's reader and a strict one in Python."""

from __future__ import annotations

import gzip
import io
import math
import os
import random
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import mlir_sparse as ms
from dialect_tests import file_cases
from dialect_tests.crossing import seeds
from dialect_tests.processes import python_of_forks
from mlir_sparse._native import Limits
from mlir_sparse.errors import FileFormatError, SparseError, TooLargeError
from mlir_sparse.tensor import read, write
from mlir_sparse.tensor.files import text_rows
from mlir_sparse.tensor.files import text_stream as streams
from mlir_sparse.tensor.files.read_write import _read_entries

MATRIX = "%%MatrixMarket matrix coordinate {} {}\n"


def put(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode("latin-1") if isinstance(text, str) else text)
    return path


def one(folder: Path, field: str, text: str) -> complex | float | int:
    """Returns the value of a file of one entry, as text says it."""
    made = read(put(folder, "a.mtx", f"{MATRIX.format(field, 'general')}1 1 1\n1 1 {text}\n"))
    (value,) = made.to_coo()[1].tolist()
    return value


REALS = [
    "0",
    "-0",
    "+5",
    "007",
    "1.5",
    ".5",
    "5.",
    "-.5e1",
    "5.E3",
    "1e5",
    "1E+05",
    "1e-05",
    "1e400",
    "-1e400",
    "1e-400",
]
REALS += [
    "4.9e-324",
    "2.4703282292062327e-324",
    "2.4703282292062328e-324",
    "1.7976931348623157e308",
    "0e99999999999999",
]
REALS += [
    "1.7976931348623159e308",
    "9007199254740993",
    "9007199254740992.5",
    "123456789012345678901234567890",
    "1e22",
    "1e23",
]
REALS += ["0." + "0" * 5000 + "1e5000", "1" + "0" * 5000 + "e-5000", "0" * 5000 + "7", "3" * 5000, "1e" + "9" * 5000]
REALS += [
    "1e-" + "9" * 5000,
    "0.00000000000000000000001234567890123456789",
    "inf",
    "-INF",
    "+Infinity",
    "8.5e-1" + " \t",
]


@pytest.mark.parametrize("text", REALS)
def test_a_number_is_what_python_takes_it_for(tmp_path: Path, text: str) -> None:
    value = one(tmp_path, "real", text)
    assert (value, math.copysign(1, value)) == (float(text), math.copysign(1, float(text)))
    assert one(tmp_path, "complex", f"{text} {text}") == complex(float(text), float(text))


def test_special_numbers(tmp_path: Path) -> None:
    assert math.isnan(one(tmp_path, "real", "NaN"))
    assert one(tmp_path, "real", "1.5D3") == one(tmp_path, "double", "15d+02") == 1500
    assert one(tmp_path, "real", "-1.7976931348623157D0308") == -1.7976931348623157e308
    assert one(tmp_path, "pattern", "% nothing") == 1


def test_random_numbers_are_rounded_as_python_rounds(tmp_path: Path) -> None:
    draw = random.Random(7)
    texts = [repr(draw.uniform(-1, 1) * 10.0 ** draw.randint(-320, 308)) for _ in range(3000)]
    for _ in range(6000):
        whole = "".join(draw.choices("0123456789", k=draw.randint(1, 25)))
        part = "".join(draw.choices("0123456789", k=draw.randint(0, 25)))
        exponent = f"e{draw.randint(-340, 320)}" if draw.random() < 0.7 else ""
        texts.append(f"{draw.choice(['', '-', '+'])}{whole}.{part}{exponent}")
    for _ in range(1000):  # halfway between two doubles, and next to it
        number = draw.getrandbits(53) | 1 << 52
        texts += [
            f"{2 * number + 1}{'0' * draw.randint(0, 12)}",
            f"{2 * number + 1}.{'0' * 30}1",
            f"{2 * number + 1}e3",
        ]
    rows = "".join(f"{n} {text}\n" for n, text in enumerate(texts, 1))
    values = read(put(tmp_path, "a.tns", rows), "COO").to_coo()[1]
    expected = np.array([float(text) for text in texts])
    assert np.array_equal(values.view(np.int64), expected.view(np.int64))


NO_REALS = [
    "3,5",
    "1.5x",
    "0x10",
    "1.5 7",
    "1e",
    "1e+",
    ".",
    "+",
    "-",
    "--1",
    "+-1",
    "1.2.3",
    "1_000",
    "1.5\x00",
    "\x00",
]
NO_REALS += [
    "1e5.",
    "e5",
    "in",
    "infin",
    "nanx",
    "nan(1)",
    "1f",
    "1.5L",
    "1 %\x00 2"[:1] + "\x01",
    "١",
    "1/2",
    "1e 5",
    "",
]


@pytest.mark.parametrize("text", NO_REALS)
def test_what_is_no_number_is_refused_with_its_line(tmp_path: Path, text: str) -> None:
    text = text.encode().decode("latin-1")
    with pytest.raises(FileFormatError, match=r"a\.mtx:3: expected .*, but got "):
        one(tmp_path, "real", text)
    with pytest.raises(FileFormatError, match=r"a\.tns:2: expected .*, but got "):
        read(put(tmp_path, "a.tns", f"1 1 1\n1 1 {text}\n"))


@pytest.mark.parametrize("value", [0, 7, -7, 2**63 - 1, -(2**63), 10**18, -(10**18)])
@pytest.mark.parametrize("form", ["{}", "{:+}", "{:030}"])
def test_integers_are_exact(tmp_path: Path, value: int, form: str) -> None:
    assert one(tmp_path, "integer", form.format(value)) == value


@pytest.mark.parametrize("value", [0, 7, 10**18, 2**63 - 1, 2**63, 10**19 - 1, 10**19, 2**64 - 1])
@pytest.mark.parametrize("form", ["{}", "{:+}", "{:030}"])
def test_unsigned_integers_are_exact(tmp_path: Path, value: int, form: str) -> None:
    assert one(tmp_path, "unsigned-integer", form.format(value)) == value


@pytest.mark.parametrize("text", ["-1", "-007", str(2**64), str(2**64 + 5), "2" + "0" * 19, "9" * 20, "1" + "0" * 40])
def test_unsigned_integers_out_of_range_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(FileFormatError, match=r"a\.mtx:3: expected an integer from 0 to 2\^64 - 1"):
        one(tmp_path, "unsigned-integer", text)


@pytest.mark.parametrize("name", ["a.mtx", "a.ttx"])
def test_unsigned_integers_are_written_as_such(tmp_path: Path, name: str) -> None:
    for bits in (8, 16, 32, 64):
        values = np.array([[0, 2**bits - 1], [2 ** (bits - 1), 1]], f"u{bits // 8}")
        for given in (ms.tensor(values, "CSR"), values):
            write(tmp_path / name, given)
            found = np.asarray(read(tmp_path / name))
            assert found.dtype == np.uint64
            assert np.array_equal(found, values)
    if name == "a.mtx":
        assert np.array_equal(scipy.io.mmread(tmp_path / name), values)  # the last, an array


@pytest.mark.parametrize(
    "text", [str(2**63), str(-(2**63) - 1), str(2**64), str(2**64 + 5), "9" * 5000, "-" + "9" * 20]
)
def test_integers_out_of_range_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(FileFormatError, match=r"a\.mtx:3: expected an integer from -2\^63 to 2\^63 - 1") as caught:
        one(tmp_path, "integer", text)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "text", ["1.5", "1e3", "1.", "inf", "nan", "0x10", "1 2", "5,", "2147483648.0", "9" * 30 + ".5"]
)
def test_what_is_no_integer_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(FileFormatError, match=r"a\.mtx:3: expected "):
        one(tmp_path, "integer", text)


@pytest.mark.parametrize(
    "text",
    ["0", "-1", "4", "2147483649", "4294967297", str(2**63), str(2**64 + 1), "9" * 5000, "1.0", "1e0", "x", "1\x00"],
)
def test_coordinates_out_of_range_are_refused(tmp_path: Path, text: str) -> None:
    for body in (f"{text} 1 5", f"1 {text} 5"):
        for name, head in (("a.mtx", MATRIX.format("real", "general")), ("a.ttx", MATRIX.format("real", "general"))):
            with pytest.raises(FileFormatError, match=rf"{name}:3: expected (a coordinate from 1 to 3|an integer)"):
                read(put(tmp_path, name, f"{head}3 3 1\n{body}\n"))


def test_large_extents_and_coordinates(tmp_path: Path) -> None:
    most = 2**63 - 1
    made = read(
        put(tmp_path, "a.mtx", f"{MATRIX.format('real', 'general')}{most} 4294967296 1\n{most} 4294967296 2\n"), "COO"
    )
    assert [int(dim[0]) for dim in made.to_coo()[0]] == [most - 1, 2**32 - 1]
    assert read(put(tmp_path, "a.tns", f"{most} 1 2.5\n"), "COO").shape == (most, 1)


PIECES = ["1 1 5", "2 3 -7.25e1", " 3\t2  0 ", "3 3 1 % said", "%", "  % 9 9 9", "", " \t", "\r", "1 2 4\r"]


@pytest.mark.parametrize("seed", range(20))
def test_blanks_and_comments_may_stand_anywhere(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    lines = draw.choices(PIECES, k=12)
    entries = [line.split("%")[0].split() for line in lines]
    entries = [words for words in entries if words]
    expected = np.zeros((3, 3))
    for i, j, value in entries:
        expected[int(i) - 1, int(j) - 1] += float(value)
    end = draw.choice(["", "\n", "\r\n", "\n\n\n"])
    text = f"{MATRIX.format('real', 'general')}\n% c\n\t3 3 {len(entries)} \r\n" + "\n".join(lines) + end
    for name, data in (("a.mtx", text.encode()), ("a.mtx.gz", gzip.compress(text.encode()))):
        assert np.array_equal(read(put(tmp_path, name, data)).to_numpy(), expected)


@pytest.mark.parametrize("field", ["real", "double", "integer", "unsigned-integer", "complex", "pattern"])
@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric", "hermitian"])
def test_files_are_what_scipy_reads(tmp_path: Path, field: str, symmetry: str) -> None:
    if (field, symmetry) == ("unsigned-integer", "skew-symmetric"):
        pytest.skip("SciPy fails on it")
    draw = random.Random(f"{field} {symmetry}")
    size, count = 9, 40

    def value() -> str:
        if field == "pattern":
            return ""
        if "integer" in field:
            return str(draw.randint(0 if "unsigned" in field else -99, 99))
        return " ".join(repr(draw.gauss(0, 1e3)) for _ in range(2 if field == "complex" else 1))

    lines = [
        f"{draw.randint(1, size)} {draw.randint(1, size)} {value()}" for _ in range(count)
    ]  # on both sides, repeated
    text = f"{MATRIX.format(field, symmetry)}%c\n{size} {size} {count}\n" + "\n".join(lines) + "\n"
    expected = scipy.io.mmread(io.BytesIO(text.encode())).toarray()
    assert np.allclose(read(put(tmp_path, "a.mtx", text)).to_numpy(), expected, rtol=1e-15, atol=0)
    if field == "pattern":
        return
    half = [(i, j) for j in range(size) for i in range(size) if symmetry == "general" or i >= j]
    half = [(i, j) for i, j in half if symmetry != "skew-symmetric" or i != j]
    body = "\n".join(value() for _ in half)
    text = f"%%MatrixMarket matrix array {field} {symmetry}\n{size} {size}\n{body}\n"
    expected = scipy.io.mmread(io.BytesIO(text.encode()))
    assert np.array_equal(read(put(tmp_path, "b.mtx", text)), expected)


def test_what_is_written_is_what_scipy_reads(tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    values = draw.standard_normal(3000) * 10.0 ** draw.integers(-300, 300, 3000)
    values[:8] = [0.0, -0.0, 5e-324, 1.7976931348623157e308, np.inf, -np.inf, np.nan, 1e22]
    matrix = sp.coo_array((values, (np.arange(3000), draw.integers(0, 50, 3000))), shape=(3000, 50))
    for made in (matrix, matrix.astype(np.complex128) * (1 + 0.5j), (matrix * 0).astype(np.int64)):
        write(tmp_path / "a.mtx", ms.tensor(made, "COO"))
        back = scipy.io.mmread(tmp_path / "a.mtx").tocsr()
        again = read(tmp_path / "a.mtx")
        assert np.array_equal(back.toarray(), made.toarray(), equal_nan=made.dtype.kind != "i")
        assert np.array_equal(again.to_numpy(), made.toarray(), equal_nan=made.dtype.kind != "i")
    narrow = draw.standard_normal(500).astype(np.float32)
    write(tmp_path / "f.ttx", narrow)
    assert all(len(line) < 18 for line in (tmp_path / "f.ttx").read_text().splitlines()[3:])
    assert np.array_equal(read(tmp_path / "f.ttx").astype(np.float32), narrow)


def _long_file(draw: random.Random, count: int) -> tuple[list[str], list[tuple[int, int, float]]]:
    lines, entries = [], []
    while len(entries) < count:
        kind = draw.random()
        if kind < 0.02:
            lines.append(draw.choice(["", "% a comment that is longer than an entry", "\t", " %"]))
            continue
        entry = (draw.randint(1, 5000), draw.randint(1, 5000), draw.choice([0.5, 1e-3, 17.0, draw.random()]))
        entries.append(entry)
        lines.append(" ".join(map(str, entry)))
    return lines, entries


@pytest.fixture(scope="module")
def long_file() -> tuple[list[str], list[tuple[int, int, float]]]:
    return _long_file(random.Random(3), 120_000)


@pytest.fixture(scope="module")
def long_files(
    long_file: Any, tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[Path], list[np.ndarray[Any, Any]]]:
    """Returns files of the same entries, and their columns."""
    folder, (lines, entries) = tmp_path_factory.mktemp("long"), long_file
    text = f"{MATRIX.format('real', 'general')}5000 5000 {len(entries)}\n" + "\n".join(lines)
    paths = [put(folder, "a.mtx", text), put(folder, "a.tns", "\n".join(lines).replace("%", "#"))]
    paths.append(put(folder, "a.mtx.gz", gzip.compress(text.encode(), 1)))
    return paths, [np.array(column) for column in zip(*entries, strict=True)]


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("block", [1 << 22, 100_003])
def test_long_files_on_several_threads(
    monkeypatch: pytest.MonkeyPatch, long_files: Any, threads: int, block: int
) -> None:
    monkeypatch.setattr(streams, "_BLOCK", block)
    paths, expected = long_files
    with Limits(threads):
        for path in paths:
            read: list[float] = []
            found = _read_entries(str(path), None, None, read.append)
            assert read == sorted(read)
            assert all(0 <= share <= 1 for share in read)
            for got, wanted in zip([*(dim + 1 for dim in found.dims), found.values], expected, strict=True):
                assert np.array_equal(got, wanted)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_the_line_of_a_mistake_in_a_long_file(tmp_path: Path, long_file: object, threads: int, seed: int) -> None:
    lines, entries = list(long_file[0]), long_file[1]  # type: ignore[index]
    draw = random.Random(seed)
    at = draw.randrange(len(lines))
    lines[at] = draw.choice(["1 1 1x", "0 1 1", "1 1", "5001 1 1", "1 1 1 1"])
    lines[min(at + 1 + draw.randrange(5000), len(lines) - 1)] = "another"
    text = f"{MATRIX.format('real', 'general')}5000 5000 {len(entries)}\n" + "\n".join(lines)
    with Limits(threads), pytest.raises(FileFormatError, match=rf"a\.mtx:{at + 3}: "):
        read(put(tmp_path, "a.mtx", text))


def test_too_many_entries_are_refused_where_they_begin(tmp_path: Path, long_file: object) -> None:
    lines, entries = long_file  # type: ignore[misc]
    text = f"{MATRIX.format('real', 'general')}5000 5000 {len(entries) - 500}\n" + "\n".join(lines)
    numbers = [number for number, line in enumerate(lines, 3) if line.partition("%")[0].strip()]
    number = numbers[len(entries) - 500]
    with Limits(2), pytest.raises(FileFormatError, match=rf"a\.mtx:{number}: .*longer than it says"):
        read(put(tmp_path, "a.mtx", text))


def test_a_line_longer_than_a_block_is_refused(tmp_path: Path) -> None:
    path = put(tmp_path, "a.tns.gz", gzip.compress(b"1 1 1\n" + b"1 " * (3 << 20)))
    with pytest.raises(FileFormatError, match=r"a\.tns\.gz:2: expected lines shorter than 4194304 bytes"):
        read(path)
    with pytest.raises(FileFormatError, match=r"a\.mtx:1: expected lines shorter"):
        read(put(tmp_path, "a.mtx", b" " * (5 << 20)))


DEADLY = [
    b"%%MatrixMarket matrix coordinate integer symmetric\n4 4 4\n1 1 1  1e400 1 -2\n3 1 4 \x00\n4 4 )\n3 1 4\n",
    b"%%MatrixMarket matrix coordinate real symmetric\n4 4 4\n1 1 1",
    b"%%MatrixMarket matrix coordinate pattern symmetric\n4 4 2\n1\n",
    b"%%MatrixMarket matrix array real general\n0 9223372036854775807\n",
    b"%%MatrixMarket matrix array real symmetric\n4000000000 4000000000\n1\n",
    b"%%MatrixMarket matrix coordinate real general\n2 2 9223372036854775807\n1 1 1\n",
]


def test_no_file_ends_the_process(tmp_path: Path) -> None:
    code = """
import sys, mlir_sparse as ms
for path in sys.argv[1:]:
    try: print(ms.read(path).shape)
    except ms.SparseError: print('refused')
"""
    paths = [put(tmp_path, f"{number}.mtx", data) for number, data in enumerate(DEADLY)]
    ran = subprocess.run([python_of_forks(), "-c", code, *paths], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "refused\n" * len(DEADLY)), ran.stderr


def _peak_of_reading(path: Path) -> tuple[str, int]:
    """Returns what reading a file in a process of its own says, and how many bytes the process took at most."""
    code = (
        "import resource, sys, mlir_sparse as ms\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try: print(type(ms.read(sys.argv[1], 'COO')).__name__)\n"
        "except ms.SparseError as error: print(type(error).__name__)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    ran = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    said, kilobytes = ran.stdout.split()
    return said, int(kilobytes) * 1024


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux")
def test_a_bomb_takes_no_memory(tmp_path: Path) -> None:
    head = MATRIX.format("real", "general").encode()
    blank = put(tmp_path, "a.mtx.gz", gzip.compress(head + b"5 5 1\n" + b"\n" * (60 << 20) + b"1 1 1\n", 1))
    said, peak = _peak_of_reading(blank)
    assert said == "SparseTensor"
    assert peak < 40 << 20
    rows = put(tmp_path, "b.mtx.gz", gzip.compress(head + b"5 5 99\n" + b"1 1 1\n" * (10 << 20), 1))
    said, peak = _peak_of_reading(rows)
    assert said == "FileFormatError"
    assert peak < 40 << 20


def test_entries_that_do_not_fit_are_refused_before_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_rows, "available_bytes", lambda: 2 << 20)
    rows = b"1 1 1\n" * 100_000  # 24 bytes each in memory
    for name, data in (("a.tns", rows), ("a.tns.gz", gzip.compress(rows))):
        with pytest.raises(
            TooLargeError, match=r"expected entries that fit in 1 MiB, half of the memory available, but"
        ):
            read(put(tmp_path, name, data))
    head = MATRIX.format("real", "general").encode()
    # Refused by what the head says: the lines, which are wrong, are not looked at.
    announced = put(tmp_path, "a.mtx.gz", gzip.compress(head + b"5 5 90000\n" + b"x" * 1_000_000))
    with pytest.raises(TooLargeError, match=r"but got 90000 entries, 1\.37 MiB"):
        read(announced)


@pytest.mark.parametrize("name", ["a.mtx", "a.tns"])
def test_a_pipe_is_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    os.mkfifo(path)
    text = f"{MATRIX.format('real', 'general')}2 2 1\n2 2 7\n" if name == "a.mtx" else "2 2 7\n"
    writer = threading.Thread(target=path.write_text, args=(text,), daemon=True)
    writer.start()
    assert read(path).to_numpy().tolist() == [[0, 0], [0, 7]]
    writer.join()


EXTENDED = "# extended FROSTT format\n3 2\n2 3 4\n1 1 3 3.5\n2 3 4 -1\n"


@pytest.mark.parametrize("comment", ["# extended FROSTT format\n", "; extended FROSTT format\n", "", "# c\n\n#\n"])
@pytest.mark.parametrize("blank", ["", "\n# between\n"])
def test_extended_frostt(tmp_path: Path, comment: str, blank: str) -> None:
    made = read(put(tmp_path, "a.tns", f"{comment}3 2\n{blank}2 3 4\n{blank}1 1 3 3.5\n2 3 4 -1\n"))
    assert made.shape == (2, 3, 4)
    assert made.to_numpy()[0, 0, 2] == 3.5
    assert read(put(tmp_path, "a.tns", f"{comment}1 2\n9\n4 7\n5 8\n")).to_numpy().tolist() == [
        0,
        0,
        0,
        7,
        8,
        0,
        0,
        0,
        0,
    ]
    assert read(put(tmp_path, "a.tns", f"{comment}2 1\n5 6\n4 3 7\n")).shape == (5, 6)
    assert read(put(tmp_path, "a.tns", f"{comment}3 0\n5 6 7\n")).shape == (5, 6, 7)


def test_plain_frostt_is_not_taken_for_the_extension(tmp_path: Path) -> None:
    assert read(put(tmp_path, "a.tns", "3 17\n2 3\n4 5\n")).to_numpy().tolist() == [0, 3, 17, 5]
    assert read(put(tmp_path, "a.tns", "2 17\n5 6\n")).to_numpy().tolist() == [0, 17, 0, 0, 6]
    assert read(put(tmp_path, "a.tns", "1 2 3\n1 2 4\n1 1 5\n")).to_numpy().tolist() == [[5, 7]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3 3\n2 3 4\n1 1 3 3.5\n2 3 4 -1\n", r"expected 3 entries, .*, but got 2: the file is truncated"),
        ("3 1\n2 3 4\n1 1 3 3.5\n2 3 4 -1\n", r"a.tns:4: expected 1 entries, .*, but got another"),
        ("3 1\n2 3 4\n1 4 3 3.5\n", r"a.tns:3: expected a coordinate from 1 to 3 in dimension 1, but got 4"),
        ("3 5\n2 3 4\n", r"expected 5 entries"),
        ("# extended FROSTT format\n3\n", r"a.tns:2: expected two whole numbers, the rank and the number of entries"),
        (
            "# extended FROSTT format\n3 1\n2 3\n1 1 1 1\n",
            r"a.tns:3: expected 3 extents, each below 2\^63, but got '2 3'",
        ),
        ("# extended FROSTT format\n3 1\n", r"a.tns:2: expected 3 extents after it, but got the end"),
        ("# extended FROSTT format\n2 1\n9 99999999999999999999\n", r"a.tns:3: expected 2 extents, each below 2\^63"),
    ],
)
def test_broken_extended_frostt(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        read(put(tmp_path, "a.tns", text))


def test_messages_stop(tmp_path: Path) -> None:
    for name, text in (
        ("a.mtx", "%%MatrixMarket " + "x" * 100_000),
        ("a.mtx", MATRIX.format("real", "general") + "9" * 100_000 + " 1 1\n"),
        ("a.mtx", MATRIX.format("real", "general") + "1 1 1\n1 1 " + "z" * 100_000),
        ("a.mtx", "\xff" * 100_000),
        ("a.tns", "1 1 1\n" + "1 " * 100_000),
        ("a.txt", "sptensor\n" + "y" * 100_000),
        ("a.tns", "# shape: " + "9" * 5000 + " 2\n1 1\x00\n"),
    ):
        with pytest.raises(SparseError) as caught:
            read(put(tmp_path, name, text))
        assert len(str(caught.value)) < 1500


@pytest.mark.parametrize("seed", seeds(3))
def test_damaged_files_against_the_strict_reader(seed: int) -> None:
    draw, read_both = random.Random(seed), 0
    for _ in range(200):
        try:
            file_cases.run(file_cases.drawn(draw))
            read_both += 1
        except SparseError:
            pass
    assert 20 < read_both < 180


def test_whole_files_against_the_strict_reader() -> None:
    for name, texts in file_cases.WHOLE.items():
        for text in texts:
            for end in ("", "\n", "\r\n"):
                file_cases.run(file_cases.Case(name, text.replace("\n", end or "\n").encode()))
                file_cases.run(file_cases.Case(f"{name}.gz", gzip.compress(text.encode())))


def test_a_reader_that_reads_otherwise_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    case = file_cases.Case("a.tns", b"1 1 2.5\n")
    monkeypatch.setattr(file_cases, "read", lambda *_: ms.tensor([[2.0]], "COO"))
    with pytest.raises(AssertionError):
        file_cases.run(case)
    with pytest.raises(AssertionError, match="expected a refusal"):
        file_cases.run(file_cases.Case("a.tns", b"1 1 2.5x\n"))

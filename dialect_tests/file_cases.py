"""Random damage to files of tensors and to saved kernels: what reads them refuses it, or reads what is there.

Text is read by a strict reader in Python as well (`file_reference`), which decides what is there. Saved kernels
are loaded and not run: their machine code may be any.
"""

from __future__ import annotations

import gzip
import random
import tempfile
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

import mlir_sparse as ms
from dialect_tests.tensor.file_reference import Contents, Refused, contents_of
from mlir_sparse.errors import SparseError, TooLargeError
from mlir_sparse.tensor import read

__all__ = ["Case", "cases", "mutated", "run"]

_MATRIX = "%%MatrixMarket matrix coordinate {} {}\n"
_ENTRIES = "%c\n3 3 3\n1 1 5\n3 1 2\n3 2 7\n"
WHOLE = {
    "a.mtx": [
        _MATRIX.format("real", "general") + _ENTRIES,
        _MATRIX.format("integer", "symmetric") + _ENTRIES,
        _MATRIX.format("unsigned-integer", "skew-symmetric") + _ENTRIES,
        _MATRIX.format("double", "hermitian") + _ENTRIES,
        _MATRIX.format("complex", "hermitian") + "3 3 2\n1 1 5 0\n3 1 2.5 1e3\n",
        _MATRIX.format("pattern", "symmetric") + "3 3 2\n1 1\n3 1\n",
        "%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4.5\n",
        "%%MatrixMarket matrix array integer skew-symmetric\n3 3\n1\n2\n3\n",
        "%%MatrixMarket vector coordinate real general\n5 2\n1 2.5\n4 1\n",
    ],
    "a.ttx": ["%%MatrixMarket tensor coordinate real general\n2 3 4 2\n1 2 3 4.5\n2 3 4 -1e-2\n"],
    "a.tns": [
        "# c\n1 2 3 1.5\n2 1 1 -2e3  # said\n1 2 3 1\n",
        "# extended FROSTT format\n3 2\n2 3 4\n1 1 3 3.5\n2 3 4 -1\n",
        "# shape: 5 6\n1 2 3\n",
        "2 1\n5 6\n1 3 4\n",
        "2 17\n5 6\n",
    ],
    "a.txt": ["sptensor\n2\n2 3\n2\n0 0 0.5\n1 2 7\n", "sptensor\n2\n2 3\n1\n2 3 7\n"],
}
_ALPHABET = b"0123456789+-.eEdDxinfa %#;,\n\n\n\t\r\x00\xff\x0b)"
_KERNEL = "a.msk"


@dataclass(frozen=True, slots=True)
class Case:
    """A file: its name, and what is in it."""

    name: str
    data: bytes

    def __str__(self) -> str:
        return f"{self.name}: {self.data[:2000]!r}"


def mutated(draw: random.Random, data: bytes) -> bytes:
    """Returns data with a few changes of the kinds that editors, disks and networks make."""
    for _ in range(draw.choice([0, 1, 1, 2, 4])):
        at, length = draw.randint(0, len(data)), draw.choice([1, 1, 2, 5, 20])
        match draw.randrange(5):
            case 0:
                data = data[:at] + bytes(draw.choices(_ALPHABET, k=length)) + data[at + length :]
            case 1:
                data = data[:at] + bytes(draw.choices(_ALPHABET, k=length)) + data[at:]
            case 2:
                data = data[:at] + data[at + length :]
            case 3:
                data = data[:at] if draw.random() < 0.3 else data[:at] + data[max(0, at - length) : at] + data[at:]
            case _:
                other = draw.randint(0, len(data))
                data = data[:at] + data[other : other + length] + data[at:]
    return data


def cases() -> st.SearchStrategy[Case]:
    """Draws files, most of them damaged."""
    return st.integers(0, 2**63).map(lambda seed: drawn(random.Random(seed)))


def drawn(draw: random.Random) -> Case:
    """Returns a file that is decided by what `draw` gives."""
    kind = draw.random()
    if kind < 0.2:
        return Case(_KERNEL, _damaged_kernel(draw))
    name = draw.choice([*WHOLE, "a.mtx", "a.mtx", "a.tns"])
    data = mutated(draw, draw.choice(WHOLE[name]).encode())
    if kind < 0.4:
        return Case(f"{name}.gz", mutated(draw, gzip.compress(data)) if draw.random() < 0.7 else gzip.compress(data))
    return Case(name, data)


@lru_cache(maxsize=1)
def _saved_kernel() -> dict[str, bytes]:
    """Returns the parts of a saved kernel."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / _KERNEL
        ms.compile("y(i) = A(i,j) * x(j)", A="f64[?,?] CSR", x="f64[?]").save(path)
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}


def _damaged_kernel(draw: random.Random) -> bytes:
    """Returns a saved kernel with damage in a part, of which the archive has the right checksum, or in the archive."""
    parts = dict(_saved_kernel())
    part = draw.choice([*parts, ""])
    if part:
        parts[part] = mutated(draw, parts[part])
    with tempfile.TemporaryFile() as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in parts.items():
                archive.writestr(zipfile.ZipInfo(name), content)
        file.seek(0)
        data = file.read()
    return data if part else mutated(draw, data)


def run(case: Case) -> None:
    """Reads a file.

    Raises:
        SparseError: where it is refused, as it must be.
        AssertionError: where it should have been, or is read as something else, or for a message without an end.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / case.name
        path.write_bytes(case.data)
        try:
            if case.name == _KERNEL:
                ms.load(path)
            else:
                _check_against_reference(path, case)
        except SparseError as error:
            if len(str(error)) > 3000:
                raise AssertionError("expected a message that ends") from error
            raise


def _check_against_reference(path: Path, case: Case) -> None:
    try:
        expected = contents_of(case.name, case.data)
    except Refused:
        found = read(path, "COO")
        raise AssertionError(f"expected a refusal, but got {found}") from None
    try:
        found = read(path, "COO")
    except TooLargeError:
        raise
    except SparseError as error:
        raise AssertionError(f"expected {expected}, but got {error}") from error
    _check_contents(found, expected)


def _check_contents(found: ms.SparseTensor, expected: Contents) -> None:
    assert found.shape == expected.shape, f"expected {expected.shape}, but got {found.shape}"
    entries: dict[tuple[int, ...], list[complex]] = {}
    for place, value in expected.entries:
        entries.setdefault(place, []).append(value)
    dims, values = found.to_coo()
    for at, got in zip(zip(*(dim.tolist() for dim in dims), strict=True), values.tolist(), strict=True):
        terms = entries.pop(at)
        with np.errstate(all="ignore"):
            if isinstance(got, int):
                assert (got - sum(terms)) % 2**64 == 0, (at, got, terms)  # type: ignore[operator]
            else:
                assert np.allclose(got, np.sum(terms), rtol=1e-15 * len(terms), atol=0, equal_nan=True), (
                    at,
                    got,
                    terms,
                )
    # What an array has of zeros is not stored.
    assert all(value == 0 for terms in entries.values() for value in terms), entries

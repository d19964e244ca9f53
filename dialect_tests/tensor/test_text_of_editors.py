"""Text files as editors on other systems save them: read, or refused with what to save instead."""

from __future__ import annotations

import codecs
from pathlib import Path

import numpy as np
import pytest

import mlir_sparse as ms

MARKET = "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 1.5\n2 3 2.5\n"
FROSTT = "1 1 1.5\n2 3 2.5\n"
DENSE = np.array([[1.5, 0, 0], [0, 0, 2.5]])


@pytest.mark.parametrize(("suffix", "text"), [("mtx", MARKET), ("tns", FROSTT)])
def test_line_ends_of_windows_are_read(tmp_path: Path, suffix: str, text: str) -> None:
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(text.replace("\n", "\r\n").encode())
    np.testing.assert_array_equal(ms.read(path).to_numpy(), DENSE)


@pytest.mark.parametrize(("suffix", "text"), [("mtx", MARKET), ("tns", FROSTT)])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16-le", "utf-16-be"])
def test_byte_order_marks_are_refused_by_name(tmp_path: Path, suffix: str, text: str, encoding: str) -> None:
    path = tmp_path / f"a.{suffix}"
    mark = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}.get(encoding, b"")
    path.write_bytes(mark + text.encode(encoding))
    kind = "UTF-8 with a byte order mark" if encoding == "utf-8-sig" else "UTF-16"
    with pytest.raises(ms.FileFormatError, match=f"but got {kind}: save the file as UTF-8 without one"):
        ms.read(path)


@pytest.mark.parametrize(("suffix", "way_out"), [("mat", "scipy.io.loadmat"), ("rua", "hb_read"), ("rb", "Market")])
def test_files_that_scipy_reads_are_refused_with_how(tmp_path: Path, suffix: str, way_out: str) -> None:
    path = tmp_path / f"a.{suffix}"
    path.write_text("title\n")
    with pytest.raises(ms.FileFormatError, match=way_out):
        ms.read(path)


def test_complex_values_of_tns_are_refused_with_the_files_that_have_them(tmp_path: Path) -> None:
    path = tmp_path / "a.tns"
    path.write_text("1 1 1.5+2j\n")
    with pytest.raises(ms.FileFormatError, match=r"complex ones stand in \.ttx and \.mtx files"):
        ms.read(path)

"""Presets: their levels as published, their names, their parameters."""

from __future__ import annotations

import pickle

import pytest

from dialect_tests.encoding import mlir_reference as mlir
from mlir_sparse.encoding import PRESETS, DimSlice, TensorType, encoding
from mlir_sparse.encoding.encoding_parser import parse_encoding
from mlir_sparse.encoding.presets import find_preset
from mlir_sparse.errors import EncodingError, EncodingSyntaxError, OperandError, RankError, UnknownPresetError

# As in the dialect's documentation and in its tests.
PUBLISHED = {
    "DenseVector": "(i) -> (i : dense)",
    "Dense": "(i, j) -> (i : dense, j : dense)",
    "SparseVector": "(i) -> (i : compressed)",
    "CSR": "(i, j) -> (i : dense, j : compressed)",
    "CSC": "(i, j) -> (j : dense, i : compressed)",
    "DCSR": "(i, j) -> (i : compressed, j : compressed)",
    "DCSC": "(i, j) -> (j : compressed, i : compressed)",
    "COO": "(i, j) -> (i : compressed(nonunique), j : singleton)",
    "COO3": "(i, j, k) -> (i : compressed(nonunique), j : singleton(nonunique), k : singleton)",
    "COO1": "(i) -> (i : compressed)",
    "SoA-COO": "(i, j) -> (i : compressed(nonunique), j : singleton(soa))",
    "column-major COO": "(i, j) -> (j : compressed(nonunique), i : singleton)",
    "UnorderedCOO": "(i, j) -> (i : compressed(nonunique, nonordered), j : singleton(nonordered))",
    "BCOO": "(i, j, k) -> (i : dense, j : loose_compressed(nonunique), k : singleton)",
    "CSF": "(i, j, k) -> (i : compressed, j : compressed, k : compressed)",
    "CSF(2, 0, 1)": "(i, j, k) -> (k : compressed, i : compressed, j : compressed)",
    "BSR(2, 3)": "(i, j) -> (i floordiv 2 : dense, j floordiv 3 : compressed, i mod 2 : dense, j mod 3 : dense)",
    "BSR(2, 3, 4)": "(i, j, k) -> (i floordiv 2 : dense, j floordiv 3 : dense, k floordiv 4 : compressed,"
    " i mod 2 : dense, j mod 3 : dense, k mod 4 : dense)",
    "BSC(2, 3)": "(i, j) -> (j floordiv 3 : dense, i floordiv 2 : compressed, i mod 2 : dense, j mod 3 : dense)",
    "DBSR": "(i, j) -> (i floordiv 4 : compressed, j floordiv 4 : compressed, i mod 4 : dense, j mod 4 : dense)",
    "BSR(1, 4)": "(i, j) -> (i : dense, j floordiv 4 : compressed, j mod 4 : dense)",
    "BSR(1, 1)": "(i, j) -> (i : dense, j : compressed)",
    "CSB(8, 8)": "(i, j) -> (i floordiv 8 : dense, j floordiv 8 : dense,"
    " i mod 8 : compressed(nonunique), j mod 8 : singleton)",
    "ELL": "(i, j) -> (i : dense, j : loose_compressed)",
    "LooseCSR": "(i, j) -> (i : dense, j : loose_compressed)",
    "NonuniqueCOO": "(i, j) -> (i : compressed(nonunique), j : singleton(nonunique))",
    "RowBlocked": "(i, j) -> (i floordiv 4 : dense, j : compressed, i mod 4 : dense)",
    "ColumnBlocked(2)": "(i, j) -> (i : dense, j floordiv 2 : compressed, j mod 2 : dense)",
    "ModeGeneric(2, 3)": "(i, j) -> (i floordiv 2 : compressed(nonunique), j floordiv 3 : singleton,"
    " i mod 2 : dense, j mod 3 : dense)",
    "HiCOO(2, 2, 2)": "(i, j, k) -> (i floordiv 2 : compressed(nonunique), j floordiv 2 : singleton(nonunique),"
    " k floordiv 2 : singleton, i mod 2 : compressed(nonunique), j mod 2 : singleton(nonunique), k mod 2 : singleton)",
    "HiCOO(2, 1)": "(i, j) -> (i floordiv 2 : compressed(nonunique), j : singleton, i mod 2 : compressed)",
    "SlotELL": "[c](i, j) -> (i * c : dense, i : dense, j : singleton)",
    "CountedELL(3)": "[c](i, j) -> (i * (c * 3) : dense, i : dense, j : compressed)",
    "DIA": "(i, j) -> (j - i : compressed, i : range)",
    "Banded": "(i, j) -> (j - i : dense[-1, 2], i : range)",
    "Banded(2, 0)": "(i, j) -> (j - i : dense[-2, 1], i : range)",
    "PackedLower": "(i, j) -> (i : dense, j : range[0, i + 1])",
    "PackedUpper": "(i, j) -> (i : dense, j : range[i])",
    "Skyline": "(i, j) -> (i : dense, j : range[?, i + 1])",
    "UpperSkyline": "(i, j) -> (j : dense, i : range[?, j + 1])",
    "RowIntervals": "(i, j) -> (i : dense, j : range[?, ?])",
    "HashVector": "(i) -> (i : hashed)",
    "HashedRows": "(i, j) -> (i : dense, j : hashed)",
    "NV_24": "(i, j) -> (i : dense, j floordiv 4 : dense, j mod 4 : structured[2, 4])",
    "NM(1, 8)": "(i, j) -> (i : dense, j floordiv 8 : dense, j mod 8 : structured[1, 8])",
    "CSR_SLICE": "(i : #sparse_tensor<slice(?, ?, ?)>, j : #sparse_tensor<slice(?, ?, ?)>)"
    " -> (i : dense, j : compressed)",
    "CSR_SLICE(1, 4, 1, 0, ?, 2)": "(i : #sparse_tensor<slice(1, 4, 1)>, j : #sparse_tensor<slice(0, ?, 2)>)"
    " -> (i : dense, j : compressed)",
    "BatchedCSR": "(i, j, k) -> (i : batch, j : dense, k : compressed)",
    "CompressedDense": "(i, j) -> (i : compressed, j : dense)",
    "DenseCompressedDense(1, 0, 2)": "(i, j, k) -> (j : dense, i : compressed, k : dense)",
    "DenseCompressedCompressedDense": "(i, j, k, l) -> (i : dense, j : compressed, k : compressed, l : dense)",
}


@pytest.mark.parametrize(("name", "text"), PUBLISHED.items())
def test_a_preset_is_its_map(name: str, text: str) -> None:
    preset = encoding(name)
    assert preset == parse_encoding(text)
    assert preset.map_text() == text


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("rank", [None, 1, 2, 3, 4, 9])
def test_mlir_takes_every_native_preset_of_every_rank(name: str, rank: int | None) -> None:
    preset = PRESETS[name]
    is_allowed = rank is None or preset.min_rank <= rank <= (preset.max_rank or rank)
    if not is_allowed:
        with pytest.raises(RankError):
            encoding(name, rank=rank)
        return
    built = encoding(name, rank=rank)
    assert built.dim_rank == (rank or preset.default_rank)
    assert parse_encoding(str(built)) == parse_encoding(built.to_text()) == built
    kind = TensorType.parse(f"f32[{','.join('?' * built.dim_rank)}] {name}")
    assert TensorType.parse(str(kind)) == kind
    if not built.is_native:
        assert built.level_space().encoding.is_native
        return
    assert mlir.reprint(str(built)) == str(built)
    assert mlir.type_complaint(kind.mlir_text()) is None


@pytest.mark.parametrize("name", ["csr", "Csr", " CSR ", "c-s-r", "C_S_R"])
def test_names_are_looked_up_freely(name: str) -> None:
    assert encoding(name) == encoding("CSR")


def test_a_preset_knows_its_name_and_parameters() -> None:
    assert encoding("bsr(2, 2)").preset == "BSR(2, 2)"
    assert encoding("csf", order=(2, 0, 1)).preset == "CSF(2, 0, 1)"
    assert encoding("csr_slice", slices=(DimSlice(), DimSlice(1, None, 2))).preset == "CSR_SLICE(0, ?, 1, 1, ?, 2)"


def test_parameters_by_keyword_are_those_in_the_text() -> None:
    assert encoding("BSR", block=(4, 4)) == encoding("BSR(4, 4)")
    assert encoding("NM", n=1, m=4) == encoding("n:m(1, 4)".replace(":", ""))
    assert encoding("RowBlocked", size=2, rank=3) == encoding("BSR(2, 1, 1)")
    assert encoding("ColumnBlocked(8)") == encoding("BSR(1, 8)")
    assert encoding("SlotELL", width=3) == encoding("[c](i, j) -> (c * 3 * i : dense, i : dense, j : singleton)")
    assert encoding("CountedELL(3)") == encoding("[c](i, j) -> (c * 3 * i : dense, i : dense, j : compressed)")
    assert encoding("Banded", band=(2, 1)).preset == "Banded(2, 1)"
    assert encoding(None, rank=3) == encoding("dense", rank=3)
    assert encoding("CSR", pos_width=32, crd_width=16) == encoding("CSR").with_widths(32, 16)


@pytest.mark.parametrize(
    ("name", "hint"),
    [("CSX", "CSR"), ("DCRS", "DCSR"), ("BRS", "BSR"), ("SparseVectr", "SparseVector"), ("NV24x", "NV_24")],
)
def test_unknown_names_suggest_near_ones(name: str, hint: str) -> None:
    with pytest.raises(UnknownPresetError, match="expected the name of a preset") as caught:
        encoding(name)
    assert f"did you mean {hint}" in caught.value.message or f" or {hint}" in caught.value.message
    assert (caught.value.line, caught.value.column) == (1, 1)
    assert isinstance(caught.value, LookupError)


def test_an_unknown_name_like_no_other_lists_them_all() -> None:
    with pytest.raises(UnknownPresetError, match="expected one of DenseVector, Dense"):
        encoding("zzzzzzz")


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"source": "CSR(2)"}, EncodingError, "expected no parameters for CSR, but got (2)"),
        ({"source": "CSR", "block": (2, 2)}, EncodingError, "expected no parameters for CSR, but got block=(2, 2)"),
        ({"source": "BSR(0, 4)"}, EncodingError, "as (4, 4) for BSR, 1 or more, but got (0, 4)"),
        ({"source": "BSR(?, 4)"}, EncodingError, "but got (?, 4)"),
        ({"source": "BSR(4)"}, RankError, "expected rank 2 or more for BSR, but got 1"),
        ({"source": "BSR(4, 4)", "block": (4, 4)}, EncodingError, "expected block once for BSR"),
        ({"source": "BSR(4, 4)", "rank": 3}, RankError, "expected one rank for BSR, but got 3 from the rank, 2 from"),
        ({"source": "CSB(1, 4)"}, EncodingError, "expected blocks of at least 2 in each dimension for CSB"),
        ({"source": "CSF(0, 0)"}, EncodingError, "expected an order of the dimensions 0 to 1, but got (0, 0)"),
        ({"source": "NM(4, 2)"}, EncodingError, "expected n <= m in n_out_of_m, but got n = 4 and m = 2"),
        ({"source": "NM(4)"}, EncodingError, "expected n and m, as (2, 4) for NM"),
        (
            {"source": "SlotELL(0)"},
            EncodingError,
            "expected the number of slots, as (3) for SlotELL, 1 or more, but got (0)",
        ),
        ({"source": "SlotELL", "width": 0}, EncodingError, "expected the number of slots, as (3) for SlotELL"),
        ({"source": "Banded(1)"}, EncodingError, "expected how many diagonals below and above the main one"),
        ({"source": "Banded", "band": (-1, 1)}, EncodingError, "for Banded, 0 or more, but got (-1, 1)"),
        ({"source": "RowBlocked(0)"}, EncodingError, "expected the size of a block, as (4) for RowBlocked"),
        ({"source": "RowBlocked", "size": 2, "rank": 1}, RankError, "expected rank 2 or more for RowBlocked"),
        ({"source": "DIA", "width": 2}, EncodingError, "expected no parameters for DIA, but got width=(2,)"),
        ({"source": "NM", "n": 2}, EncodingError, "expected n and m, as (2, 4) for NM"),
        ({"source": "CSR_SLICE(1, 2)"}, EncodingError, "but got 2 numbers"),
        ({"source": "CSR_SLICE(0, 0, 1, 0, 1, 1)"}, EncodingError, "expect positive value or ? for slice size"),
        ({"source": "CSR", "rank": 3}, RankError, "expected rank 2 for CSR, but got 3"),
        (
            {"source": "COO3", "rank": 2},
            RankError,
            "expected one rank for COO, but got 2 from the rank, 3 from the name",
        ),
        ({"source": "(i) -> (i : dense)", "rank": 2}, RankError, "tensor shape: 1 != 2"),
        ({"source": "(i) -> (i : dense)", "block": (2,)}, EncodingError, "expected block only with the name"),
        ({"source": "(i) -> (i : dense)", "rank": 0}, RankError, "expected non-scalar sparse tensor"),
        ({"source": "CSR", "pos_width": 7}, EncodingError, "unexpected position bitwidth: 7"),
        ({"source": "BSR(4, x)"}, EncodingSyntaxError, "expected an integer or `?`, but got `x`"),
        ({"source": ""}, EncodingSyntaxError, "expected an attribute, a map or the name of a preset"),
        ({"source": 3}, OperandError, "but got int: 3"),
    ],
)
def test_wrong_parameters_are_named(arguments: dict[str, object], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        encoding(**arguments)  # type: ignore[arg-type]  # wrong on purpose
    assert message in str(caught.value)


def test_parameters_of_other_types_are_judged_after_numbers_that_equal_them() -> None:
    """What numbers make is kept by them; what is equal to a number is not always one."""
    assert encoding("BSR", block=(4, 4)) is encoding("BSR", block=(4, 4))
    assert encoding("BSR", block=(1, 4)) != encoding("BSR", block=(4, 1))
    for wrong in ((4.5, 4.0), ("4", 4), (0, 4)):
        found = [outcome_of(wrong) for _ in range(2)]
        assert found[0] == found[1] != "encoding"


def outcome_of(block: object) -> str:
    try:
        encoding("BSR", block=block)  # type: ignore[arg-type]
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "encoding"


def test_presets_are_pickled_by_name() -> None:
    assert pickle.loads(pickle.dumps(PRESETS)) == PRESETS
    assert pickle.loads(pickle.dumps(PRESETS["BSR"])) is PRESETS["BSR"]
    mixed = find_preset("DenseCompressedCompressed")[0]  # of no table
    again = pickle.loads(pickle.dumps(mixed))
    assert again.name == mixed.name
    options = mixed.options({}, ())
    assert again.build(3, options) == mixed.build(3, options) == encoding(mixed.name)

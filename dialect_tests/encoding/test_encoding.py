"""What an Encoding knows of itself."""

from __future__ import annotations

import pytest

from mlir_sparse.affine import AffineMap, Dim
from mlir_sparse.encoding import DimSlice, Encoding, LevelFormat, LevelSpec, LevelType, TypedValue, encoding
from mlir_sparse.errors import EncodingError, RankError, UnsupportedError


def test_names_do_not_count_but_ranks_do() -> None:
    assert encoding("(row, col) -> (row : dense, col : compressed)") == encoding(
        "(i, j) -> (i : dense, j : compressed)"
    )
    assert encoding("[s](i) -> (i : dense)") != encoding("(i) -> (i : dense)")
    assert len({encoding("CSR"), encoding("csr"), encoding("CSC")}) == 2


def test_names_are_kept_for_people_and_canonical_for_mlir() -> None:
    csc = encoding("(row, col) -> (col : dense, row : compressed)")
    assert csc.to_text() == "#sparse_tensor.encoding<{ map = (row, col) -> (col : dense, row : compressed) }>"
    assert str(csc) == csc.mlir_text() == "#sparse_tensor.encoding<{ map = (d0, d1) -> (d1 : dense, d0 : compressed) }>"
    assert csc.with_default_names().to_text() == str(csc)
    assert eval(repr(csc), {"encoding": encoding}) == csc


@pytest.mark.parametrize(
    ("text", "start", "stop"),
    [
        ("COO", 0, 2),
        ("COO1", 1, 1),
        ("SoA-COO", 2, 2),
        ("BCOO", 1, 3),
        ("CSB", 2, 4),
        ("CSR", 2, 2),
        ("(i, j) -> (i : compressed, j : singleton)", 0, 2),
        ("(i, j, k) -> (i : compressed(nonunique), j : singleton, k : dense)", 0, 2),
        ("(i, j, k) -> (i : compressed(nonunique), j : compressed(nonunique), k : singleton)", 1, 3),
    ],
)
def test_where_coordinates_are_an_array_of_structs(text: str, start: int, stop: int) -> None:
    assert encoding(text).aos_levels == range(start, stop)
    assert encoding(text).aos_start == start


def test_level_sizes_and_blocks() -> None:
    bsr = encoding("BSR(2, 3)")
    assert bsr.level_sizes((10, 10)) == (5, 4, 2, 3)
    assert (bsr.block_of(0), bsr.block_of(1), encoding("CSR").block_of(0)) == (2, 3, 1)
    assert encoding("CSC").level_sizes((4, 7)) == (7, 4)
    assert encoding("NV_24").level_sizes((3, 10)) == (3, 3, 4)
    with pytest.raises(RankError, match="dimension-rank mismatch between encoding and tensor shape: 2 != 3"):
        bsr.level_sizes((1, 2, 3))


def test_predicates() -> None:
    assert encoding("CSF(2, 0, 1)").level_order == (2, 0, 1)
    assert encoding("Dense").is_dense
    assert not encoding("CSR").is_dense
    assert encoding("BSR").is_blocked
    assert not encoding("CSR").is_blocked
    assert not encoding("UnorderedCOO").is_ordered
    assert encoding("UnorderedCOO").is_unique
    with pytest.raises(EncodingError, match="expected a permutation of the dimensions"):
        _ = encoding("BSR").level_order


def test_symbols_that_count_no_slots_have_no_inverse() -> None:
    shifted = encoding("[s](i, j) -> (i + s : dense, j : dense)")
    with pytest.raises(EncodingError, match="failed to infer lvlToDim from dimToLvl, which has symbols"):
        _ = shifted.lvl_to_dim
    with pytest.raises(EncodingError, match="expected a level of known size"):
        shifted.level_sizes((4, 4))
    with pytest.raises(UnsupportedError, match="expected a map with an inverse, but failed to infer lvlToDim"):
        shifted.level_space()
    assert "the map has symbols" in shifted.describe()


def test_slices_are_all_or_none() -> None:
    one = encoding("(i : #sparse_tensor<slice(1, 4, 2)>, j) -> (i : dense, j : compressed)")
    assert one.slices == (DimSlice(1, 4, 2), DimSlice(0, None, 1))
    assert one.has_slices
    assert one.without_slices() == encoding("CSR")


def test_values_know_their_numbers() -> None:
    text = "explicitVal = -1 : i8, implicitVal = 0 : i8"
    ones = encoding(f"#sparse_tensor.encoding<{{ map = (i) -> (i : compressed), {text} }}>")
    assert ones.explicit_val == TypedValue.of(-1, "i8")
    assert ones.explicit_val is not None
    assert ones.explicit_val.value == -1
    assert ones.implicit_val is not None
    assert ones.implicit_val.is_zero
    assert "explicit value: -1 : i8" in ones.describe()


@pytest.mark.parametrize(
    ("number", "dtype", "literal"),
    [
        (1, None, "1 : i64"),
        (1.5, None, "1.500000e+00 : f64"),
        (True, None, "true"),
        (1j, None, "#complex.number<:f64 0.000000e+00, 1.000000e+00> : complex<f64>"),
        (1, "f32", "1.000000e+00 : f32"),
        (255, "i8", "-1 : i8"),
        (float("inf"), "bf16", "0x7F80 : bf16"),
        (1e300, "f32", "0x7F800000 : f32"),
    ],
)
def test_values_from_numbers(number: complex, dtype: str | None, literal: str) -> None:
    assert str(TypedValue.of(number, dtype)) == literal


@pytest.mark.parametrize(
    ("number", "dtype", "message"),
    [
        (1j, "f64", "expected a real number for type f64"),
        (1.5, "i32", "floating point value not valid for specified type"),
        (300, "i8", "integer constant out of range for attribute"),
        (1, "f128", "expected a type of"),
        (1, "complex<i32>", "expected a floating point type"),
    ],
)
def test_values_that_a_type_does_not_hold(number: complex, dtype: str, message: str) -> None:
    with pytest.raises(EncodingError, match=message):
        TypedValue.of(number, dtype)


def test_the_constructor_verifies() -> None:
    dense = LevelSpec(Dim(0), LevelType(LevelFormat.DENSE))
    assert Encoding(("i",), (dense,)) == encoding("DenseVector")
    with pytest.raises(EncodingError, match="failed to infer lvlToDim"):
        Encoding(("i", "j"), (dense, dense))
    with pytest.raises(EncodingError, match="expected exactly 2 structured sizes"):
        Encoding(("i",), (LevelSpec(Dim(0), LevelType(LevelFormat.STRUCTURED)),))
    with pytest.raises(EncodingError, match="expected lvlToDim to be an inverse of dimToLvl"):
        Encoding(("i",), (dense,), lvl_to_dim_given=AffineMap(1, 0, ()))
    with pytest.raises(EncodingError, match="dimension-rank mismatch between dimSlices and dimToLvl: 2 != 1"):
        Encoding(("i",), (dense,), slices=(DimSlice(), DimSlice()))


def test_describe_a_format_with_everything() -> None:
    assert encoding("BCOO", pos_width=32).describe() == (
        "BCOO: (i, j, k) -> (i : dense, j : loose_compressed(nonunique), k : singleton)\n"
        "  level 0: i is dense, all coordinates 0, 1, 2, ... present; stores nothing\n"
        "  level 1: j is loose_compressed, ordered, not unique, with gaps between parents;"
        " stores positions[1] and column 0 of coordinates[1]\n"
        "  level 2: k is singleton, one coordinate for each parent, ordered, unique;"
        " stores column 1 of coordinates[1]\n"
        "  storage: positions[1], coordinates[1] (array of structs of 2), values\n"
        "  widths: positions 32 bits, coordinates index\n"
        "  inverse: i = l0, j = l1, k = l2"
    )
    named = encoding("{il, ii}(i) -> (il = i floordiv 4 : batch, ii = i mod 4 : dense)")
    assert named.describe().endswith("inverse: i = il * 4 + ii")
    assert "structured, 2 of every 4 coordinates; stores coordinates[2]" in encoding("NV_24").describe()

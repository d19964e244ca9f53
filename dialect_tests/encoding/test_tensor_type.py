"""Tensor types, as text and as MLIR."""

from __future__ import annotations

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.encoding import mlir_reference as mlir
from mlir_sparse.affine import Dim
from mlir_sparse.dtypes import DTYPES, DType
from mlir_sparse.encoding import Encoding, LevelFormat, LevelProperty, LevelSpec, LevelType, TensorType, encoding
from mlir_sparse.errors import DTypeError, EncodingError, EncodingSyntaxError, RankError, UnknownPresetError


@pytest.mark.parametrize(
    ("text", "printed", "mlir_text"),
    [
        ("f64[?,?] CSR", "f64[?,?] CSR", None),
        ("float32[10, ?] csc", "f32[10,?] CSC", None),
        ("c128[]", "c128[]", "tensor<complex<f64>>"),
        ("complex<f32>[4]", "c64[4]", "tensor<4xcomplex<f32>>"),
        ("i8[?] dense", "i8[?]", "tensor<?xi8>"),
        ("bf16[2,3]", "bf16[2,3]", "tensor<2x3xbf16>"),
        ("f64[?,?] BSR(2,3)", "f64[?,?] BSR(2, 3)", None),
        ("f64[?,?,?] COO", "f64[?,?,?] COO", None),
        ("f64[?,?] (r, c) -> (r : dense, c : compressed)", "f64[?,?] (r, c) -> (r : dense, c : compressed)", None),
        ("f64[?] (i) -> (i : dense)", "f64[?] (i) -> (i : dense)", None),
        ("f64[?,?] Dense(1, 0)", "f64[?,?] Dense(1, 0)", None),
        ("tensor<10x?xf64>", "f64[10,?]", "tensor<10x?xf64>"),
        ("tensor<f64>", "f64[]", "tensor<f64>"),
        (
            "tensor<?xf32, #sparse_tensor.encoding<{ map = (i) -> (i : compressed), posWidth = 32 }>>",
            "f32[?] #sparse_tensor.encoding<{ map = (i) -> (i : compressed), posWidth = 32 }>",
            None,
        ),
    ],
)
def test_parse_and_print(text: str, printed: str, mlir_text: str | None) -> None:
    kind = TensorType.parse(text)
    assert str(kind) == printed
    assert TensorType.parse(printed) == kind
    assert TensorType.parse(kind.mlir_text()) == kind
    assert mlir.reprint_type(kind.mlir_text()) == kind.mlir_text()
    assert mlir_text is None or kind.mlir_text() == mlir_text


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_element_type_is_one_to_mlir(dtype: DType) -> None:
    kind = TensorType(dtype, (None, 3), encoding("CSR"))
    # MLIR 24 has no sparse tensors of floating point in 8 bits: kernels are of what these are computed in.
    assert mlir.type_complaint(kind.mlir_text()) in ([None, "invalid primary type"] if dtype.is_storage else [None])


def test_widths_set_after_naming_are_printed() -> None:
    kind = TensorType(DType("f64"), (None, None), encoding("CSR").with_widths(32, 8))
    written = "map = (i, j) -> (i : dense, j : compressed), posWidth = 32, crdWidth = 8"
    assert str(kind) == f"f64[?,?] #sparse_tensor.encoding<{{ {written} }}>"
    assert TensorType.parse(str(kind)) == kind


@pytest.mark.parametrize(
    ("text", "error", "place", "message"),
    [
        ("f99[?]", DTypeError, (1, 1), "but got 'f99'"),
        ("longdouble[?]", DTypeError, (1, 1), "astype('float64')"),
        ("f64", EncodingSyntaxError, (1, 4), "expected `[` and the sizes"),
        ("f64[?", EncodingSyntaxError, (1, 6), "expected `,` or `]` in the sizes"),
        ("f64[-1]", EncodingSyntaxError, (1, 5), "expected a size or `?`, but got `-`"),
        ("f64[?]\n CSX", UnknownPresetError, (2, 2), "did you mean"),
        ("f64[?,?,?] CSR", RankError, (1, 12), "expected rank 2 for CSR, but got 3"),
        ("f64[?] (i, j) -> (i : dense, j : dense)", RankError, (1, 8), "tensor shape: 2 != 1"),
        ("f64[] (i) -> (i : dense)", RankError, (1, 7), "expected non-scalar sparse tensor"),
        ("f64[?,?] (i, j) -> (i : batch, j : singleton)", EncodingError, (1, 32), "before singleton level"),
        ("f64[?,?] CSR CSR", UnknownPresetError, (1, 10), "'CSR CSR'"),
        ("f64[?,?] CSR]", EncodingSyntaxError, (1, 13), "expected the end of the text"),
        ("tensor<?xf64", EncodingSyntaxError, (1, 13), "expected `>`"),
        ("tensor<?xlongdouble>", DTypeError, (1, 10), "expected an element type of i8"),
        ("tensor<?xf64, (i, j) -> (i : dense, j : dense)>", RankError, (1, 15), "2 != 1"),
        ("", EncodingSyntaxError, (1, 1), "expected an element type such as f64"),
    ],
)
def test_errors_have_a_place(text: str, error: type[Exception], place: tuple[int, int], message: str) -> None:
    with pytest.raises(error) as caught:
        TensorType.parse(text)
    assert message in str(caught.value)
    assert (caught.value.line, caught.value.column) == place  # type: ignore[attr-defined]


def test_the_constructor_checks() -> None:
    with pytest.raises(RankError, match="expected sizes of 0 or more, but got -1"):
        TensorType(DType("f64"), (-1,))
    with pytest.raises(RankError, match="tensor of rank 2"):
        TensorType(DType("f64"), (3,), encoding("CSR"))
    assert TensorType(DType("f64"), (0, 3), encoding("CSR")).is_sparse


def test_types_are_made_of_what_names_their_parts() -> None:
    wanted = TensorType(DType("f64"), (3, None), encoding("CSR"))
    assert TensorType("f64", [np.int64(3), None], "CSR") == wanted
    assert TensorType(np.float64, (3, None), encoding("CSR").to_text()) == wanted
    assert TensorType(float, ()) == TensorType(DType("f64"), ())
    for parts, error in (
        (("f65", (3,)), ms.DTypeError),
        (("f64", 3), ms.OperandError),
        (("f64", (3.5,)), ms.OperandError),
        (("f64", (3,), "CSR"), ms.RankError),
        (("f64", (3, 3), "CSX"), ms.UnknownPresetError),
        (("f64", (3, 3), 5), ms.OperandError),
    ):
        with pytest.raises(error):
            TensorType(*parts)


def test_levels_and_encodings_are_made_of_what_names_their_parts() -> None:
    level = LevelSpec(Dim(0), LevelType(LevelFormat.COMPRESSED, (LevelProperty.NONUNIQUE,)))
    assert LevelSpec(Dim(0), LevelType("compressed", "nonunique")) == level
    assert LevelSpec(Dim(0), "dense").type == LevelType(LevelFormat.DENSE)
    assert Encoding(["i"], [LevelSpec(Dim(0), "dense")]) == encoding("(i) -> (i : dense)")
    for made in (
        lambda: LevelType("compresed"),
        lambda: LevelType([]),
        lambda: LevelType("compressed", ("unique",)),
        lambda: LevelSpec("i", "dense"),
        lambda: Encoding("ij", (level,)),
        lambda: Encoding(("i",), ["i : dense"]),
        lambda: Encoding(("i",), (level,), [0]),
    ):
        with pytest.raises(ms.EncodingError):
            made()
    with pytest.raises(ms.DTypeError, match=r"DType\.of"):
        DType("float64")

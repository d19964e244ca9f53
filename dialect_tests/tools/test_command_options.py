"""The options about tensors."""

from __future__ import annotations

import click
import pytest

from mlir_sparse.encoding import encoding
from mlir_sparse.errors import NotationSyntaxError, RankError, SparseError, UnknownTensorError
from mlir_sparse.tools.command_options import CommandRequest, NamedValue, as_mapping

SPMV = "y(i) = A(i,j) * x(j)"


def split(text: str, separator: str = ":") -> tuple[str, str]:
    return NamedValue(separator, "VALUE").convert(text, None, None)


def test_the_value_may_hold_the_separator() -> None:
    assert split("A:(i,j) -> (i : dense, j : compressed)") == ("A", "(i,j) -> (i : dense, j : compressed)")
    assert split("A=b=c.mtx", "=") == ("A", "b=c.mtx")


@pytest.mark.parametrize("text", ["A", "A:", ":CSR", "2A:CSR", "A B:CSR", ""])
def test_options_without_a_name_or_value_are_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="expected NAME:VALUE, but got"):
        split(text)


def test_a_tensor_named_twice_is_refused() -> None:
    with pytest.raises(click.UsageError, match="expected -f once for each tensor, but got 'A' twice"):
        as_mapping("-f", [("A", "CSR"), ("A", "CSC")])


def test_types() -> None:
    request = CommandRequest.of(SPMV, {"A": "CSR"}, {"x": "f32"}, {"A": "1000x?"})
    assert [str(request.type_of(name)) for name in ("A", "x", "y")] == ["f64[1000,?] CSR", "f32[?]", "f64[?]"]
    assert str(CommandRequest.of("y(i) = a * x(i)", {}, {}, {}).type_of("a")) == "f64[]"


def test_what_is_asked_of_the_result() -> None:
    assert CommandRequest.of(SPMV, {}, {}, {}).output == "dense"
    assert CommandRequest.of(SPMV, {"y": "SparseVector"}, {}, {}).output == encoding("SparseVector")
    assert str(CommandRequest.of(SPMV, {}, {"y": "f32"}, {}).output) == "f32[?]"


@pytest.mark.parametrize(
    ("encodings", "dtypes", "shapes", "kind", "message"),
    [
        ({"B": "CSR"}, {}, {}, UnknownTensorError, "expected -f to name one of y, A, x, but got 'B'"),
        ({}, {"B": "f32"}, {}, UnknownTensorError, "expected -t to name one of y, A, x, but got 'B'"),
        ({}, {}, {"A": "3"}, RankError, "expected 2 extents for 'A', as in the notation, but got 1 in '3'"),
    ],
)
def test_options_about_no_tensor_of_the_notation(
    encodings: dict[str, str], dtypes: dict[str, str], shapes: dict[str, str], kind: type[SparseError], message: str
) -> None:
    with pytest.raises(kind) as error:
        CommandRequest.of(SPMV, encodings, dtypes, shapes)
    assert str(error.value) == message


@pytest.mark.parametrize("shape", ["axb", "3x", "-1x2", "3.5x1"])
def test_bad_shapes(shape: str) -> None:
    with pytest.raises(click.UsageError, match="expected -s NAME=1000x"):
        CommandRequest.of(SPMV, {}, {}, {"A": shape})


def test_bad_notation_shows_where() -> None:
    with pytest.raises(NotationSyntaxError) as error:
        CommandRequest.of("y(i) = A(i,j * x(j)", {}, {}, {})
    assert error.value.line == 1

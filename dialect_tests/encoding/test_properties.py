"""Properties over random encodings, with MLIR itself as the oracle."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from dialect_tests.crossing import examples
from dialect_tests.encoding import generate
from dialect_tests.encoding import mlir_reference as mlir
from mlir_sparse._mlir.provider import bindings_name
from mlir_sparse.encoding import TensorType, encoding
from mlir_sparse.encoding.encoding_parser import parse_encoding
from mlir_sparse.errors import SparseError

_FRAGMENTS = [
    "#sparse_tensor.encoding<{", "}>", "map = ", "(i, j)", "->", "(", ")", "i", "j", ":", ",", "dense", "compressed",
    "singleton", "(nonunique)", "structured[2, 4]", "floordiv", "mod", "4", "posWidth", "=", "32", "explicitVal",
    "1.0", "f32", "#sparse_tensor<slice(1, ?, 2)>", "{il, jl}", "[c]", "CSR", "BSR(", "-", "?", "f64[?] ",
    "tensor<?x", "range", "offset", "hashed", "[0, i + 1]", "[?]",
]  # fmt: skip


@given(generate.encodings())
@examples(200)
def test_taken_exactly_when_mlir_takes_it(text: generate.Text) -> None:
    theirs = mlir.complaint(text.attribute)
    refused = _refusal(parse_encoding, text.attribute)
    if refused is not None:
        if theirs is None:  # LLVM 22 and before take what stands behind levels with duplicates
            assert bindings_name() != "torch_mlir"
            assert "cannot follow a non-unique level" in refused.message
            return
        # That rule of MLIR's is none of ours, and another may be broken after it.
        assert theirs == mlir.ASSERTION or theirs.rstrip(".") in refused.message or "before singleton level" in theirs
        return
    parsed = parse_encoding(text.attribute)
    if theirs is not None:
        assert theirs.rstrip(".") in str(parsed.foreign_reason)
        return
    assert parsed.is_native
    assert mlir.reprint(str(parsed)) == mlir.reprint(text.attribute)
    # MLIR prints some complex<f32> and smaller as bits that it reads back as another number; ours are read right.
    assert str(parsed) == mlir.reprint(text.attribute) or "complex" in str(parsed)
    assert parse_encoding(str(parsed)) == parsed
    assert parse_encoding(parsed.to_text()) == parsed
    assert parsed.to_text() == text.attribute or parsed.dim_names == text.names
    assert hash(parse_encoding(str(parsed))) == hash(parsed)
    assert pickle.loads(pickle.dumps(parsed)) == parsed


@given(st.integers(1, 3).flatmap(lambda rank: st.tuples(st.just(rank), generate.expressions(rank))), st.data())
def test_the_inverse_map_undoes_the_map(case: tuple[int, list[str]], data: st.DataObject) -> None:
    rank, levels = case
    names = ", ".join(f"x{d}" for d in range(rank))
    parsed = parse_encoding(f"({names}) -> ({', '.join(f'{level} : dense' for level in levels)})")
    shape = data.draw(st.tuples(*[st.integers(1, 7)] * rank))
    sizes = parsed.level_sizes(shape)
    for point in itertools.product(*map(range, shape)):
        stored = parsed.dim_to_lvl.evaluate(point)
        assert parsed.lvl_to_dim.evaluate(stored) == point
        assert all(0 <= crd < size for crd, size in zip(stored, sizes, strict=True))


def _refusal(parse: Callable[[str], object], text: str) -> SparseError | None:
    try:
        parse(text)
    except SparseError as error:
        return error
    return None


@given(generate.any_maps())
@examples(300)
def test_every_map_is_read_whole_or_refused_with_a_place(text: str) -> None:
    theirs = mlir.complaint(f"#sparse_tensor.encoding<{{ map = {text} }}>")
    refused = _refusal(parse_encoding, text)
    if refused is not None:
        if theirs is None:  # LLVM 22 and before take what stands behind levels with duplicates
            assert bindings_name() != "torch_mlir"
            assert "cannot follow a non-unique level" in refused.message
            return
        assert (refused.line, refused.column) >= (1, 1)
        return
    parsed = parse_encoding(text)
    assert parsed.is_native is (theirs is None and not parsed.symbol_names)
    assert parse_encoding(str(parsed)) == parse_encoding(parsed.to_text()) == parsed
    assert pickle.loads(pickle.dumps(parsed)) == parsed
    assert hash(parse_encoding(str(parsed))) == hash(parsed)
    assert parsed.describe().startswith(parsed.map_text())
    if "the map has symbols" in parsed.describe():
        assert theirs is None  # read as MLIR reads it, and good for nothing
        return
    space = parsed.level_space()
    assert space.encoding.is_native
    assert mlir.complaint(space.encoding.mlir_text()) is None


@given(st.text() | st.lists(st.sampled_from(_FRAGMENTS), max_size=30).map("".join))
@examples(500)
def test_no_text_crashes_the_parsers(text: str) -> None:
    for parse in (encoding, parse_encoding, TensorType.parse):
        error = _refusal(parse, text)
        assert error is None or (error.line, error.column) >= (1, 1)


@given(generate.encodings(), st.integers(0, 300), st.text(max_size=3))
@examples(200)
def test_no_damaged_encoding_crashes_the_parser(text: generate.Text, at: int, damage: str) -> None:
    damaged = text.attribute[:at] + damage + text.attribute[at + 1 :]
    if _refusal(parse_encoding, damaged) is None:
        parsed = parse_encoding(damaged)
        canonical = str(parsed)
        assert parse_encoding(canonical) == parsed
        assert not parsed.is_native or mlir.reprint(canonical) == canonical or "complex" in canonical


@given(st.floats(), st.sampled_from(["f16", "bf16", "f32", "f64"]))
@examples(300)
def test_floats_print_as_mlir_prints_them(value: float, dtype: str) -> None:
    text = (
        f"#sparse_tensor.encoding<{{ map = (d0) -> (d0 : dense), explicitVal = {_literal(value, dtype)} : {dtype} }}>"
    )
    parsed = parse_encoding(text)
    assert str(parsed) == mlir.reprint(text)
    assert parse_encoding(str(parsed)) == parsed


def _literal(value: float, dtype: str) -> str:
    """Returns all digits of a finite number, in a form that MLIR's lexer takes."""
    if value != value or value in (float("inf"), float("-inf")):
        return {"f16": "0x7C00", "bf16": "0xFF80", "f32": "0x7FC00000", "f64": "0xFFF0000000000000"}[dtype]
    return f"{value:.17e}"


@given(st.integers(1, 9), st.integers(0, 1 << 18))
def test_exact_halves_of_the_last_digit_round_as_in_mlir(whole: int, fraction: int) -> None:
    # Multiples of 2**-17 have 18 digits, one more than MLIR prints: the last rounds half up.
    value = f"{whole + fraction / 2**17:.18e} : f64"
    text = f"#sparse_tensor.encoding<{{ map = (d0) -> (d0 : dense), explicitVal = {value} }}>"
    assert str(parse_encoding(text)) == mlir.reprint(text)


@given(generate.encodings())
def test_types_print_and_parse_back(text: generate.Text) -> None:
    if _refusal(parse_encoding, text.attribute) is not None:
        return
    parsed = parse_encoding(text.attribute)
    if not parsed.is_native:
        return
    element = parsed.explicit_val or parsed.implicit_val
    dtype = element.type if element else "f64"
    written = f"{dtype}[{','.join('?' * parsed.dim_rank)}] {text.attribute}"
    if _refusal(TensorType.parse, written) is not None:
        assert parsed.explicit_val is not None  # and an implicit value of another type
        assert parsed.implicit_val is not None
        return
    kind = TensorType.parse(written)
    assert TensorType.parse(str(kind)) == kind
    assert TensorType.parse(kind.mlir_text()) == kind
    assert mlir.reprint_type(kind.mlir_text()) == mlir.reprint_type(
        f"tensor<{'?x' * kind.rank}{dtype}, {text.attribute}>"
    )

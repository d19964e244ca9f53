"""The public constructor of encodings: `encoding` takes text, names of presets and encodings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from mlir_sparse.encoding.bindings_objects import bindings_text
from mlir_sparse.encoding.dim_slice import DimSlice
from mlir_sparse.encoding.encoding_value import ATTRIBUTE, Encoding
from mlir_sparse.encoding.presets import UNORDERED, canonical_name, preset_encoding, unordered_preset
from mlir_sparse.errors import EncodingError, EncodingSyntaxError, OperandError, RankError, SparseError
from mlir_sparse.process.forks import importing
from mlir_sparse.text.cursor import Cursor
from mlir_sparse.text.given_arguments import integer_of
from mlir_sparse.text.lexer import TokenKind
from mlir_sparse.text.source_text import Source

__all__ = ["encoding", "take_storage"]


def encoding(
    source: str | Encoding | None,
    *,
    rank: int | None = None,
    block: Sequence[int] | None = None,
    order: Sequence[int] | None = None,
    n: int | None = None,
    m: int | None = None,
    size: int | None = None,
    width: int | None = None,
    band: Sequence[int] | None = None,
    slices: Sequence[DimSlice] | None = None,
    pos_width: int | None = None,
    crd_width: int | None = None,
) -> Encoding:
    """Returns the encoding of a text, a preset name or an Encoding.

    Args:
        source: attribute text, an alias definition, a bare map, the name of a preset, an Encoding, an attribute of
            MLIR's bindings, or None for all levels dense. Parameters may stand behind the name, or `(unordered)` for
            lists that are not sorted, as in `CSR(unordered)`.
        rank: the number of dimensions; checked, or chosen for presets of any rank.
        block: the size of a block in each dimension, for blocked presets.
        order: the dimension stored at each level, for presets of any order.
        n: the number of entries kept of every m, for the preset NM.
        m: the size of the groups, for the preset NM.
        size: the block size of RowBlocked and ColumnBlocked.
        width: the number of slots of SlotELL and CountedELL.
        band: the diagonals below and above the main one, for Banded.
        slices: the slice of each dimension, for the preset CSR_SLICE.
        pos_width: bits of a position (0, 8, 16, 32 or 64), in place of the source's.
        crd_width: bits of a coordinate, likewise.

    Raises:
        EncodingSyntaxError: for text outside the grammar, with a caret.
        EncodingError: for an encoding that the dialect's verifier refuses, in its words.
        UnknownPresetError: for a name that is no preset, with the nearest ones.
        RankError: for an encoding of another rank.

    >>> encoding("CSR") == encoding("(row, col) -> (row : dense, col : compressed)")
    True
    >>> encoding("CSF", order=(2, 0, 1)).map_text()
    '(i, j, k) -> (k : compressed, i : compressed, j : compressed)'
    """
    unsized = block is None and order is None and n is None and m is None and size is None and width is None
    alone = unsized and band is None and slices is None and pos_width is None and crd_width is None
    if alone and type(source) is str and (rank is None or type(rank) is int):  # as most conversions name it
        known = _parsed_before(source, rank)
        if rank is not None:
            known.check_rank(rank)
        return known
    numbers = {"block": block, "order": order, "n": n, "m": m, "size": size, "width": width, "band": band}
    given = {key: value for key, value in {**numbers, "slices": slices}.items() if value is not None}
    if rank is not None:
        rank = integer_of(rank, "rank=")
    said: object = source  # callers without a type checker pass anything
    if isinstance(said, str):
        result = _parsed_with(said, rank, given)
    elif said is None:
        result = preset_encoding("Dense", rank, **given)
    elif isinstance(said, Encoding):
        _refuse_parameters(given)
        result = said
    elif (text := bindings_text(said, ATTRIBUTE)) is not None:
        _refuse_parameters(given)
        result = _parsed_before(text, rank)
    else:
        kinds = "an Encoding, attribute text, a map or the name of a preset"
        raise OperandError(f"expected {kinds}, but got {type(said).__name__}: {said!r}")
    if rank is not None:
        result.check_rank(rank)
    return _with_widths(result, pos_width, crd_width)


def _parsed(text: str, rank: int | None, parameters: Mapping[str, object]) -> Encoding:
    cursor = Cursor(Source(text, "encoding"), EncodingSyntaxError, bare_ids=True)
    result = take_storage(cursor, rank, parameters)
    cursor.expect_end()
    return result


def _parsed_with(text: str, rank: int | None, given: Mapping[str, object]) -> Encoding:
    """Returns the encoding that a text says with parameters, which are kept where they are plain numbers."""
    if not given:
        return _parsed_before(text, rank)
    # Numbers of other types are equal to integers, and are refused.
    if all(type(one) is int for value in given.values() for one in (value if type(value) is tuple else (value,))):
        return _parsed_with_numbers(text, rank, tuple(given.items()))
    return _parsed(text, rank, given)


@lru_cache(maxsize=256)
def _parsed_with_numbers(text: str, rank: int | None, given: tuple[tuple[str, object], ...]) -> Encoding:
    return _parsed(text, rank, dict(given))


@lru_cache(maxsize=256)
def _parsed_before(text: str, rank: int | None) -> Encoding:
    return _parsed(text, rank, {})


def take_storage(cursor: Cursor, rank: int | None = None, parameters: Mapping[str, object] | None = None) -> Encoding:
    """Takes an attribute, an alias definition, a bare map or a preset with its parameters."""
    given = parameters or {}
    if cursor.token.kind is TokenKind.NAME:
        return _take_preset(cursor, rank, given)
    start = cursor.token.span
    if cursor.token.kind is not TokenKind.HASH_NAME and not cursor.at("(", "[", "{"):
        kinds = "an attribute, a map or the name of a preset"
        cursor.fail(f"expected {kinds}, but got {cursor.token.describe()}")
    with importing():
        from mlir_sparse.encoding.encoding_parser import take_encoding  # for attributes and maps, not for names

    result = take_encoding(cursor)
    try:
        _refuse_parameters(given)
        if rank is not None:
            result.check_rank(rank)
    except (EncodingError, RankError) as error:
        cursor.fail(error.message, start.to(cursor.previous), type(error))
    return result


def _take_preset(cursor: Cursor, rank: int | None, given: Mapping[str, object]) -> Encoding:
    start = cursor.take().span
    while cursor.token.kind in (TokenKind.NAME, TokenKind.INTEGER) or cursor.at("-"):
        cursor.take()
    span = start.to(cursor.previous)
    name = cursor.source.text[span.start : span.end]
    try:
        if _takes_unordered(cursor):
            return unordered_preset(preset_encoding(name, rank, **given))
        return preset_encoding(name, rank, _take_arguments(cursor), **given)
    except SparseError as error:
        cursor.fail(error.message, start.to(cursor.previous), type(error))


def _takes_unordered(cursor: Cursor) -> bool:
    """Takes `(unordered)`, in any case as names are; nothing else."""
    word = cursor.peek(1) if cursor.at("(") else None
    if word is None or word.kind is not TokenKind.NAME or canonical_name(word.text) != UNORDERED:
        return False
    cursor.take()
    cursor.take()
    cursor.expect(")", f"`)` behind `{UNORDERED}`")
    return True


def _take_arguments(cursor: Cursor) -> list[int | None]:
    arguments: list[int | None] = []
    if not cursor.accept("(") or cursor.accept(")"):
        return arguments
    with importing():
        from mlir_sparse.encoding.map_parser import parse_slice_number  # for parameters in parentheses

    arguments.append(parse_slice_number(cursor))
    while cursor.accept(","):
        arguments.append(parse_slice_number(cursor))
    cursor.expect(")", "`,` or `)` in the parameters of a preset")
    return arguments


def _refuse_parameters(given: Mapping[str, object]) -> None:
    if given:
        raise EncodingError(f"expected {', '.join(given)} only with the name of a preset, but got an encoding")


def _with_widths(result: Encoding, pos_width: int | None, crd_width: int | None) -> Encoding:
    if pos_width is None and crd_width is None:
        return result
    pos = result.pos_width if pos_width is None else pos_width
    crd = result.crd_width if crd_width is None else crd_width
    return replace(result, pos_width=pos, crd_width=crd)

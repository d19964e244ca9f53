"""Tensor types: element type, shape and encoding, such as `f64[?,?] CSR`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Any

from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding.bindings_objects import text_of_object, type_of
from mlir_sparse.encoding.encoding_from import encoding as as_encoding
from mlir_sparse.encoding.encoding_from import take_storage
from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.encoding.presets import canonical_name
from mlir_sparse.errors import DTypeError, EncodingError, EncodingSyntaxError, RankError, SparseError
from mlir_sparse.process.first_use import import_at_first_call
from mlir_sparse.text.cursor import Cursor
from mlir_sparse.text.given_arguments import integer_of, several_of, text_of
from mlir_sparse.text.lexer import TokenKind
from mlir_sparse.text.shown_text import PrintedValue
from mlir_sparse.text.source_text import Source, Span

if TYPE_CHECKING:
    from mlir_sparse.affine.affine_parser import parse_integer
else:
    import_at_first_call(__name__, {"affine.affine_parser": ("parse_integer",)})

__all__ = ["TensorType"]

# MLIR's form of sizes and element type; MLIR's lexer also treats `10x20xf64` specially.
_MLIR_HEAD = r"\s*tensor<(?P<sizes>(?:(?:\?|[0-9]{1,18})x)*)(?P<dtype>complex<\w+>|\w+)\s*(?P<comma>,)?"

# What a shape has that needs no conversion.
_SIZES = {int, type(None)}


@dataclass(frozen=True, slots=True)
class TensorType(PrintedValue):
    """The type of a tensor.

    Args:
        dtype: the element type, or what `DType.of` takes for one.
        shape: the size of each dimension; None if known only at run time.
        encoding: its encoding, or what `encoding` takes for one; None for a dense row-major array.

    Raises:
        DTypeError: for an element type that does not exist.
        OperandError: for a shape that is no sequence of integers and None.
        RankError: for an encoding of another rank.
        EncodingError: for explicit and implicit values of another element type.

    >>> print(TensorType.parse("f64[1000,?] CSR"), TensorType("f64", (1000, None), "CSR"), sep="; ")
    f64[1000,?] CSR; f64[1000,?] CSR
    >>> TensorType.parse("f32[?]").mlir_text()
    'tensor<?xf32>'
    """

    dtype: DType
    shape: tuple[int | None, ...]
    encoding: Encoding | None = None
    # Computed once: types are in the keys of kernels and of recorded steps.
    _hash: int | None = field(default=None, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        if self._hash is None:
            object.__setattr__(self, "_hash", hash((self.dtype, self.shape, self.encoding)))
        assert self._hash is not None
        return self._hash

    def __setstate__(self, state: Sequence[object]) -> None:
        for one, value in zip(fields(self), state, strict=True):
            object.__setattr__(self, one.name, value)
        object.__setattr__(self, "_hash", None)  # each process hashes text otherwise

    def __post_init__(self) -> None:
        dtype: Any = self.dtype  # callers without a type checker pass anything
        if not isinstance(dtype, DType):
            object.__setattr__(self, "dtype", DType.of(dtype))
        if type(self.shape) is not tuple or not set(map(type, self.shape)) <= _SIZES:
            object.__setattr__(self, "shape", _sizes_of(self.shape))
        for size in self.shape:
            if size is not None and size < 0:
                raise RankError(f"expected sizes of 0 or more, but got {size}")
        if self.encoding is None:
            return
        encoding: Any = self.encoding
        if not isinstance(encoding, Encoding):
            object.__setattr__(self, "encoding", as_encoding(encoding, rank=self.rank))
        self.encoding.check_rank(self.rank)
        for word, value in (("explicit", self.encoding.explicit_val), ("implicit", self.encoding.implicit_val)):
            if value is not None and value.type != self.dtype.mlir:
                rule = f"{word} value type mismatch between encoding and tensor element type"
                raise EncodingError(f"{rule}: '{value.type}' != '{self.dtype.mlir}'")

    @property
    def rank(self) -> int:
        """Returns the number of dimensions."""
        return len(self.shape)

    @property
    def is_sparse(self) -> bool:
        """Returns whether the tensor has an encoding."""
        return self.encoding is not None

    def with_default_widths(self) -> TensorType:
        """Returns the type with the default widths of tensors where it names none."""
        if self.encoding is None:
            return self
        widths = self.encoding.pos_width or 32, self.encoding.crd_width or 32
        return replace(self, encoding=self.encoding.with_widths(*widths))

    @classmethod
    def parse(cls, text: str) -> TensorType:
        """Parses `dtype[sizes] storage`, or MLIR's `tensor<...>`.

        Args:
            text: an element type, sizes or `?` in brackets, then any argument of `encoding`; nothing, or `dense`, for a
                dense array.

        Raises:
            EncodingSyntaxError: for text outside the grammar, with line, column and a caret.
            DTypeError: for an element type that does not exist.
            RankError: for an encoding of another rank than the shape.

        >>> TensorType.parse("tensor<4x?xcomplex<f32>>")
        TensorType(dtype=DType(name='c64'), shape=(4, None), encoding=None)
        """
        source = Source(text_of(text, "a type"), "type")
        head = re.match(_MLIR_HEAD, text) if "tensor" in text else None
        return _parse_mlir(source, head) if head else _parse_brackets(source)

    def to_mlir(self) -> Any:
        """Returns the type as an `ir.Type` of MLIR's bindings, in the Context that the caller is in.

        Raises:
            OperandError: outside of a Context: `with ir.Context(): ...`.
            UnsupportedError: for an encoding that the dialect lacks.
        """
        return type_of(self.mlir_text())

    @classmethod
    def from_mlir(cls, given: object) -> TensorType:
        """Returns the type of an `ir.RankedTensorType` of any version of the bindings.

        Raises:
            OperandError: for any other object.
            DTypeError: for elements that this package has no type for.
        """
        return cls.parse(text_of_object(given, "tensor", "a type"))

    def mlir_text(self) -> str:
        """Returns the type as MLIR writes it."""
        sizes = "".join("?x" if size is None else f"{size}x" for size in self.shape)
        suffix = "" if self.encoding is None else f", {self.encoding.mlir_text()}"
        return f"tensor<{sizes}{self.dtype.mlir}{suffix}>"

    def __str__(self) -> str:
        sizes = ",".join("?" if size is None else str(size) for size in self.shape)
        head = f"{self.dtype}[{sizes}]"
        return head if self.encoding is None else f"{head} {_storage_text(self.encoding, self.rank)}"


def _sizes_of(shape: object) -> tuple[int | None, ...]:
    """Returns a shape that is given in other types than Python's own."""
    sizes = several_of(shape, "a shape as several sizes, such as (1000, None)")
    return tuple(None if size is None else integer_of(size, "a size") for size in sizes)


def _storage_text(encoding: Encoding, rank: int) -> str:
    """Returns the shortest text that parses back to the encoding: preset, map, or attribute."""
    # `dense` after a shape means no encoding at all, and widths may have been set since the preset was named.
    is_named = encoding.preset is not None and canonical_name(encoding.preset) != "dense"
    if encoding.preset and is_named and as_encoding(encoding.preset, rank=rank) == encoding:
        return encoding.preset
    is_map_alone = not (encoding.pos_width or encoding.crd_width or encoding.explicit_val or encoding.implicit_val)
    return encoding.map_text() if is_map_alone else encoding.to_text()


def _parse_brackets(source: Source) -> TensorType:
    cursor = Cursor(source, EncodingSyntaxError, bare_ids=True)
    start = cursor.token.span
    cursor.expect_kind(TokenKind.NAME, "an element type such as f64")
    if cursor.accept("<"):
        cursor.expect_kind(TokenKind.NAME, "an element type such as f64")
        cursor.expect(">")
    span = start.to(cursor.previous)
    dtype = _dtype(cursor, source.text[span.start : span.end], span)
    cursor.expect("[", "`[` and the sizes, as f64[?,?]")
    shape: list[int | None] = []
    while not cursor.at("]"):
        shape.append(None if cursor.accept("?") else parse_integer(cursor, "a size or `?`"))
        if not cursor.accept(","):
            break
    cursor.expect("]", "`,` or `]` in the sizes")
    return _finish(cursor, dtype, tuple(shape))


def _parse_mlir(source: Source, head: re.Match[str]) -> TensorType:
    # Our tokens begin after the sizes.
    cursor = Cursor(source, EncodingSyntaxError, start=head.end(), bare_ids=True)
    dtype = _dtype(cursor, head["dtype"], Span(*head.span("dtype")), DType.named)
    shape = tuple(None if size == "?" else int(size) for size in head["sizes"].split("x")[:-1])
    if head["comma"]:
        start = cursor.token.span
        storage = take_storage(cursor, len(shape))
        cursor.expect(">")
        cursor.expect_end()
        return _build(cursor, dtype, shape, storage, start)
    cursor.expect(">")
    cursor.expect_end()
    return TensorType(dtype, shape)


def _finish(cursor: Cursor, dtype: DType, shape: tuple[int | None, ...]) -> TensorType:
    is_dense = cursor.peek(1).kind is TokenKind.END and canonical_name(cursor.token.text) == "dense"
    if cursor.done or is_dense:
        return TensorType(dtype, shape)
    start = cursor.token.span
    storage = take_storage(cursor, len(shape))
    cursor.expect_end()
    return _build(cursor, dtype, shape, storage, start)


def _build(cursor: Cursor, dtype: DType, shape: tuple[int | None, ...], storage: Encoding, start: Span) -> TensorType:
    try:
        return TensorType(dtype, shape, storage)
    except SparseError as error:
        cursor.fail(error.message, start.to(cursor.previous), type(error))


def _dtype(cursor: Cursor, text: str, span: Span, read: Callable[[str], DType] = DType.of) -> DType:
    try:
        return read(text)
    except DTypeError as error:
        cursor.fail(error.message, span, DTypeError)

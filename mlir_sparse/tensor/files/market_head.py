"""The head of a Matrix Market file: five words, comments, and the sizes."""

from __future__ import annotations

from mlir_sparse.classes import dataclass
from mlir_sparse.tensor.files.text_rows import as_sizes
from mlir_sparse.tensor.files.text_stream import TextStream, shown

__all__ = ["Head", "read_head"]

# The kind of values of each field.
_FIELDS = {
    "real": "real",
    "double": "real",
    "integer": "integer",
    "unsigned-integer": "unsigned",
    "complex": "complex",
    "pattern": "pattern",
}
_SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")
_WORDS = (("matrix", "vector", "tensor"), ("coordinate", "array"), tuple(_FIELDS), _SYMMETRIES)
_RANKS = {"matrix": 2, "vector": 1}


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a Matrix Market file."""

    object: str
    layout: str
    field: str
    symmetry: str
    sizes: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Returns the extents; in coordinate files the number of entries comes after them."""
        return self.sizes if self.layout == "array" else self.sizes[:-1]

    @property
    def entries(self) -> int:
        """Returns the number of entries that the head of a coordinate file states."""
        return self.sizes[-1]

    @property
    def value(self) -> str:
        """Returns the kind of an entry's value: `real`, `integer`, `unsigned`, `complex` or `pattern`.

        Entries beyond the diagonal of a skew-symmetric matrix are negative.
        """
        found = _FIELDS[self.field]
        return "integer" if found == "unsigned" and self.symmetry == "skew-symmetric" else found


def read_head(stream: TextStream, first: bytes) -> Head:
    """Returns the head of a file, checked, from its first line and the stream after it.

    Raises:
        FileFormatError: for words that Matrix Market lacks, a wrong number or kind of sizes, and symmetries of matrices
            that are not square.
    """
    number = stream.lines
    words = _check_words(stream, number, first)
    while (line := stream.line()) is not None:
        if line.strip() and not line.lstrip().startswith(b"%"):
            return _with_sizes(stream, words, line)
    raise stream.error(number, "expected a line of extents after it, but got the end of the file")


def _check_words(stream: TextStream, number: int, line: bytes) -> tuple[str, str, str, str]:
    words = line.decode("latin-1").lower().split()[1:]
    for place, known in enumerate(_WORDS):
        got = words[place] if place < len(words) else ""
        if got not in known:
            raise stream.error(number, f"expected {' or '.join(known)} in the head, but got {shown(got)}")
    if len(words) > len(_WORDS):
        raise stream.error(number, f"expected four words after the first, but got {shown(line)}")
    kind, layout, field, symmetry = words
    if layout == "array" and field == "pattern":
        raise stream.error(number, "expected values in an array, but got the field 'pattern'")
    if kind != "matrix" and symmetry != "general":
        raise stream.error(number, f"expected general for a {kind}, but got {symmetry!r}")
    return (kind, layout, field, symmetry)


def _with_sizes(stream: TextStream, words: tuple[str, str, str, str], line: bytes) -> Head:
    number, texts = stream.lines, line.split()
    if not all(text.isdigit() for text in texts):
        raise stream.error(number, f"expected extents, but got {shown(line)}")
    sizes = as_sizes(texts)
    if sizes is None:
        raise stream.error(number, f"expected extents below 2^63, but got {shown(max(texts, key=len))[1:-1]}")
    head = Head(*words, sizes=sizes)
    rank = _RANKS.get(head.object)
    wanted = f"{rank or 'one or more'} extents" + (" and the number of entries" if head.layout == "coordinate" else "")
    if len(head.shape) < 1 or len(head.shape) != (rank or len(head.shape)):
        raise stream.error(number, f"expected {wanted}, but got {shown(line)}")
    if head.symmetry != "general" and head.shape[0] != head.shape[1]:
        size = " x ".join(map(str, head.shape))
        raise stream.error(number, f"expected a square matrix for {head.symmetry}, but got {size}")
    return head

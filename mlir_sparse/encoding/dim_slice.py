"""A slice of one dimension: `#sparse_tensor<slice(offset, size, stride)>`."""

from __future__ import annotations

from mlir_sparse.classes import dataclass
from mlir_sparse.errors import EncodingError
from mlir_sparse.text.given_arguments import integer_of

__all__ = ["DimSlice"]


@dataclass(frozen=True, slots=True)
class DimSlice:
    """A slice of one dimension; None is `?`, a number known only at run time.

    >>> print(DimSlice(1, 4, None))
    #sparse_tensor<slice(1, 4, ?)>
    """

    offset: int | None = 0
    size: int | None = None
    stride: int | None = 1

    def __post_init__(self) -> None:
        for name, value, least, rule in (
            ("offset", self.offset, 0, "non-negative"),
            ("size", self.size, 1, "positive"),
            ("stride", self.stride, 1, "positive"),
        ):
            if value is not None and integer_of(value, f"the {name} of a slice") < least:
                raise EncodingError(f"expect {rule} value or ? for slice {name}, but got {value}")

    def __str__(self) -> str:
        parts = ("?" if v is None else str(v) for v in (self.offset, self.size, self.stride))
        return f"#sparse_tensor<slice({', '.join(parts)})>"

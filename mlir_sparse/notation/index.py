"""Index variables as Python objects, with the arithmetic of subscripts."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import ClassVar, NoReturn

from mlir_sparse.errors import NotationError
from mlir_sparse.notation.ast import AffineSubscript, IndexVar
from mlir_sparse.notation.linear_subscript import add, as_affine, as_subscript, scale
from mlir_sparse.text.given_arguments import several_of, text_of
from mlir_sparse.text.identifiers import normal_name
from mlir_sparse.text.lexer import is_name

__all__ = ["Index", "checked_name", "indices", "integer_of", "split_names"]


class Index:
    """An index variable, or a sum such as `2*i + k - 1`, for use in subscripts.

    >>> i, k = indices("i k")
    >>> 2*i + k - 1
    Index('2*i + k - 1')
    """

    __slots__ = ("subscript",)
    # Makes NumPy leave `np.int64(2) * i` to this class.
    __array_ufunc__: ClassVar[None] = None

    def __init__(self, subscript: str | IndexVar | AffineSubscript) -> None:
        variable = IndexVar(checked_name(subscript)) if isinstance(subscript, str) else subscript
        self.subscript: IndexVar | AffineSubscript = variable

    def __add__(self, other: Index | int) -> Index:
        right = _subscript_of(other)
        if right is None:
            return NotImplemented
        return Index(as_subscript(add(as_affine(self.subscript), as_affine(right))))

    __radd__ = __add__

    def __sub__(self, other: Index | int) -> Index:
        right = _subscript_of(other)
        if right is None:
            return NotImplemented
        return Index(as_subscript(add(as_affine(self.subscript), scale(as_affine(right), -1))))

    def __rsub__(self, other: int) -> Index:
        return -self + other

    def __mul__(self, other: Index | int) -> Index:
        if isinstance(other, Index):
            raise NotationError(
                f"expected a subscript linear in the index variables, but got `{self.subscript}` times "
                f"`{other.subscript}`"
            )
        factor = integer_of(other)
        if factor is None:
            return NotImplemented
        return Index(as_subscript(scale(as_affine(self.subscript), factor)))

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> NoReturn:
        raise NotationError(
            f"expected a subscript linear in the index variables, but got a quotient of `{self.subscript}`"
        )

    __floordiv__ = __mod__ = __pow__ = __truediv__

    def __neg__(self) -> Index:
        return Index(as_subscript(scale(as_affine(self.subscript), -1)))

    def __pos__(self) -> Index:
        return self

    def __repr__(self) -> str:
        return f"Index({str(self.subscript)!r})"


def indices(names: str | Iterable[str]) -> tuple[Index, ...]:
    """Returns index variables for names, given as one text or several.

    >>> indices("i j")
    (Index('i'), Index('j'))
    """
    return tuple(Index(name) for name in split_names(names))


def _subscript_of(value: Index | int) -> IndexVar | AffineSubscript | int | None:
    return value.subscript if isinstance(value, Index) else integer_of(value)


def integer_of(value: object) -> int | None:
    """Returns any integer, NumPy's included, as Python's; None for any other object."""
    return int(value) if isinstance(value, numbers.Integral) else None


def checked_name(text: str) -> str:
    """Returns a name in normal form, if the grammar accepts it.

    Raises:
        NotationError: for any other text.
    """
    if not isinstance(text, str) or not is_name(text):
        raise NotationError(f"expected a name of letters, digits and `_`, but got {text!r:.60}")
    return normal_name(text)


def split_names(names: str | Iterable[str]) -> list[str]:
    """Returns the names in `"i j"` or `"i, j"`, or those given one by one."""
    if isinstance(names, str):
        return names.replace(",", " ").split()
    return [text_of(name, "a name") for name in several_of(names, "names such as 'i j'")]

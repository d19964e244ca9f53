"""Another way to compute a statement: parts that are made first, and an expression that reads them."""

from __future__ import annotations

from dataclasses import field

from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DType
from mlir_sparse.notation import Access, Expr, IndexVar

__all__ = ["Part", "PartEstimate", "Rewriting"]


@dataclass(frozen=True, slots=True)
class PartEstimate:
    """What a part takes by estimate.

    Args:
        entries: its elements, or its entries where it is sparse.
        is_sparse: whether it has the entries only.
        nbytes: the bytes of its buffers.
    """

    entries: float
    is_sparse: bool
    nbytes: float

    def __str__(self) -> str:
        kind = "sparse, about" if self.is_sparse else "dense,"
        return f"{kind} {self.entries:,.0f} entries, {self.nbytes / 1e6:,.3g} MB"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a statement that is made once, before what reads it.

    Args:
        target: the temporary, at the index variables that the part keeps; its name is a generated one.
        value: the expression, with explicit sums; it may read parts made before.
        dtype: the element type that it is computed in, as what is compared has one of its own; None for that of the
            statement.
        by_blas: whether it is a product of two arrays that BLAS computes, or such a one and others added to it.
        order: the order of its loops, outermost first; None where the types of operands decide it.
        is_array: whether it is an array although loops could leave elements out.
        estimate: what it takes; kernels are the same whatever it says.
    """

    target: Access
    value: Expr
    dtype: DType | None = None
    by_blas: bool = False
    order: tuple[IndexVar, ...] | None = None
    is_array: bool = False
    estimate: PartEstimate | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.target} = {self.value}{' by BLAS' if self.by_blas else ''}"


@dataclass(frozen=True, slots=True)
class Rewriting:
    """A statement rewritten: equal where numbers are exact.

    Args:
        parts: what is made first, in order.
        value: what stands for the right side of the statement, with explicit sums.
        renamed: (name, name in the text) of each index variable that it calls otherwise.
        by_blas: whether the value is a product of two arrays that BLAS computes.
        symmetric: the matrices that it takes to be their own transposes, bit for bit: it is right for such alone.
        gathered: (name, tensor, axis) of each index variable that it has for an axis along which the text gathers.
        of_one_value: of the symmetric matrices those whose values it takes to be all equal, bit for bit, as those of
            graphs are: loops read one of them.
    """

    parts: tuple[Part, ...]
    value: Expr
    renamed: tuple[tuple[str, str], ...] = ()
    by_blas: bool = False
    symmetric: tuple[str, ...] = ()
    gathered: tuple[tuple[str, str, int], ...] = ()
    of_one_value: tuple[str, ...] = ()

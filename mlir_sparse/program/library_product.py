"""A call of NVIDIA's libraries as data: the plan recognises it, the runtime makes it."""

from __future__ import annotations

from mlir_sparse.classes import dataclass
from mlir_sparse.encoding import TensorType

__all__ = ["DenseUse", "LibraryProduct", "SparseUse"]


@dataclass(frozen=True, slots=True)
class SparseUse:
    """A sparse matrix as an argument of a library.

    Args:
        name: the tensor.
        format: `CSR`, `CSC`, `COO`, `BSR` or `24`.
        transposed: whether the matrix is the tensor's transpose.
    """

    name: str
    format: str
    transposed: bool = False

    def __str__(self) -> str:
        return f"{self.name}{'^T' if self.transposed else ''} as {self.format}"


@dataclass(frozen=True, slots=True)
class DenseUse:
    """A dense matrix or vector as an argument of a library."""

    name: str
    transposed: bool = False

    def __str__(self) -> str:
        return f"{self.name}{'^T' if self.transposed else ''}"


@dataclass(frozen=True, slots=True)
class LibraryProduct:
    """One call of a library.

    Args:
        kind: `spmv`, `spmm`, `structured`, `sddmm` or `spgemm`.
        result: the name of the computed value.
        type: its type; all operands have its element type.
        sparse: the sparse operands: one, or both of `spgemm`.
        dense: the dense operands, in the order of the product.
        transposed: whether the product is the result's transpose.
    """

    kind: str
    result: str
    type: TensorType
    sparse: tuple[SparseUse, ...]
    dense: tuple[DenseUse, ...] = ()
    transposed: bool = False

    def __str__(self) -> str:
        library = "cuSPARSELt" if self.kind == "structured" else "cuSPARSE"
        operands = ", ".join(map(str, (*self.sparse, *self.dense)))
        return f"{library}: {self.result}{'^T' if self.transposed else ''} = {self.kind}({operands})"

"""The types of what the statements of a comprehension assign."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import Encoding, TensorType, encoding
from mlir_sparse.errors import UnsupportedError
from mlir_sparse.notation import Assignment, has_affine_target
from mlir_sparse.spec import infer_output

__all__ = ["Storage", "check_part", "computed_output", "is_sparse", "of_any_shape", "type_of_target"]

Storage = str | Encoding | TensorType | None


def computed_output(
    written: Assignment, statement: Assignment, types: Mapping[str, TensorType], dtype: DType, storage: Storage
) -> TensorType:
    """Returns the type of what a statement's kernel computes.

    Args:
        written: the statement of the comprehension.
        statement: the statement without ranges, and with a plain target.
        types: the types of what it reads.
        dtype: the element type of its target.
        storage: the storage that the user asks for; None where it is inferred.

    Raises:
        UnsupportedError: for a sparse target of which a part is assigned.
    """
    inferred = of_any_shape(replace(infer_output(statement, types), dtype=dtype))
    is_dense = isinstance(storage, str) and storage.strip().lower() == "dense"
    if has_affine_target(written):
        if storage is not None and not is_dense:
            rank = len(written.target.subscripts)
            kind = storage if isinstance(storage, TensorType) else TensorType(
                dtype, (None,) * rank, encoding(storage, rank=rank)
            )  # fmt: skip
            check_part(written, (kind,))
        return replace(inferred, encoding=None)
    if storage is None:
        return inferred
    if isinstance(storage, TensorType):
        return of_any_shape(storage)
    return replace(inferred, encoding=None if is_dense else encoding(storage, rank=inferred.rank))


def check_part(statement: Assignment, kinds: Iterable[TensorType | None]) -> None:
    """Raises UnsupportedError for a sparse target of which a part is assigned.

    Args:
        statement: the statement.
        kinds: the types of the target before and after it.
    """
    for kind in kinds:
        if kind is not None and kind.encoding is not None:
            raise UnsupportedError(
                f"expected dense storage for {statement.target.tensor}, a part of which is assigned in `{statement}`, "
                f"but got {kind}: pass it as an array, and out='dense'"
            )


def type_of_target(statement: Assignment, computed: TensorType) -> TensorType:
    """Returns the type of a statement's target, from that of what its kernel computes: an affine one has other axes."""
    rank = len(statement.target.subscripts)
    return computed if computed.rank == rank else TensorType(computed.dtype, (None,) * rank)


def is_sparse(kind: TensorType) -> bool:
    """Returns whether a tensor of a type leaves elements out."""
    return kind.encoding is not None and not kind.encoding.is_dense


def of_any_shape(kind: TensorType) -> TensorType:
    """Returns a type without static extents."""
    return replace(kind, shape=(None,) * kind.rank)

"""Storage worth trying for a tensor: formats that store its entries with little padding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, permutations, product
from typing import Any

import numpy as np

from mlir_sparse.encoding import Encoding
from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.errors import OperandError, UnknownTensorError
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.text.given_arguments import several_of

__all__ = ["Formats", "combinations", "formats_text", "storage_for"]

Array = np.ndarray[Any, Any]

Formats = bool | Sequence[str | Encoding] | Mapping[str, Sequence[str | Encoding]]
"""Whether to try other storage, or which for all sparse operands, or which for each."""

# The greatest number of stored elements for each entry.
_MOST_FILL = 3.0
_BLOCKS = (2, 4, 8)
_MOST_COMBINATIONS = 32
_MOST_DENSE = 1 << 26
# The number of sampled entries for counting blocks.
_SAMPLE = 1 << 17


def combinations(values: Mapping[str, Any], formats: Formats) -> Iterator[tuple[tuple[str, Encoding | None], ...]]:
    """Yields changes of storage: first of one operand at a time, then of several together."""
    choices = {name: found for name in values if (found := _choices(name, values[name], formats))}
    _check_names(values, formats)
    kept = [((name, None, False), *((name, encoding, True) for encoding in found)) for name, found in choices.items()]
    every = [tuple((n, e) for n, e, changed in chosen if changed) for chosen in product(*kept)]
    yield from islice(sorted(filter(None, every), key=len), _MOST_COMBINATIONS)


def formats_text(formats: Formats) -> str:
    """Returns the argument `formats` as text, for the key of a record."""
    said: object = formats  # callers without a type checker pass anything
    match said:
        case bool():
            return "formats" if said else ""
        case Mapping():
            pairs = sorted((str(name), several_of(several, f"encodings for {name}")) for name, several in said.items())
            return "; ".join(f"{name}: {', '.join(map(str, several))}" for name, several in pairs)
        case str() | Encoding():
            return str(said)
        case _:
            rule = "formats=True, encodings, or a mapping of names to encodings"
            return ", ".join(map(str, several_of(said, rule)))


def _check_names(values: Mapping[str, Any], formats: Formats) -> None:
    for name in formats if isinstance(formats, Mapping) else ():
        if name not in values:
            raise UnknownTensorError(f"expected formats= for operands {', '.join(values)}, but got {name}")


def _choices(name: str, value: Any, formats: Formats) -> list[Encoding | None]:
    sparse = isinstance(value, SparseTensor)
    given = value.encoding.with_widths(0, 0) if sparse else None
    found: Iterable[Encoding | None]
    match formats:
        case False:
            return []
        case True:
            found = storage_for(value) if sparse else ()
        case str():
            raise OperandError(
                f"expected formats=True, a list of encodings, or one for each operand, but got {formats!r}"
            )
        case Mapping():
            found = [_encoding(one, value.ndim) for one in formats.get(name, ())]
        case _:
            found = [_encoding(one, value.ndim) for one in formats] if sparse else ()
    return [encoding for encoding in dict.fromkeys(found) if encoding != given]


def _encoding(formats: str | Encoding, rank: int) -> Encoding | None:
    if isinstance(formats, str) and formats.strip().lower() == "dense":
        return None
    return as_encoding(formats, rank=rank)


def storage_for(tensor: SparseTensor) -> list[Encoding | None]:
    """Returns the encodings that suit a tensor's structure; None for a dense array.

    Rows of equal length suit ELL, few diagonals DIA, dense blocks BSR, empty rows DCSR. From three dimensions on, each
    order of levels is another CSF.

    >>> import mlir_sparse as ms
    >>> A = ms.tensor(np.diag([1.0] * 40))
    >>> [None if e is None else e.preset for e in storage_for(A)]
    ['CSR', 'CSC', 'COO', 'ELL', 'DIA']
    """
    rank = tensor.ndim
    if rank == 0:
        return []
    dims, _ = tensor.to_coo()
    dense: list[Encoding | None] = [None] if _is_full(tensor) else []
    if rank == 1:
        return [as_encoding("SparseVector"), *dense]
    if rank == 2:
        return [as_encoding(name, rank=2) for name in _matrix_formats(dims, tensor.shape)] + dense
    orders = islice(permutations(range(rank)), 24)
    return [*(as_encoding("CSF", rank=rank, order=order) for order in orders), as_encoding("COO", rank=rank), *dense]


def _is_full(tensor: SparseTensor) -> bool:
    elements = int(np.prod(tensor.shape, dtype=object))
    return elements <= _MOST_DENSE and tensor.nse * 10 >= elements


def _matrix_formats(dims: Array, shape: tuple[int, ...]) -> Iterator[str]:
    rows, columns = (dim.astype(np.int64) for dim in dims)
    entries = rows.size
    lengths = np.bincount(rows, minlength=shape[0])
    yield from ("CSR", "CSC", "COO")
    if not entries:
        return
    if np.count_nonzero(lengths) * 2 < shape[0]:
        yield "DCSR"
    if int(lengths.max(initial=0)) * shape[0] <= _MOST_FILL * entries:
        yield "ELL"
    there = np.zeros(shape[0] + shape[1], bool)
    there[columns - rows + shape[0]] = True
    if np.count_nonzero(there) * min(shape) <= _MOST_FILL * entries:
        yield "DIA"
    rows, columns = _sample(rows, columns)
    for side in _BLOCKS:
        if _blocks(rows // side, columns // side) * side * side <= _MOST_FILL / 2 * rows.size:
            yield f"BSR({side}, {side})"


def _sample(rows: Array, columns: Array) -> tuple[Array, Array]:
    """Returns a sample: all entries of some evenly spread block rows."""
    step = -(-rows.size // _SAMPLE)
    kept = rows // max(_BLOCKS) % step == 0
    return rows[kept], columns[kept]


def _blocks(rows: Array, columns: Array) -> int:
    """Returns the number of distinct pairs."""
    # Sorting is ten times as fast as NumPy's `unique`, which hashes.
    keys = np.sort(rows * (int(columns.max(initial=0)) + 1) + columns)
    return int(np.count_nonzero(keys[1:] != keys[:-1])) + min(1, keys.size)

"""A tensor in words: its type, its storage, and its first entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlir_sparse.encoding.encoding_value import Encoding
from mlir_sparse.process.available_memory import in_units
from mlir_sparse.tensor.convert.coordinates_of import expand_dims

if TYPE_CHECKING:
    from mlir_sparse.tensor.sparse_tensor import SparseTensor

__all__ = ["describe_tensor"]

_SHOWN = 10
# Finding the first entries expands all entries, which takes too long for a huge tensor.
_EXPANDED = 10_000_000


def describe_tensor(tensor: SparseTensor, *, entries: bool) -> str:
    """Returns shape, dtype, encoding, entries and bytes in one line; with `entries`, the first ones below.

    >>> from mlir_sparse.tensor import tensor
    >>> print(tensor([[0.0, 2.0], [3.0, 0.0]]))
    SparseTensor f64[2,2] (i, j) -> (i : dense, j : compressed), 2 entries, 36 B
      (0, 1) 2.0
      (1, 0) 3.0
    """
    encoding = tensor.encoding
    sizes = ",".join(map(str, tensor.shape))
    dtype = tensor.type.dtype
    count = f"{tensor.nse} entr{'y' if tensor.nse == 1 else 'ies'}"
    head = f"SparseTensor {dtype}[{sizes}] {encoding.map_text()}{_parameters(encoding)}, {count}"
    head += f", {in_units(tensor.nbytes)}"
    return "\n".join([head, *_entry_lines(tensor)]) if entries else f"<{head}>"


def _parameters(encoding: Encoding) -> str:
    """Returns the parameters of an encoding besides its map; the most common widths are omitted."""
    widths = f", posWidth = {encoding.pos_width}, crdWidth = {encoding.crd_width}"
    text = "" if encoding.pos_width == encoding.crd_width == 32 else widths
    text += "" if encoding.explicit_val is None else f", explicitVal = {encoding.explicit_val}"
    return text + ("" if encoding.implicit_val is None else f", implicitVal = {encoding.implicit_val}")


def _entry_lines(tensor: SparseTensor) -> list[str]:
    if tensor.storage.values.size > _EXPANDED:
        return ["  ..."]
    dims, values = expand_dims(tensor.storage, tensor.shape)
    lines = []
    for entry in range(min(values.size, _SHOWN)):
        where = ", ".join(str(int(dim[entry])) for dim in dims)
        lines.append(f"  ({where}{',' if len(dims) == 1 else ''}) {values[entry]}")
    if values.size > _SHOWN:
        lines.append(f"  ... {values.size - _SHOWN} more")
    if padding := tensor.nse - values.size:  # blocks, bands and n:m groups store padding
        lines.append(f"  and {padding} stored zero{'' if padding == 1 else 's'}")
    return lines

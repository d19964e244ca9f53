"""What AnnData says of a sparse matrix in the attributes of its group, in HDF5 and Zarr."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["matrix_format", "matrix_shape"]

_FORMATS = {"csr_matrix": "CSR", "csc_matrix": "CSC", "csr": "CSR", "csc": "CSC"}
# Of AnnData since 0.7, and before.
_KINDS = ("encoding-type", "h5sparse_format")
_SHAPES = ("shape", "h5sparse_shape")


def matrix_format(attributes: Mapping[str, Any]) -> str | None:
    """Returns CSR or CSC; None for a group that is no sparse matrix.

    >>> matrix_format({"encoding-type": "csr_matrix"}), matrix_format({"h5sparse_format": b"csc"}), matrix_format({})
    ('CSR', 'CSC', None)
    """
    found = _first(attributes, _KINDS)
    found = found.decode(errors="replace") if isinstance(found, bytes) else found
    return _FORMATS.get(found) if isinstance(found, str) else None


def matrix_shape(attributes: Mapping[str, Any]) -> tuple[int, int] | None:
    """Returns the shape; None where the group has none of two extents."""
    found = _first(attributes, _SHAPES)
    if found is None or len(found) != 2:
        return None
    rows, columns = map(int, found)
    return rows, columns


def _first(attributes: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((attributes[name] for name in names if name in attributes), None)

"""Groups of arrays in HDF5 files and Zarr stores that are the levels of a tensor.

| who writes them | arrays | attributes |
|---|---|---|
| Binsparse | `pointers_to_1`, `indices_0`, ..., `values` | `binsparse` |
| AnnData (`.h5ad`, `.zarr`) | `data`, `indices`, `indptr` | `encoding-type`, `shape` |
| 10x Genomics | `data`, `indices`, `indptr`, `shape`, of columns | |
| MATLAB 7.3 (`.mat`) | `data`, `ir`, `jc`, of columns | `MATLAB_sparse` |

Nothing is read here but what says where the rest is.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mlir_sparse.classes import dataclass
from mlir_sparse.disk import refusing
from mlir_sparse.dtypes import TRUTH, DType
from mlir_sparse.encoding import encoding as as_encoding
from mlir_sparse.errors import FileFormatError, OperandError, SparseError, UnsupportedError
from mlir_sparse.tensor.borders.anndata_attributes import matrix_format, matrix_shape
from mlir_sparse.tensor.files.file_array import FileArray
from mlir_sparse.tensor.files.group_readers import array_of_hdf5, array_of_zarr, opened_hdf5, opened_zarr
from mlir_sparse.tensor.files.stored_levels import StoredLevels
from mlir_sparse.tensor.fill_values import is_zero_fill
from mlir_sparse.tensor.level_storage import Array
from mlir_sparse.text.listed_words import listed

__all__ = ["is_hdf5", "is_zarr", "levels_in_groups"]

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_USER_BLOCKS = (0, 512, 1024, 2048)  # MATLAB writes 512 bytes of text before the file
_ZARR = ("zarr.json", ".zgroup")
# Levels of Binsparse's formats, a number the dimensions of a sparse level, and the order of dimensions.
_BINSPARSE: Mapping[str, tuple[tuple[int | str, ...], tuple[int, ...]]] = {
    "CSR": (("dense", 1), (0, 1)),
    "CSC": (("dense", 1), (1, 0)),
    "DCSR": ((1, 1), (0, 1)),
    "DCSC": ((1, 1), (1, 0)),
    "COO": ((2,), (0, 1)),
    "COOR": ((2,), (0, 1)),
    "COOC": ((2,), (1, 0)),
    "CVEC": ((1,), (0,)),
}


def is_hdf5(name: str) -> bool:
    """Returns whether a file is HDF5, by its contents; pipes, which are read once, are not.

    Raises:
        OSError: for a file that cannot be read.
    """
    if not stat.S_ISREG(os.stat(name).st_mode):
        return False
    with open(name, "rb") as file:
        for offset in _USER_BLOCKS:
            file.seek(offset)
            if file.read(len(_SIGNATURE)) == _SIGNATURE:
                return True
    return False


def is_zarr(name: str) -> bool:
    """Returns whether a name is that of a Zarr store: a folder, or an address such as `s3://bucket/a.zarr`."""
    return "://" in name or any(os.path.exists(os.path.join(name, one)) for one in _ZARR)


@dataclass(frozen=True, slots=True)
class _Group:
    """A group: its name, its arrays by name, and its attributes."""

    name: str
    arrays: Mapping[str, FileArray]
    attributes: Mapping[str, Any]


def levels_in_groups(path: str, group: str | None) -> tuple[str, StoredLevels]:
    """Returns the levels that a group of a file has, and the group's name for messages.

    Args:
        path: an HDF5 file or a Zarr store.
        group: the group; by default the only one that is a tensor, or the outermost one, or AnnData's `X`.

    Raises:
        FileFormatError: for a file without a tensor.
        OperandError: for several tensors of which none is named, and for a group that is none.
        MissingPackageError: without the package that reads it.
    """
    walk = _zarr_groups if is_zarr(path) else _hdf5_groups
    with refusing(path, "groups of arrays"):
        found = {one.name: one for one in walk(path) if _layout(one)}
    if group is not None:
        chosen = group.strip("/")
        if chosen not in found:
            raise OperandError(f"{path}: expected one of its tensors, {_names(found)}, but got group={group!r}")
    elif not found:
        raise FileFormatError(f"{path}: expected a sparse tensor as Binsparse, AnnData, 10x or MATLAB store it")
    elif len(found) == 1:
        (chosen,) = found
    elif "" in found or "X" in found:
        chosen = "" if "" in found else "X"
    else:
        raise OperandError(f"{path}: expected group= to name one of its tensors, {_names(found)}")
    label = f"{path}:/{chosen}" if chosen else path
    try:
        with refusing(label, "a sparse tensor"):
            return label, _levels_of(found[chosen])
    except (FileFormatError, UnsupportedError) as error:
        raise type(error)(error.message if label in error.message else f"{label}: {error.message}") from error
    except SparseError as error:
        raise FileFormatError(f"{label}: {error.message}") from error


def _names(found: Mapping[str, Any]) -> str:
    return listed([name or "/" for name in found])


def _hdf5_groups(path: str) -> Iterator[_Group]:
    found: list[_Group] = []
    with opened_hdf5(path) as file:
        import h5py

        def add(name: str, node: Any) -> None:
            if isinstance(node, h5py.Group):
                arrays = {
                    key: array_of_hdf5(path, child)
                    for key, child in node.items()
                    if isinstance(child, h5py.Dataset) and child.shape is not None
                }
                found.append(_Group(name, arrays, dict(node.attrs)))

        add("", file)
        file.visititems(add)
    yield from found


def _zarr_groups(path: str) -> Iterator[_Group]:
    pending = [("", opened_zarr(path))]
    while pending:
        name, node = pending.pop()
        arrays = {key: array_of_zarr(path, f"{name}/{key}".strip("/"), child) for key, child in node.arrays()}
        yield _Group(name, arrays, dict(node.attrs))
        pending += [(f"{name}/{key}".strip("/"), child) for key, child in node.groups()]


def _layout(group: _Group) -> str:
    """Returns who writes such groups; nothing for what is no tensor."""
    compressed = {"data", "indices", "indptr"} <= set(group.arrays)
    if "binsparse" in group.attributes:
        return "binsparse"
    if compressed and matrix_format(group.attributes) is not None:
        return "anndata"
    if "MATLAB_sparse" in group.attributes and {"data", "ir", "jc"} <= set(group.arrays):
        return "matlab"
    return "10x" if compressed and "shape" in group.arrays else ""


def _levels_of(group: _Group) -> StoredLevels:
    arrays, attributes = group.arrays, group.attributes
    match _layout(group):
        case "binsparse":
            return _of_binsparse(group)
        case "anndata":
            name, extents = matrix_format(attributes), matrix_shape(attributes)
            if name is None or extents is None:
                raise FileFormatError(
                    f"{group.name}: expected a shape of two extents among the attributes, but got none"
                )
            return _compressed(name, extents, arrays["indptr"], arrays["indices"], arrays["data"])
        case "matlab":
            shape = int(attributes["MATLAB_sparse"]), len(arrays["jc"]) - 1
            return _compressed("CSC", shape, arrays["jc"], arrays["ir"], arrays["data"])
        case _:
            return _compressed("CSC", np.asarray(arrays["shape"]), arrays["indptr"], arrays["indices"], arrays["data"])


def _compressed(
    preset: str, shape: Any, positions: FileArray, coordinates: FileArray, values: FileArray
) -> StoredLevels:
    extents = tuple(int(extent) for extent in shape)
    dtype = DType.of(values.dtype.newbyteorder("="))
    kind = as_encoding(preset)
    return StoredLevels(kind, extents, dtype, (None, positions), (None, coordinates), values, any_order=True)


def _of_binsparse(group: _Group) -> StoredLevels:
    told = group.attributes["binsparse"]
    head = json.loads(told) if isinstance(told, str | bytes) else dict(told)
    head = head.get("binsparse", head)
    shape, types = tuple(map(int, head["shape"])), head["data_types"]
    for what, is_other in {
        f"values of {types['values']}": "[" in types["values"],
        f"the structure {head.get('structure')}": "structure" in head,
        "a fill value": "fill_value" in group.arrays and not is_zero_fill(np.asarray(group.arrays["fill_value"])),
    }.items():
        if is_other:
            raise UnsupportedError(f"expected a tensor stored in full to read parts of, but got {what}: read it whole")
    levels, order = _binsparse_levels(head)
    kinds: list[str] = []
    positions: list[Any] = []
    coordinates: list[Any] = []
    for level in levels:
        if level == "dense":
            kinds.append("dense")
            positions.append(None)
            coordinates.append(None)
            continue
        first, rank = len(kinds), int(level)
        crd = [group.arrays[f"indices_{at}"] for at in range(first, first + rank)]
        pos: Any = group.arrays[f"pointers_to_{first}"] if first else _root(crd[0])
        for at in range(rank):
            repeats = "(nonunique)" if at + 1 < rank else ""
            kinds.append(f"{'singleton' if at else 'compressed'}{repeats}")
            positions.append(None if at else pos)
            coordinates.append(crd[at])
    dims = ", ".join(f"d{dim}" for dim in range(len(order)))
    text = ", ".join(f"d{dim} : {kind}" for dim, kind in zip(order, kinds, strict=True))
    values = group.arrays["values"]
    dtype = TRUTH if types["values"] == "bint8" else DType.of(values.dtype.newbyteorder("="))
    kind = as_encoding(f"({dims}) -> ({text})")
    return StoredLevels(kind, shape, dtype, tuple(positions), tuple(coordinates), values, any_order=False)


def _binsparse_levels(head: Mapping[str, Any]) -> tuple[tuple[int | str, ...], tuple[int, ...]]:
    name = head["format"]
    if name in _BINSPARSE:
        return _BINSPARSE[name]
    if "custom" not in head:
        raise UnsupportedError(f"expected a sparse tensor, but got Binsparse's {name}: read it whole")
    levels: list[int | str] = []
    level = head["custom"]["level"]
    while level["level_desc"] != "element":
        rank = int(level.get("rank", 1))
        levels += ["dense"] * rank if level["level_desc"] == "dense" else [rank]
        level = level["level"]
    order = head["custom"].get("transpose") or range(len(head["shape"]))
    return tuple(levels), tuple(map(int, order))


def _root(column: FileArray) -> Array:
    """Returns the positions of an outermost level, which files omit, in the width of its coordinates."""
    return np.array([0, column.size], np.int64 if column.dtype.itemsize == 8 else np.int32)

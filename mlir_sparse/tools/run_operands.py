"""The tensors of a run: files first, then generated ones, whose extents the index variables determine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import mlir_sparse as ms
from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import COMPLEX, REAL, DType
from mlir_sparse.errors import ExtentError, UnknownTensorError, UnsupportedError
from mlir_sparse.notation import Access, Comprehension, IndexVar, Subscript
from mlir_sparse.tensor.files.array_groups import is_zarr
from mlir_sparse.testing import Operand
from mlir_sparse.tools.command_options import CommandRequest
from mlir_sparse.tools.generated_tensors import Generator
from mlir_sparse.tools.run_report import Report

__all__ = ["Sources", "Tensor", "as_operand", "known_extents", "load"]

Tensor = Any
"""A SparseTensor, or an array where the storage is dense."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of tensors: paths and generators by tensor."""

    files: Mapping[str, Path]
    generators: Mapping[str, Generator]

    def require_all(self, names: tuple[str, ...]) -> None:
        """Refuses a tensor without a source, or with two.

        Raises:
            UnknownTensorError: for such a tensor, with the options.
        """
        for name in names:
            given = (name in self.files) + (name in self.generators)
            if given != 1:
                got = "both" if given else "neither"
                raise UnknownTensorError(f"expected -i {name}=FILE or -g {name}=random, but got {got}")


def load(
    request: CommandRequest, sources: Sources, report: Report, opened: Mapping[str, ms.TensorSource] | None = None
) -> dict[str, Tensor]:
    """Reads or generates every tensor that the assignment reads, in its storage; opened sources stay as they are.

    Raises:
        UnknownTensorError: for a tensor without a source.
        ExtentError: for a generated tensor without known extents.
    """
    names = request.tensors
    sources.require_all(names)
    tensors: dict[str, Tensor] = dict(opened or {})
    for name, tensor in tensors.items():
        _check_shape(name, request, tuple(tensor.shape))
    for name in names:
        if name in sources.files and name not in tensors:
            with report.step(f"reading {sources.files[name]}"):
                tensors[name] = _read(name, request, sources.files[name])
    for name in names:
        if name in sources.generators:
            with report.step(f"making {name}"):
                tensors[name] = _make(name, request, sources.generators[name], tensors)
    return {name: tensors[name] for name in names}


def as_operand(tensor: Tensor) -> Operand:
    """Converts a tensor to an operand of the reference."""
    if isinstance(tensor, ms.SparseTensor):
        coordinates, values = tensor.to_coo()
        return Operand(values, tensor.shape, tuple(np.asarray(column, np.int64) for column in coordinates))
    array = np.asarray(tensor)
    return Operand(array, array.shape)


def _read(name: str, request: CommandRequest, path: Path) -> Tensor:
    given = request.shapes.get(name, (None,))
    shape = None if None in given else tuple(extent for extent in given if extent is not None)
    # Without -f, keep the storage of `ms.read`; a target that is read has the result's storage, dense.
    has_encoding = name in request.encodings or name in request.targets
    encoding = request.encoding(name) if has_encoding else None
    if path.is_dir() and not is_zarr(str(path)):
        way_out = "give --memory 1GiB, or as much as may be used, to compute with the files in it part by part"
        raise UnsupportedError(f"expected a file, but got the folder -i {name}={path}: {way_out}")
    tensor = ms.read(path, encoding, shape=shape)
    _check_shape(name, request, tuple(tensor.shape))
    # Without -t, files of integers and patterns become f64, the default; complex numbers stay complex.
    dtype = request.dtype(name, (COMPLEX if DType.of(tensor.dtype).is_complex else REAL).name)
    if isinstance(tensor, ms.SparseTensor) and has_encoding and encoding is None:
        tensor = tensor.to_numpy()
    return tensor if DType.of(tensor.dtype) == dtype else tensor.astype(dtype.numpy)


def _check_shape(name: str, request: CommandRequest, shape: tuple[int, ...]) -> None:
    given = request.shapes.get(name, (None,) * len(shape))
    if len(given) != len(shape):
        return  # the kernel refuses it, with the notation
    if any(want is not None and want != got for want, got in zip(given, shape, strict=True)):
        wanted = "x".join("?" if extent is None else str(extent) for extent in given)
        raise ExtentError(f"expected '{name}' to be {wanted}, as -s says, but got {'x'.join(map(str, shape))}")


def _make(name: str, request: CommandRequest, generator: Generator, tensors: Mapping[str, Tensor]) -> Tensor:
    shape = _shape(name, request, tensors)
    kind = request.type_of(name)
    if kind.encoding is None:
        return generator.dense(shape, kind.dtype.numpy)
    return ms.tensor(generator.sparse(shape, kind.dtype.numpy), kind.encoding, shape=shape)


def _shape(name: str, request: CommandRequest, tensors: Mapping[str, Tensor]) -> tuple[int, ...]:
    if isinstance(request.assignment, Comprehension):
        return _declared_shape(name, request, request.assignment, tensors)
    extents = known_extents(request, tensors)
    access = next(access for access in request.accesses if access.tensor == name)
    given = request.shapes.get(name, (None,) * len(access.subscripts))
    return tuple(
        _extent(name, subscript, extents) if extent is None else extent
        for subscript, extent in zip(access.subscripts, given, strict=True)
    )


def _declared_shape(
    name: str, request: CommandRequest, comprehension: Comprehension, tensors: Mapping[str, Tensor]
) -> tuple[int, ...]:
    """Returns the shape of a comprehension's tensor, from the sizes in its declared type."""
    known: dict[str, int] = {}
    declared = {one.name: one for one in (*comprehension.outputs, *comprehension.parameters)}
    for other, one in declared.items():
        shape = tensors[other].shape if other in tensors else request.shapes.get(other, ())
        for size, extent in zip(one.sizes or (), shape, strict=False):  # the kernel refuses a wrong rank
            if isinstance(size, str) and extent is not None:
                known.setdefault(size, extent)
    given = request.shapes.get(name, (None,) * request.ranks[name])
    sizes = declared[name].sizes or given
    found = [
        extent if extent is not None else size if isinstance(size, int) else known.get(str(size))
        for size, extent in zip(sizes, given, strict=True)
    ]
    if None in found:
        missing = ", ".join(dict.fromkeys(str(s) for s, extent in zip(sizes, found, strict=True) if extent is None))
        wanted = f"the sizes {missing}" if declared[name].sizes else "the shape"
        raise ExtentError(
            f"expected {wanted} of '{name}', but got none: "
            f"give -s {name}=SHAPE, or read a tensor that has it from a file"
        )
    return tuple(extent for extent in found if extent is not None)


def known_extents(request: CommandRequest, tensors: Mapping[str, Tensor]) -> dict[IndexVar, int]:
    """Returns the extents of index variables that loaded tensors and -s determine."""
    known: dict[IndexVar, int] = {}
    for statement in request.statements:
        known.update({r.variable: r.high.constant for r in statement.ranges})
    for node in request.accesses:
        tensor = tensors.get(node.tensor)
        shape = request.shapes.get(node.tensor, ()) if tensor is None else tensor.shape
        for subscript, extent in zip(node.subscripts, shape, strict=False):  # the kernel refuses a wrong rank
            if isinstance(subscript, IndexVar) and extent is not None:
                known.setdefault(subscript, extent)
    return known


def _extent(name: str, subscript: Subscript, extents: Mapping[IndexVar, int]) -> int:
    """Returns the least extent that contains a subscript."""
    if isinstance(subscript, Access):
        raise ExtentError(
            f"expected an extent for the axis of '{name}' that {subscript} is a place in, but got none: "
            f"give -s {name}=SHAPE, or read it from a file"
        )
    terms: Sequence[tuple[int, IndexVar]]
    if isinstance(subscript, IndexVar):
        terms, constant = ((1, subscript),), 0
    else:
        terms, constant = subscript.terms, subscript.constant
    for _, variable in terms:
        if variable not in extents:
            raise ExtentError(
                f"expected an extent for index {variable.name} of '{name}', but got none: "
                f"give -s {name}=SHAPE, or read a tensor that has the index from a file"
            )
    highest = sum(max(0, factor) * (extents[variable] - 1) for factor, variable in terms)
    return max(0, highest + constant + 1)

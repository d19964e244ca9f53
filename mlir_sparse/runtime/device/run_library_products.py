"""Products by cuSPARSE and cuSPARSELt on device tensors."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mlir_sparse import _cuda
from mlir_sparse.device import Device, DeviceArray, current_stream, empty
from mlir_sparse.device.cuda_libraries_found import load_sparse, load_structured
from mlir_sparse.dtypes import DType
from mlir_sparse.errors import OperandError, UnsupportedError
from mlir_sparse.program.library_product import LibraryProduct, SparseUse
from mlir_sparse.runtime.device.library_kernels import expand, scale
from mlir_sparse.tensor import DeviceTensor

__all__ = ["DeviceValue", "run_product"]

DeviceValue = DeviceArray | DeviceTensor

# Values of `cusparseIndexType_t`.
_INDICES = {4: 2, 8: 3}
_FORMATS = {name: getattr(_cuda.Format, name) for name in ("CSR", "CSC", "COO", "BSR")}


def run_product(
    product: LibraryProduct,
    values: Mapping[str, DeviceValue],
    shape: tuple[int, ...],
    out: DeviceArray | None,
    where: Device,
) -> DeviceValue:
    """Computes a product of operands on one device; `out` is an array for a dense result, apart from the operands.

    Raises:
        UnsupportedError: if the library lacks the product.
        DeviceError, DeviceMemoryError: if the library is not found, or fails.
    """
    load_sparse()
    match product.kind:
        case "sddmm":
            return _sampled(product, values, where)
        case "spgemm":
            return _times_sparse(product, values, shape, where)
        case _:
            result = empty(shape, product.type.dtype, where) if out is None else out
            _times_dense(product, values, result, where)
            return result


def _tensor(values: Mapping[str, DeviceValue], name: str) -> DeviceTensor:
    found = values[name]
    assert isinstance(found, DeviceTensor)
    return found


def _array(values: Mapping[str, DeviceValue], name: str) -> DeviceArray:
    found = values[name]
    assert isinstance(found, DeviceArray)
    return found


def _matrix(tensor: DeviceTensor, use: SparseUse, numbers: DeviceArray | None = None) -> _cuda.Matrix:
    """Returns a tensor as a matrix of the library, optionally with other values."""
    rows, columns = tensor.shape[::-1] if use.transposed else tensor.shape
    arrays = tensor._arrays[-3:]  # a COO has positions before its coordinates
    first, second = arrays[0], arrays[1]
    if numbers is None:
        numbers = arrays[2]
    block, entries = (1, 1), numbers.size
    if use.format == "BSR":
        block = (tensor.encoding.block_of(0), tensor.encoding.block_of(1))
        entries //= block[0] * block[1]
        if rows % block[0] or columns % block[1]:
            raise UnsupportedError(
                f"expected extents that are multiples of the block {block} for cuSPARSE, but got shape {tensor.shape}: "
                'pass A.convert("CSR"), or use via="codegen"'
            )
    addresses = (first.use(), second.use(), numbers.use())
    types = (_INDICES[first.dtype.itemsize], _INDICES[second.dtype.itemsize], DType.of(numbers.dtype).cuda_type)
    return _cuda.Matrix(_FORMATS[use.format], (rows, columns, entries), addresses, types, block)


def _dense(array: DeviceArray, transposed: bool, *, writes: bool = False) -> _cuda.Dense:
    rows, columns = (array.shape[0], 1) if array.ndim == 1 else array.shape[::-1] if transposed else array.shape
    return _cuda.Dense(rows, columns, array.use(writes=writes), DType.of(array.dtype).cuda_type, transposed)


def _zero(array: DeviceArray) -> None:
    _cuda.fill(array.device.number, array.use(writes=True), 0, array.nbytes, current_stream())


def _times_dense(
    product: LibraryProduct, values: Mapping[str, DeviceValue], result: DeviceArray, where: Device
) -> None:
    left, right = product.sparse[0], product.dense[0]
    tensor, operand = _tensor(values, left.name), _array(values, right.name)
    if 0 in (result.size, operand.size, tensor._arrays[-1].size):
        _zero(result)
        return
    stream = current_stream()
    if product.kind == "structured":
        _structured(tensor, operand, result, where)
        return
    call = _cuda.spmv if product.kind == "spmv" else _cuda.spmm
    target = _dense(result, product.transposed, writes=True)
    call(where.number, stream, _matrix(tensor, left), _dense(operand, right.transposed), target)


def _sampled(product: LibraryProduct, values: Mapping[str, DeviceValue], where: Device) -> DeviceTensor:
    mask, (left, right) = product.sparse[0], product.dense
    tensor, one, other = _tensor(values, mask.name), _array(values, left.name), _array(values, right.name)
    numbers = empty((tensor._arrays[-1].size,), product.type.dtype, where)
    result = tensor._with_values(numbers)
    if 0 in (numbers.size, one.size, other.size):
        _zero(numbers)
        return result
    factors = _dense(one, left.transposed), _dense(other, right.transposed)
    _cuda.sddmm(where.number, current_stream(), *factors, _matrix(tensor, mask, numbers))
    # The library uses the structure of the sparse operand only, not its values.
    scale(numbers, tensor._arrays[-1])
    return result


def _times_sparse(
    product: LibraryProduct, values: Mapping[str, DeviceValue], shape: tuple[int, ...], where: Device
) -> DeviceTensor:
    tensors = [_tensor(values, use.name) for use in product.sparse]
    positions, coordinates = tensors[0]._arrays[0].dtype, tensors[0]._arrays[1].dtype
    lines, stream = shape[1] if product.transposed else shape[0], current_stream()
    encoding = product.type.encoding
    assert encoding is not None
    encoding = encoding.with_widths(positions.itemsize * 8, coordinates.itemsize * 8)
    if any((other._arrays[0].dtype, other._arrays[1].dtype) != (positions, coordinates) for other in tensors):
        raise OperandError(
            "expected operands of the same widths of positions and coordinates, but got others: convert one"
        )
    if 0 in (*shape, *(tensor._arrays[-1].size for tensor in tensors)):
        arrays = [
            empty((lines + 1,), positions, where),
            empty((0,), coordinates, where),
            empty((0,), product.type.dtype, where),
        ]
        _zero(arrays[0])
        return DeviceTensor._from_parts(encoding, shape, encoding.level_sizes(shape), arrays, 0)
    matrices = [_matrix(tensor, use) for tensor, use in zip(tensors, product.sparse, strict=True)]
    entries, *memories = _cuda.spgemm(where.number, stream, *matrices)
    kinds = ((lines + 1, positions), (entries, coordinates), (entries, product.type.dtype.numpy))
    arrays = [
        DeviceArray(memory.pointer, (size,), np.dtype(kind), where, memory, stream)
        for memory, (size, kind) in zip(memories, kinds, strict=True)
    ]
    return DeviceTensor._from_parts(encoding, shape, encoding.level_sizes(shape), arrays, entries)


def _structured(tensor: DeviceTensor, operand: DeviceArray, result: DeviceArray, where: Device) -> None:
    load_structured()
    rows, inner = tensor.shape
    if rows % 16 or inner % 16 or operand.shape[1] % 8:
        raise UnsupportedError(
            f"expected a matrix in NV_24 of multiples of 16 and a dense one of a multiple of 8 columns for cuSPARSELt, "
            f'but got {rows} x {inner} and {inner} x {operand.shape[1]}: pad them, or use via="codegen"'
        )
    compressed = _compressed(tensor, where)
    compressed.multiply(current_stream(), _dense(operand, False), _dense(result, False, writes=True))


def _compressed(tensor: DeviceTensor, where: Device) -> _cuda.Compressed:
    """Returns a matrix in the library's storage; cached with the tensor unless others may write to its values."""
    kept = tensor._kept.get("compressed")
    values = tensor._arrays[-1]
    if isinstance(kept, _cuda.Compressed) and not tensor._lent:
        return kept
    rows, inner = tensor.shape
    dense = empty((rows, inner), values.dtype, where)
    _zero(dense)
    expand(dense, values, tensor._arrays[0])
    compressed = _cuda.Compressed(where.number, current_stream(), _dense(dense, False))
    if not tensor._lent:
        tensor._kept["compressed"] = compressed
    return compressed

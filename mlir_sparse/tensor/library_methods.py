"""What other libraries ask of a tensor: SciPy's linear operators, NumPy's dense copies, and the ways to them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from mlir_sparse.dtypes import numpy_dtype
from mlir_sparse.errors import DenseCopyWarning, RankError, StorageError
from mlir_sparse.process.first_use import import_at_first_call, in_hints
from mlir_sparse.tensor.array_methods import ArrayMethods
from mlir_sparse.tensor.batch_and_slice_parts import plain_encoding
from mlir_sparse.tensor.borders.scipy_callers import WAY_OUT, caller, is_large_copy, left_to_the_tensor
from mlir_sparse.tensor.python_operators import array_namespace

if TYPE_CHECKING:
    from mlir_sparse.device import Device
    from mlir_sparse.encoding.encoding_value import Encoding
    from mlir_sparse.tensor.borders.neighbours import made_for
    from mlir_sparse.tensor.borders.scipy_sparse import format_of, to_scipy, turned_to_scipy
    from mlir_sparse.tensor.borders.torch_sparse import to_torch
    from mlir_sparse.tensor.level_storage import Array
else:
    Device = in_hints("mlir_sparse.device", "Device")
    Encoding = in_hints("mlir_sparse.encoding.encoding_value", "Encoding")
    Array = in_hints("mlir_sparse.tensor.level_storage", "Array")
    import_at_first_call(
        __name__,
        {
            "tensor.borders.neighbours": ("made_for",),
            "tensor.borders.scipy_sparse": ("format_of", "to_scipy", "turned_to_scipy"),
            "tensor.borders.torch_sparse": ("to_torch",),
        },
    )

__all__ = ["LibraryMethods"]

_OWN = {"cpu": "_to_cpu", "scipy": "to_scipy", "torch": "to_torch", "cupy": "_to_cupy"}  # by what `to` is asked for


class LibraryMethods(ArrayMethods):
    """The methods by which other libraries use a tensor, and make their own arrays of it."""

    __slots__ = ()

    def matvec(self, x: Array) -> Array:
        """Returns `A @ x`, as SciPy's linear operators have it.

        With this a tensor is an operator for `scipy.sparse.linalg`: `cg`, `gmres`, `minres`, `lsqr`, `eigsh`, `svds`.

        Args:
            x: an array of shape (n,) or (n, 1).

        Raises:
            RankError: for a tensor that is no matrix.

        >>> from mlir_sparse.tensor import tensor
        >>> tensor([[0.0, 2.0], [3.0, 0.0]]).matvec(np.array([1.0, 10.0]))
        array([20.,  3.])
        """
        return self._as_operator() @ x  # type: ignore[no-any-return]

    def rmatvec(self, x: Array) -> Array:
        """Returns the product of the conjugate transpose with a vector of shape (m,) or (m, 1)."""
        real = self._as_operator().storage.values.dtype.kind != "c"
        if getattr(x, "ndim", 1) == 1:
            product: Array = x @ self if real else np.conj(np.conj(x) @ self)
            return product
        return self.rmatmat(x)

    def matmat(self, X: Array) -> Array:
        """Returns `A @ X` for an array of shape (n, k)."""
        return self._as_operator() @ X  # type: ignore[no-any-return]

    def rmatmat(self, X: Array) -> Array:
        """Returns the product of the conjugate transpose with an array of shape (m, k)."""
        adjoint = self._as_operator().T
        real = adjoint.storage.values.dtype.kind != "c"
        product: Array = adjoint @ X if real else np.conj(adjoint @ np.conj(X))
        return product

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """Returns the array API's namespace on tensors, `ms.xp`.

        Raises:
            UnsupportedError: for a version that it does not know.
        """
        return array_namespace(api_version)

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """Returns `to(device)`, by the array API's name; `stream` is not needed."""
        return self.to(device)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0  # kDLCPU

    def __dlpack__(self, **options: Any) -> Any:
        """Returns the memory of a tensor with dense levels only, for `from_dlpack` of other libraries.

        Raises:
            BufferError: for any other storage.
        """
        encoding: Encoding = self.encoding
        if not (encoding.is_dense and encoding.is_permutation) or encoding.has_slices:
            raise BufferError(
                "expected dense levels only for DLPack, which has no sparse arrays, but got "
                f"{encoding.map_text()}: pass A.to_numpy(), or A.to('torch'), A.to('jax') and the like"
            )
        order = encoding.level_order
        levels = self.storage.values.reshape([self.shape[dim] for dim in order])
        return levels.transpose(np.argsort(order)).__dlpack__(**options)

    @property
    def nnz(self) -> int:
        """Returns the number of stored entries, `nse`, by SciPy's name."""
        found: int = self.nse  # type: ignore[attr-defined]
        return found

    def getnnz(self, axis: int | None = None) -> Any:
        """Returns the number of stored entries; of a matrix, that of each column for axis 0, of each row for axis 1.

        Raises:
            RankError: for an axis that a matrix has not, and one of another tensor.
        """
        if axis is None:
            return self.nnz
        if len(self.shape) != 2 or axis not in (-2, -1, 0, 1):
            raise RankError(
                f"expected a matrix and an axis of it, -2 to 1, but got axis {axis!r} of a tensor of shape {self.shape}"
            )
        coordinates, _ = self.to_coo()  # type: ignore[attr-defined]
        kept = 1 - axis % 2
        return np.bincount(coordinates[kept], minlength=self.shape[kept])

    @property
    def format(self) -> str:
        """Returns SciPy's name of the storage: `csr`, `csc`, `bsr`, `dia`, or `coo` for any other."""
        return format_of(self)  # type: ignore[arg-type]

    @property
    def indptr(self) -> Array:
        """Returns the positions of csr, csc and bsr, by SciPy's name; read-only."""
        return self._of_rows("indptr", self.storage.positions)

    @property
    def indices(self) -> Array:
        """Returns the coordinates of csr, csc and bsr, by SciPy's name; read-only."""
        return self._of_rows("indices", self.storage.coordinates)

    @property
    def data(self) -> Array:
        """Returns the values, in the order of the storage; of bsr as SciPy has them, blocks by rows by columns."""
        values = self.storage.values
        if self.format != "bsr":
            return values
        encoding: Encoding = self.encoding
        return values.reshape(-1, encoding.block_of(0), encoding.block_of(1))

    def _of_rows(self, name: str, arrays: Any) -> Array:
        if self.format not in ("csr", "csc", "bsr"):
            raise AttributeError(
                f"expected csr, csc or bsr for {name}, but got {self.format}: use A.storage, or A.tocsr()"
            )
        found: Array = arrays[1]
        return found

    def toarray(self) -> Array:
        """Returns `to_numpy()`, by SciPy's name."""
        found: Array = self.to_numpy()  # type: ignore[attr-defined]
        return found

    todense = toarray

    def tocsr(self) -> Any:
        """Returns SciPy's csr_array, on the same memory if the tensor is CSR."""
        return self._turned("csr")

    def tocsc(self) -> Any:
        """Returns SciPy's csc_array, on the same memory if the tensor is CSC."""
        return self._turned("csc")

    def tocoo(self) -> Any:
        """Returns SciPy's coo_array."""
        return self._turned("coo")

    def _turned(self, kind: str) -> Any:
        return turned_to_scipy(self, kind)  # type: ignore[arg-type]

    def tobsr(self, blocksize: Any = None, copy: bool = False) -> Any:
        """Returns SciPy's bsr_array, of blocks of a size or of one that SciPy chooses."""
        return self.to_scipy().tobsr(blocksize=blocksize, copy=copy)

    def todia(self) -> Any:
        """Returns SciPy's dia_array."""
        return self.to_scipy().todia()

    @property
    def row(self) -> Array:
        """Returns the row of each entry of coo, by SciPy's name."""
        return self._of_entries("row", 0)

    @property
    def col(self) -> Array:
        """Returns the column of each entry of coo, by SciPy's name."""
        return self._of_entries("col", 1)

    def _of_entries(self, name: str, dim: int) -> Array:
        if self.format != "coo" or len(self.shape) != 2:
            got = self.format if len(self.shape) == 2 else f"shape {self.shape}"
            raise AttributeError(f"expected a matrix in coo for {name}, but got {got}: use A.coords, or A.tocoo()")
        found: Array = self.coords[dim]
        return found

    def _as_operator(self) -> Any:
        if len(self.shape) != 2:
            raise RankError(f"expected a matrix as a linear operator, but got a tensor of shape {self.shape}")
        return self

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise StorageError(
                "expected copy to be allowed, but got copy=False: a dense array of a sparse tensor is new"
            )
        who = caller()
        if who == "scipy.sparse":
            return left_to_the_tensor(self)
        size = self.size * self.storage.values.itemsize
        # scikit-learn takes SciPy's sparse arrays as they are, and all else as dense ones.
        if who == "sklearn" or is_large_copy(size, self.nbytes):
            warnings.warn(
                f"a dense array of {size} bytes is made of a sparse tensor of {self.nbytes} bytes: {WAY_OUT}",
                DenseCopyWarning,
                stacklevel=2,
            )
        array: Array = self.to_numpy()  # type: ignore[attr-defined]
        return array if dtype is None else array.astype(numpy_dtype(dtype))

    def to_scipy(self) -> Any:
        """Returns a SciPy sparse array: csr, csc or bsr of the same storage, dia for DIA, else coo.

        csr, csc, bsr and coo share memory with a tensor of such storage, whose structure is read-only; copy the array
        before changing its structure in place. One whose entries are not sorted, or are there twice, is a copy, which
        SciPy sorts in place.

        Raises:
            DTypeError: for element types that SciPy lacks (f16 and bf16).
        """
        return to_scipy(self._plain())

    def to_torch(self) -> Any:
        """Returns a PyTorch tensor in host memory: csr, csc, bsr or bsc of the same storage, else sparse_coo.

        Values share memory with this tensor; indices share it if they have 32 or 64 bits. A tensor with dense levels
        only becomes a strided tensor. PyTorch does not know that the structure is read-only: copy before changing it.

        Raises:
            MissingPackageError: without PyTorch.
        """
        return to_torch(self._plain())

    def _plain(self) -> Any:
        encoding: Encoding = self.encoding
        plain = plain_encoding(encoding)
        return self if plain is encoding else self.convert(plain)  # type: ignore[attr-defined]

    @property
    def device(self) -> str:
        """Returns `cpu`, the tensor's place; tensors on a GPU are DeviceTensors."""
        return "cpu"

    def to(self, where: str | Device, **options: Any) -> Any:
        """Returns the tensor on a device, or as a sparse array of another library.

        Args:
            where: `cpu`, for the tensor itself; `cuda`, `cuda:1` and so on, for a DeviceTensor; or a library: `scipy`,
                `torch`, `cupy`, `pydata` (GCXS or COO), `jax` (BCSR or BCOO), `graphblas`, `tensorflow`, `arrow`,
                `pandas` (a Series or DataFrame of sparse columns), `networkx` (a DiGraph), `igraph`, `anndata` (a group
                of HDF5 or Zarr, with `group=`). Where a library has the storage of the tensor, memory is shared if the
                library takes it.
            options: of `anndata`, `group`: an empty group that the matrix is written into.

        Raises:
            DeviceError: without a driver (`no CUDA driver (libcuda.so.1) found`), or without that device.
            DeviceMemoryError: when there is too little memory on it, with the figures.
            MissingPackageError: without the library.
            OperandError: for any other word.

        >>> from mlir_sparse.tensor import tensor
        >>> tensor([[0.0, 2.0], [3.0, 0.0]]).to("networkx").edges(data="weight")  # doctest: +SKIP
        OutEdgeDataView([(0, 1, 2.0), (1, 0, 3.0)])
        """
        if not isinstance(where, str) or where.partition(":")[0] == "cuda":
            from mlir_sparse.tensor.device_tensor import to_device  # device_tensor imports the tensor's module

            return to_device(self, where)
        own = _OWN.get(where)
        if own is not None and not options:
            return getattr(self, own)()
        return made_for(self._plain(), where, options)

    def _to_cpu(self) -> Any:
        return self

    def _to_cupy(self) -> Any:
        return self.to("cuda").to_cupy()

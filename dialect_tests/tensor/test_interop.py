"""Tensors of PyTorch, CuPy and DLPack in and out: the same entries, and the same memory where layouts agree."""

from __future__ import annotations

import importlib
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import scipy.sparse as sp

import mlir_sparse as ms
from dialect_tests.conditions import TORCH
from dialect_tests.tensor.reference import same
from mlir_sparse.encoding import encoding
from mlir_sparse.errors import CoordinatesError, FileFormatError, MissingPackageError, OperandError, UnsupportedError
from mlir_sparse.runtime.operand_check import value_of
from mlir_sparse.tensor import FilledTensor, SparseTensor, read, tensor, write

DENSE = np.zeros((4, 6))
DENSE[[0, 0, 1, 1, 3, 3, 3], [0, 1, 0, 1, 1, 3, 4]] = [5, 1, 7, 3, 8, 4, 9]


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch", reason=TORCH)


def address(array: Any) -> int:
    return int(array.data_ptr() if hasattr(array, "data_ptr") else array.ctypes.data)


LAYOUTS: dict[str, tuple[str, Callable[[Any], Any], Callable[[Any], list[Any]]]] = {
    "csr": ("CSR", lambda x: x.to_sparse_csr(), lambda x: [x.crow_indices(), x.col_indices(), x.values()]),
    "csc": ("CSC", lambda x: x.to_sparse_csc(), lambda x: [x.ccol_indices(), x.row_indices(), x.values()]),
    "bsr": ("BSR(2, 3)", lambda x: x.to_sparse_bsr((2, 3)), lambda x: [x.crow_indices(), x.col_indices(), x.values()]),
    "bsc": ("BSC(2, 3)", lambda x: x.to_sparse_bsc((2, 3)), lambda x: [x.ccol_indices(), x.row_indices(), x.values()]),
    "coo": ("SoA-COO", lambda x: x.to_sparse_coo().coalesce(), lambda x: [*x.indices(), x.values()]),
}


@pytest.mark.filterwarnings("ignore:Sparse .* tensor support is in beta")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("wanted", [None, "CSR", "CSC", "COO", "DCSR", "BSR(2, 2)", "dense"])
def test_every_layout_of_pytorch(torch: Any, layout: str, wanted: str | None) -> None:
    name, convert, parts = LAYOUTS[layout]
    source = convert(torch.from_numpy(DENSE))
    made = tensor(source, wanted)
    assert same(made.to_numpy(), DENSE)
    assert made.encoding.level_types == encoding(wanted or name, rank=2).level_types
    if wanted is None:
        shared = [buffer for buffer in made.storage.buffers() if buffer.size != 2 or layout != "coo"]
        assert [address(buffer) for buffer in shared] == [address(part) for part in parts(source)]
    back = made.to_torch()
    assert torch.equal(back.to_dense(), torch.from_numpy(DENSE))
    if wanted is None:
        assert back.layout == source.layout
        assert [address(part) for part in parts(back)] == [address(part) for part in parts(source)]


@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64", "c64", "c128"])
def test_every_element_type(torch: Any, name: str) -> None:
    made = tensor(DENSE, "CSR", dtype=name)
    back = made.to_torch()
    assert address(back.values()) == address(made.storage.values)
    again = tensor(back)
    assert again.type.dtype.name == name
    assert same(again.to_numpy(), made.to_numpy())
    dense = tensor(DENSE, "dense", dtype=name).to_torch()
    assert dense.layout == torch.strided
    assert same(value_of("x", dense), made.to_numpy())


@pytest.mark.parametrize("width", [8, 16, 32, 64])
def test_indices_of_every_width(torch: Any, width: int) -> None:
    made = tensor(DENSE, "CSR", pos_width=width, crd_width=width)
    back = made.to_torch()
    assert back.col_indices().dtype == (torch.int64 if width == 64 else torch.int32)
    assert (address(back.col_indices()) == address(made.storage.coordinates[1])) == (width >= 32)
    assert torch.equal(back.to_dense(), torch.from_numpy(DENSE))


def test_strided_tensors_share_memory(torch: Any) -> None:
    source = torch.arange(6.0).reshape(2, 3)
    assert address(tensor(source, "dense").storage.values) == address(source)
    assert address(value_of("x", source)) == address(source)
    assert same(tensor(source.T).to_numpy(), source.T.numpy())
    assert tensor(source).encoding.level_types == encoding("CSR").level_types
    column_major = tensor(source, "dense", order=(1, 0)).to_torch()
    assert torch.equal(column_major, source)
    assert column_major.stride() == (1, 2)


def test_conjugate_views_are_resolved(torch: Any) -> None:
    source = torch.tensor([1 + 2j, 0])
    assert tensor(source.conj()).storage.values.tolist() == [1 - 2j]


def test_uncoalesced_coo_is_summed(torch: Any) -> None:
    source = torch.sparse_coo_tensor([[2, 0, 2], [1, 3, 1]], [1.0, 2.0, 4.0], (3, 4), check_invariants=True)
    made = tensor(source)
    assert made.nse == 2
    assert same(made.to_numpy(), source.to_dense().numpy())
    assert not source.is_coalesced()


@pytest.mark.parametrize("rank", [1, 3])
def test_coo_of_other_ranks(torch: Any, rank: int) -> None:
    dense = torch.from_numpy(DENSE[3] if rank == 1 else DENSE.reshape(2, 2, 6))
    made = tensor(dense.to_sparse_coo())
    assert made.encoding == encoding("SparseVector" if rank == 1 else "SoA-COO", rank=rank, pos_width=64, crd_width=64)
    back = made.to_torch()
    assert back.is_coalesced()
    assert torch.equal(back.to_dense(), dense)
    assert back.indices().data_ptr() == made.storage.coordinates[0].ctypes.data  # type: ignore[union-attr]


@pytest.mark.parametrize("sparse", [1, 2])
def test_hybrid_coo_has_dense_levels_below(torch: Any, sparse: int) -> None:
    dense = torch.from_numpy(DENSE.reshape(2, 2, 6))
    source = dense.to_sparse(sparse).coalesce()
    made = tensor(source)
    assert [kind.format.value for kind in made.encoding.level_types] == [
        "compressed", *["singleton"] * (sparse - 1), *["dense"] * (3 - sparse)
    ]  # fmt: skip
    assert address(made.storage.values) == address(source.values())
    assert same(made.to_numpy(), dense.numpy())
    assert torch.equal(made.to_torch().to_dense(), dense)


@pytest.mark.parametrize("layout", ["csr", "csc"])
def test_csr_of_dense_vectors(torch: Any, layout: str) -> None:
    dense = torch.from_numpy(DENSE.reshape(2, 2, 6))
    source = getattr(dense, f"to_sparse_{layout}")(dense_dim=1)
    made = tensor(source)
    assert [kind.format.value for kind in made.encoding.level_types] == ["dense", "compressed", "dense"]
    assert address(made.storage.values) == address(source.values())
    assert same(made.to_numpy(), dense.numpy())


def test_blocks_of_one_row(torch: Any) -> None:
    source = torch.from_numpy(DENSE).to_sparse_bsr((1, 3))
    assert same(tensor(source).to_numpy(), DENSE)
    assert torch.equal(tensor(source).to_torch().to_dense(), torch.from_numpy(DENSE))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(4, 6), (0, 6), (4, 0)])
def test_empty_tensors(torch: Any, layout: str, shape: tuple[int, int]) -> None:
    if 0 in shape and layout in ("bsr", "bsc"):
        pytest.skip("PyTorch makes no blocks of empty shapes")
    made = tensor(LAYOUTS[layout][1](torch.zeros(shape)))
    assert (made.nse, made.shape) == (0, shape)
    assert made.to_torch().shape == shape


def test_other_formats_become_coo(torch: Any) -> None:
    for name in ("COO", "ColumnMajorCOO", "DCSR", "CSB", "BSR(3, 4)"):
        back = tensor(DENSE, name).to_torch()
        assert back.layout == torch.sparse_coo
        assert back.is_coalesced()
        assert torch.equal(back.to_dense(), torch.from_numpy(DENSE))


def test_semi_structured_tensors_keep_two_of_four(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Packed(torch.Tensor):  # type: ignore[misc, name-defined]  # the real one needs a GPU
        def to_dense(self) -> Any:
            return torch.eye(4)

    monkeypatch.setattr(torch.sparse, "SparseSemiStructuredTensor", Packed)
    source = torch.zeros(0).as_subclass(Packed)
    for made in (tensor(source), tensor(source, "NV_24"), value_of("A", source)):
        assert isinstance(made, SparseTensor)
        assert made.encoding.level_types == encoding("NV_24").level_types
        assert same(made.to_numpy(), np.eye(4, dtype=np.float32))
    assert same(tensor(source, "CSR").to_numpy(), np.eye(4, dtype=np.float32))


@pytest.mark.parametrize(
    ("layout", "options", "levels"),
    [
        ("csr", (), "d0 : batch, d1 : dense, d2 : compressed"),
        ("csc", (), "d0 : batch, d2 : dense, d1 : compressed"),
        (
            "bsr",
            ((2, 3),),
            "d0 : batch, d1 floordiv 2 : dense, d2 floordiv 3 : compressed, d1 mod 2 : dense, d2 mod 3 : dense",
        ),
        (
            "bsc",
            ((2, 3),),
            "d0 : batch, d2 floordiv 3 : dense, d1 floordiv 2 : compressed, d1 mod 2 : dense, d2 mod 3 : dense",
        ),
    ],
)
def test_batches_of_matrices(torch: Any, layout: str, options: tuple[Any, ...], levels: str) -> None:
    batches = np.stack([DENSE, 2 * DENSE, -DENSE])
    source = getattr(torch.from_numpy(batches), f"to_sparse_{layout}")(*options)
    made = tensor(source)
    assert made.encoding == encoding(f"(d0, d1, d2) -> ({levels})").with_widths(64, 64)
    assert same(made.to_numpy(), batches)
    assert same(tensor(source, "CSF").to_numpy(), batches)
    assert np.array_equal(ms.evaluate("y(b,i) = A(b,i,j)", A=source), batches.sum(2))


def test_batches_of_batches(torch: Any) -> None:
    batches = np.stack([DENSE, 2 * DENSE] * 2).reshape(2, 2, *DENSE.shape)
    made = tensor(torch.from_numpy(batches).to_sparse_csr())
    assert made.encoding.map_text() == "(d0, d1, d2, d3) -> (d0 : batch, d1 : batch, d2 : dense, d3 : compressed)"
    assert same(made.to_numpy(), batches)


def test_what_pytorch_has_and_this_has_not(torch: Any) -> None:
    with pytest.raises(OperandError, match=r"requires grad: pass x.detach\(\)"):
        tensor(torch.ones(2, requires_grad=True))
    with pytest.raises(OperandError, match=r"requires grad: pass x.detach\(\)"):
        tensor(torch.eye(2).to_sparse_coo().requires_grad_())
    with pytest.raises(OperandError, match=r"in host memory, but got one on meta: pass x.cpu\(\)"):
        tensor(torch.ones(2, device="meta"))
    # Ways out that work as they are written.
    ragged = [torch.ones(2), torch.ones(3)]
    jagged = torch.nested.nested_tensor(ragged, layout=torch.jagged)
    for nested in (torch.nested.nested_tensor(ragged), jagged):
        with pytest.raises((OperandError, UnsupportedError), match=r"pass x.to_padded_tensor\(0.0\)"):
            tensor(nested)
        assert same(tensor(nested.to_padded_tensor(0.0)).to_numpy(), np.array([[1, 1, 0], [1, 1, 1]], np.float32))
    masked = importlib.import_module("torch.masked").masked_tensor(torch.ones(2), torch.tensor([True, False]))
    with pytest.raises(OperandError, match=r"expected a tensor that NumPy can read, .*: pass x.to_tensor\(0.0\)"):
        tensor(masked)
    assert same(tensor(masked.to_tensor(0.0)).to_numpy(), np.array([1, 0], np.float32))
    if torch.backends.mkldnn.is_available():
        with pytest.raises(UnsupportedError, match=r"but got torch._mkldnn: pass x.to_dense\(\)"):
            tensor(torch.ones(2, 2).to_mkldnn())
    with pytest.raises(UnsupportedError, match=r"expected numbers in batches of matrices, but got 1 dense"):
        tensor(torch.ones(2, 2, 6, 3).to_sparse_csr(dense_dim=1))
    blocks = torch.ones(4, 4, 2).to_sparse_bsr((2, 2), dense_dim=1)
    with pytest.raises(UnsupportedError, match=r"got 1 dense dimensions in those of torch.sparse_bsr: pass x.to_dense"):
        tensor(blocks)
    assert same(tensor(blocks.to_dense()).to_numpy(), np.ones((4, 4, 2), np.float32))
    with pytest.raises(OperandError, match=r"expected an element type that NumPy has, but got torch.float8_e8m0fnu"):
        tensor(torch.zeros(2, dtype=torch.float8_e8m0fnu))
    broken = torch.sparse_csr_tensor([0, 2], [1, 0], [1.0, 2.0], (1, 2), check_invariants=False)
    with pytest.raises(CoordinatesError):
        tensor(broken)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "bfloat16"])
@pytest.mark.parametrize("storage", ["CSR", "COO", "SoA-COO", "SparseVector"])
def test_types_that_numpy_lacks_go_to_pytorch_and_back(torch: Any, name: str, storage: str) -> None:
    dense = np.array([0.0, 2.0, -1.5]) if storage == "SparseVector" else np.array([[0.0, 2, 0], [-1.5, 0, 4]])
    made = tensor(dense, storage).astype(name if name != "bfloat16" else "bf16").to_torch()
    assert made.dtype == getattr(torch, name)
    for _ in range(2):  # by what is known of the form, the second time
        found = tensor(made)
        assert found.dtype.name == name
        np.testing.assert_array_equal(found.to_numpy().astype(float), dense)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_coalesced_entries_are_shared_and_looked_at_each_time(torch: Any, rank: int) -> None:
    dense = np.zeros(((7,), (3, 4), (3, 4, 5))[rank - 1])
    dense.flat[1::3] = np.arange(1, dense.flat[1::3].size + 1)
    source = torch.from_numpy(dense).to_sparse_coo().coalesce()
    for _ in range(2):
        found = tensor(source)
        np.testing.assert_array_equal(found.to_numpy(), dense)
        assert np.shares_memory(found.storage.values, source.values().numpy())
    source._values()[0] = -7
    assert found.storage.values[0] == -7
    lying = torch.sparse_coo_tensor(
        torch.from_numpy(np.flip(np.argwhere(dense), 0).T.copy()), source._values(), dense.shape, is_coalesced=True
    )
    with pytest.raises(CoordinatesError):
        tensor(lying)
    empty = torch.zeros(dense.shape).to_sparse_coo().coalesce()
    assert tensor(empty).nse == tensor(empty).nse == 0
    twice = torch.sparse_coo_tensor(torch.zeros((rank, 2), dtype=torch.int64), torch.ones(2), dense.shape)
    assert tensor(twice).to_numpy().flat[0] == tensor(twice).to_numpy().flat[0] == 2
    with pytest.raises(OperandError, match="requires grad"):
        tensor(torch.from_numpy(dense).to_sparse_coo().coalesce().requires_grad_())


def test_a_missing_pytorch_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingPackageError, match=r"expected PyTorch to be installed, but got .*: pip install torch"):
        tensor(DENSE).to_torch()


def test_kernels_take_sparse_tensors_of_pytorch(torch: Any) -> None:
    made = value_of("A", torch.from_numpy(DENSE).to_sparse_csr())
    assert isinstance(made, SparseTensor)
    assert same(made.to_numpy(), DENSE)


@pytest.mark.parametrize("name", ["a.mtx", "a.tns", "a.bsp"])
def test_tensors_of_pytorch_are_written(torch: Any, tmp_path: Path, name: str) -> None:
    if name.endswith(".bsp"):
        pytest.importorskip("binsparse", reason="expected the package binsparse (extra binsparse)")
    for source in (torch.from_numpy(DENSE), torch.from_numpy(DENSE).to_sparse_csc()):
        write(tmp_path / name, source)
        assert same(np.asarray(read(tmp_path / name, shape=(4, 6))), DENSE)


def test_cupy_is_taken_to_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("cupyx.scipy.sparse._csr")
    exec("class csr_matrix:\n    def __init__(self, a): self.a = a\n    def get(self): return self.a", module.__dict__)
    matrix = module.csr_matrix(sp.csr_array(DENSE))
    assert matrix.__class__.__module__ == "cupyx.scipy.sparse._csr"
    assert same(tensor(matrix).to_numpy(), DENSE)
    assert isinstance(value_of("A", matrix), SparseTensor)


class Exported:
    """An array that only speaks DLPack."""

    def __init__(self, array: np.ndarray, device: int = 1) -> None:
        self.array, self.device = array, device

    def __dlpack__(self, **options: Any) -> Any:
        if self.array.dtype == ml_dtypes.bfloat16:
            raise BufferError("no such type")
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0


def test_dlpack_shares_memory() -> None:
    source = np.arange(6.0).reshape(2, 3)
    assert address(value_of("x", Exported(source))) == address(source)
    assert address(tensor(Exported(source), "dense").storage.values) == address(source)
    assert same(tensor(Exported(source)).to_numpy(), source)


def test_dlpack_on_a_device_is_refused() -> None:
    with pytest.raises(OperandError, match=r"but got Exported on DLPack device \(2, 0\): copy it to the host first"):
        value_of("x", Exported(DENSE, device=2))


def test_types_without_dlpack_come_through_the_array_protocol() -> None:
    class Both(Exported):
        def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
            return self.array

    source = DENSE.astype(ml_dtypes.bfloat16)
    assert same(value_of("x", Both(source)), source)
    with pytest.raises(OperandError, match="expected an array or tensor of numbers for x, but got Exported"):
        value_of("x", Exported(source))


def test_nothing_of_it_is_imported_unasked() -> None:
    code = (
        "import sys, numpy as np; from mlir_sparse.tensor import tensor; A = tensor(np.eye(3)); "
        "print(A.storage.draw().svg(), A.spy().png(), A._repr_html_()); "
        "assert not {'torch', 'cupy', 'cupyx', 'matplotlib', 'binsparse', 'h5py', 'scipy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.fixture
def binsparse() -> Any:
    return pytest.importorskip("binsparse", reason="expected the package binsparse (extra binsparse)")


@pytest.mark.parametrize("suffix", [".bsp", ".bsp.h5"])
@pytest.mark.parametrize("dtype", ["i8", "i64", "f32", "f64", "c64", "c128"])
def test_binsparse_keeps_levels_and_values(binsparse: Any, tmp_path: Path, suffix: str, dtype: str) -> None:
    for rank, names in {1: ["SparseVector"], 2: ["CSR", "CSC", "DCSR", "DCSC"], 3: ["CSF", "COO"]}.items():
        shape = {1: (24,), 2: (4, 6), 3: (2, 2, 6)}[rank]
        for name in names:
            made = tensor(DENSE.reshape(shape), name, dtype=dtype)
            write(path := tmp_path / f"{name}{suffix}", made)
            back = read(path)
            assert isinstance(back, SparseTensor)
            assert back.encoding == made.encoding
            for stored, written in zip(back.storage.buffers(), made.storage.buffers(), strict=True):
                assert same(stored, written)


def test_binsparse_names_its_formats(binsparse: Any, tmp_path: Path) -> None:
    names = {"CSR": "CSR", "CSC": "CSC", "DCSR": "DCSR", "DCSC": "DCSC", "COO": "COOR", "ColumnMajorCOO": "COOC"}
    for name, written in {**names, "dense": "DMATR", "BSR(2, 2)": "COOR", "UnorderedCOO": "COOR"}.items():
        write(path := tmp_path / "a.bsp.h5", tensor(DENSE, name))
        found = binsparse.load_binsparse(path)
        assert found.format == written
        back = read(path, dtype="f64")
        assert same(np.asarray(back), DENSE)
        assert isinstance(back, np.ndarray) == (name == "dense")
        assert same(read(path, "DCSC").to_numpy(), DENSE)  # type: ignore[union-attr]


def test_binsparse_of_other_levels(binsparse: Any, tmp_path: Path) -> None:
    cube = DENSE.reshape(2, 2, 6)
    for name in (
        "dense(2, 0, 1)",
        "CSF(1, 2, 0)",
        "(i, j, k) -> (k : dense, i : compressed(nonunique), j : singleton)",
    ):
        write(tmp_path / "a.bsp", made := tensor(cube, name))
        assert same(np.asarray(read(tmp_path / "a.bsp")), cube)
        assert binsparse.BINSPARSE_VERSION == "0.1.0"
        assert made.shape == cube.shape
    write(tmp_path / "a.bsp", DENSE)
    assert same(read(tmp_path / "a.bsp"), DENSE)  # type: ignore[arg-type]
    write(tmp_path / "a.bsp", sp.csr_array(DENSE), comment="by rows")
    assert same(read(tmp_path / "a.bsp").to_numpy(), DENSE)  # type: ignore[union-attr]
    write(tmp_path / "a.bsp", tensor(DENSE, dtype="bf16"))
    assert read(tmp_path / "a.bsp").dtype == np.float32


def test_binsparse_files_that_are_broken(binsparse: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.bsp.h5"
    with pytest.raises(FileNotFoundError):
        read(path)
    path.write_bytes(b"no HDF5")
    with pytest.raises(FileFormatError, match=r"a.bsp.h5: expected a Binsparse file in HDF5, but got "):
        read(path)
    broken = binsparse.CSRMatrix(
        (2, 2), 1, pointers_to_1=np.array([0, 1, 1]), indices_1=np.array([5]), values=np.ones(1)
    )
    binsparse.save_binsparse(broken, path)
    with pytest.raises(FileFormatError, match=r"a.bsp.h5: expected coordinates\[1\]"):
        read(path)
    filled = binsparse.CVECVector((3,), 0, True, 7.0, indices_0=np.zeros(0, np.int64), values=np.zeros(0))
    binsparse.save_binsparse(filled, path)
    found = read(path)
    assert isinstance(found, FilledTensor)
    assert found.to_numpy().tolist() == [7.0] * 3


def test_binsparse_coo_in_any_order_is_sorted(binsparse: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.bsp.h5"
    mixed = binsparse.COORMatrix(
        (2, 3), 3, indices_0=np.array([1, 0, 0]), indices_1=np.array([2, 1, 0]), values=np.array([True, True, True])
    )
    binsparse.save_binsparse(mixed, path)
    back = read(path)
    assert isinstance(back, SparseTensor)
    assert same(back.to_numpy(), np.array([[1, 1, 0], [0, 0, 1]], bool))


def test_a_missing_binsparse_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "binsparse", None)
    for use in (lambda path: read(path), lambda path: write(path, DENSE)):
        with pytest.raises(
            MissingPackageError, match=r"a.bsp.h5: expected the package binsparse .*mlir-sparse\[binspa"
        ):
            use(tmp_path / "a.bsp.h5")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("indices", [[[-1, 0]], [[0, 3]], [[0, 0, 1], [1, -5, 0]], [[0, 0, 1], [1, 4, 0]]])
def test_torch_entries_outside_of_the_shape_are_refused_before_torch_sums_them_up(indices: list[list[int]]) -> None:
    """PyTorch's `coalesce` writes where such coordinates point: the process was killed."""
    torch = pytest.importorskip("torch")
    import mlir_sparse.torch

    shape = (3,) if len(indices) == 1 else (2, 3)
    values = torch.ones(len(indices[0]), dtype=torch.float64)
    source = torch.sparse_coo_tensor(torch.tensor(indices), values, shape, check_invariants=False)
    kernel = mlir_sparse.torch.kernel("s = A(i)" if len(shape) == 1 else "s = A(i,j)")
    for call in (ms.tensor, kernel, lambda given: kernel(given.requires_grad_())):
        with pytest.raises(ms.CoordinatesError, match=r"expected coordinates from 0 to \d, below the size"):
            call(source)

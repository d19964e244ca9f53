"""Other libraries' sparse arrays, in and out, each where its package is installed; with data that lies."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.tensor.borders import jax_sparse
from mlir_sparse.tensor.borders.imported_library import index_pair
from mlir_sparse.tensor.borders.listed_entries import side_by_side
from mlir_sparse.tensor.borders.neighbours import NEIGHBOURS, neighbour_of

RNG = np.random.default_rng(22)
MATRIX = RNG.integers(1, 9, (5, 7)) * (RNG.random((5, 7)) < 0.4).astype(float)
CUBE = RNG.integers(1, 9, (3, 4, 5)) * (RNG.random((3, 4, 5)) < 0.4).astype(float)
VECTOR = MATRIX[0]
STORAGES = ("CSR", "CSC", "COO", "SoA-COO", "BSR", "DCSR", "DIA")


def package(name: str) -> Any:
    return pytest.importorskip(name, reason=f"expected the package {name} (extra neighbours)")


def same(found: ms.SparseTensor, wanted: Any) -> None:
    np.testing.assert_array_equal(found.to_numpy(), wanted)


def stored(dense: Any, storage: str) -> ms.SparseTensor:
    return ms.tensor(dense, storage, **({"block": (2, 2)} if storage == "BSR" else {}))


def twice(source: Any) -> ms.SparseTensor:
    """Returns a source as a tensor, the second time by what is known of its form."""
    first, second = ms.tensor(source), ms.tensor(source)
    assert str(first.encoding) == str(second.encoding)
    np.testing.assert_array_equal(first.to_numpy(), second.to_numpy())
    return second


# -- pydata/sparse ----------------------------------------------------------------------------------------------


def test_pydata() -> None:
    sparse = package("sparse")
    for source, dense, preset in (
        (sparse.COO.from_numpy(MATRIX), MATRIX, "SoA-COO"),
        (sparse.COO.from_numpy(CUBE), CUBE, "SoA-COO"),
        (sparse.GCXS.from_numpy(MATRIX), MATRIX, "CSR"),
        (sparse.GCXS.from_numpy(MATRIX, compressed_axes=[1]), MATRIX, "CSC"),
        (sparse.COO.from_numpy(VECTOR), VECTOR, "SparseVector"),
    ):
        found = twice(source)
        same(found, dense)
        assert found.encoding.level_types == ms.encoding(preset, rank=dense.ndim).level_types
        assert np.shares_memory(found.storage.values, source.data)
    for source, dense in (
        (sparse.GCXS.from_numpy(CUBE), CUBE),
        (sparse.GCXS.from_numpy(VECTOR), VECTOR),
        (sparse.DOK.from_numpy(MATRIX), MATRIX),
        (sparse.COO(np.zeros((2, 0), int), np.zeros(0), shape=(3, 4)), np.zeros((3, 4))),
    ):
        same(twice(source), dense)
    same(ms.tensor(sparse.COO.from_numpy(MATRIX), "CSC", dtype="f32"), MATRIX)


def test_pydata_that_lies() -> None:
    sparse = package("sparse")
    made = sparse.COO.from_numpy(np.array([[1.0, 2], [3, 0]]))
    twice(made)
    made.coords = np.array([[1, 0, 1], [0, 1, 0]])
    same(twice(made), [[0, 2], [4, 0]])  # unsorted and repeated
    made.coords = np.array([[0, 0, 2], [0, 1, 0]])
    with pytest.raises(ms.CoordinatesError, match="from 0 to 1"):
        ms.tensor(made)
    made.coords = np.array([[0, 0, 1], [0, 1, 2**62]])
    with pytest.raises(ms.CoordinatesError, match=str(2**62)):
        ms.tensor(made)
    made.coords = np.array([[0, 0], [0, 1]])
    with pytest.raises(ms.SparseError):
        ms.tensor(made)
    for filled in (sparse.COO.from_numpy(MATRIX) + 1, sparse.COO.from_numpy(MATRIX, fill_value=np.nan)):
        with pytest.raises(ms.UnsupportedError, match="fill value"):
            ms.tensor(MATRIX) + filled
    made = ms.tensor(sparse.COO(np.array([[1], [0]]), np.array([2**64 - 1], np.uint64), shape=(2, 2)))
    assert (made.dtype, int(made[1, 0])) == (np.uint64, 2**64 - 1)
    same(twice(made.astype(np.uint8)), np.array([[0, 0], [255, 0]], np.uint8))
    with pytest.raises(ms.RankError, match="a number"):
        ms.tensor(sparse.COO(np.zeros((0, 1), int), np.array([3.0]), shape=()))


def test_operators_and_kernels_take_pydatas() -> None:
    sparse = package("sparse")
    C, A = sparse.COO.from_numpy(MATRIX), ms.tensor(MATRIX)
    for found, wanted in ((A + C, 2 * MATRIX), (C + A, 2 * MATRIX), (A * C, MATRIX**2), (A.T @ C, MATRIX.T @ MATRIX)):
        same(found, wanted)
    np.testing.assert_array_equal(ms.evaluate("y(i) = A(i,j) * x(j)", A=C, x=np.ones(7)), MATRIX.sum(1))


# -- JAX --------------------------------------------------------------------------------------------------------


@pytest.fixture
def jax() -> Any:
    found = package("jax")
    importlib.import_module("jax.experimental.sparse")
    before = found.config.jax_enable_x64
    found.config.update("jax_enable_x64", True)
    yield found
    found.config.update("jax_enable_x64", before)


def test_jax(jax: Any) -> None:
    sparse, cube = jax.experimental.sparse, jax.numpy.asarray(CUBE)
    made = sparse.BCOO.fromdense(jax.numpy.asarray(MATRIX))
    found = twice(made)
    same(found, MATRIX)
    assert np.shares_memory(found.storage.values, np.asarray(made.data))
    assert found.encoding.level_types == ms.encoding("COO").level_types
    rows = sparse.BCSR.fromdense(jax.numpy.asarray(MATRIX))
    same(twice(rows), MATRIX)
    assert np.shares_memory(ms.tensor(rows).storage.values, np.asarray(rows.data))
    for batches, dense in ((0, 0), (1, 0), (2, 0), (0, 1), (0, 2), (1, 1), (2, 1)):
        same(twice(sparse.BCOO.fromdense(cube, n_batch=batches, n_dense=dense)), CUBE)
    same(twice(sparse.BCSR.fromdense(cube, n_batch=1)), CUBE)
    same(twice(sparse.BCSR.fromdense(cube, n_dense=1)), CUBE)
    same(twice(sparse.BCOO.fromdense(jax.numpy.asarray(VECTOR))), VECTOR)


def test_jax_that_lies(jax: Any) -> None:
    sparse, matrix = jax.experimental.sparse, jax.numpy.asarray(MATRIX)
    same(ms.tensor(sparse.BCOO.fromdense(matrix, nse=30)), MATRIX)  # padded by places out of range
    same(ms.tensor(sparse.BCSR.fromdense(matrix, nse=30)), MATRIX)
    repeated = jax.numpy.array([[1, 0], [0, 1], [1, 0]])
    same(ms.tensor(sparse.BCOO((jax.numpy.array([1.0, 2, 3]), repeated), shape=(2, 2))), [[0, 2], [4, 0]])
    hybrid = sparse.BCOO((jax.numpy.ones((3, 2)), jax.numpy.array([[1], [0], [1]])), shape=(2, 2))
    same(ms.tensor(hybrid), [[1, 1], [2, 2]])
    with pytest.raises(ms.OperandError, match="outside of jit"):
        jax.jit(lambda x: ms.tensor(x).nse)(sparse.BCOO.fromdense(matrix))


def test_jax_on_another_device() -> None:
    """Stands in for an array on a GPU."""
    there = SimpleNamespace(devices=lambda: [SimpleNamespace(platform="gpu")])
    with pytest.raises(ms.OperandError, match="in host memory, but got JAX' on gpu"):
        jax_sparse.jax_parts(SimpleNamespace(data=there, indices=there))


def stood_for(values: Any, indices: Any, shape: tuple[int, ...], batches: int = 0) -> SimpleNamespace:
    """Stands for a BCOO, whose parts may be NumPy's arrays: JAX keeps places in an axis before dense dimensions."""
    dense = np.ndim(values) - batches - 1
    return SimpleNamespace(data=values, indices=np.asarray(indices), shape=shape, n_batch=batches, n_dense=dense)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "bool", "float16", "float32", "complex64"])
def test_jax_without_sparse_dimensions(dtype: str) -> None:
    """Entries are whole arrays then, summed as JAX sums them, in their type."""
    whole = np.array([[[1, 0, 1], [0, 1, 0]], [[0, 1, 0], [0, 1, 1]]]).astype(dtype)
    for values in (whole, whole[:1], whole[:0]):
        parts = jax_sparse.jax_parts(stood_for(values, np.zeros((len(values), 0), int), (2, 3)))
        assert parts.values.dtype == dtype
        np.testing.assert_array_equal(parts.values, values.sum(axis=0).astype(dtype))
    batched = stood_for(np.stack([whole, whole[::-1]]), np.zeros((2, 2, 0), int), (2, 2, 3), batches=1)
    parts = jax_sparse.jax_parts(batched)
    assert parts.values.dtype == dtype
    np.testing.assert_array_equal(parts.values, [whole.sum(axis=0).astype(dtype)] * 2)
    repeated = jax_sparse.jax_parts(stood_for(whole, [[1], [1]], (4, 2, 3)))
    assert repeated.values.dtype == dtype
    np.testing.assert_array_equal(repeated.values, [whole.sum(axis=0).astype(dtype)])


def test_jax_of_dense_dimensions_alone(jax: Any) -> None:
    sparse, sizes = jax.experimental.sparse, [(batches, 3 - batches) for batches in range(4)]
    for batches, dense in sizes:
        made = sparse.BCOO.fromdense(jax.numpy.asarray(CUBE.astype(np.int8)), n_batch=batches, n_dense=dense, nse=3)
        found = twice(made)
        assert found.dtype == np.int8
        same(found, CUBE)


def test_jax_would_narrow(jax: Any) -> None:
    jax.config.update("jax_enable_x64", False)
    with pytest.raises(ms.DTypeError, match="jax_enable_x64"):
        ms.tensor(MATRIX).to("jax")
    found = ms.tensor(MATRIX, "CSR", dtype="f32", pos_width=64, crd_width=64).to("jax")
    same(ms.tensor(found), MATRIX)


# -- GraphBLAS, TensorFlow, Arrow -------------------------------------------------------------------------------


def test_graphblas() -> None:
    gb = package("graphblas")
    made = gb.Matrix.from_coo([4, 0, 1], [6, 1, 2], [3.0, 1, 2], nrows=5, ncols=7)
    dense = np.zeros((5, 7))
    dense[[4, 0, 1], [6, 1, 2]] = 3, 1, 2
    same(twice(made), dense)
    same(twice(made.T), dense.T)
    same(twice(gb.Vector.from_coo([3, 1], [6, 5], size=5)), [0, 5, 0, 6, 0])
    same(ms.tensor(gb.Matrix(float, 3, 2)), np.zeros((3, 2)))
    assert ms.tensor(gb.Matrix.from_coo([0], [1], [True], nrows=2, ncols=2)).dtype == np.bool_
    huge = ms.tensor(gb.Matrix.from_coo([0, 2**40], [1, 2**59], [1.0, 2]))
    assert huge.to_coo()[0].tolist() == [[0, 2**40], [1, 2**59]]
    bytes_ = ms.tensor(gb.Matrix.from_coo([0], [1], np.array([200], np.uint8), nrows=2, ncols=2))
    assert (bytes_.dtype, bytes_.to("graphblas").dtype.name, int(bytes_[0, 1])) == (np.uint8, "UINT8", 200)
    same(ms.tensor(MATRIX) + ms.tensor(MATRIX).to("graphblas"), 2 * MATRIX)


@pytest.mark.parametrize("storage", ["CSR", "CSC", "COO"])
@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u8", "f4", "f8", "c8", "c16"])
def test_graphblas_has_copies_of_each_storage(storage: str, dtype: str) -> None:
    gb = package("graphblas")
    dense = MATRIX.astype(dtype)
    A = ms.tensor(dense, storage)
    found = A.to("graphblas")
    np.testing.assert_array_equal(found.to_dense(0), dense)
    same(ms.tensor(found), dense)
    A.storage.values[:] = 0
    np.testing.assert_array_equal(found.to_dense(0), dense)
    # Of values that are all equal GraphBLAS stores one.
    same(
        ms.tensor(gb.Matrix.from_coo([0, 1, 1], [1, 0, 2], np.ones((), dtype), nrows=2, ncols=3)),
        [[0, 1, 0], [1, 0, 1]],
    )


def test_graphblas_of_elements_that_are_no_numbers() -> None:
    gb = package("graphblas")
    made = gb.Matrix(gb.dtypes.register_anonymous(np.dtype((np.float64, 2))), 3, 3)
    made[1, 1] = [1.0, 2.0]
    with pytest.raises(ms.DTypeError, match="expected numbers as elements of a Matrix"):
        ms.tensor(made)


def test_tensorflow() -> None:
    tf = package("tensorflow")
    same(twice(tf.sparse.from_dense(CUBE)), CUBE)
    same(ms.tensor(tf.SparseTensor([[1, 0], [0, 1], [1, 0]], [1.0, 2, 3], [2, 2])), [[0, 2], [4, 0]])
    with pytest.raises(ms.CoordinatesError):
        ms.tensor(tf.SparseTensor([[2, 0]], [1.0], [2, 2]))
    with pytest.raises(ms.OperandError, match="RaggedTensor"):
        ms.tensor(tf.ragged.constant([[1], [2, 3]]))


def test_kernels_beside_tensorflow() -> None:
    """Each has an LLVM, and TensorFlow puts its own before all that is loaded later."""
    package("tensorflow")
    code = (
        "import tensorflow, numpy as np, mlir_sparse as ms; A = ms.tensor(np.eye(3)); "
        "print(ms.compile('y(i) = A(i,j) * x(j) * 3', A=A, x=np.ones(3)).ir('llvmir')[:1] and (A @ np.ones(3)).sum())"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.stdout.split()[-1:] == ["3.0"], found.stderr[-2000:]


def test_arrow() -> None:
    pa = package("pyarrow")
    for kind in (pa.SparseCSRMatrix, pa.SparseCSCMatrix, pa.SparseCOOTensor):
        same(twice(kind.from_dense_numpy(MATRIX)), MATRIX)
    for kind in (pa.SparseCOOTensor, pa.SparseCSFTensor):
        same(twice(kind.from_dense_numpy(CUBE)), CUBE)
    values, positions, coordinates = np.arange(3.0), np.array([0, 2, 3]), np.array([1, 0, 1])
    found = ms.tensor(pa.SparseCSRMatrix.from_numpy(values, positions, coordinates, (2, 2)))
    same(found, [[1, 0], [0, 2]])  # unsorted
    with pytest.raises(ms.CoordinatesError):
        ms.tensor(pa.SparseCSRMatrix.from_numpy(values, positions, coordinates + 5, (2, 2)))
    with pytest.raises(ms.PositionsError):
        ms.tensor(pa.SparseCSRMatrix.from_numpy(values, np.array([0, 4, 3]), coordinates, (2, 2)))


# -- graphs -----------------------------------------------------------------------------------------------------


def test_networkx() -> None:
    nx = package("networkx")
    graph = nx.Graph()
    graph.add_edge("a", "b", weight=2.5)
    graph.add_edge("b", "b")
    graph.add_node("c")
    same(ms.tensor(graph), nx.to_numpy_array(graph))
    parallel = nx.MultiDiGraph([(0, 1, {"weight": 2}), (0, 1, {"weight": 3}), (1, 1, {})])
    same(ms.tensor(parallel), nx.to_numpy_array(parallel))
    # Numbers as names, in another order than theirs: an array of them was once what a graph became.
    numbered = nx.relabel_nodes(nx.path_graph(4), {0: 3, 3: 0})
    same(ms.tensor(numbered, "CSR"), nx.to_numpy_array(numbered))
    assert ms.tensor(nx.Graph()).shape == (0, 0)
    back = ms.tensor(MATRIX[:, :5]).to("networkx")
    np.testing.assert_array_equal(nx.to_numpy_array(back), MATRIX[:, :5])
    assert isinstance(back, nx.DiGraph)
    ranks = nx.pagerank(ms.tensor(numbered).to("networkx"))
    assert sum(ranks.values()) == pytest.approx(1)
    for weight, words in (("x", r"'x' of edge \('a', 'c'\)"), (None, "None of edge"), (2**70, "64 bits")):
        graph.add_edge("a", "c", weight=weight)
        with pytest.raises(ms.OperandError, match=words):
            ms.tensor(graph)


def test_igraph() -> None:
    igraph = package("igraph")
    graph = igraph.Graph([(0, 1), (1, 1), (2, 0)])
    graph.es["weight"] = [1.0, 2, 3]
    same(ms.tensor(graph), [[0, 1, 3], [1, 2, 0], [3, 0, 0]])
    same(ms.tensor(igraph.Graph([(0, 1), (0, 1)], directed=True)), [[0, 2], [0, 0]])
    assert ms.tensor(igraph.Graph()).shape == (0, 0)
    same(ms.tensor(ms.tensor(MATRIX[:, :5]).to("igraph")), MATRIX[:, :5])


@pytest.mark.parametrize("library", ["networkx", "igraph"])
def test_graphs_are_square_and_no_operands(library: str) -> None:
    module = package(library)
    with pytest.raises(ms.ExtentError, match="square adjacency"):
        ms.tensor(MATRIX).to(library)
    with pytest.raises(ms.RankError):
        ms.tensor(VECTOR).to(library)
    with pytest.raises(ms.OperandError, match=library):
        ms.tensor(np.eye(3)) @ module.Graph()


# -- HDF5 -------------------------------------------------------------------------------------------------------


def test_pandas() -> None:
    pandas = package("pandas")
    table = pandas.DataFrame(MATRIX, columns=list("abcdefg"), index=list("vwxyz"))
    sparse = table.astype(pandas.SparseDtype(float, 0.0))
    found = twice(sparse)
    same(found, MATRIX)
    assert (found.encoding, found.nse) == (ms.tensor(MATRIX, "CSC").encoding, np.count_nonzero(MATRIX))
    same(ms.tensor(sparse.iloc[:, :1]), MATRIX[:, :1])
    np.testing.assert_array_equal(ms.evaluate("y(i) = A(i,j) * x(j)", A=sparse, x=np.ones(7)), MATRIX.sum(axis=1))
    for vector in (sparse["c"], sparse["c"].array):
        same(twice(vector), MATRIX[:, 2])
        assert np.shares_memory(ms.tensor(vector).storage.values, sparse["c"].array.sp_values)
    blocks = pandas.arrays.SparseArray([0, 0, 5, 6, 0], fill_value=0, kind="block")
    same(twice(blocks), [0, 0, 5, 6, 0])
    same(ms.tensor(pandas.arrays.SparseArray([False, True, True])), [False, True, True])


def test_pandas_with_other_values_missing() -> None:
    pandas = package("pandas")
    missing = np.where(MATRIX == 0, np.nan, MATRIX)
    found = twice(pandas.DataFrame(missing).astype(pandas.SparseDtype(float)))
    assert np.isnan(found.fill_value)
    assert found.nse == np.count_nonzero(MATRIX)
    sevens = ms.tensor(pandas.Series(pandas.arrays.SparseArray([7, 1, 7], fill_value=7)))
    assert (sevens.fill_value, sevens.nse) == (7, 1)
    # What is not sparse throughout, or not of one fill value, is dense: right by position.
    sparse = pandas.Series(pandas.arrays.SparseArray([0.0, 2.0]))
    other = pandas.Series(pandas.arrays.SparseArray([1.0, np.nan], fill_value=1.0))
    same(ms.tensor(pandas.DataFrame({"a": sparse, "b": [3.0, 0.0]})), [[0, 3], [2, 0]])
    same(ms.tensor(pandas.DataFrame({"a": sparse, "b": other})), [[0, 1], [2, np.nan]])
    same(ms.tensor(pandas.DataFrame()), np.zeros((0, 0)))
    with pytest.raises(ms.SparseError, match="expected"):
        ms.tensor(pandas.Series(pandas.arrays.SparseArray(["a", ""], fill_value="", dtype=object)))
    with pytest.raises(ms.RankError, match="a vector or a matrix for pandas"):
        ms.tensor(CUBE).to("pandas")


def test_arrays_whose_parts_do_not_belong_together(tmp_path: Path) -> None:
    """What a library raises where it reads them is named, also where others of the class were read before."""
    sparse, h5py = package("sparse"), package("h5py")
    twice(sparse.COO.from_numpy(MATRIX))
    listed, none = sparse.COO.from_numpy(MATRIX), sparse.COO.from_numpy(MATRIX)
    listed.coords, none.coords = listed.coords.tolist(), None
    axes, keys = sparse.GCXS.from_numpy(CUBE), sparse.DOK.from_numpy(MATRIX)
    axes.indices = np.full_like(axes.indices, 99)
    keys.data[99, 0] = 1.0
    for source in (listed, none, axes, keys):
        with pytest.raises(ms.StorageError, match=f"expected a {type(source).__name__} of sparse whose parts belong"):
            ms.tensor(source)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        group = ms.tensor(MATRIX).to("anndata", group=file.create_group("X"))
    with pytest.raises(ms.OperandError, match="expected a group of an open file"):
        ms.tensor(group)


def test_groups_of_anndata(tmp_path: Path) -> None:
    h5py = package("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for storage in STORAGES:
            group = stored(MATRIX, storage).to("anndata", group=file.create_group(storage))
            same(ms.tensor(group), MATRIX)
            if importlib.util.find_spec("anndata"):
                read = importlib.import_module("anndata").io.read_elem(group)
                np.testing.assert_array_equal(read.toarray(), MATRIX)
        group = file["CSR"]
        with pytest.raises(ms.OperandError, match="empty group"):
            ms.tensor(MATRIX).to("anndata", group=group)
        group["indices"][...] = group["indices"][...][::-1]
        found = ms.tensor(group)  # unsorted
        assert found.to_numpy().sum() == MATRIX.sum()
        group["indptr"][2] = 100
        with pytest.raises(ms.PositionsError):
            ms.tensor(group)
        del group["data"]
        with pytest.raises(ms.FileFormatError, match="no data"):
            ms.tensor(group)
        with pytest.raises(ms.OperandError, match="File"):
            ms.tensor(file)
    with pytest.raises(ms.OperandError, match="empty group"):
        ms.tensor(MATRIX).to("anndata")


# -- out --------------------------------------------------------------------------------------------------------

DENSE: dict[str, Callable[[Any], Any]] = {
    "pydata": lambda x: x.todense(),
    "jax": lambda x: x.todense(),
    "graphblas": lambda x: x.to_dense(0),
    "tensorflow": lambda x: importlib.import_module("tensorflow").sparse.to_dense(x).numpy(),
    "arrow": lambda x: x.to_tensor().to_numpy(),
    "pandas": lambda x: x.to_numpy(),
    "scipy": lambda x: x.toarray(),
    "torch": lambda x: x.to_dense().numpy(),
}
PACKAGES = {**{one.name: one.package for one in NEIGHBOURS}, "scipy": "scipy", "torch": "torch"}


@pytest.mark.parametrize("library", DENSE)
def test_out_and_back(library: str, request: pytest.FixtureRequest) -> None:
    package(PACKAGES[library])
    if library == "jax":
        request.getfixturevalue("jax")
    for storage in STORAGES:
        A = stored(MATRIX, storage)
        made = A.to(library)
        np.testing.assert_array_equal(DENSE[library](made), MATRIX)
        same(ms.tensor(made), MATRIX)
    if library not in ("graphblas", "pandas", "scipy"):
        same(ms.tensor(ms.tensor(CUBE).to(library)), CUBE)
    if library not in ("arrow", "scipy"):
        same(ms.tensor(ms.tensor(VECTOR).to(library)), VECTOR)


@pytest.mark.parametrize("library", ["pydata", "scipy", "torch", "arrow"])
def test_out_shares_memory(library: str) -> None:
    package(PACKAGES[library])
    A = ms.tensor(MATRIX)
    same(ms.tensor(A.to(library)), MATRIX)
    assert np.shares_memory(ms.tensor(A.to(library)).storage.values, A.storage.values)


@pytest.mark.parametrize("dense", [MATRIX, VECTOR, CUBE], ids=["matrix", "vector", "cube"])
@pytest.mark.parametrize("storage", ["COO", "SoA-COO"])
@pytest.mark.parametrize("library", ["pydata", "scipy", "arrow"])
def test_lists_of_entries_share_memory(library: str, storage: str, dense: Any) -> None:
    package(PACKAGES[library])
    A = ms.tensor(dense, "SparseVector" if dense.ndim == 1 else storage)
    made = A.to(library)
    values = made.to_numpy()[0] if library == "arrow" else made.data
    assert np.shares_memory(values, A.storage.values)
    # Arrow keeps coordinates in 64 bits, and SciPy copies those of three dimensions and more.
    if library == "pydata" or (library == "scipy" and dense.ndim < 3):
        together = storage == "COO" or library == "scipy" or dense.ndim == 1
        shared = list(map(np.shares_memory, A.storage.coordinates, made.coords))
        assert shared == [together] * dense.ndim
        assert not any(column.flags.writeable for column in made.coords if together)
    if library != "scipy" or dense.ndim < 3:
        same(ms.tensor(made), dense)


@pytest.mark.parametrize("storage", ["UnorderedCOO", "NonuniqueCOO", "ColumnMajorCOO", "DCSC"])
@pytest.mark.parametrize("library", ["pydata", "arrow", "jax", "torch"])
def test_other_lists_are_put_in_order(library: str, storage: str) -> None:
    package(PACKAGES[library])
    if library == "jax":
        importlib.import_module("jax").config.update("jax_enable_x64", True)
    rows, columns = np.nonzero(MATRIX)
    shuffled = np.random.default_rng(1).permutation(rows.size)
    given = (np.stack([rows[shuffled], columns[shuffled]]), MATRIX[rows, columns][shuffled])
    found = ms.tensor(ms.tensor(given, storage, shape=MATRIX.shape).to(library))
    same(found, MATRIX)
    coordinates, _ = found.to_coo()
    np.testing.assert_array_equal(coordinates, [rows, columns])


def test_arrays_lie_side_by_side() -> None:
    whole = np.arange(24, dtype=np.int32).reshape(4, 6)
    for columns in (list(whole), list(whole.T), list(whole[:, ::2]), list(whole[::2]), [whole[1]]):
        found = side_by_side(columns)
        np.testing.assert_array_equal(found, np.stack(columns))
        assert np.shares_memory(found, whole)
    first, second, _, last = whole
    for columns in ([second, first], [first, second.copy()], [first, last, second], [first[:0], second[:0]]):
        found = side_by_side(columns)
        np.testing.assert_array_equal(found, np.stack(columns))
        assert not np.shares_memory(found, whole)


def test_out_to_scipy_leaves_no_trace() -> None:
    """What is kept of a shape is not changed by what is made of it."""
    package("scipy")
    A, B = ms.tensor(MATRIX), ms.tensor(2 * MATRIX)
    first = A.to_scipy()
    first.sum_duplicates()
    first.data[:] = 7
    second = B.to_scipy()
    np.testing.assert_array_equal(second.toarray(), 2 * MATRIX)
    assert second.shape == MATRIX.shape
    assert second.nnz == B.nse
    first.indices = first.indices.copy()
    assert np.shares_memory(B.to_scipy().indices, B.storage.coordinates[1])


def test_what_is_refused() -> None:
    A = ms.tensor(MATRIX)
    with pytest.raises(ms.OperandError, match=r"scipy, torch, cupy, pydata, jax, .* for A\.to, but got 'nope'"):
        A.to("nope")
    package("networkx")
    with pytest.raises(ms.OperandError, match=r"options of A\.to\('networkx'\)"):
        A.to("networkx", weights=True)


@pytest.mark.parametrize("library", [one.name for one in NEIGHBOURS if one.name != "anndata"])
def test_missing_packages_are_named(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGES[library]]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, PACKAGES[library], None)
    with pytest.raises(ms.MissingPackageError, match="pip install"):
        ms.tensor(np.eye(3)).to(library)


def test_none_is_imported_to_look() -> None:
    code = (
        "import sys, numpy as np, mlir_sparse as ms; "
        "ms.tensor(np.eye(3)); ms.tensor(([0], [1.0])); "
        "names = {'sparse', 'jax', 'networkx', 'pyarrow', 'graphblas', 'scipy'}; "
        "print({m.partition('.')[0] for m in sys.modules} & names)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"


def test_attributes_decide_and_not_the_module_alone() -> None:
    class Other:
        __module__ = "sparse.something"

    class Like:
        __module__ = "sparse.something"

        def asformat(self, name: str) -> Any: ...
        def todense(self) -> Any: ...

    assert neighbour_of(Other()) is None
    assert neighbour_of(Like()) is not None


def test_arrays_of_another_order_than_those_before() -> None:
    """What arrays become is kept by their types; the columns of an array in Fortran's order are not interleaved."""

    class Eager:
        device = ""

        def __init__(self, array: Any) -> None:
            self._array = np.asarray(array)

        def numpy(self) -> Any:
            return self._array

    class SparseTensor:
        __module__ = "tensorflow.python.framework.sparse_tensor"
        indices: Any
        values: Any
        dense_shape: Any

        def __init__(self, indices: Any, values: Any) -> None:
            self.indices, self.values, self.dense_shape = Eager(indices), Eager(values), Eager(MATRIX.shape)

    places, values = np.ascontiguousarray(np.argwhere(MATRIX)), MATRIX[MATRIX != 0]
    orders = (places, places, np.asfortranarray(places), np.repeat(places, 2, axis=0)[::2], places)
    for indices in orders:
        for stored in (values, np.repeat(values, 2)[::2]):
            A = ms.tensor(SparseTensor(indices, stored))
            same(A, MATRIX)
            np.testing.assert_allclose(
                ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=np.ones(MATRIX.shape[1])), MATRIX.sum(1)
            )


def test_entries_out_of_order_or_repeated_are_not_said_to_be_in_order() -> None:
    loose = "(i, j) -> (i : dense, j : compressed(nonunique, nonordered))"
    A = ms.SparseTensor.from_levels(loose, (2, 2), [None, [0, 1, 4]], [None, [0, 1, 0, 0]], [2.0, 3.0, 0.5, 0.5])
    assert index_pair(A) is None
    assert index_pair(A.convert("CSR")) is not None


def test_a_group_without_a_shape_is_named_however_it_comes(tmp_path: Path) -> None:
    h5py = package("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        group = file.create_group("X")
        group.attrs["encoding-type"] = "csr_matrix"
        for name, array in (("data", [1.0]), ("indices", [0]), ("indptr", [0, 1])):
            group[name] = np.array(array)
        with pytest.raises(ms.FileFormatError, match=r"a shape of two extents, but got no such shape in /X"):
            ms.tensor(group)
    with pytest.raises(ms.FileFormatError, match=r"X: expected a shape of two extents among the attributes"):
        ms.read(tmp_path / "a.h5")

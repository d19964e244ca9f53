"""Graph algorithms as kernels under semirings, against SciPy's and NumPy's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import csgraph

import mlir_sparse as ms

Array = np.ndarray[Any, Any]

STORAGES = ("CSR", "CSC", "COO")


def random_graph(nodes: int, degree: float, seed: int) -> sp.csr_array:
    """Returns a directed graph with whole weights from 1 to 9."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 10, (nodes, nodes)).astype(float)
    weights[rng.random((nodes, nodes)) > degree / nodes] = 0
    np.fill_diagonal(weights, 0)
    return sp.csr_array(weights)


@pytest.mark.parametrize("storage", STORAGES)
def test_breadth_first_search(storage: str) -> None:
    """A frontier moves along edges to what has not been visited; a sparse frontier gives the levels of a dense one."""
    graph = random_graph(60, 2.0, 1)
    tensor = ms.tensor(graph, storage).astype(np.int8)
    step = ms.compile(
        "y(j) = A(i,j) * x(i) if not v(j)", A=tensor, x="i8[?]", v="i8[?]", out="dense", semiring="or_and"
    )
    level = np.full(60, -1)
    frontier = np.zeros(60, np.int8)
    frontier[0] = 1
    for depth in range(60):
        level[frontier != 0] = depth
        frontier = step(A=tensor, x=frontier, v=(level >= 0).astype(np.int8))
        if not frontier.any():
            break
    distance = csgraph.shortest_path(graph, unweighted=True, indices=0)
    np.testing.assert_array_equal(level, np.where(np.isinf(distance), -1, distance))


@pytest.mark.parametrize("storage", STORAGES)
def test_sparse_frontiers(storage: str) -> None:
    """A step from a sparse vector to a sparse vector stores what it reaches, no more."""
    graph = random_graph(40, 2.0, 2)
    frontier, visited = sp.coo_array(([1.0], ([0],)), shape=(40,)), np.zeros(40)
    visited[:5] = 1
    found = ms.evaluate(
        "y(j) = A(i,j) * x(i) if not v(j)",
        A=ms.tensor(graph, storage),
        x=ms.tensor(frontier, "SparseVector"),
        v=visited,
        out="SparseVector",
        semiring="any_pair",
    )
    reached = [node for node in graph[[0], :].indices if node >= 5]
    np.testing.assert_array_equal(found.to_coo()[0][0], sorted(reached))


@pytest.mark.parametrize("dtype", [np.float64, np.int32])
@pytest.mark.parametrize("storage", STORAGES)
def test_shortest_paths(storage: str, dtype: Any) -> None:
    """Bellman and Ford: distances relax along all edges until none is left to relax."""
    graph = random_graph(50, 2.0, 3)
    tensor = ms.tensor(graph, storage).astype(dtype)
    far = np.inf if dtype is np.float64 else np.iinfo(dtype).max
    distance = np.full(50, far, dtype)
    distance[0] = 0
    relax = ms.compile("d(j) += A(i,j) * e(i)", A=tensor, e=distance, d=distance, semiring="min_plus")
    for _ in range(50):
        relaxed = relax(A=tensor, e=distance, d=distance)
        if np.array_equal(relaxed, distance):
            break
        distance = relaxed
    wanted = csgraph.bellman_ford(graph, indices=0)
    np.testing.assert_array_equal(distance, np.where(np.isinf(wanted), far, wanted).astype(dtype))


def test_all_shortest_paths() -> None:
    """Squaring distances under min_plus, sparse throughout, doubles the length of the paths."""
    graph = random_graph(24, 2.0, 4)
    distance = ms.tensor(graph, "CSR")
    for _ in range(5):
        distance = ms.evaluate("C(i,j) = D(i,k) * D(k,j) + D(i,j)", D=distance, semiring="min_plus", out="CSR")
    found = distance.to_numpy(fill_value=np.inf)
    np.fill_diagonal(found, 0)
    np.testing.assert_array_equal(found, csgraph.floyd_warshall(graph))


def test_widest_paths() -> None:
    """The widest path has the largest narrowest edge: max of min."""
    graph = random_graph(30, 2.5, 5)
    dense = graph.toarray()
    widest = np.where(dense > 0, dense, -np.inf)
    for through in range(30):
        widest = np.maximum(widest, np.minimum(widest[:, [through]], widest[[through], :]))
    width = ms.tensor(graph, "CSR")
    for _ in range(6):
        width = ms.evaluate("C(i,j) = W(i,k) * W(k,j) + W(i,j)", W=width, semiring="max_min", out="CSR")
    np.testing.assert_array_equal(width.to_numpy(fill_value=-np.inf), widest)


def test_connected_components() -> None:
    """Each node takes the least label among its neighbours until nothing changes."""
    graph = random_graph(60, 0.8, 6)
    both = ms.tensor(((graph + graph.T) > 0).astype(np.int64), "CSR")
    label = np.arange(60)
    for _ in range(60):
        least = ms.evaluate("y(i) += A(i,j) * x(j)", A=both, x=label, y=label, semiring="min_second")
        if np.array_equal(least, label):
            break
        label = least
    count, wanted = csgraph.connected_components(graph, directed=False)
    assert len(np.unique(label)) == count
    assert len(set(zip(label, wanted, strict=True))) == count


@pytest.mark.parametrize("storage", ["CSR", "DCSR", "COO"])
def test_triangles(storage: str) -> None:
    """Each edge counts the paths of two that join its ends, in the mask alone."""
    graph = random_graph(60, 8.0, 7)
    lower = sp.tril(((graph + graph.T) > 0).astype(float), -1, format="csr")
    tensor = ms.tensor(lower, storage)
    paths = ms.evaluate("C(i,j) = L(i,k) * L(k,j) if L(i,j)", L=tensor, semiring="plus_pair", out="CSR")
    dense = lower.toarray()
    np.testing.assert_array_equal(paths.to_numpy(), (dense @ dense) * dense)
    total = ms.evaluate("t = C(i,j)", C=paths)
    adjacent = dense + dense.T
    assert int(total) == np.trace(adjacent @ adjacent @ adjacent) // 6


def test_masked_products_form_no_more_than_the_mask() -> None:
    """The plan of a masked product has one loop nest, over the mask, into a result of its entries."""
    kernel = ms.compile(
        "C(i,j) = A(i,k) * B(k,j) if M(i,j)", A="f64[?,?] CSR", B="f64[?,?] CSC", M="f64[?,?] CSR", out="CSR"
    )
    explained = kernel.explain()
    assert explained.count("linalg.generic") == 1
    assert "M.1[compressed]" in explained
    size = 2000
    rng = np.random.default_rng(8)
    full = sp.random_array((size, size), density=0.02, rng=rng, format="csr")
    mask = sp.csr_array(sp.eye_array(size))
    found = kernel(A=ms.tensor(full), B=ms.tensor(full, "CSC"), M=ms.tensor(mask))
    assert found.nse <= size
    np.testing.assert_allclose(found.to_scipy().diagonal(), (full @ full).diagonal())


def test_mistakes_are_named() -> None:
    """Semirings that do not exist, differences under one, and control flow on symbols are refused by name."""
    x = ms.tensor(np.eye(2))
    with pytest.raises(ms.NotationError, match=r"expected a semiring such as min_plus, .* but got 'min_plu'"):
        ms.evaluate("y(i) = A(i,j)", A=x, semiring="min_plu")
    with pytest.raises(
        ms.NotationError, match=r"(?s)under the semiring min_plus, but got `-` in `A\(i,j\) - A\(i,j\)`"
    ):
        ms.evaluate("C(i,j) = A(i,j) - A(i,j)", A=x, semiring="min_plus")
    with pytest.raises(ms.NotationError, match=r"choose between values by ms\.where"):
        ms.operator(lambda a, b: a if a > b else b)
    with pytest.raises(ms.NotationSyntaxError, match="expected 2 operands of f"):
        ms.evaluate("C(i,j) = f(A(i,j))", A=x, f=ms.operator(lambda a, b: a + b))
    with pytest.raises(ms.UnsupportedError, match="pads with zeros"):
        ms.evaluate("C(i,j) = A(i,j)", A=x, semiring="min_plus", out="BSR(2, 2)")
    with pytest.raises(ms.UnsupportedError, match="over the same variables"):
        ms.evaluate(
            "C(i,j) = f(A(i,j), v(i))",
            A=x,
            v=ms.tensor(np.ones(2), "SparseVector"),
            f=ms.operator(lambda a, b: a + b, left="keep", right="keep"),
        )

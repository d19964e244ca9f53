"""NumPy's interface on tensors of extents up to 2^63 - 1, of any product: against dictionaries of Python's integers."""

import math
import operator
import pickle
import random
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms

EXTENTS = [2**31 + 1, 2**32 + 4, 2**62, 2**63 - 1]
FORMATS = ["COO", "DCSR", "DCSC"]
Entries = dict[tuple[int, ...], float]


def ends(extent: int) -> list[int]:
    """Returns coordinates where some integer of 32 or 64 bits would turn over."""
    marks = (0, 1, 5, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32, extent // 2, extent - 2, extent - 1)
    return sorted({mark for mark in marks if 0 <= mark < extent})


def entries(shape: tuple[int, ...], seed: int, count: int = 12) -> Entries:
    source = random.Random(seed)
    places = [tuple(source.choice(ends(extent)) for extent in shape) for _ in range(count)]
    return {place: float(source.choice([-3, -2, -1, 1, 2, 5])) for place in places}


def stored(given: Entries, shape: tuple[int, ...], encoding: str) -> ms.SparseTensor:
    columns = np.array(list(given), np.int64).reshape(-1, len(shape)).T
    return ms.tensor((columns, np.array(list(given.values()))), encoding, shape=shape)


def held(found: Any) -> Entries:
    coordinates, values = found.to_coo()
    pairs = zip(map(tuple, coordinates.T.tolist()), values.tolist(), strict=True)
    return {place: value for place, value in pairs if value}


def nonzero(given: Entries) -> Entries:
    return {place: value for place, value in given.items() if value}


def joined(function: Callable[[float, float], float], a: Entries, b: Entries) -> Entries:
    return nonzero({place: float(function(a.get(place, 0.0), b.get(place, 0.0))) for place in {*a, *b}})


def moved(given: Entries, place: Callable[..., tuple[int, ...] | None]) -> Entries:
    found = {place(*at): value for at, value in given.items()}
    return {at: value for at, value in found.items() if at is not None}


def summed(given: Entries, place: Callable[..., tuple[int, ...]]) -> Entries:
    found: Entries = defaultdict(float)
    for at, value in given.items():
        found[place(*at)] += value
    return nonzero(found)


@pytest.fixture(params=EXTENTS, ids=lambda extent: f"2^{math.log2(extent):.0f}")
def extent(request: pytest.FixtureRequest) -> int:
    value: int = request.param
    return value


@pytest.fixture
def pair(extent: int) -> tuple[Any, Any, Entries, Entries]:
    """Two tensors, the second stored by the other order of dimensions or as the first, and what they hold."""
    shape = (extent, extent - 1)
    a, b = entries(shape, 1), entries(shape, 2)
    first, second = ("DCSR", "DCSC") if extent % 4 else ("COO", "COO")
    return stored(a, shape, first), stored(b, shape, second), a, b


ELEMENTWISE = [
    (operator.add, operator.add),
    (operator.sub, operator.sub),
    (operator.mul, operator.mul),
    (np.maximum, max),
    (np.minimum, min),
    (operator.gt, operator.gt),
    (operator.ne, operator.ne),
    (np.hypot, math.hypot),
    (np.copysign, lambda a, b: math.copysign(a, b) if a else 0.0),
    (np.logical_and, lambda a, b: bool(a and b)),
]


@pytest.mark.parametrize(("function", "scalar"), ELEMENTWISE, ids=lambda f: getattr(f, "__name__", ""))
def test_two_tensors(function: Any, scalar: Any, pair: Any) -> None:
    A, B, a, b = pair
    found = function(A, B)
    assert found.shape == A.shape
    assert held(found) == pytest.approx(joined(scalar, a, b))


def test_one_tensor(pair: Any) -> None:
    A, _, a, _ = pair
    assert held(-A * 3) == {at: -3 * value for at, value in a.items()}
    assert held(np.sqrt(abs(A))) == pytest.approx({at: math.sqrt(abs(value)) for at, value in a.items()})
    assert held(A > 1) == {at: 1.0 for at, value in a.items() if value > 1}
    assert held(np.where(A > 1, A, 0.0)) == {at: value for at, value in a.items() if value > 1}
    assert not (np.isnan(A)).any()
    assert held(A.astype(np.float32)) == a


def test_operands_that_broadcast(pair: Any, extent: int) -> None:
    A, _, a, _ = pair
    columns, rows = entries((extent - 1,), 3), entries((extent,), 4)
    v, w = stored(columns, (extent - 1,), "SparseVector"), stored(rows, (extent,), "SparseVector")
    assert held(A * v) == nonzero({(i, j): x * columns.get((j,), 0.0) for (i, j), x in a.items()})
    assert held(A * w[:, None]) == nonzero({(i, j): x * rows.get((i,), 0.0) for (i, j), x in a.items()})
    products = {(i, j): x * y for (i,), x in rows.items() for (j,), y in columns.items()}
    assert held(w[:, None] * v) == products
    assert held(np.outer(w, v)) == products


def test_sums(pair: Any, extent: int) -> None:
    A, _, a, _ = pair
    assert A.sum() == sum(a.values())
    assert held(A.sum(axis=0)) == summed(a, lambda i, j: (j,))
    assert held(A.sum(axis=1)) == summed(a, lambda i, j: (i,))
    assert held(A.sum(axis=1, keepdims=True)) == summed(a, lambda i, j: (i, 0))
    assert A.sum(axis=1, keepdims=True).shape == (extent, 1)
    size = extent * (extent - 1)
    assert A.mean() == pytest.approx(sum(a.values()) / size, rel=1e-12)
    assert np.var(A) == pytest.approx(sum(value**2 for value in a.values()) / size, rel=1e-9)
    assert held(A.mean(axis=0)) == pytest.approx({at: v / extent for at, v in summed(a, lambda i, j: (j,)).items()})


def test_other_reductions(pair: Any) -> None:
    A, _, a, _ = pair
    assert (A.max(), A.min()) == (max(a.values()), min(a.values()))
    largest: Entries = defaultdict(float)
    for (i, _), value in a.items():
        largest[(i,)] = max(largest[(i,)], value)
    assert held(A.max(axis=1)) == nonzero(largest)
    assert np.count_nonzero(A) == len(a)
    assert np.any(A)
    assert not np.all(A)
    assert np.linalg.norm(A) == pytest.approx(math.sqrt(sum(v * v for v in a.values())))
    first: Entries = {}
    for (i, j), value in sorted(a.items()):
        if value == largest[(i,)] and value > 0:
            first.setdefault((i,), j)
    for (i,) in {(i,) for i, _ in a} - set(first):  # the first zero that nothing is stored for
        first[(i,)] = next(j for j in range(20) if (i, j) not in a)
    assert held(np.argmax(A, axis=1)) == nonzero(first)


def test_position_among_more_than_64_bits_count_is_refused(extent: int) -> None:
    A = stored(entries((extent, extent), 1), (extent, extent), "COO")
    if extent > 2**32:
        with pytest.raises(ms.SparseError, match=r"expected positions of less than 2\^63"):
            np.argmax(A)
    else:
        assert np.argmax(A) == min(i * extent + j for (i, j), v in entries((extent, extent), 1).items() if v == 5)


def test_products(pair: Any, extent: int) -> None:
    A, _, a, _ = pair
    b = entries((extent - 1, extent), 5)
    B = stored(b, (extent - 1, extent), A.encoding.preset or "COO")
    v = entries((extent - 1,), 6)
    product: Entries = defaultdict(float)
    for (i, k), x in a.items():
        for (kk, j), y in b.items():
            if k == kk:
                product[i, j] += x * y
    assert (A @ B).shape == (extent, extent)
    assert held(A @ B) == nonzero(product)
    assert held(ms.einsum("ik,kj->ij", A, B)) == nonzero(product)
    assert held(ms.einsum("ik,kj->ij", A, B, out="COO")) == nonzero(product)
    assert held(np.tensordot(A, B, 1)) == nonzero(product)
    by_vector = summed({(i, j): x * v.get((j,), 0.0) for (i, j), x in a.items()}, lambda i, j: (i,))
    assert held(A @ stored(v, (extent - 1,), "SparseVector")) == by_vector
    total = sum(x * b.get((j, i), 0.0) for (i, j), x in a.items())
    assert ms.einsum("ij,ji->", A, B) == total


def test_product_with_a_narrow_array(extent: int) -> None:
    a = entries((extent, 3), 7)
    dense = np.arange(6.0).reshape(3, 2)
    found = stored(a, (extent, 3), "COO") @ dense
    expected = {(i, j): sum(a.get((i, k), 0.0) * dense[k, j] for k in range(3)) for i, _ in a for j in range(2)}
    assert found.shape == (extent, 2)
    assert held(found) == nonzero(expected)


def test_axes(pair: Any, extent: int) -> None:
    A, B, a, b = pair
    n, m = extent, extent - 1
    assert held(A.T) == moved(a, lambda i, j: (j, i))
    assert held(A.T + B.T) == moved(joined(operator.add, a, b), lambda i, j: (j, i))
    assert held(A.reshape(n, 1, m)) == moved(a, lambda i, j: (i, 0, j))
    assert held(np.squeeze(np.expand_dims(A, 0))) == a
    assert held(np.flip(A)) == moved(a, lambda i, j: (n - 1 - i, m - 1 - j))
    assert held(np.flip(A, 0)) == moved(a, lambda i, j: (n - 1 - i, j))
    for shift in (1, -1, n - 1, 2**40):
        assert held(np.roll(A, shift, axis=0)) == moved(a, lambda i, j, s=shift: ((i + s) % n, j))
    assert held(np.tril(A)) == moved(a, lambda i, j: (i, j) if j <= i else None)
    assert held(np.triu(A, 2)) == moved(a, lambda i, j: (i, j) if j - i >= 2 else None)
    assert held(np.diagonal(A)) == moved(a, lambda i, j: (i,) if i == j else None)
    assert np.trace(A) == sum(v for (i, j), v in a.items() if i == j)
    assert np.diagonal(A, 2**63 - 1).shape == (0,)
    rows, columns = np.nonzero(A)
    assert list(zip(rows.tolist(), columns.tolist(), strict=True)) == sorted(a)


def test_reshapes_split_and_join_axes_that_fit() -> None:
    a = entries((2**40, 6, 2**62), 8)
    A = stored(a, (2**40, 6, 2**62), "CSF")
    found = A.reshape(2**20, 2**20, 2, 3, 2**31, 2**31)
    split = lambda i, j, k: (i >> 20, i % 2**20, j // 3, j % 3, k >> 31, k % 2**31)  # noqa: E731
    assert held(found) == moved(a, split)
    assert held(found.reshape(2**40, 6, 2**62)) == a
    with pytest.raises(ms.SparseError, match=r"expected extents of less than 2\^63"):
        A.reshape(-1)
    with pytest.raises(ms.SparseError, match=r"less than 2\*\*63 places"):
        A.reshape(12 * 2**40, 2**61)


def test_parts(pair: Any, extent: int) -> None:
    A, _, a, _ = pair
    n, m = extent, extent - 1
    for (i, j), value in a.items():
        assert A[i, j] == value
    assert A[n - 1, 2] == a.get((n - 1, 2), 0.0)
    assert held(A[5]) == moved(a, lambda i, j: (j,) if i == 5 else None)
    assert held(A[:, -1]) == moved(a, lambda i, j: (i,) if j == m - 1 else None)
    assert held(A[1 : n - 1]) == moved(a, lambda i, j: (i - 1, j) if 1 <= i < n - 1 else None)
    assert held(A[::2, ::-1]) == moved(a, lambda i, j: (i // 2, m - 1 - j) if i % 2 == 0 else None)
    picked = [0, n - 1, 5]
    assert held(A[picked]) == moved(a, lambda i, j: (picked.index(i), j) if i in picked else None)
    rows, columns = (np.array(axis) for axis in zip(*a, strict=True))
    assert A[rows, columns].to_numpy().tolist() == list(a.values())
    assert A[A > 1].to_numpy().tolist() == [value for _, value in sorted(a.items()) if value > 1]
    view = A.slice(slice(1, n - 1), slice(0, m, 3)) if A.encoding.preset != "COO" else A[1 : n - 1, ::3]
    assert held(view) == moved(a, lambda i, j: (i - 1, j // 3) if 1 <= i < n - 1 and j % 3 == 0 else None)


def test_joined(pair: Any, extent: int) -> None:
    A, B, a, b = pair
    n = extent
    assert held(np.stack([A, B])) == {**{(0, *at): v for at, v in a.items()}, **{(1, *at): v for at, v in b.items()}}
    C = B[:7]
    if n + 7 < 2**63:
        below = {(i + n, j): v for (i, j), v in b.items() if i < 7}
        assert held(np.concatenate([A, C])) == {**a, **below}
    else:
        with pytest.raises(ms.SparseError, match=r"expected extents of less than 2\^63"):
            np.concatenate([A, C])
    if 2 * n < 2**63:
        assert held(np.repeat(A, 2, axis=0)) == {(2 * i + s, j): v for (i, j), v in a.items() for s in (0, 1)}
        assert held(np.tile(A, (2, 1))) == {(i + s * n, j): v for (i, j), v in a.items() for s in (0, 1)}
    else:
        with pytest.raises(ms.SparseError, match=r"expected extents of less than 2\^63"):
            np.repeat(A, 2, axis=0)
        with pytest.raises(ms.SparseError, match=r"expected extents of less than 2\^63"):
            np.tile(A, (2, 1))
    small = stored({(0, 1): 2.0, (1, 0): 3.0}, (2, 2), "COO")
    if 2 * n < 2**63:
        expected = {
            (i * 2 + p, j * 2 + q): x * y for (i, j), x in a.items() for (p, q), y in {(0, 1): 2.0, (1, 0): 3.0}.items()
        }
        assert held(np.kron(A, small)) == expected
    if n * n >= 2**63:
        with pytest.raises(ms.SparseError, match=r"expected extents of less than 2\^63"):
            np.kron(A, B)


@pytest.mark.parametrize("given", FORMATS)
@pytest.mark.parametrize("wanted", [*FORMATS, "CSF", "(i, j) -> (j : compressed(nonunique), i : singleton(soa))"])
def test_conversions(given: str, wanted: str, extent: int) -> None:
    a = entries((extent, extent), 9)
    A = stored(a, (extent, extent), given).convert(wanted)
    assert held(A) == a
    storage = A.storage
    again = ms.SparseTensor.from_levels(A.encoding, A.shape, storage.positions, storage.coordinates, storage.values)
    assert held(again) == a
    assert held(pickle.loads(pickle.dumps(A))) == a
    assert ms.tensor(A.to_scipy(), "COO").shape == A.shape
    assert held(ms.tensor(A.to_scipy(), "COO")) == a
    assert str(max(j for _, j in a)) in str(A)


@pytest.mark.parametrize(
    "encoding",
    [
        "(i, j) -> (i floordiv 3 : compressed, j floordiv 2 : compressed, i mod 3 : dense, j mod 2 : dense)",
        "(i, j) -> (i floordiv 4 : compressed, j : compressed, i mod 4 : compressed)",
    ],
)
def test_blocks(encoding: str, extent: int) -> None:
    a = entries((extent, extent), 10)
    A = stored(a, (extent, extent), encoding)
    assert held(A) == a
    assert held(A.convert("COO")) == a
    assert held(A + A) == {at: 2 * value for at, value in a.items()}


@pytest.mark.parametrize("encoding", ["CSR", "CSC", "BSR", "DIA", "ELL", "dense"])
@pytest.mark.parametrize("huge", EXTENTS[2:])
def test_dense_levels_are_refused_by_name(encoding: str, huge: int) -> None:
    A = stored(entries((huge, huge), 11), (huge, huge), "COO")
    with pytest.raises(ms.SparseError, match=r"expected .* (but got|memory)"):
        A.convert(encoding)
    with pytest.raises(ms.SparseError, match="expected a dense array of shape"):
        A.to_numpy()
    with pytest.raises(ms.SparseError, match="expected a dense array of shape"):
        _ = A == A


@pytest.mark.parametrize("extent", [2**63, 2**64, 2**70, -1])
def test_extents_beyond_64_bits_are_refused_by_name(extent: int) -> None:
    for encoding in ("COO", "DCSR", "CSR", "DIA"):
        with pytest.raises(ms.SparseError, match="expected extents of"):
            ms.tensor(([[0], [1]], [1.0]), encoding, shape=(extent, 5))
    with pytest.raises(ms.SparseError, match="expected extents of"):
        ms.SparseTensor.from_levels("SparseVector", (extent,), [[0, 1]], [[0]], [1.0])


def test_found_elements_of_a_shape_whose_size_turns_over() -> None:
    seven = pow(7, -1, 2**64)
    A = stored({(3, 4): 1.0}, (7, seven), "COO")  # 7 times the other is 1 in 64 bits
    with pytest.raises(ms.SparseError, match="expected one element to be true or false"):
        bool(A)
    with pytest.raises(ms.SparseError, match="expected a tensor of one element"):
        A.item()


@pytest.mark.parametrize("name", ["wide.mtx", "wide.tns", "wide.ttx"])
def test_files(name: str, extent: int, tmp_path: Any) -> None:
    a = {**entries((extent, extent), 12), (extent - 1, extent - 1): 7.0}
    ms.write(tmp_path / name, stored(a, (extent, extent), "COO"))
    found = ms.read(tmp_path / name, "COO")
    assert found.shape == (extent, extent)
    assert held(found) == a


def test_kernels_of_notation(extent: int) -> None:
    shape = (extent, extent)
    a, b, x = entries(shape, 13), entries(shape, 14), entries((extent,), 15)
    A, B, X = stored(a, shape, "DCSR"), stored(b, shape, "DCSR"), stored(x, (extent,), "SparseVector")
    assert held(ms.evaluate("C(i,j) = A(i,j) + 2 * B(i,j)", A=A, B=B)) == joined(lambda p, q: p + 2 * q, a, b)
    assert ms.evaluate("c = A(i,j) * B(i,j)", A=A, B=B) == sum(v * b.get(at, 0.0) for at, v in a.items())
    found = ms.evaluate("y(i) = A(i,j) * x(j)", A=A, x=X, out="SparseVector")
    assert held(found) == summed({(i, j): v * x.get((j,), 0.0) for (i, j), v in a.items()}, lambda i, j: (i,))
    if extent >= 2**62:
        for text in ("C(i,j) = A(i,k) * B(k,j)", "C(j,i) = A(i,j)"):
            tensors = {"A": A, "B": B} if "B" in text else {"A": A}
            with pytest.raises(ms.SparseError, match=r"expected .* memory"):
                ms.evaluate(text, tensors=tensors)


def test_dense_results_of_compiled_kernels_are_refused_by_name_in_each_call(extent: int) -> None:
    if extent < 2**62:
        return  # some machine may have the memory
    A = stored(entries((extent, extent), 16), (extent, extent), "COO")
    kernel = ms.compile("y(j) = A(i,j)", A=A)
    for _ in range(2):
        with pytest.raises(ms.SparseError, match="expected a dense array of shape"):
            kernel(A)


@pytest.mark.parametrize("storage", ["SparseVector", "DCSR", "COO", "CSF"])
@pytest.mark.parametrize(
    "formula",
    [
        "A({i}) + B({i}) + D({i})",
        "A({i}) - (B({i}) - D({i}))",
        "2 * A({i}) - B({i}) + A({i}) * D({i}) - D({i})",
        "abs(A({i})) + abs(B({i})) + abs(D({i}))",
    ],
)
def test_sums_of_more_than_two(storage: str, formula: str) -> None:
    """What is made on the way has no place for each row either."""
    rank = {"SparseVector": 1, "CSF": 3}.get(storage, 2)
    extent, stride = 2**40, 10**9
    rng = np.random.default_rng(5)
    dense = {name: rng.integers(-2, 3, (3,) * rank).astype(np.float64) for name in "ABD"}
    tensors = {
        name: ms.tensor((np.stack(np.nonzero(array)) * stride, array[array != 0]), storage, shape=(extent,) * rank)
        for name, array in dense.items()
    }
    indices = ", ".join("ijk"[:rank])
    found = ms.evaluate(f"Y({indices}) = {formula.format(i=indices)}", tensors=tensors)
    assert isinstance(found, ms.SparseTensor)
    coordinates, values = found.to_coo()
    got = np.zeros((3,) * rank)
    got[tuple(np.asarray(coordinates) // stride)] = values
    by_name = {name: lambda *_, array=array: array for name, array in dense.items()}
    wanted = eval(formula.format(i=""), {"abs": np.abs, **by_name})
    np.testing.assert_array_equal(got, wanted)

"""Semirings, masks, operators and monoids against NumPy, over storage of every kind."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from dialect_tests.crossing import crossed
from dialect_tests.entries_cases import MASKED, SEMIRINGS, compare, operator_case, semiring_case

Array = np.ndarray


@pytest.mark.parametrize("name", SEMIRINGS)
def test_semirings(name: str) -> None:
    """Under each semiring every kernel gives what NumPy does, from any storage into any."""
    rng = random.Random(name)
    ran = [compare(semiring_case(rng, name=name)) for _ in range(3)]
    assert any(ran)


# Sums over what is stored, and products of one entry and another.
_SUMS = {"plus": sum, "min": min, "max": max, "or": any, "any": lambda entries: next(iter(entries))}
_PRODUCTS = {
    "times": lambda a, b: a * b,
    "plus": lambda a, b: a + b,
    "min": min,
    "max": max,
    "and": lambda a, b: a and b,
    "pair": lambda a, b: 1,
    "first": lambda a, b: a,
    "second": lambda a, b: b,
}


@crossed(name=SEMIRINGS, dtype=["f32", "f64", "i8", "i32"], storage=["CSR", "CSC", "DCSR"])
def test_every_semiring_times_a_vector(name: str, dtype: str, storage: str) -> None:
    """Each semiring by name, in the one kernel that every user begins with, masked and not: rows of many lengths."""
    add, multiply = (table[part] for table, part in zip((_SUMS, _PRODUCTS), name.split("_"), strict=True))
    rng = np.random.default_rng(0)
    stored = rng.random((20, 30)) < np.linspace(0, 1, 20)[:, None]
    dense = np.where(stored, rng.integers(1, 3, stored.shape), 0)
    x, mask = rng.integers(1, 3, 30), np.arange(20) % 3 > 0
    kinds = {"A": f"{dtype}[?,?] {storage}", "x": f"{dtype}[?]"}
    A, given = ms.tensor(dense, storage).astype(dtype), x.astype(ms.DType(dtype).numpy)
    plain = ms.compile("y(i) = A(i,j) * x(j)", **kinds, semiring=name)(A=A, x=given)
    masked = ms.compile("y(i) = A(i,j) * x(j) if m(i)", **kinds, m="i8[?]", semiring=name)(
        A=A, x=given, m=mask.astype("i1")
    )
    for row in range(1, 20):
        entries = [multiply(int(a), int(b)) for a, b, here in zip(dense[row], x, stored[row], strict=True) if here]
        if entries:
            assert plain[row] == add(entries)
            assert not mask[row] or masked[row] == add(entries)


@pytest.mark.parametrize("seed", range(4))
def test_masks(seed: int) -> None:
    """A mask keeps, and its complement leaves out, what the mask has entries for."""
    rng = random.Random(seed)
    ran = [compare(semiring_case(rng, MASKED)) for _ in range(5)]
    assert sum(ran) >= 3


@pytest.mark.parametrize("seed", range(5))
def test_operators(seed: int) -> None:
    """Operators and monoids of the user's own do what their regions say."""
    rng = random.Random(seed)
    ran = [compare(operator_case(rng)) for _ in range(5)]
    assert sum(ran) >= 2


@pytest.mark.parametrize("name", ["without", "leaning", "either"])
def test_operators_without_a_result_somewhere(name: str) -> None:
    """Accumulations of what has no result where both operands, or one, have entries: the compiler dies of them."""
    texts = ("y(i) = f(A(i,j), x(j))", "y(j) = f(A(i,j), B(i,j))", "C(i,j) = f(A(i,j), x(j))")
    rng = random.Random(name)
    for text in texts:
        compare(operator_case(rng, (text,), name))


@pytest.mark.parametrize("storage", ["CSR", "CSC", "COO", "BSR(2, 2)"])
@pytest.mark.parametrize("out", ["dense", "CSR"])
def test_select(storage: str, out: str) -> None:
    """Entries are selected by their values and by their coordinates."""
    dense = np.array([[0.0, 0.9, 0.2], [0.7, 0.0, 0.0], [0.4, 0.6, 0.1]])
    tensor, n = ms.tensor(dense, storage), np.arange(3)
    large = ms.evaluate("C(i,j) = select(A(i,j), A(i,j) > 0.5)", A=tensor, out=out)
    lower = ms.evaluate("C(i,j) = select(A(i,j), n(i) >= n(j))", A=tensor, n=n, out=out)
    np.testing.assert_array_equal(np.asarray(large), np.where(dense > 0.5, dense, 0))
    np.testing.assert_array_equal(np.asarray(lower), np.tril(dense))
    if isinstance(large, ms.SparseTensor):
        assert large.nse == 3


def test_selected_entries_are_reduced() -> None:
    """A fold under a semiring sees the selected entries alone."""
    dense = np.array([[0.0, 0.9, 0.2], [0.7, 0.0, 0.0], [0.4, 0.3, 0.1]])
    found = ms.evaluate("y(i) = select(A(i,j), A(i,j) > 0.25)", A=ms.tensor(dense), semiring="min_plus")
    np.testing.assert_array_equal(found, [0.9, 0.7, 0.3])


@pytest.mark.parametrize(("op", "wanted"), [("+=", [6.0, 1.0]), ("max=", [5.0, 1.0]), ("*=", [5.0, 1.0])])
def test_masked_updates_leave_the_rest(op: str, wanted: list[float]) -> None:
    """Where a mask has no entry, the target stays as it is."""
    found = ms.evaluate(
        f"y(i) {op} sum(j : A(i,j) * x(j)) if m(i)",
        A=ms.tensor(np.diag([5.0, 7.0])),
        x=np.ones(2),
        m=np.array([1, 0]),
        y=np.ones(2),
    )
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("storage", [None, "CSR"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "float32"])
@pytest.mark.parametrize(
    "text",
    ["C(i,j) = A(i,j) - B(i,j)", "C(i,j) = A(i,j) - B(i,j) * b(j)", "C(i,j) = B(i,j) * B(i,j) + A(i,j)"],
)
def test_a_mask_changes_no_element_type(text: str, dtype: str, storage: str | None) -> None:
    """Arithmetic computes in the type of the statement, where one operand has no entry too: 0 - -128 is 128."""
    A = ms.tensor(np.array([[0, 5], [7, 0]], "int64" if dtype != "float32" else "float64"), "CSR")
    dense = np.array([[-128, 3], [100, 0]]) / (3 if dtype == "float32" else 1)
    dense = dense.astype(dtype)
    B = dense if storage is None else ms.tensor(dense, storage)
    given = {name: value for name, value in {"A": A, "B": B, "b": dense[0]}.items() if f"{name}(" in text}
    found = ms.evaluate(f"{text} if M(i,j)", tensors=given, M=np.ones((2, 2)))
    np.testing.assert_array_equal(np.asarray(found), np.asarray(ms.evaluate(text, tensors=given)))


@pytest.mark.parametrize("storage", [None, "CSR"])
@pytest.mark.parametrize("optimize", ["off", "auto"])
@pytest.mark.parametrize(
    ("text", "semiring"),
    [
        ("y = h(i) * A(i,k) + F(j,i) if M(j,k)", None),
        ("D(i,j) = A(i,k) * B(k,j) + F(i,j) if M(i,j)", None),
        ("D(i,j) = A(i,k) * B(k,j) + F(i,j) if not M(i,j)", None),
        ("D(i,j) = F(i,j) - A(i,k) * B(k,j) if M(i,j)", None),
        ("y(i) = max(j : A(i,j) * B(i,j)) + h(i) * F(i,i)", None),
        ("D(i,j) = A(i,k) * B(k,j) + F(i,j)", "max_plus"),
        ("D(i,j) = A(i,j) * B(i,j) + F(i,j)", "min_plus"),
        ("D(i,j) = (A(i,j) * h(j) + B(i,j)) * F(i,j) if M(i,j)", "max_plus"),
        ("D(i,j) = A(i,k) * B(k,j) * F(i,j)", "plus_min"),
    ],
)
def test_parts_made_apart_have_the_type_of_the_statement(
    text: str, semiring: str | None, optimize: str, storage: str | None
) -> None:
    """A part of narrow operands neither wraps, nor stands for a missing entry by the extreme of its own type."""
    rng = np.random.default_rng(5)
    narrow: dict[str, Any] = {
        name: rng.integers(90, 120, (3, 3)) * np.array([[1, 0, -1], [1, 1, 0], [0, 0, 0]]) for name in "AB"
    }
    wide = {**narrow, "h": np.array([100, -100, 77]), "F": rng.integers(-400, 400, (3, 3)), "M": np.tri(3)}
    read = [name for name in wide if f"{name}(" in text]
    chosen: Any = {} if semiring is None else {"semiring": semiring}

    def computed(narrow: str) -> Any:
        given: dict[str, Any] = {name: wide[name].astype("int16" if name == "F" else narrow) for name in read}
        stored = {name: ms.tensor(given[name], storage) for name in read if storage and name in "AB"}
        mask = {"M": ms.tensor(given["M"])} if "M" in given else {}
        return np.asarray(ms.evaluate(text, tensors={**given, **stored, **mask}, optimize=optimize, **chosen))

    assert computed("int8").dtype == np.int16
    np.testing.assert_array_equal(computed("int8"), computed("int16"))


@pytest.mark.parametrize("dtype", ["int8", "int64", "float16", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("storage", ["CSR", "DCSR", "CSC"])
def test_arrays_beside_what_outer_loops_know(storage: str, dtype: str) -> None:
    """An element of an array is read where both of its coordinates are known, also after a sum that one decides."""
    rng = np.random.default_rng(7)
    P, F, M = ((np.where(rng.random((4, 4)) < 0.6, rng.integers(1, 5, (4, 4)), 0)).astype(dtype) for _ in range(3))
    given = {"P": ms.tensor(P, storage), "F": F, "d": F[0], "M": ms.tensor(M, storage)}
    product = P * F[0] * P.sum(axis=1, dtype=dtype)[:, None]
    for text, whole in [
        ("D(j,k) = P(j,k) * d(k) * sum(i : P(j,i)) + F(j,k) if M(j,k)", product + F),
        ("D(j,k) = F(j,k) - P(j,k) * d(k) * sum(i : P(j,i)) * F(k,j) if M(j,k)", F - product * F.T),
    ]:
        wanted = np.where(M != 0, whole, 0)
        np.testing.assert_array_equal(np.asarray(ms.evaluate(text, tensors=given, optimize="off")), wanted)
        total = np.asarray(ms.evaluate(text.replace("D(j,k)", "y"), tensors=given))
        np.testing.assert_array_equal(total, wanted.sum(dtype=dtype))


@pytest.mark.parametrize(("op", "least"), [("min", -128), ("max", 127)])
def test_the_extreme_of_a_narrow_type_is_a_number(op: str, least: int) -> None:
    """The less of -128 and another number is -128 among wider numbers too, not the least of those."""
    A = ms.tensor(np.array([[least, 0], [0, 0]], "int8"))
    target = np.full((2, 2), 5, "int16")
    found = ms.evaluate(f"C(i,j) {op}= A(i,j) if M(i,j)", A=A, M=ms.tensor(np.eye(2)), C=target)
    np.testing.assert_array_equal(found, [[least, 5], [5, 5]])
    found = ms.evaluate("C(i,j) = A(i,j) * F(i,j)", A=A, F=target, semiring=f"plus_{op}")
    np.testing.assert_array_equal(np.asarray(found), [[least, 0], [0, 0]])


@pytest.mark.parametrize("storage", ["CSR", "CSC", "COO", "DCSR", "BSR(2, 2)"])
@pytest.mark.parametrize("out", [None, "dense", "CSR", "COO"])
def test_complements(storage: str, out: str | None) -> None:
    """An operator of nothing where there are entries is a number where there are none: MLIR's complement."""
    dense = np.array([[0.0, 2.0, 0.0, 1.0], [3.0, 0.0, 0.0, 0.0]])
    A, others = ms.tensor(dense, storage), (dense == 0) * 1.0
    complement = ms.operator(lambda a: None, absent=1)
    found = ms.evaluate("C(i,j) = f(A(i,j))", A=A, f=complement, out=out)
    np.testing.assert_array_equal(np.asarray(found), others)
    if isinstance(found, ms.SparseTensor):
        assert found.nse == others.sum()
    np.testing.assert_array_equal(ms.evaluate("y(i) = f(A(i,j))", A=A, f=complement), others.sum(axis=1))
    named = ms.evaluate("C(i,j) = f(A(i,j))", A=A, f=ms.operator(lambda a: None, absent=1, dtype="i8"))
    assert named.dtype == np.int8


def test_unreachable_integers_stay_so() -> None:
    """The greatest integer stands for infinity, and stays so when something is added to it."""
    far = np.iinfo(np.int32).max
    weights = ms.tensor(np.array([[0, 5], [0, 0]], np.int32))
    found = ms.evaluate("y(j) = A(i,j) * x(i)", A=weights, x=np.array([far, 0], np.int32), semiring="min_plus")
    np.testing.assert_array_equal(found, [far, far])


@pytest.mark.parametrize(
    ("dtype", "identity"),
    [("i64", 1.5), ("i64", 2**63), ("i8", 300), ("i8", np.nan), ("i64", 1j), ("f64", 1j), ("bool", 0.5)],
)
def test_identities_that_an_element_type_does_not_hold(dtype: str, identity: complex) -> None:
    """What begins a reduction is never another number than the one given."""
    A = ms.tensor(np.eye(2), "CSR").astype(dtype)
    with pytest.raises(ms.LiteralError, match=r"expected an i.* but got"):
        ms.evaluate("y(i) = m(j : A(i,j))", A=A, m=ms.monoid(lambda a, b: a + b, identity))


@pytest.mark.parametrize("identity", [3, 3.0, np.int8(3), np.float16(3), np.array(3.0)])
def test_identities_that_it_holds(identity: float) -> None:
    A = ms.tensor(np.diag([1, 2]), "CSR")
    found = ms.evaluate("y(i) = m(j : A(i,j))", A=A, m=ms.monoid(lambda a, b: a + b, identity))
    np.testing.assert_array_equal(found, [4, 5])


def test_numbers_of_operators_that_an_element_type_does_not_hold() -> None:
    A = ms.tensor(np.diag([1, 2]).astype(np.int8), "CSR")
    keeps = ms.operator(lambda a, b: a + b, left=lambda _: 200, right="keep")
    for text, f in (
        ("C(i,j) = f(A(i,j))", ms.operator(lambda a: a, absent=300)),
        ("C(i,j) = f(A(i,j))", ms.operator(lambda a: a, absent=-129)),
        ("C(i,j) = f(A(i,j), A(j,i))", keeps),
    ):
        with pytest.raises(ms.LiteralError, match="expected an integer of i8"):
            ms.evaluate(text, A=A, f=f)
    held = ms.evaluate("C(i,j) = f(A(i,j))", A=A, f=ms.operator(lambda a: a, absent=-128))
    np.testing.assert_array_equal(held, [[1, -128], [-128, 2]])
    halved = ms.operator(lambda a: a * 0.5, dtype=np.dtype(np.int64))
    with pytest.raises(ms.DTypeError, match="expected results of f that i64 holds, but got f64"):
        ms.evaluate("C(i,j) = f(A(i,j))", A=A.astype("f64"), f=halved)


# What each text is, by the reductions of A's rows.
OVER_NOTHING = {
    "y(i) = m(j : A(i,j))": lambda r, x, B: r,
    "y(i) = 1.0 / m(j : A(i,j))": lambda r, x, B: 1 / r,
    "y(i) = 2 + m(j : A(i,j))": lambda r, x, B: 2 + r,
    "y(i) = x(i) * m(j : A(i,j))": lambda r, x, B: x * r,
    "y(i) = -m(j : A(i,j)) - x(i)": lambda r, x, B: -r - x,
    "y(i) = where(m(j : A(i,j)) > 4, 1, 0)": lambda r, x, B: np.where(r > 4, 1, 0),
    "s = sum(i : m(j : A(i,j)))": lambda r, x, B: r.sum(),
    "s = max(i : -m(j : A(i,j)))": lambda r, x, B: (-r).max(),
    "C(i,j) = B(i,j) + m(k : A(i,k))": lambda r, x, B: B + r[:, None],
}


@crossed(text=OVER_NOTHING, storage=["CSR", "DCSR", "COO", "CSC", "dense"], identity=[5.0, -0.0, -np.inf])
def test_arithmetic_of_a_reduction_over_nothing_has_its_identity(text: str, storage: str, identity: float) -> None:
    """As its docstring says, in every expression: an array that a statement of its own makes has it as well."""
    given = np.array([[0, 0, 0], [1.5, 0, -2], [0, 0, 0], [0, 4, 0]])
    x, B = np.array([1.0, 2, 3, 4]), np.array([[2.0, 0, 0], [0, 3, 0], [0, 0, 0], [0, 0, 1]])
    if storage == "dense":  # an array has an entry everywhere, so that nothing is reduced where it has no columns
        given, B = given[:, :0], B[:, :0]
    A = given if storage == "dense" else ms.tensor(given, storage)
    m = ms.monoid(np.maximum, identity)
    r = np.array([max((v for v in row if v != 0), default=identity) for row in given])
    r = np.maximum(r, identity)
    with np.errstate(divide="ignore", invalid="ignore"):
        wanted = OVER_NOTHING[text](r, x, B)
    operands = {"A": A, **({"x": x} if "x(i)" in text else {}), **({"B": B} if "B(" in text else {})}
    if "B(" in text and storage != "dense":
        operands["B"] = ms.tensor(B, storage)
    found = ms.evaluate(text, out="dense", m=m, tensors=operands)
    np.testing.assert_array_equal(found, wanted, err_msg=text)
    if wanted.dtype == np.float64 and "B(" not in text:  # nothing is added where B has no entry
        np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted), err_msg=text)


# What stands beside entries, computed from arrays.
BESIDE = {
    "y *=! A(i,j) * (z(j) <= 1)": lambda a, b, z: np.prod(a * (z <= 1)),
    "y(i) max=! A(i,j) * exp2(z(j))": lambda a, b, z: np.max(a * np.exp2(z), axis=1),
    "y(i) *=! A(i,j) * exp2(B(i,j))": lambda a, b, z: np.prod(a * np.exp2(b), axis=1),
    "C(i,j) = f(A(i,j), exp2(B(i,j)))": lambda a, b, z: np.where(a != 0, a + 2 * np.exp2(b), 0),
    "C(i,j) = f(A(i,j), where(z(j) > 0, z(j), 2))": lambda a, b, z: np.where(a != 0, a + 2 * np.where(z > 0, z, 2), 0),
    "C(i,j) = exp2(B(i,j)) if A(i,j)": lambda a, b, z: np.where(a != 0, np.exp2(b), 0),
    "C(i,j) = exp2(z(j)) if not A(i,j)": lambda a, b, z: np.where(a == 0, np.exp2(z), 0),
}


@pytest.mark.parametrize("levels", ["(i : dense, j : dense)", "(j : dense, i : dense)"])
@pytest.mark.parametrize("text", BESIDE)
def test_arrays_beside_entries_may_be_stored_in_dense_levels(text: str, levels: str) -> None:
    numbers = np.random.default_rng(0)
    a, b = numbers.integers(1, 3, (5, 6)) * (numbers.random((5, 6)) < 0.7) * 1.0, numbers.integers(-2, 3, (5, 6)) * 1.0
    a[1], z = 1, numbers.integers(-2, 3, 6) * 1.0
    stored = {"B": ms.tensor(b, f"(i, j) -> {levels}"), "z": ms.tensor(z, "(j) -> (j : dense)")}
    stored |= {"f": ms.operator(lambda x, y: x + 2 * y)}
    given = {name: value for name, value in stored.items() if f"{name}(" in text}
    found = ms.evaluate(text, A=ms.tensor(a, "DCSC"), out="dense", **given)
    np.testing.assert_array_equal(found, BESIDE[text](a, b, z))


_CONDITIONS = {
    "s != i": lambda i, s: s != i,
    "s < i": lambda i, s: s < i,
    "i != 1": lambda i, s: i != 1,
    "s == 7": lambda i, s: False,
}


@pytest.mark.parametrize("ring", ["min_plus", "max_plus", "min_second", "plus_times"])
@pytest.mark.parametrize("stored", ["dense", "CSR", "CSC", "UnorderedCOO"])
@pytest.mark.parametrize("condition", _CONDITIONS)
def test_what_a_condition_leaves_out_is_no_entry_of_a_sparse_sum(condition: str, stored: str, ring: str) -> None:
    """Of arrays too: it was a zero, which is the least of what else there is."""
    K, v = np.array([[3.0, 4, 0], [2, 5, -1], [6, 7, 8], [0, 0, -9]]), np.array([1.0, 2, 3, 4])
    add, multiply = ring.split("_")
    zero = {"min": np.inf, "max": -np.inf, "plus": 0.0}[add]
    operands = {"K": K if stored == "dense" else ms.tensor(K, stored), "v": v}
    met = [[i for i in range(4) if (stored == "dense" or K[i, s]) and _CONDITIONS[condition](i, s)] for s in range(3)]
    terms = [[_PRODUCTS[multiply](K[i, s], v[i]) for i in rows] for s, rows in enumerate(met)]
    expected = [_SUMS[add](each) if each else zero for each in terms]
    for out in ("dense", "COO", "SparseVector"):
        found = ms.evaluate(f"T(s) = K(i,s) * v(i) if {condition}", tensors=operands, semiring=ring, out=out)
        entries = found if out == "dense" else found.to_numpy(fill_value=zero)
        np.testing.assert_array_equal(entries, expected)

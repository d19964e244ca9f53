"""Plans that take a matrix to be its own transpose: each call looks, whatever the plan was made for."""

from __future__ import annotations

import pickle
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from benchmarks.programs.drawn import Graph

import mlir_sparse as ms
from dialect_tests import crossing
from dialect_tests.crossing import crossed
from dialect_tests.statement_cases import rewritten, vector
from mlir_sparse.compile import statement_optimizer
from mlir_sparse.errors import OperandError
from mlir_sparse.notation import with_explicit_sums
from mlir_sparse.plan.algebra import product_search, symmetric_ways
from mlir_sparse.plan.algebra.choose_rewriting import choose_rewriting
from mlir_sparse.plan.algebra.merged_parts import merged
from mlir_sparse.plan.algebra.statement_ways import StatementWays
from mlir_sparse.plan.algebra.tensor_facts import TensorFacts
from mlir_sparse.tensor.sketch_of import sketch_of
from mlir_sparse.tensor.symmetric_matrix import is_symmetric

CYCLES = "s = A(i,j) * A(j,k) * A(k,l) * A(l,i)"
TRIANGLES = "s = A(i,j) * A(j,k) * A(k,i)"


def graph(
    nodes: int = 1500, degree: float = 5, dtype: str = "int64", storage: str = "CSR", seed: int = 0
) -> ms.SparseTensor:
    """Returns an undirected graph with weights."""
    rng = np.random.default_rng(seed)
    half = scipy.sparse.random_array((nodes, nodes), density=degree / nodes, rng=rng, format="csr")
    half.data[:] = rng.integers(1, 4, half.nnz)
    return ms.tensor(ms.tensor((half + half.T).tocsr(), storage).astype(dtype), storage)


def directed(nodes: int = 1500, degree: float = 10) -> ms.SparseTensor:
    rng = np.random.default_rng(3)
    return ms.tensor(scipy.sparse.random_array((nodes, nodes), density=degree / nodes, rng=rng, format="csr"))


def counted(text: str, A: ms.SparseTensor) -> Any:
    return ms.evaluate(text, A=A, optimize="off")


def assumed(kernel: Any) -> tuple[str, ...]:
    chosen = kernel.spec.rewriting
    return () if chosen is None else chosen.symmetric


A = graph()


def test_cycles_read_one_product_twice_at_the_same_places() -> None:
    kernel = ms.compile(CYCLES, A=A)
    assert assumed(kernel) == ("A",)
    assert [str(part) for part in kernel.spec.rewriting.parts] == ["s.part(i,k) = sum(j : A(i,j) * A(j,k))"]
    assert str(kernel.spec.rewriting.value) == "sum(i, k : s.part(i,k) * s.part(i,k))"
    explained = kernel.explain()
    assert "if symmetric, which calls check: A" in explained
    assert "symmetric matrices" in explained
    assert "convert " not in explained
    assert "// A: equal to the transpose, which calls check" in kernel.ir("linalg")
    assert kernel(A) == counted(CYCLES, A)


def test_triangles_need_no_conversion() -> None:
    large = graph(8000, 6)
    kernel = ms.compile(TRIANGLES, A=large)
    assert assumed(kernel) == ("A",)
    assert "convert " not in kernel.explain()
    assert kernel(large) == counted(TRIANGLES, large)


@crossed(
    text=[
        CYCLES,
        "s = A(i,j) * A(k,j) * A(l,k) * A(l,i)",
        "s = A(i,j) * A(j,k) * A(k,l) * A(l,m) * A(m,i)",
        "s = A(i,j) * A(j,k) * A(k,i) * A(i,l) * A(l,m) * A(m,i)",
        "c(i) = A(i,j) * A(j,k) * A(k,l) * A(l,i)",
        "s = A(i,j) * A(j,k) * A(k,l) * A(l,i) + A(j,i) * A(i,j)",
        "D(i,l) = A(i,j) * A(j,k) * A(k,l)",
    ],
    storage=["CSR", "CSC"],
    threads=[1, 2, 3],
)
def test_statements_of_users(text: str, storage: str, threads: int) -> None:
    value = graph(900, 5, storage=storage)
    found = ms.compile(text, A=value, out="CSR" if "D(" in text else None)
    result, expected = found.within(threads, False)(value), counted(text, value)
    one, other = (x.to_numpy() if isinstance(x, ms.SparseTensor) else x for x in (result, expected))
    np.testing.assert_array_equal(one, other)


def test_values_that_are_written_between_calls() -> None:
    value = graph(seed=5)
    kernel = ms.compile(CYCLES, A=value)
    assert assumed(kernel) == ("A",)
    for _ in range(2):
        assert kernel(value) == counted(CYCLES, value)
    value.storage.values[7] += 1
    for _ in range(3):
        assert kernel(value) == counted(CYCLES, value)
        assert ms.evaluate(CYCLES, A=value) == counted(CYCLES, value)
    value.storage.values[7] -= 1
    assert kernel(value) == counted(CYCLES, value)
    other = directed()
    np.testing.assert_allclose(ms.compile(CYCLES, A=other)(other), counted(CYCLES, other), rtol=1e-12)


def test_graphs_that_were_looked_at_are_left_to_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is planned for a graph is looked at by the call alone, which plans again where something was written."""
    source = graph(20_000, 6, "float64", seed=11).to_scipy()
    source.data[:] = 1.0
    value, paths = ms.tensor(source), "s = A(i,j) * A(j,k) * A(k,l)"
    assert assumed(ms.compile(paths, A=value)) == ("A",)
    looked_at = list[ms.SparseTensor]()

    def looks(tensor: ms.SparseTensor) -> bool:
        looked_at.append(tensor)
        return is_symmetric(tensor)

    monkeypatch.setattr(statement_optimizer, "is_symmetric", looks)
    kernel = ms.compile(paths.replace("A", "B"), B=value)
    assert assumed(kernel) == ("B",)
    assert looked_at == []
    assert kernel(value) == counted(paths, value)
    value.storage.values[7] += 1
    assert ms.compile(paths.replace("A", "C"), C=value)(value) == counted(paths, value)
    assert looked_at == [value]
    assert ms.evaluate(paths.replace("A", "D"), D=value) == counted(paths, value)


def test_repeated_evaluations_look_again() -> None:
    value = graph(seed=6)
    for change in (0, 1, 0, -1):
        value.storage.values[3] += change
        assert ms.evaluate(CYCLES, A=value) == counted(CYCLES, value)


@pytest.mark.parametrize("weight", [7.0, np.nextafter(1.0, 2.0), 0.0, np.nan])
@pytest.mark.parametrize("way", ["storage", "scipy", "kept", "slice", "bytes", "converted"])
def test_values_that_are_written_through_whatever_shares_them(way: str, weight: float) -> None:
    """No call relies on what an earlier one found: memory is the caller's, and any name for it may write to it."""
    source = graph(20_000, 6, "float64", seed=11).to_scipy()
    source.data[:] = 1.0
    value = ms.tensor(source)
    text = "s = A(i,j) * A(j,k) * A(k,l)"
    kernel, kept = ms.compile(text, A=value), value.storage.values
    assert assumed(kernel) == ("A",)
    for _ in range(2):
        np.testing.assert_allclose(kernel(value), counted(text, value), rtol=1e-12)
    other = value.slice(slice(0, 20_000), slice(0, 20_000)) if way == "slice" else value.to_scipy()
    match way:
        case "storage":
            value.storage.values[5] = weight
        case "scipy":
            source.data[5] = weight
        case "kept":
            kept[5] = weight
        case "slice":
            other.storage.values[5] = weight
        case "bytes":
            memoryview(kept).cast("B")[40:48] = np.float64(weight).tobytes()
        case "converted":
            other.data[5] = weight
    assert source.data[5] == weight or np.isnan(weight)
    for _ in range(2):
        np.testing.assert_allclose(kernel(value), counted(text, value), rtol=1e-12)
    np.testing.assert_allclose(ms.evaluate(text, A=value), counted(text, value), rtol=1e-12)
    kept[5] = 1.0
    np.testing.assert_allclose(kernel(value), counted(text, value), rtol=1e-12)


def test_new_tensors_are_looked_at_whatever_was_found_of_others() -> None:
    """Among them those that share values with a known tensor, or have its structure, or take its place in memory."""
    value, text = graph(seed=12, dtype="float64"), CYCLES
    kernel = ms.compile(text, A=value)
    assert assumed(kernel) == ("A",)
    np.testing.assert_allclose(kernel(value), counted(text, value), rtol=1e-12)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        other = value.copy()
        other.storage.values[int(rng.integers(0, value.nse))] += 1
        for one in (other, value, directed(), value.astype("float32").astype("float64"), other):
            np.testing.assert_allclose(kernel(one), counted(text, one), rtol=1e-11)
        del other


def test_symmetric_in_places_but_not_in_values() -> None:
    value = graph()
    value.storage.values[:] = np.arange(value.nse)
    kernel = ms.compile(CYCLES, A=value)
    assert assumed(kernel) == ()
    assert "symmetric" not in kernel.explain()
    assert kernel(value) == counted(CYCLES, value)
    assert kernel(A) == counted(CYCLES, A)


def test_a_short_statement_is_worth_a_look_at_values_that_are_all_equal() -> None:
    """The structure of a matrix is compared with its transpose once, its values at each call."""
    text, weighted = "s = A(i,j) * A(j,k) * A(k,l)", graph(20_000, 6, "float64")
    alike = weighted.copy()
    alike.storage.values[:] = 2.0
    assert assumed(ms.compile(text, A=weighted)) == ()
    kernel = ms.compile(text, A=alike)
    assert assumed(kernel) == ("A",)
    np.testing.assert_allclose(kernel(alike), counted(text, alike), rtol=1e-12)
    alike.storage.values[0] = 5.0
    np.testing.assert_allclose(kernel(alike), counted(text, alike), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "complex128", "int8", "bool"])
def test_element_types(dtype: str) -> None:
    value = graph(dtype=dtype)
    semiring = "or_and" if dtype == "bool" else None
    found = ms.evaluate(CYCLES, A=value, semiring=semiring)
    np.testing.assert_allclose(found, ms.evaluate(CYCLES, A=value, semiring=semiring, optimize="off"), rtol=1e-4)


def test_a_chosen_alternative_refuses_other_matrices() -> None:
    way = next(
        way for way in ms.compile(CYCLES, A=A).alternatives() if way.spec.rewriting and way.spec.rewriting.symmetric
    )
    kernel, value = ms.compile(way, A=A), graph(seed=7)
    for _ in range(2):
        assert kernel(A) == counted(CYCLES, A)
    value.storage.values[0] += 1
    for _ in range(2):
        with pytest.raises(OperandError, match="expected A equal to the transpose, bit for bit"):
            kernel(value)
    assert kernel(A) == counted(CYCLES, A)
    with pytest.raises(OperandError, match="expected A equal to the transpose"):
        ms.evaluate(way, A=value)


def test_saved_kernels_are_right_for_all_values(tmp_path: Path) -> None:
    kernel, value = ms.compile(CYCLES, A=A), graph(seed=8)
    kernel(A)
    kernel.save(tmp_path / "cycles.kernel")
    value.storage.values[0] += 1
    loaded = ms.load(tmp_path / "cycles.kernel")
    assert assumed(loaded) == ()
    assert loaded(value) == counted(CYCLES, value)
    assert loaded(A) == counted(CYCLES, A)
    assert "symmetric" not in loaded.explain()
    again = pickle.loads(pickle.dumps(kernel))
    assert again(value) == counted(CYCLES, value)
    assert again(A) == counted(CYCLES, A)


def test_einsum_and_its_path() -> None:
    subscripts, operands = "ij,jk,kl,li->", (A, A, A, A)
    assert ms.einsum(subscripts, *operands) == counted(CYCLES, A)
    path = str(ms.einsum_path(subscripts, *operands))
    assert path.count("->") == 4, path
    value = graph(seed=9)
    value.storage.values[0] += 1
    assert ms.einsum(subscripts, *[value] * 4) == counted(CYCLES, value)


def test_comprehensions_look_at_the_matrices_of_calls() -> None:
    text = "def f(double(N,N) A) -> (s, t) { s +=! A(i,j) * A(j,k) * A(k,l) * A(l,i) \n t = 2 * s }"
    value = graph(dtype="float64")
    kernel = ms.compile(text, A=value)
    assert "calls are planned again where they find symmetric: A" in kernel.explain()
    (step, _) = kernel.kernels
    for change, symmetric in ((0, ("A",)), (0, ("A",)), (1, ()), (-1, ())):  # a plan for all matrices stays
        value.storage.values[3] += change
        np.testing.assert_allclose(kernel(value), np.array([1, 2]) * counted(CYCLES, value), rtol=1e-12)
        assert step._plans.known.rewriting.symmetric == symmetric
    assert "if symmetric, which calls check: A" in step.explain(A=value)
    other = directed()
    np.testing.assert_allclose(kernel(other)[0], counted(CYCLES, other), rtol=1e-11)
    np.testing.assert_allclose(kernel(value)[0], counted(CYCLES, value), rtol=1e-12)


def test_lazy_expressions_look_at_the_matrices_of_calls() -> None:
    value = graph(seed=13)
    recorded = ms.lazy(value)
    product = recorded @ recorded
    cycles = ((product @ recorded) * recorded.T).sum()
    for change in (0, 0, 1, 0, -1, 0):
        value.storage.values[3] += change
        assert cycles.compute() == counted(CYCLES, value)
        assert np.einsum("ij,jk,kl,li->", *[recorded] * 4).compute() == counted(CYCLES, value)
    assert "calls are planned again where they find symmetric" in cycles.explain()


def test_what_statements_before_compute_may_be_symmetric_too() -> None:
    """Only a call has it: whether it is symmetric, no sample says before."""
    text = "def f(double(N,N) A) -> (s) { B(i,j) = 2 * A(i,j) \n s +=! B(i,j) * B(j,k) * B(k,l) * B(l,i) }"
    value = graph(dtype="float64", seed=14)
    kernel = ms.compile(text, A=value)
    for one in (value, directed(), value):
        np.testing.assert_allclose(kernel(one), 16 * counted(CYCLES, one), rtol=1e-11)


def test_one_matrix_of_two_is_symmetric() -> None:
    B, text = directed(), "s = A(i,j) * B(j,k) * A(k,l) * B(l,i)"
    value = graph(dtype="float64")
    for first, second in ((value, B), (B, value), (value, value)):
        found = ms.compile(text, A=first, B=second)
        np.testing.assert_allclose(
            found(first, second), ms.evaluate(text, A=first, B=second, optimize="off"), rtol=1e-11
        )
        np.testing.assert_allclose(found(B, B), ms.evaluate(text, A=B, B=B, optimize="off"), rtol=1e-11)


def test_structures_that_are_computed_first() -> None:
    text, value = "C(i,l) = A(i,j) * A(j,k) * A(k,l)", graph(400, 6)
    kernel = ms.compile(text, A=value, out="CSR")
    C = kernel.assemble(value)
    np.testing.assert_array_equal(kernel.compute(value, out=C).to_numpy(), counted(text, value))


def random_text(rng: random.Random) -> str:
    """Returns a product of matrices and a vector, each read at any variables."""
    names = "ijklm"[: rng.randint(2, 5)]
    factors = [f"{rng.choice('AAAB')}({','.join(rng.sample(names, 2))})" for _ in range(rng.randint(2, 4))]
    factors += [f"x({rng.choice(names)})"] * rng.randint(0, 1)
    used = sorted({variable for factor in factors for variable in factor[2:-1].split(",")})
    return f"r({','.join(rng.sample(used, rng.randint(0, 2)))}) = {' * '.join(factors)}".replace("r()", "r")


@pytest.mark.parametrize("seed", crossing.seeds(16))
def test_random_statements_that_read_matrices_either_way(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks are free here, so that each way that reads a transpose is taken."""
    monkeypatch.setattr(symmetric_ways, "_CHECKED", 0.0)
    monkeypatch.setattr(symmetric_ways, "_WORTH", 1e6)
    monkeypatch.setattr(product_search, "_FULL", (0.25, 2.0)[seed % 2])
    rng, draw = random.Random(seed), np.random.default_rng(seed)
    size = rng.choice([1, 2, 7, 25])
    A, B = (draw.integers(1, 4, (size, size)) * (draw.random((size, size)) < 0.3) for _ in "AB")
    operands: dict[str, Any] = {
        "A": ms.tensor(A + A.T, rng.choice(["CSR", "CSC"])),
        "B": ms.tensor(B),
        "x": draw.integers(-2, 3, size),
    }
    text = random_text(rng)
    operands = {name: value for name, value in operands.items() if f"{name}(" in text}
    written: Any = ms.compile(text, tensors=operands, out="dense", optimize="off")
    facts = {
        name: TensorFacts(kind, sketch_of(operands[name]), symmetric=name == "A") for name, kind in written.spec.inputs
    }
    found = choose_rewriting(written.spec.explicit, facts, always=True)
    if found is not None:
        np.testing.assert_array_equal(written.rewritten(found)(**operands), written(**operands), err_msg=text)


@pytest.mark.parametrize("seed", crossing.seeds(24))
def test_ways_that_read_no_transpose_are_right_for_any_matrix(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls do not look at matrices for these: they would be wrong in silence."""
    monkeypatch.setattr(product_search, "_FULL", (0.25, 2.0)[seed % 2])
    rng, draw = random.Random(seed), np.random.default_rng(seed)
    A, B = (draw.integers(1, 4, (9, 9)) * (draw.random((9, 9)) < 0.4) for _ in "AB")
    operands: dict[str, Any] = {"A": ms.tensor(A), "B": ms.tensor(B), "x": draw.integers(-2, 3, 9)}
    text = random_text(rng)
    operands = {name: value for name, value in operands.items() if f"{name}(" in text}
    written: Any = ms.compile(text, tensors=operands, out="dense", optimize="off")
    facts = {name: TensorFacts(kind, sketch_of(operands[name])) for name, kind in written.spec.inputs}
    turned = {name: replace(one, symmetric=name == "A") for name, one in facts.items()}
    for way in StatementWays(written.spec.explicit, facts).knowing(turned).all():
        if not way.parts.reads_transposes:
            found = written.rewritten(merged(way.rewriting))
            np.testing.assert_array_equal(found(**operands), written(**operands), err_msg=f"{text}: {way.rewriting}")


@pytest.mark.parametrize(
    ("text", "turned"),
    [
        ("s = A(i,j) * A(i,k) * A(i,l)", False),  # sums of rows, three times the same
        ("s = A(i,j) * A(k,i) * A(i,l)", True),
        ("s(i,l) = A(i,j) * A(j,k) * A(k,l)", False),
    ],
)
def test_parts_that_are_shared_as_they_are_need_no_symmetry(text: str, turned: bool) -> None:
    explicit = with_explicit_sums(ms.parse(text))
    kind, sketch = ms.TensorType.parse("f64[?,?] CSR"), sketch_of(graph())
    facts = {"A": TensorFacts(kind, sketch)}
    way = next(StatementWays(explicit, facts).knowing({"A": TensorFacts(kind, sketch, symmetric=True)}).cheapest())
    assert way.parts.reads_transposes == turned


def test_steps_of_page_rank_look_ranks_up() -> None:
    """Where the links are those of an undirected graph; else they are scattered, each to where it leads."""
    links = ms.tensor(Graph(200_000, 800_000).made(), "CSR")
    ranks = {name: vector(200_000) for name in "rw"} | {name: vector() for name in "dt"}
    for symmetric in (True, False):
        facts = {"A": TensorFacts(links.type, sketch_of(links), symmetric=symmetric), **ranks}
        found = rewritten("p(j) = d * A(i,j) * r(i) * w(i) + t", facts)
        assert (found is not None and found.symmetric == ("A",)) == symmetric
        assert not symmetric or "A(j,i)" in str(found.value)

"""The search for an order of loops: each has the price that it has alone, and what they share is made once."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

import mlir_sparse as ms
from mlir_sparse.encoding import TensorType
from mlir_sparse.notation import Access, Assignment, IndexVar, accesses_of, replace_accesses
from mlir_sparse.plan.cost import conversion_cost, entries, meeting_lengths, meetings_in, steps_in, trip_counts
from mlir_sparse.plan.order import loop_order, order_prices
from mlir_sparse.plan.order.loop_choice import NestToOrder
from mlir_sparse.plan.order.order_prices import OrderPrices, Price
from mlir_sparse.plan.order.scattered_masks import scattered_in
from mlir_sparse.plan.order.storage_choice import level_variables, ordered_as

MTTKRP = "M(a,r) = T(a,b,c,d,e) * B(b,r) * C(c,r) * D(d,r) * E(e,r)"


def _converted(
    nest: NestToOrder, types: dict[str, TensorType], order: tuple[IndexVar, ...]
) -> dict[Access, TensorType]:
    """Returns the operands that an order of loops rules out, with the type that each gets."""
    found = {}
    for access in accesses_of(nest.payload):
        encoding = types[access.tensor].encoding
        assert encoding is not None
        if list(level_variables(access, encoding)) != sorted(access.indices, key=order.index):
            dims = sorted(range(encoding.dim_rank), key=lambda dim: order.index(access.indices[dim]))
            found[access] = ordered_as(types[access.tensor], tuple(dims))
    return found


def _alone(nest: NestToOrder, types: dict[str, TensorType], price: Price, order: tuple[IndexVar, ...]) -> float:
    """Returns the price of an order of loops without arrays that inserts into natural storage."""
    conversions = _converted(nest, types, order)
    assert tuple(conversions) == price.converted
    after = {**types, **{f"{access.tensor}'": kind for access, kind in conversions.items()}}
    payload = replace_accesses(nest.payload, {access: f"{access.tensor}'" for access in conversions})
    counts = trip_counts(order, payload, after)
    assert price.meetings == meetings_in(order, counts, meeting_lengths(order, payload, after))
    cost = steps_in(order, counts)
    if set(order[: len(nest.variables)]) != set(nest.variables):
        cost *= 1.5 if scattered_in(order, nest.reductions, payload, after) is None else 1.2
    for access, kind in conversions.items():
        cost *= max(1.0, entries(types[access.tensor]) / entries(kind))
    return cost + sum(conversion_cost(types[access.tensor]) for access in conversions)


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("C(i,j) = A(i,k) * B(k,j)", {"A": "f64[?,?] DCSR", "B": "f64[?,?] DCSC"}),
        ("C(i,j) = M(i,j) * A(i,k) * B(k,j)", {"M": "f64[?,?] CSR", "A": "f64[?,?] CSR", "B": "f64[?,?] CSR"}),
        ("M(i,l) = T(i,j,k) * S(k,j,i) * A(i,l)",
         {"T": "f64[?,?,?] (i,j,k) -> (k : compressed, i : compressed, j : compressed)", "S": "f64[7,?,20] CSF",
          "A": "f64[?,?] DCSR"}),
        ("C(l,i,j) = T(i,j,k) * S(k,j,l)",
         {"T": "f64[?,?,?] (i,j,k) -> (k : compressed, j : compressed, i : compressed)", "S": "f64[?,50,3] CSF"}),
    ],
)  # fmt: skip
def test_each_order_has_the_price_that_it_has_alone(text: str, types: dict[str, str]) -> None:
    assignment = ms.parse(text)
    assert isinstance(assignment, Assignment)
    kinds = {name: TensorType.parse(kind) for name, kind in types.items()}
    variables = assignment.target.indices
    reductions = tuple(index for index in assignment.indices if index not in variables)
    nest = NestToOrder(variables, reductions, assignment.value, None, True)
    prices, converted = OrderPrices.of(nest, kinds), 0
    for numbers in permutations(range(len(prices.loops))):
        price = prices.price(numbers)
        order = tuple(prices.loops[number] for number in numbers)
        assert (price is None) == any(one in reductions for one in order[: len(variables) - 1])
        if price is not None:
            converted += bool(price.converted)
            assert price.cost == pytest.approx(_alone(nest, kinds, price, order), rel=1e-12)
    assert converted


def test_many_loops_are_counted_once_for_each_outermost_dimension(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []

    def counted(*arguments: Any) -> Any:
        calls.append(arguments)
        return trip_counts(*arguments)

    monkeypatch.setattr(order_prices, "trip_counts", counted)
    types = {"T": "f64[?,?,?,?,?] COO", **dict.fromkeys("BCDE", "f64[?,?]")}
    loop_order._least_cost.cache_clear()
    ms.compile(MTTKRP, tensors=types, optimize="off").explain()
    assert 0 < len(calls) <= 6 * 8  # as it stands and for each of five dimensions, in each of eight searches


def test_types_of_conversions_are_made_of_few_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tensor of rank 10 permuted took 5 s, the sum of six of rank 8 took 13 s: each order made its types."""
    made: list[object] = []

    def counted(*arguments: Any) -> Any:
        made.append(arguments)
        return ordered_as(*arguments)

    monkeypatch.setattr(order_prices, "ordered_as", counted)
    storage = f"f64[{','.join('?' * 10)}] COO"
    ms.compile("Z(b,a,d,c,f,e,h,g,j,i) = A(a,b,c,d,e,f,g,h,i,j)", A=storage, out="COO").explain()
    assert 0 < len(made) <= 11


def test_of_many_loops_the_orders_of_storage_are_tried() -> None:
    """Of eight loops and more, 5040 orders near the text leave the outermost as it is: operands were converted."""
    names = "abcdefgh"
    back, along = ",".join(reversed(names)), ",".join(names)
    types = dict.fromkeys("AB", f"f64[{','.join('?' * 8)}] CSF")
    kernel = ms.compile(f"Z({back}) = A({along}) * B({along})", tensors=types, out="dense")
    loops = [line.split()[1] for line in kernel.explain().splitlines() if line.strip().startswith("for ")]
    assert loops == list(names)
    assert "A.0[compressed] & B.0[compressed]" in kernel.explain()
    random = np.random.default_rng(0)
    A, B = (random.random((2,) * 8) * (random.random((2,) * 8) < 0.3) for _ in range(2))
    found = kernel(ms.tensor(A, "CSF"), ms.tensor(B, "CSF"))
    np.testing.assert_array_equal(found, (A * B).transpose())

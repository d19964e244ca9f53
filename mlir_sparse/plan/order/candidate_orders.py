"""The loop orders of a nest that are compared: all of a few loops; of many those near the text and near storage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise, permutations

from mlir_sparse.plan.order.order_prices import LoopNumbers, OrderPrices

__all__ = ["candidate_orders"]

# Seven loops have 5040 orders; with more loops the first orders, which follow the text, and those of storage are tried.
_ALL_ORDERS, _MOST_ORDERS = 7, 5040


def candidate_orders(prices: OrderPrices) -> Iterator[LoopNumbers]:
    """Returns the loop orders to compare, those first that follow the text.

    Args:
        prices: the prices of the nest's orders.
    """
    loops = range(len(prices.loops))
    orders: Iterable[LoopNumbers] = islice(permutations(loops), _MOST_ORDERS)
    if len(loops) > _ALL_ORDERS:
        orders = dict.fromkeys(chain(orders, _orders_of_storage(prices)))
    return filter(prices.accumulates, orders)


def _orders_of_storage(prices: OrderPrices) -> Iterator[LoopNumbers]:
    """Returns for each operand, and for the result, an order that takes its storage as it is, and others if it can."""
    loops, variables = range(len(prices.loops)), range(len(prices.nest.variables))
    reductions = range(len(variables), len(loops))
    stored = [operand.levels for operand in prices.sparse if operand.levels is not None]
    wanted = [] if prices.output is None else [prices.output]
    # Loops over the result around the others insert into any storage of it.
    inside = [(variable, reduction) for variable in variables for reduction in reductions]
    paths = list(dict.fromkeys([*wanted, *stored, tuple(variables)]))
    for path in paths:
        others = [other for other in paths if other != path]
        yield _merged(loops, [path, *others])
        yield _merged(loops, [*inside, path, *others])


def _merged(loops: Sequence[int], paths: Iterable[LoopNumbers]) -> LoopNumbers:
    """Returns the order of loops that follows the paths, and the text where they leave a choice.

    A path that would close a cycle with those before it is left out.
    """
    after: dict[int, set[int]] = {loop: set() for loop in loops}
    for path in paths:
        further = {loop: set(those) for loop, those in after.items()}
        for one, other in pairwise(path):
            further[one] |= {other} - {one}
        if _sorted(loops, further) is not None:
            after = further
    found = _sorted(loops, after)
    assert found is not None, "each path that was taken left no cycle"
    return found


def _sorted(loops: Sequence[int], after: Mapping[int, set[int]]) -> LoopNumbers | None:
    """Returns the first order in which each loop is before those after it; None if there is none."""
    left, found = list(loops), []
    while left:
        held = set[int]().union(*(after[loop] for loop in left))
        free = next((loop for loop in left if loop not in held), None)
        if free is None:
            return None
        left.remove(free)
        found.append(free)
    return tuple(found)

"""The cheapest way to compute one product: which of its factors make a part that is computed first.

`native/search/product_search.hpp` says how it is found; here is by how much a plan must be cheaper than another.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from mlir_sparse._search import EntrySet, PartRoom
from mlir_sparse._search import ProductSearch as SearchOfProducts
from mlir_sparse.plan.algebra.nest_times import NestTimes

__all__ = ["Members", "ProductSearch"]

Members = int
"""The bits of a set of factors, and above them those of the variables that are summed later."""

# From this share of its elements on a part is an array.
_FULL = 0.25
# A plan must be so much cheaper than another to be taken in its place: estimates are no better.
_NOTICED = 0.999
# The same where a factor is summed in the loops that read it, which take longer than by estimate if anything.
_UNSUMMED = 0.95
# The same where a sum is done later than it could be: such plans were slower than others on data if they took from a
# half to 0.8 of their time by estimate.
_LATER = 0.5
# Ways that take so many times as long as a part may take have no say in which of them is taken.
_BEYOND = 1 / _UNSUMMED


class ProductSearch(SearchOfProducts):
    """Searches the ways to compute a product.

    Args:
        relations: what each factor is to estimates.
        kept: the variables of the result.
        nests: the times of loop nests.
        key: what sets have in common that are equal up to the names of variables; None where none are.
        is_made: whether a set with such a key is there already; None where nothing is.
        room: which parts fit in memory.
        has_arrays: whether parts that are nearly full may be arrays.
        occurrence: what sets have in common that are equal at the same variables; their key by default.
        names: by factor a number of its tensor: sets of others are not equal; none if that is not known.
        made_names: the sorted names of factors of each set that is there already; none if that is not known.
        any_size: whether sets are compared that keep unlike numbers of variables for later; by default those that are
            there already alone.
        into_array: whether the result is an array although loops could leave elements out.
    """

    def __init__(
        self,
        relations: Sequence[EntrySet],
        kept: int,
        nests: NestTimes,
        key: Callable[[Members], Hashable] | None,
        is_made: Callable[[Hashable], bool] | None,
        room: PartRoom,
        *,
        has_arrays: bool = False,
        occurrence: Callable[[Members], Hashable] | None = None,
        names: Sequence[int] = (),
        made_names: Sequence[Sequence[int]] = (),
        any_size: bool | None = None,
        into_array: bool = False,
    ) -> None:
        margins = [_FULL, _NOTICED, _UNSUMMED, _LATER, _BEYOND]
        super().__init__(
            relations,
            kept,
            nests,
            key,
            is_made,
            occurrence,
            names,
            made_names,
            is_made is not None if any_size is None else any_size,
            room,
            margins,
            has_arrays,
            into_array,
        )
        self.nests = nests

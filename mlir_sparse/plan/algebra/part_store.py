"""The parts of a statement that are made first: each once, however often it is read and by whichever variables."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Self

from mlir_sparse._search import EntrySet, NestTime, PartRoom
from mlir_sparse.dtypes import DType
from mlir_sparse.machine import machine_profile
from mlir_sparse.notation import Access, Expr, IndexVar, accesses_of
from mlir_sparse.plan.algebra.algebra_rules import SHARE, AlgebraRule
from mlir_sparse.plan.algebra.estimates import Estimates, union
from mlir_sparse.plan.algebra.known_parts import NOTHING_KNOWN, KnownParts
from mlir_sparse.plan.algebra.made_parts import MadeParts, TooLongError
from mlir_sparse.plan.algebra.masked_functions import masked_value
from mlir_sparse.plan.algebra.nest_times import NestTimes
from mlir_sparse.plan.algebra.normal_form import (
    Factor,
    Opaque,
    ProductTerm,
    accesses_in,
    expression_of,
    variables_of,
)
from mlir_sparse.plan.algebra.part_loops import PartLoops
from mlir_sparse.plan.algebra.slow_functions import slow_functions
from mlir_sparse.plan.algebra.tensor_facts import TensorFacts, facts_of_part
from mlir_sparse.spec import Part, PartEstimate, vanishes
from mlir_sparse.text.identifiers import generated_name

__all__ = ["PartStore"]

# Returns the loop nests whose sum a part is, and what the part is to estimates.
Make = Callable[[], tuple[tuple[ProductTerm, ...], EntrySet]]

# A factor, what it is to estimates, and whether it has variables.
_Seen = tuple[Factor, EntrySet, bool]

# Writing a part down takes as long as looking at so many ways to compute a product.
_WORK_OF_PART = 10


class PartStore:
    """The parts so far, and what factors are to estimates.

    With `has_arrays` parts that are nearly full are arrays. All together may take `most` nanoseconds.

    Args:
        target: the name of the result, after which parts are named.
        facts: what is known of each tensor.
        extents: the extent of each variable.
        room: how many bytes all parts may take.
        itemsize: how many bytes a number of the statement takes.
        has_blas: whether BLAS may multiply arrays.
        earlier: what statements before have made.
    """

    has_arrays = False
    # Whether a symmetric matrix is read as its transpose somewhere, or may be: its parts are one.
    reads_transposes = False
    most = math.inf

    def __init__(
        self,
        target: str,
        facts: Mapping[str, TensorFacts],
        extents: dict[IndexVar, float],
        room: float,
        itemsize: int,
        earlier: KnownParts = NOTHING_KNOWN,
        *,
        has_blas: bool = False,
    ) -> None:
        self._target = target
        self.facts = {**earlier.facts, **facts}
        self.symmetric = frozenset([tensor for tensor, one in facts.items() if one.symmetric])
        self.dtypes = {tensor: one.kind.dtype for tensor, one in facts.items()}
        # The element type of parts that are made now; None for that of the statement.
        self.dtype: DType | None = None
        self.extents = extents
        self.estimates = Estimates(extents)
        workspaces = True not in [dtype.is_complex for dtype in self.dtypes.values()]
        self.nests = NestTimes(self.estimates, machine_profile().times, has_blas=has_blas, has_workspaces=workspaces)
        self.parts: list[Part] = []
        self.nanoseconds = 0.0
        self.bytes = 0.0
        # The bytes of parts that take the place of others.
        self.replaced: dict[str, float] = {}
        # The rules that were used, in the order of their use.
        self.rules: dict[AlgebraRule, None] = {}
        self.room = room
        self._share = 1.0
        self._itemsize = itemsize
        # Positions and coordinates of temporaries are as wide as those of operands, at least 32 bits; 0 stands for 64.
        storages = [one.kind.encoding for one in facts.values() if one.kind.encoding is not None]
        widths = [32, *[one.pos_width or 64 for one in storages], *[one.crd_width or 64 for one in storages]]
        self._width = max(widths) // 8
        self._made = MadeParts(earlier.made)
        self._results: dict[str, tuple[tuple[IndexVar, ...], EntrySet]] = {}
        # What accesses of parts are to estimates, and what those of tensors and arrays are, whatever parts there are.
        self._of_parts: dict[Access, EntrySet] = {}
        self._of_tensors: dict[Access | tuple[int, float], EntrySet] = {}
        # Those of factors by their nodes, which are asked for more often than they are compared: of those that read no
        # parts, and of the others.
        self._of_objects: dict[int, _Seen] = {}
        self._of_readers: dict[int, _Seen] = {}

    def fork(self) -> Self:
        """Returns a store with the parts so far, which shares what estimates have found but no part made later."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.parts, other.rules, other.replaced = list(self.parts), dict(self.rules), dict(self.replaced)
        other._made, other._results, other._of_parts = self._made.copy(), dict(self._results), dict(self._of_parts)
        other._of_readers = dict(self._of_readers)
        return other

    def knowing(self, facts: Mapping[str, TensorFacts]) -> Self:
        """Returns a store like `fork` in which other things are known of tensors than before.

        Args:
            facts: what is known of each tensor, whose types and numbers are those of before, when none was symmetric.
        """
        other = self.fork()
        other.facts = {**self.facts, **facts}
        other.symmetric = frozenset(tensor for tensor, one in facts.items() if one.symmetric)
        other._of_parts, other._of_readers = {}, {}
        # Loops may read a symmetric matrix either way; all else is as it was.
        turned = {
            id(found): found.replaced(order=None)
            for key, found in self._of_tensors.items()
            if isinstance(key, Access) and key.tensor in other.symmetric
        }
        other._of_tensors = {key: turned.get(id(found), found) for key, found in self._of_tensors.items()}
        seen = [one for one in self._of_objects.items() if isinstance(one[1][0], Access)]
        other._of_objects = {number: (one, turned.get(id(found), found), has) for number, (one, found, has) in seen}
        other.nests = self.nests.forgotten()
        other.nests.take_last_of(self.nests)
        if self.has_arrays:
            other.nests.allow_copies(other.part_room)
        return other

    def frugal(self, share: float) -> Self:
        """Returns a store like `fork` that makes fewer parts.

        Args:
            share: the part of the memory for all parts that one part may take.
        """
        other = self.fork()
        other.nests = self.nests.forgotten(has_masks=False)
        other.nests.take_last_of(self.nests)
        other._share = share
        return other

    @property
    def known(self) -> KnownParts:
        """Returns all parts so far, those that statements before have made included."""
        made = self._made.keyed
        names = dict.fromkeys(name for name, _ in made.values())
        known = {name: self._facts_of(name) for name in names if name in self._results}
        return KnownParts(made, known | {name: self.facts[name] for name in names if name not in known})

    def _facts_of(self, name: str) -> TensorFacts:
        indices, relation = self._results[name]
        shape = tuple([int(self.extents[index]) for index in indices])
        return facts_of_part(shape, self.estimates.places(indices), relation)

    def nbytes(self, terms: Sequence[ProductTerm]) -> float:
        """Returns the bytes of all parts, where some products read them: two where one that another replaces is read.

        Args:
            terms: the products.
        """
        if not self.replaced:
            return self.bytes
        values = [*(part.value for part in self.parts), expression_of(terms)]
        reads = [access.tensor for value in values for access in accesses_of(value)]
        return self.bytes + sum(more for name, more in self.replaced.items() if reads.count(name) > 1)

    @property
    def part_room(self) -> PartRoom:
        """Returns which parts fit in memory, each for itself."""
        return _room(self.room * self._share, self._itemsize, self._width)

    def _bytes_of(self, result: EntrySet) -> float:
        return self.part_room.bytes_of(result, self.estimates)

    def has(self, key: Hashable) -> bool:
        """Returns whether a part with a key is made already."""
        return self._made.has(key, self.dtype)

    def made_of(self, names: Sequence[str]) -> Sequence[Sequence[int]] | None:
        """Returns of each part so far the sorted places of its factors among those of a product, by their first names.

        Parts of other factors are equal to none of the product's. It is None where all may be equal to some.

        Args:
            names: the names of the factors of the product; all functions and sums have one.
        """
        made = self._made.names
        if made is None:
            return None
        known = set(names)
        return [sorted(map(names.index, each)) for each in made if known.issuperset(each)]

    def part(
        self,
        factors: Sequence[Factor],
        kept: frozenset[IndexVar],
        make: Callable[[], tuple[tuple[ProductTerm, ...], EntrySet]],
        loops: PartLoops | None = None,
        inner: frozenset[IndexVar] = frozenset(),
    ) -> Access:
        """Returns the access of a part, which is made if no equal one is.

        Args:
            factors: the product that the part is.
            kept: its variables.
            make: called if it is to be made.
            loops: how it is made; None for a product in one loop nest, or by BLAS.
            inner: the variables of which what reads it goes over rows.
        """
        there = self._made.find(factors, kept, self.symmetric, self.dtype)
        if there is not None:
            self.rules[SHARE] = None
            if self.symmetric:
                self.reads_transposes |= self._made.needs_symmetry(there, factors, kept, self.dtype)
            return there
        terms, result = make()
        seen = self._dimensions(factors, kept, terms, result, inner)
        made = Access(self._store(terms, seen, result, loops), seen)
        self._made.add(factors, kept, self.symmetric, self.dtype, made)
        return made

    def _dimensions(
        self,
        factors: Sequence[Factor],
        kept: frozenset[IndexVar],
        terms: Sequence[ProductTerm],
        result: EntrySet,
        inner: frozenset[IndexVar],
    ) -> tuple[IndexVar, ...]:
        """Returns the variables of a part in the order of the text, in which the last is most often that of a row.

        The last of an array are those that only arrays have, in it or in what reads it: loops over rows are inner ones.
        """
        read = [access for factor in factors for access in accesses_in(factor)]
        seen = tuple(dict.fromkeys(v for access in read for v in access.indices if v in kept))
        if result.sparse or len(seen) < 2:
            return seen
        walked = union(relation for term in terms for relation in self.relations(term.factors) if relation.sparse)
        rows = self.estimates.bits(inner) | (self.estimates.bits(seen) & ~walked if walked else 0)
        return tuple(sorted(seen, key=lambda variable: self.estimates.bit(variable) & rows > 0))

    def _store(
        self,
        terms: tuple[ProductTerm, ...],
        indices: tuple[IndexVar, ...],
        result: EntrySet,
        loops: PartLoops | None,
    ) -> str:
        name = generated_name(self._target, "part", self._results.keys() | self.facts.keys())
        self.nests.work += _WORK_OF_PART
        if loops and loops.base and loops.base not in self.replaced:
            self.replaced[loops.base] = self._bytes_of(result)
        else:
            self.bytes += self._bytes_of(result)
        order = result.order if result.sparse else self.estimates.places(indices)
        self._results[name] = indices, result.replaced(order=order, in_memory=True)
        kept = frozenset(indices)
        is_array = self.has_arrays and not (result.sparse or loops) and len(terms) == 1
        is_array = is_array and self.time(terms[0].factors, kept, as_written=True).sparse
        times = [] if loops else [self.time(term.factors, kept, array=is_array) for term in terms]
        by_blas = len(times) == 1 and times[0].by_blas
        self.nanoseconds += loops.nanoseconds if loops else sum([time.nanoseconds for time in times])
        if self.nanoseconds > self.most:
            raise TooLongError
        expected = self.part_room.expected_bytes_of(result, self.estimates)
        own, estimate = loops.order if loops else None, PartEstimate(result.entries, result.sparse, expected)
        part = Part(Access(name, indices), masked_value(terms), self.dtype, by_blas, own, is_array, estimate)
        self.parts.append(part)
        return name

    def time(
        self, factors: Sequence[Factor], kept: frozenset[IndexVar], *, as_written: bool = False, array: bool = False
    ) -> NestTime:
        """Returns the time of one loop nest over factors, or of BLAS where it takes less.

        Args:
            factors: the factors.
            kept: the variables of the result.
            as_written: whether loops compute it, whatever takes less.
            array: whether the result is an array although loops could leave elements out.
        """
        relations = self.relations(factors)
        if not relations:
            return NestTime(0.0, 1.0, 1.0, False, 1.0)
        loops = as_written or len(relations) < len(factors)  # scalars are none of BLAS's
        nest = (self.nests.in_loops if loops else self.nests.exact)(relations, self.estimates.bits(kept), array=array)
        functions = self._functions(factors, nest)
        return nest.longer(functions) if functions else nest

    def _functions(self, factors: Sequence[Factor], nest: NestTime) -> float:
        """Returns the time of functions of sparse tensors in a loop nest, beside what searches know of functions.

        Loops over a function that has values where sparse tensors have none meet their rows at each of its places.
        """
        total, machine = 0.0, self.nests.machine
        for factor in factors:
            if isinstance(factor, Access):
                continue
            if self.relation(factor).sparse:
                in_vectors, called = slow_functions(factor)
                total += (in_vectors * machine.function + called * machine.lone_function) * nest.places
            elif isinstance(factor, Opaque) and self.reads_sparse(factor.body):
                total += machine.meet * min(nest.places, self.space(variables_of(factor)))
        return total

    def reads_sparse(self, node: Expr) -> bool:
        """Returns whether an expression reads a sparse tensor."""
        return any(self.relation(access).sparse for access in accesses_of(node))

    def space(self, variables: frozenset[IndexVar]) -> float:
        """Returns how many places an array over some variables has."""
        return self.estimates.space(self.estimates.bits(variables))

    def relations(self, factors: Sequence[Factor]) -> list[EntrySet]:
        """Returns what factors with variables are to estimates."""
        known, readers, found = self._of_objects, self._of_readers, []
        for factor in factors:
            seen = known.get(id(factor)) or readers.get(id(factor)) or self._looked_at(factor)
            if seen[2]:
                found.append(seen[1])
        return found

    def relation(self, factor: Factor) -> EntrySet:
        """Returns what a factor is to estimates."""
        number = id(factor)
        return (self._of_objects.get(number) or self._of_readers.get(number) or self._looked_at(factor))[1]

    def _looked_at(self, factor: Factor) -> _Seen:
        if isinstance(factor, Access):
            found, parts = self._of_access(factor), factor.tensor in self._results
        elif isinstance(factor, Opaque):
            reads = accesses_of(factor.body)
            found, parts = self._of_function(factor, reads), any(access.tensor in self._results for access in reads)
        else:
            found, parts = self._computed(factor), False
        seen = factor, found, bool(found.variables)
        (self._of_readers if parts else self._of_objects)[id(factor)] = seen
        return seen

    def _computed(self, factor: Factor) -> EntrySet:
        """Returns the relation of what loops compute everywhere from what it reads."""
        read = [self.space(variables_of(access)) for access in accesses_in(factor)]
        found = self.array(variables_of(factor), max(read, default=1.0))
        counts = slow_functions(factor)
        return found.replaced(functions=counts) if any(counts) else found

    def _of_access(self, access: Access) -> EntrySet:
        known = self._of_parts if access.tensor in self._results else self._of_tensors
        found = known.get(access)
        if found is None:
            variables = self.estimates.places(access.indices)
            if access.tensor in self._results:
                own, relation = self._results[access.tensor]
                found = relation.at(self.estimates.places(own), variables)
            else:
                found = self.facts[access.tensor].relation(access.tensor, variables)
            known[access] = found
        return found

    def array(self, variables: frozenset[IndexVar], read: float = math.inf) -> EntrySet:
        """Returns the relation of what has a value everywhere, over some variables.

        Args:
            variables: the variables.
            read: how many elements are read for it, where these are fewer than it has values.
        """
        bits = self.estimates.bits(variables)
        key = bits, min(read, self.estimates.space(bits))
        if key not in self._of_tensors:
            self._of_tensors[key] = EntrySet(bits, key[1], False, {}, {}, in_memory=False)
        return self._of_tensors[key]

    def _of_function(self, factor: Opaque, reads: Sequence[Access]) -> EntrySet:
        """Returns the relation of a function: of a sparse tensor, if it is zero where that has no entry."""
        variables = self.estimates.bits(variables_of(factor))
        for access in reads:
            relation = self.relation(access)
            if relation.sparse and not relation.variables & ~variables and vanishes(factor.body, [access]):
                return relation.over(variables, self.estimates.space(variables & ~relation.variables))
        return self._computed(factor)


@lru_cache(maxsize=64)  # a store asks for its own for each part and search
def _room(most: float, itemsize: int, width: int) -> PartRoom:
    return PartRoom(most, itemsize, width)

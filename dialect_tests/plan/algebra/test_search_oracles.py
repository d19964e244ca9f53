"""The search over products against searches that leave nothing out: of all trees of parts, and by equality saturation.

Both price what they find by the times of loop nests that the search goes by. Equality saturation (Willsey et al. 2021)
knows the laws alone: that products commute and associate, and that factors leave sums over variables that they lack.
What the search leaves out, they do too: parts of factors without a common variable, and of those that are summed later
than they could be arrays, and products of tensors whose levels allow no order of loops.
"""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from typing import Any

import pytest

from mlir_sparse._search import EntrySet, PartRoom, predecessors, result_of
from mlir_sparse.machine import machine_profile
from mlir_sparse.notation import Access, IndexVar
from mlir_sparse.plan.algebra import product_search
from mlir_sparse.plan.algebra.equal_parts import PartKey, key_of
from mlir_sparse.plan.algebra.estimates import Estimates, bits_of, union
from mlir_sparse.plan.algebra.nest_times import NestTimes
from mlir_sparse.plan.algebra.product_search import ProductSearch

MACHINE = machine_profile().times

# A plan that saves less is no better, estimates being what they are.
NEARLY = 1.01
# Products of four factors of which a plan is cheaper by 1.05 to 2.2 times than what the search finds: one of several
# parts that are summed later is not looked at, as it can save little by what the search knows before.
KNOWN_GAPS = (145, 166, 294)


def seeds(count: int) -> list[Any]:
    """Returns the seeds of products, those with a gap as expected failures."""
    gap = pytest.mark.xfail(reason="the search does not look at all parts that are summed later", strict=True)
    return [pytest.param(seed, marks=gap if seed in KNOWN_GAPS else ()) for seed in range(count)]


@pytest.fixture(autouse=True)
def _without_margins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the search take each plan that is cheaper; on data it takes plans with risks only where they gain more."""
    for margin in ("_LATER", "_UNSUMMED"):
        monkeypatch.setattr(product_search, margin, product_search._NOTICED)


VARIABLES = [IndexVar(name) for name in "ijklm"]


@dataclass(frozen=True, slots=True)
class Product:
    """A product of factors.

    Args:
        relations: the factors.
        factors: the same as accesses of tensors.
        kept: the variables of the result.
        nests: the times of loop nests.
        symmetric: the tensors that are their own transposes.
    """

    relations: tuple[EntrySet, ...]
    factors: tuple[Access, ...]
    kept: int
    nests: NestTimes
    symmetric: frozenset[str]

    def found(self) -> float:
        """Returns the time of the way that the search finds."""

        def key(members: int) -> PartKey:
            chosen = [factor for place, factor in enumerate(self.factors) if members >> place & 1]
            kept = self.nests.estimates.variables(search.kept(members))
            return key_of(chosen, kept, self.symmetric)[0]

        search = ProductSearch(self.relations, self.kept, self.nests, key, None, PartRoom())
        return search.best(search.whole).nanoseconds

    def may_be_late(self, members: Iterable[int]) -> bool:
        """Returns whether a part may be summed later than it could be: levels of its factors agree on some loops."""
        sparse = [self.relations[one] for one in members if self.relations[one].sparse]
        return len(sparse) < 2 or predecessors(sparse) is not None


def product_of(seed: int) -> Product:
    """Returns a random product of two to four factors that variables link: arrays, functions and sparse tensors.

    In every third product extents are equal, and factors may be the same tensor; some are symmetric.
    """
    rng = random.Random(seed)
    square = rng.random() < 1 / 3
    extents = [rng.choice([300, 5000])] if square else [1, 10, 300, 5000, 5000, 100_000]
    estimates = Estimates({variable: float(rng.choice(extents)) for variable in VARIABLES})
    count = rng.choice([2, 3, 4])
    relations, factors, symmetric = list[EntrySet](), list[Access](), set[str]()
    while len(relations) < count:
        chosen = tuple(rng.sample(VARIABLES, rng.choice([1, 2, 2, 2, 3])))
        bits = tuple(map(estimates.bit, chosen))
        if relations and not union(relations) & sum(bits):
            continue
        again = [place for place, one in enumerate(factors) if square and len(one.indices) == len(chosen)]
        if again and rng.random() < 0.5:
            place = rng.choice(again)
            name, own = factors[place].tensor, tuple(map(estimates.bit, factors[place].indices))
            relations.append(relations[place].at(own, bits).replaced(source=(name, bits)))
        else:
            name = "ABCD"[len(relations)]
            relations.append(relation(bits, estimates, rng).replaced(source=(name, bits)))
            if square and len(chosen) == 2 and relations[-1].sparse and rng.random() < 0.5:
                relations[-1] = relations[-1].replaced(order=None)
                symmetric.add(name)
        factors.append(Access(name, chosen))
    variables = bits_of(union(relations))
    kept = sum(rng.sample(variables, min(len(variables), rng.choice([0, 1, 1, 2]))))
    nests = NestTimes(estimates, MACHINE, has_blas=rng.random() < 0.5)
    if rng.random() < 0.5:
        nests.allow_copies(PartRoom())
    return Product(tuple(relations), tuple(factors), kept, nests, frozenset(symmetric))


def relation(variables: tuple[int, ...], estimates: Estimates, rng: random.Random) -> EntrySet:
    space = estimates.space(sum(variables))
    if rng.random() < (0.7 if len(variables) == 1 else 0.2):
        return EntrySet(sum(variables), space, False, {}, {}, in_memory=rng.random() < 0.8)
    entries = space ** rng.choice([0.2, 0.4, 0.6, 0.8])
    means = {variable: max(1.0, entries / estimates.space(variable)) for variable in variables}
    skew = rng.choice([1.0, 1.0, 10.0])
    largest = {variable: min(entries, skew * mean) for variable, mean in means.items()}
    squares = {variable: entries * mean * skew**0.5 for variable, mean in means.items()}
    return EntrySet(sum(variables), entries, True, largest, squares, variables if rng.random() < 0.8 else None)


def priced(operands: Sequence[EntrySet], kept: int, nests: NestTimes) -> tuple[float, EntrySet]:
    """Returns the time of a nest, and its result as an operand of others."""
    nest = nests.exact(operands, kept)
    return nest.nanoseconds, result_of(operands, kept, nest)


# -- all trees ---------------------------------------------------------------------------------------------------


def cheapest_tree(product: Product) -> float:
    """Returns the least time over all ways to put factors and parts into parts, or to leave them as they are.

    Each part is summed as far as it can be, or keeps more variables, which what reads it sums.
    """
    everything = frozenset(range(len(product.relations)))

    def variables(members: frozenset[int]) -> int:
        return union(product.relations[one] for one in members)

    def least(members: frozenset[int]) -> int:
        return variables(members) & (product.kept | variables(everything - members))

    def parts_of(part: frozenset[int], members: frozenset[int], kept: int) -> Iterator[int]:
        """Yields what a set may keep as a part of another: no copy of a factor, nothing unlinked."""
        if not is_linked([product.relations[one].variables for one in part]):
            return
        first = least(part) | kept & variables(part)
        for late in subsets(variables(part) & ~first) if product.may_be_late(part) else [0]:
            same = part == members and not late
            if not same and not (len(part) == 1 and first | late == variables(part)):
                yield first | late

    @cache
    def best(members: frozenset[int], kept: int) -> tuple[float, EntrySet | None]:
        found: tuple[float, EntrySet | None] = math.inf, None
        for parts in partitions(sorted(members)):
            for made in itertools.product(
                *([*([None] if len(part) == 1 else []), *parts_of(part, members, kept)] for part in parts)
            ):
                ways = [
                    (0.0, product.relations[min(part)]) if own is None else best(part, own)
                    for part, own in zip(parts, made, strict=True)
                ]
                below, operands = sum(time for time, _ in ways), [one for _, one in ways if one is not None]
                if below >= found[0] or union(operands) & kept != kept:
                    continue
                time, result = priced(operands, kept, product.nests)
                if below + time < found[0] and (result.sparse or kept == least(members)):
                    found = below + time, result
        return found

    return best(everything, product.kept)[0]


def subsets(variables: int) -> list[int]:
    found = [0]
    for one in bits_of(variables):
        found += [others | one for others in found]
    return found


def is_linked(factors: list[int]) -> bool:
    """Returns whether variables link factors; products of others are larger than both."""
    reached = factors[0]
    for _ in factors:
        for variables in factors:
            reached |= variables if variables & reached else 0
    return all(variables & reached for variables in factors)


def partitions(items: list[int]) -> Iterator[list[frozenset[int]]]:
    if not items:
        yield []
        return
    for size in range(len(items)):
        for chosen in itertools.combinations(items[1:], size):
            rest = [one for one in items[1:] if one not in chosen]
            for parts in partitions(rest):
                yield [frozenset((items[0], *chosen)), *parts]


@pytest.mark.parametrize("seed", seeds(300))
def test_no_tree_of_parts_is_cheaper(seed: int) -> None:
    product = product_of(seed)
    assert product.found() <= cheapest_tree(product) * NEARLY


# -- equality saturation -----------------------------------------------------------------------------------------

# Expressions are products of two and sums over one variable, which is a bit; `vars` are the variables of a value.
LAWS = """
(datatype E (Leaf i64) (Mul E E) (Sum i64 E))
(function vars (E) i64 :merge old)
(rule ((= e (Mul a b)) (= va (vars a)) (= vb (vars b))) ((set (vars e) (| va vb))))
(rule ((= e (Sum v a)) (= va (vars a))) ((set (vars e) (^ va v))))
(rewrite (Mul a b) (Mul b a))
(rewrite (Mul a (Mul b c)) (Mul (Mul a b) c))
(rewrite (Sum v (Sum w a)) (Sum w (Sum v a)))
(rule ((= e (Sum v (Mul a b))) (= va (vars a)) (= 0 (& va v))) ((union e (Mul a (Sum v b)))))
(rule ((= e (Mul a (Sum v b)))) ((union e (Sum v (Mul a b)))))
"""
# The operands of a loop nest: classes of expressions, those of factors that are read and of parts.
Operands = frozenset[str]


class Saturated:
    """The expressions that are equal to a product by the laws, in classes of equal ones."""

    def __init__(self, product: Product) -> None:
        bindings = pytest.importorskip("egglog", reason="expected egglog for equality saturation").bindings
        graph = bindings.EGraph()
        graph.run_program(*graph.parse_program(LAWS + _text_of(product)))
        nodes = json.loads(graph.serialize([]).to_json())["nodes"]
        numbers = {node["eclass"]: int(node["op"]) for node in nodes.values() if node["op"].isdigit()}
        self.product = product
        # By class the operator and the operands of each of its nodes; by class of a factor its number; the variables.
        self.nodes: dict[str, list[tuple[str, list[str]]]] = {}
        self.variables: dict[str, int] = {}
        self.factors: dict[str, frozenset[int]] = {}
        for node in nodes.values():
            below = [nodes[child]["eclass"] for child in node["children"]]
            match node["op"]:
                case "vars":
                    self.variables[below[0]] = numbers[node["eclass"]]
                case "Leaf":
                    self.factors[node["eclass"]] = frozenset({numbers[below[0]]})
                    self.nodes[node["eclass"]] = []
                case "Mul" | "Sum" as op:
                    self.nodes.setdefault(node["eclass"], []).append((op, [c for c in below if c not in numbers]))
        for one in self.nodes:
            self._factors_of(one)

    def _factors_of(self, one: str) -> frozenset[int]:
        """Returns the numbers of the factors of a class, which all of its expressions have."""
        if one not in self.factors:
            below = self.nodes[one][0][1]
            self.factors[one] = frozenset[int]().union(*map(self._factors_of, below))
        return self.factors[one]

    @property
    def whole(self) -> str:
        everything = frozenset(range(len(self.product.relations)))
        return next(
            c for c, own in self.factors.items() if own == everything and self.variables[c] == self.product.kept
        )

    def is_leaf(self, one: str) -> bool:
        return not self.nodes[one]

    def is_late(self, one: str) -> bool:
        """Returns whether a class keeps a variable that nothing else has."""
        others = union(r for number, r in enumerate(self.product.relations) if number not in self.factors[one])
        return bool(self.variables[one] & ~(others | self.product.kept))

    def is_part(self, one: str) -> bool:
        """Returns whether a class may be a part: variables link its factors, and it is not summed too late."""
        own = self.factors[one]
        relations = [self.product.relations[number].variables for number in own]
        summed = not self.is_late(one) or self.product.may_be_late(own)
        return not self.is_leaf(one) and summed and is_linked(relations)

    @cached_property
    def nests(self) -> dict[str, set[Operands]]:
        """Returns the loop nests that compute each class, by their operands."""
        found: dict[str, set[Operands]] = {}

        def inside(one: str) -> set[Operands]:
            own = {frozenset({one})} if self.is_leaf(one) or self.is_part(one) else set()
            return own if self.is_leaf(one) else own | of(one)

        def of(one: str) -> set[Operands]:
            if one not in found:
                found[one] = set()
                for op, (first, *rest) in self.nodes[one]:
                    if op == "Mul":
                        found[one] |= {left | right for left in inside(first) for right in inside(rest[0])}
                    else:
                        found[one] |= inside(first)
            return found[one]

        for one in self.nodes:
            of(one)
        return found

    def cheapest(self) -> float:
        """Returns the least time of all expressions of the product."""

        @cache
        def best(one: str) -> tuple[float, EntrySet | None]:
            if self.is_leaf(one):
                return 0.0, self.product.relations[min(self.factors[one])]
            found: tuple[float, EntrySet | None] = math.inf, None
            for operands in self.nests[one]:
                below = [best(operand) for operand in sorted(operands)]
                read = [way[1] for way in below if way[1] is not None]
                before = sum(way[0] for way in below)
                if before < found[0]:
                    time, result = priced(read, self.variables[one], self.product.nests)
                    if before + time < found[0] and (result.sparse or not self.is_late(one)):
                        found = before + time, result
            return found

        return best(self.whole)[0]


def _text_of(product: Product) -> str:
    """Returns a product as it is written: one sum of all factors over all variables that the result lacks."""
    facts = [f"(set (vars (Leaf {n})) {one.variables})" for n, one in enumerate(product.relations)]
    body = reduce(lambda text, n: f"(Mul {text} (Leaf {n}))", range(1, len(product.relations)), "(Leaf 0)")
    for variable in bits_of(union(product.relations) & ~product.kept):
        body = f"(Sum {variable} {body})"
    return "\n".join([*facts, f"(let $whole {body})", "(run-schedule (saturate (run)))"])


@pytest.mark.parametrize("seed", seeds(120))
def test_equality_saturation_finds_nothing_cheaper(seed: int) -> None:
    product = product_of(seed)
    assert product.found() <= Saturated(product).cheapest() * NEARLY

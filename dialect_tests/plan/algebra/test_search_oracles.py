"""The search over products against searches that leave nothing out: of all trees of parts, and by equality saturation.

Both price what they find by the times of loop nests that the search goes by. Equality saturation (Willsey et al. 2021)
knows the laws alone: that products commute and associate, and that factors leave sums over variables that they lack.
What the search leaves out, they do too: parts of factors without a common variable, and parts that are summed later
than they could be.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, reduce

import pytest

from dialect_tests import crossing
from mlir_sparse.notation import IndexVar
from mlir_sparse.plan.algebra.estimates import EntrySet, Estimates, bits_of, union
from mlir_sparse.plan.algebra.measured_times import MACHINE
from mlir_sparse.plan.algebra.nest_times import NestTimes
from mlir_sparse.plan.algebra.product_search import ProductSearch, result_of

# The search takes a way in place of another if it is cheaper by up to 5 %, for each of up to three parts in others.
NEARLY = 0.95**-3
VARIABLES = [IndexVar(name) for name in "ijklm"]


@dataclass(frozen=True, slots=True)
class Product:
    """A product of factors.

    Args:
        relations: the factors.
        kept: the variables of the result.
        nests: the times of loop nests.
    """

    relations: tuple[EntrySet, ...]
    kept: int
    nests: NestTimes

    def found(self) -> float:
        """Returns the time of the way that the search finds."""
        search = ProductSearch(self.relations, self.kept, self.nests, lambda one: one, lambda _: False, lambda _: True)
        return search.best(search.whole).nanoseconds


def product_of(seed: int) -> Product:
    """Returns a random product of up to four factors that variables link, arrays and sparse tensors."""
    rng = random.Random(seed)
    estimates = Estimates({variable: float(rng.choice([10, 300, 5000])) for variable in VARIABLES})
    relations: list[EntrySet] = []
    while len(relations) < 2 + seed % 3:
        chosen = tuple(estimates.bit(v) for v in rng.sample(VARIABLES, rng.choice([1, 2, 2, 2, 3])))
        if not relations or union(relations) & sum(chosen):
            relations.append(relation(chosen, estimates, rng))
    kept = sum(rng.sample(list(bits_of(union(relations))), rng.choice([0, 1, 1, 2])))
    return Product(tuple(relations), kept & union(relations), NestTimes(estimates, MACHINE))


def relation(variables: tuple[int, ...], estimates: Estimates, rng: random.Random) -> EntrySet:
    space = estimates.space(sum(variables))
    if len(variables) == 1 or rng.random() < 0.2:
        return EntrySet(sum(variables), space, False, {}, {})
    entries = space ** rng.choice([0.4, 0.6, 0.8])
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
    """Returns the least time over all ways to put factors and parts into parts, or to leave them as they are."""
    everything = frozenset(range(len(product.relations)))

    def kept(members: frozenset[int]) -> int:
        others = union(product.relations[one] for one in everything - members)
        return union(product.relations[one] for one in members) & (product.kept | others)

    def is_part(part: frozenset[int], members: frozenset[int]) -> bool:
        """Returns whether a set may be a part of another: not all of it, no copy of a factor, nothing unlinked."""
        if len(part) == 1:
            return part != members and kept(part) != product.relations[min(part)].variables
        return part != members and is_linked([product.relations[one].variables for one in part])

    @cache
    def best(members: frozenset[int]) -> tuple[float, EntrySet]:
        found: tuple[float, EntrySet] | None = None
        for parts in partitions(sorted(members)):
            for made in itertools.product(*([True, False] if len(part) == 1 else [True] for part in parts)):
                if any(is_made and not is_part(part, members) for is_made, part in zip(made, parts, strict=True)):
                    continue
                below = [best(part) if is_made else None for is_made, part in zip(made, parts, strict=True)]
                operands = [
                    product.relations[min(part)] if way is None else way[1]
                    for way, part in zip(below, parts, strict=True)
                ]
                time, result = priced(operands, kept(members), product.nests)
                time += sum(way[0] for way in below if way is not None)
                if found is None or time < found[0]:
                    found = time, result
        assert found is not None
        return found

    return best(everything)[0]


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


@pytest.mark.parametrize("seed", crossing.seeds(60))
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

    def is_part(self, one: str) -> bool:
        """Returns whether a class may be a part: variables link its factors, and it is summed as far as it can be."""
        own = self.factors[one]
        others = union(r for number, r in enumerate(self.product.relations) if number not in own)
        summed = not self.variables[one] & ~(others | self.product.kept)
        relations = [self.product.relations[number].variables for number in own]
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
                    else:  # what is a part that is summed alone afterwards would rather be summed at once
                        found[one] |= {way for way in inside(first) if way != {first} or self.is_leaf(first)}
            return found[one]

        for one in self.nodes:
            of(one)
        return found

    def cheapest(self) -> float:
        """Returns the least time of all expressions of the product."""

        @cache
        def best(one: str) -> tuple[float, EntrySet]:
            if self.is_leaf(one):
                return 0.0, self.product.relations[min(self.factors[one])]
            ways = []
            for operands in self.nests[one]:
                below = [best(operand) for operand in sorted(operands)]
                time, result = priced([way[1] for way in below], self.variables[one], self.product.nests)
                ways.append((time + sum(way[0] for way in below), result))
            return min(ways, key=lambda way: way[0])

        return best(self.whole)[0]


def _text_of(product: Product) -> str:
    """Returns a product as it is written: one sum of all factors over all variables that the result lacks."""
    facts = [f"(set (vars (Leaf {n})) {one.variables})" for n, one in enumerate(product.relations)]
    body = reduce(lambda text, n: f"(Mul {text} (Leaf {n}))", range(1, len(product.relations)), "(Leaf 0)")
    for variable in bits_of(union(product.relations) & ~product.kept):
        body = f"(Sum {variable} {body})"
    return "\n".join([*facts, f"(let $whole {body})", "(run-schedule (saturate (run)))"])


@pytest.mark.parametrize("seed", crossing.seeds(40))
def test_equality_saturation_finds_nothing_cheaper(seed: int) -> None:
    product = product_of(seed)
    assert product.found() <= Saturated(product).cheapest() * NEARLY

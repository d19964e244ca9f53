"""Statements as sums of products of sums: a form without the parentheses and orders that rules do away with.

`a * (b * c)` and `(c * b) * a` are one product, and `sum(i : sum(j : a))` is one sum, so a search over products meets
each arrangement once. Each product that holds a sum in parentheses is a choice: kept, or multiplied out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field

from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DType
from mlir_sparse.notation import (
    Access,
    Apply,
    Binary,
    BinaryOp,
    Call,
    Expr,
    Fold,
    IndexVar,
    Literal,
    Negate,
    Reduce,
    ReduceOp,
    accesses_of,
    children,
    free_indices,
    rebuild,
    rename_variables,
    walk,
)
from mlir_sparse.plan.algebra.algebra_rules import (
    EXPAND,
    EXPAND_DIFFERENCE,
    EXPAND_SQUARE,
    MERGE_SUMS,
    SQUARE,
    AlgebraRule,
)
from mlir_sparse.spec.computed_type import inner_dtype, operand_dtype, starts_anew
from mlir_sparse.text.identifiers import generated_name

__all__ = [
    "NO_VARIABLES",
    "Computed",
    "Factor",
    "NoNormalFormError",
    "NormalForm",
    "Opaque",
    "ProductTerm",
    "Sum",
    "accesses_in",
    "expression_of",
    "renamed",
    "variables_of",
]


NO_VARIABLES = frozenset[IndexVar]()
# The operators that sums of products have.
_KNOWN = (BinaryOp.MUL, BinaryOp.ADD, BinaryOp.SUB)


class NoNormalFormError(Exception):
    """Says why a statement is left as it is written."""


@dataclass(frozen=True, slots=True)
class Opaque:
    """A factor that no rule looks into: a literal, a quotient, a function.

    Args:
        body: the expression, free of sums.
    """

    body: Expr
    # What `variables_of` found: planning asks each factor and product for them many times.
    _variables: frozenset[IndexVar] | None = field(default=None, init=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Sum:
    """A factor that is a sum in parentheses."""

    terms: tuple[ProductTerm, ...]
    _variables: frozenset[IndexVar] | None = field(default=None, init=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ProductTerm:
    """A product of factors, summed over some of their variables.

    Args:
        factors: the factors, in the order of the text.
        bound: the variables that are summed over.
        negative: whether the product is subtracted.
    """

    factors: tuple[Factor, ...]
    bound: frozenset[IndexVar] = frozenset()
    negative: bool = False
    _variables: frozenset[IndexVar] | None = field(default=None, init=False, compare=False, repr=False)

    @property
    def inside(self) -> frozenset[IndexVar]:
        """Returns the index variables of the factors, those summed over included."""
        if len(self.factors) == 1:
            return variables_of(self.factors[0])
        return NO_VARIABLES.union(*map(variables_of, self.factors))

    @property
    def everywhere(self) -> frozenset[IndexVar]:
        """Returns all index variables, those that sums in parentheses sum over included."""
        nested = (term.everywhere for factor in self.factors if isinstance(factor, Sum) for term in factor.terms)
        return self.inside.union(self.bound, *nested)


# An access reads a tensor, or a part that is made first, at plain variables, each once.
Factor = Access | Opaque | Sum


# Returns the element type that operands are computed in, from those of tensors; None for that of the statement.
Computed = Callable[[Mapping[str, DType]], DType] | None


def variables_of(node: Factor | ProductTerm) -> frozenset[IndexVar]:
    """Returns the free index variables of a factor or a product."""
    found = node._variables  # all of them have found them once for all, but for the first time
    if found is None:
        if isinstance(node, Access):
            return node.variables
        found = _variables_in(node)
        object.__setattr__(node, "_variables", found)
    return found


def _variables_in(node: Opaque | Sum | ProductTerm) -> frozenset[IndexVar]:
    if isinstance(node, ProductTerm):
        return node.inside - node.bound
    if isinstance(node, Opaque):
        return frozenset(free_indices(node.body))
    return NO_VARIABLES.union(*map(variables_of, node.terms))


def accesses_in(factor: Factor) -> tuple[Access, ...]:
    """Returns what a factor reads, in the order of the text."""
    match factor:
        case Access():
            return (factor,)
        case Opaque(body):
            return accesses_of(body)
        case Sum(terms):
            return tuple(access for term in terms for each in term.factors for access in accesses_in(each))


def renamed(node: ProductTerm, names: Mapping[IndexVar, IndexVar]) -> ProductTerm:
    """Returns a product with other variables."""
    factors = tuple([_renamed(factor, names) for factor in node.factors])
    bound = frozenset([names.get(variable, variable) for variable in node.bound])
    return ProductTerm(factors, bound, node.negative)


def _renamed(node: Factor, names: Mapping[IndexVar, IndexVar]) -> Factor:
    match node:
        case Access():
            found = rename_variables(node, names)
            assert isinstance(found, Access)
            return found
        case Opaque(body):
            return Opaque(rename_variables(body, names))
        case Sum(terms):
            return Sum(tuple(renamed(term, names) for term in terms))


class NormalForm:
    """Brings expressions to sums of products.

    Args:
        multiplied_out: of each sum in parentheses that is a factor, by its number, whether it is multiplied out.
        close: makes a sum of products inside of a function a part of an element type; returns what reads it.
        extents: the extent of each variable; those with new names are added.
        free: the variables of the result, which no sum is over.
        cancels: whether differences, and products of two sums, may be multiplied out too.
    """

    def __init__(
        self,
        multiplied_out: Callable[[int], bool],
        close: Callable[[tuple[ProductTerm, ...], Computed], Expr],
        extents: dict[IndexVar, float],
        free: Iterable[IndexVar],
        *,
        cancels: bool = False,
    ) -> None:
        self._multiplied_out = multiplied_out
        self._close = close
        self._extents = extents
        self._taken = set(free)
        self._cancels = cancels
        self._computed: Computed = None
        # By new names the variables of the text.
        self.renamed: dict[IndexVar, IndexVar] = {}
        self.choices = 0
        # The rules that were used.
        self.rules: dict[AlgebraRule, None] = {}

    def of(self, node: Expr) -> tuple[ProductTerm, ...]:
        """Returns the products whose sum an expression is.

        Raises:
            NoNormalFormError: for operators on stored entries, and for subscripts and sums that rules do not know.
        """
        # Most nodes are of three kinds, which `match` would try after others.
        if isinstance(node, Access):
            return (ProductTerm((_plain(node),)),)
        if isinstance(node, Binary) and node.op in _KNOWN:
            left, right = self.of(node.left), self.of(node.right)
            if node.op is BinaryOp.MUL:
                return self._multiplied(left, right)
            return (*left, *(right if node.op is BinaryOp.ADD else _negated(right)))
        if isinstance(node, Reduce) and node.op is ReduceOp.SUM:
            names = self._own_names(node.indices)
            own = [*names.values()]
            terms = self.of(node.body if own == [*names] else rename_variables(node.body, names))
            return tuple([self._summed(term, own) for term in terms])
        match node:
            case Literal():
                return (ProductTerm((Opaque(node),)),)
            case Negate(operand):
                return _negated(self.of(operand))
            case Apply() | Fold():
                raise NoNormalFormError("it applies operators to stored entries")
            case Call("square", (base,)) | Call("pow", (base, Literal(int(2)))):
                return self._squared(base) or (ProductTerm((Opaque(self._closed(node)),)),)
            case _:
                return (ProductTerm((Opaque(self._closed(node)),)),)

    def _squared(self, base: Expr) -> tuple[ProductTerm, ...]:
        """Returns the square of an expression as products; none where it stays a function."""
        nodes = list(walk(base))
        if all(isinstance(node, Access | Literal | Negate) or _is_product(node) for node in nodes):
            if not any(map(_is_product, nodes)):
                return ()
            self.rules[SQUARE] = None
        elif self._cancels and self._is_next_chosen():
            self.rules[EXPAND_SQUARE] = None
        else:
            return ()
        left, right = self.of(base), self.of(base)
        return tuple(self._joined(a, b) for a in left for b in right)

    def _closed(self, node: Expr) -> Expr:
        """Returns an expression without sums, those in it being parts that are made first."""
        if isinstance(node, (Apply, Fold)):
            raise NoNormalFormError("it applies operators to stored entries")
        if isinstance(node, Access):
            return _plain(node)
        if isinstance(node, Reduce) and node.op is ReduceOp.SUM:
            return self._close(self.of(node), self._computed)
        return rebuild(node, tuple(self._closed_operand(node, place) for place in range(len(children(node)))))

    def _closed_operand(self, node: Expr, place: int) -> Expr:
        """Returns an operand of a node without sums; parts have the type that the operand is computed in."""
        before, self._computed = self._computed, _computed(node, place, self._computed)
        try:
            return self._closed(children(node)[place])
        finally:
            self._computed = before

    def _summed(self, term: ProductTerm, indices: Iterable[IndexVar]) -> ProductTerm:
        if not variables_of(term).issuperset(indices):
            raise NoNormalFormError("a term of a sum does not use all variables that are summed over")
        return ProductTerm(term.factors, term.bound.union(indices), term.negative)

    def _multiplied(self, left: tuple[ProductTerm, ...], right: tuple[ProductTerm, ...]) -> tuple[ProductTerm, ...]:
        if len(left) == len(right) == 1:
            return (self._joined(left[0], right[0]),)
        square = len(left) > 1 and len(right) > 1
        lefts, rights = self._chosen(left, square), self._chosen(right, square)
        return tuple(self._joined(a, b) for a in lefts for b in rights)

    def _chosen(self, terms: tuple[ProductTerm, ...], square: bool) -> tuple[ProductTerm, ...]:
        """Returns the terms of a sum that is multiplied out, or the sum as one factor.

        A difference is not multiplied out, nor is a product of two sums, unless what cancels may: it would be left with
        few right digits, as in `sum (x - y)^2`.
        """
        if len(terms) == 1:
            return terms
        rule = EXPAND_SQUARE if square else EXPAND_DIFFERENCE if any(term.negative for term in terms) else EXPAND
        if (rule is not EXPAND and not self._cancels) or not self._is_next_chosen():
            return (ProductTerm((Sum(terms),)),)
        self.rules[rule] = None
        return terms

    def _is_next_chosen(self) -> bool:
        """Returns whether the next sum in parentheses is multiplied out."""
        number, self.choices = self.choices, self.choices + 1
        return self._multiplied_out(number)

    def _joined(self, left: ProductTerm, right: ProductTerm) -> ProductTerm:
        if left.bound or right.bound:
            self.rules[MERGE_SUMS] = None
        return ProductTerm((*left.factors, *right.factors), left.bound | right.bound, left.negative != right.negative)

    def _own_names(self, indices: Iterable[IndexVar]) -> dict[IndexVar, IndexVar]:
        """Returns names for variables that are summed over which no other variable has, so that none are mixed up."""
        names = {}
        for variable in indices:
            name = variable
            if variable in self._taken:
                name = IndexVar(generated_name(variable.name, "", {taken.name for taken in self._taken}))
                self._extents[name] = self._extents[variable]
                self.renamed[name] = self.renamed.get(variable, variable)
            self._taken.add(name)
            names[variable] = name
        return names


def _computed(node: Expr, place: int, around: Computed) -> Computed:
    """Returns the type that an operand is computed in: what is compared, tested or counted has one of its own."""
    operand = children(node)[place]
    match node:
        case Binary(op) if op.gives_truth and not op.compares:
            return lambda dtypes: operand_dtype((operand,), dtypes)
        case Call("where") if place == 0:
            return lambda dtypes: operand_dtype((operand,), dtypes)
        case _ if starts_anew(node):
            return lambda dtypes: inner_dtype(node, dtypes)
        case _:
            return around


def _is_product(node: Expr) -> bool:
    """Returns whether a node multiplies two expressions."""
    return isinstance(node, Binary) and node.op is BinaryOp.MUL


def _plain(access: Access) -> Access:
    if access.indices != access.subscripts:
        raise NoNormalFormError(f"{access} has subscripts other than variables, each once")
    return access


def _negated(terms: tuple[ProductTerm, ...]) -> tuple[ProductTerm, ...]:
    return tuple([ProductTerm(term.factors, term.bound, not term.negative) for term in terms])


def expression_of(terms: Iterable[ProductTerm]) -> Expr:
    """Returns a sum of products as an expression with explicit sums."""
    first, *rest = terms
    found: Expr = Negate(_value(first)) if first.negative else _value(first)
    for term in rest:
        found = Binary(BinaryOp.SUB if term.negative else BinaryOp.ADD, found, _value(term))
    return found


def _value(term: ProductTerm) -> Expr:
    first, *others = term.factors
    body = _expression(first)
    for factor in others:
        body = Binary(BinaryOp.MUL, body, _expression(factor))
    if not term.bound:
        return body
    bound = [variable for factor in term.factors for variable in _in_order(factor) if variable in term.bound]
    ordered = tuple(bound if len(bound) == 1 else dict.fromkeys(bound))
    return Reduce(ReduceOp.SUM, ordered, body) if ordered else body


def _in_order(factor: Factor) -> tuple[IndexVar, ...]:
    """Returns the free index variables of a factor in the order of the text."""
    return factor.indices if isinstance(factor, Access) else free_indices(_expression(factor))


def _expression(factor: Factor) -> Expr:
    if isinstance(factor, Access):
        return factor
    return factor.body if isinstance(factor, Opaque) else expression_of(factor.terms)

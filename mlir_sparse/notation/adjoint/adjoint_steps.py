"""The adjoint of a program: its statements in reverse, each giving the cotangents of what it reads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from mlir_sparse.notation.adjoint.adjoint_values import Adjoint, AdjointStep, Helper, Placed
from mlir_sparse.notation.adjoint.bound_variables import variables_of, with_each_bound_once, without_clashes
from mlir_sparse.notation.adjoint.complex_values import is_complex
from mlir_sparse.notation.adjoint.contributions import Contribution, Descent, times
from mlir_sparse.notation.ast import (
    Access,
    Apply,
    Assignment,
    AssignOp,
    Binary,
    BinaryOp,
    Call,
    Expr,
    Fold,
    IndexVar,
    Negate,
    Range,
    Reduce,
    ReduceOp,
    Subscript,
    reads,
    walk,
)
from mlir_sparse.notation.definition import fresh_name
from mlir_sparse.notation.rebuild import rename_variables
from mlir_sparse.notation.summation import free_indices

__all__ = ["adjoint_of_steps"]

_Ranges = tuple[Range, ...]


class _Builder:
    """Differentiates statements of one assignment each, the last one first."""

    def __init__(
        self,
        statements: Sequence[Assignment],
        active: Collection[str],
        sparse: Collection[str],
        complexes: Collection[str],
        taken: set[str],
    ) -> None:
        self.statements, self.active, self.taken = statements, active, taken
        self.sparse, self.complexes = sparse, set(complexes)
        self.helpers: dict[str, Helper] = {}
        self.again: list[AdjointStep] = []
        self.steps: list[AdjointStep] = []
        self.pending: dict[str, list[Contribution]] = {}
        self.reasons: dict[str, list[str]] = {}
        self.cotangent: dict[str, str] = {}

    def name_cotangent(self, name: str, cotangent: str) -> None:
        """Gives the cotangent of a tensor a name; that of complex numbers is complex."""
        self.cotangent[name] = cotangent
        if name in self.complexes:
            self.complexes.add(cotangent)

    def differentiate(self, statement: Assignment) -> None:
        """Adds what a statement gives the tensors that it reads, once its target's cotangent is known."""
        target = statement.target
        g = Access(self.cotangent[target.tensor], target.subscripts)
        value = with_each_bound_once(statement.value, self.taken)
        statement = replace(statement, value=value)
        descent = Descent(
            statement,
            self.active,
            self.complexes,
            self.sparse.__contains__,
            lambda hint, node: self._temporary(hint, node, statement),
            lambda old, new, access: self._equal(old, new, access, statement),
            self.taken,
        )
        descent.run(g)
        for one in descent.found:
            self.pending.setdefault(one.access.tensor, []).append(one)
        for name in statement.inputs:
            self.reasons.setdefault(name, []).extend(descent.reasons)

    def _temporary(self, hint: str, node: Expr, statement: Assignment) -> Access:
        name = fresh_name(f"{hint}_{statement.target.tensor}", self.taken)
        target = Access(name, free_indices(node))
        ranges = tuple(one for one in statement.ranges if one.variable in variables_of(node))
        self.again.append(AdjointStep(Assignment(target, AssignOp.ASSIGN, node, ranges=ranges)))
        return target

    def _equal(self, old: IndexVar, new: IndexVar, access: Access, statement: Assignment) -> Access:
        name = fresh_name(f"same_{old.name}", self.taken)
        self.helpers[name] = Helper(name, (new, old), new, None, statement, (old, old))
        return self.helpers[name].access

    def flush(self, name: str) -> bool:
        """Adds the step that computes the cotangent of a tensor; returns whether it has terms."""
        terms = self.pending.pop(name, [])
        if not terms:
            return False
        first, *others = terms
        variables = self._canonical(first)
        used: set[str] = set()
        values = [self._term(one, variables, used) for one in (first, *others)]
        masks = {None if one.mask is None else str(one.mask.arguments[0]) for one in terms}
        if len(masks) > 1 or (len(terms) > 1 and masks != {None}):
            self._flush_apart(name, terms)
            return True
        value, mask, ranges = values[0]
        for more, _, more_ranges in values[1:]:
            joined = isinstance(more, Negate)
            more = more.operand if isinstance(more, Negate) else more
            value = Binary(BinaryOp.SUB if joined else BinaryOp.ADD, value, more)
            ranges = (*ranges, *more_ranges)
        self._add_step(name, variables, value, mask, ranges)
        return True

    def _flush_apart(self, name: str, terms: list[Contribution]) -> None:
        """Computes terms under different masks one by one, and adds them."""
        parts: list[Access] = []
        for one in terms:
            variables = self._canonical(one)
            value, mask, ranges = self._term(one, variables, set())
            part = Access(fresh_name(f"d{name}", self.taken), variables)
            self.steps.append(self._step(part, value, mask, ranges, name))
            parts.append(part)
        variables = parts[0].indices
        total: Expr = parts[0]
        for part in parts[1:]:
            total = Binary(BinaryOp.ADD, total, replace(part, subscripts=variables))
        self._add_step(name, variables, total, None, ())

    def _add_step(
        self, name: str, variables: tuple[IndexVar, ...], value: Expr, mask: Apply | None, ranges: _Ranges
    ) -> None:
        target = Access(self.cotangent[name], variables)
        self.steps.append(self._step(target, value, mask, ranges, name))

    def _step(self, target: Access, value: Expr, mask: Apply | None, ranges: _Ranges, name: str) -> AdjointStep:
        if name not in self.complexes and is_complex(value, self.complexes):
            value = Call("real", (_summed_inside(value, target, mask),))
        if mask is not None:
            value = replace(mask, arguments=(mask.arguments[0], value))
        core = Assignment(target, AssignOp.ASSIGN, value, ranges=tuple(dict.fromkeys(ranges)))
        if name not in self.sparse:
            return AdjointStep(core, like=name)
        return AdjointStep(core, replace(target, tensor=name), fresh_name(f"on_{name}", self.taken), name)

    def _canonical(self, one: Contribution) -> tuple[IndexVar, ...]:
        """Returns the variable of each dimension of a cotangent: those of an access, and new ones."""
        ranged = {clause.variable for clause in one.statement.ranges}
        found: list[IndexVar] = []
        for subscript in one.access.subscripts:
            if isinstance(subscript, IndexVar) and subscript not in found and subscript not in ranged:
                found.append(IndexVar(subscript.name))
            else:
                found.append(IndexVar(fresh_name("m", self.taken)))
        return tuple(found)

    def _term(
        self, one: Contribution, variables: tuple[IndexVar, ...], used: set[str]
    ) -> tuple[Expr, Apply | None, _Ranges]:
        """Returns a term over the variables of its cotangent, with its mask and the ranges of its variables."""
        ranged = {clause.variable for clause in one.statement.ranges}
        value, mask = one.value, one.mask
        plain: dict[IndexVar, IndexVar] = {}
        selected: list[tuple[int, Subscript, IndexVar]] = []
        for axis, (subscript, variable) in enumerate(zip(one.access.subscripts, variables, strict=True)):
            if isinstance(subscript, IndexVar) and subscript not in plain and subscript not in ranged:
                plain[subscript] = variable
            else:
                selected.append((axis, subscript, variable))
        inside = [*variables_of(value), *one.summed]
        if mask is not None:
            inside += variables_of(mask.arguments[0])
        for _, subscript, _ in selected:
            inside += _in_subscript(subscript)
        names = self._names(dict.fromkeys(inside), plain, variables, used)
        back = {new: old for old, new in names.items()}
        value = rename_variables(value, names)
        for axis, subscript, variable in reversed(selected):
            helper = self._selection(one, axis, _renamed(subscript, names), variable, back)
            value = times(helper.access, value)
        if mask is not None:
            mask = replace(mask, arguments=(rename_variables(mask.arguments[0], names), value))
        value = self._over_all(one, value, names, mask)
        free = {variable.name for variable in (*variables, *free_indices(value))}
        value = without_clashes(value, free, self.taken)
        value = _summed(value, [v for v in free_indices(value) if v not in variables], mask)
        present = {*variables_of(value)}
        ranges = [replace(r, variable=names.get(r.variable, r.variable)) for r in one.statement.ranges]
        return value, mask, tuple(r for r in ranges if r.variable in present)

    def _names(
        self,
        inside: Iterable[IndexVar],
        plain: dict[IndexVar, IndexVar],
        variables: tuple[IndexVar, ...],
        used: set[str],
    ) -> dict[IndexVar, IndexVar]:
        """Returns a new name for each variable of a term that would clash with those of its cotangent."""
        names = dict(plain)
        avoid = {variable.name for variable in variables} | used
        for variable in inside:
            if variable in names:
                continue
            clash = variable.name in avoid
            names[variable] = IndexVar(fresh_name(variable.name, self.taken)) if clash else variable
            used.add(names[variable].name)
        return names

    def _selection(
        self, one: Contribution, axis: int, subscript: Subscript, variable: IndexVar, back: dict[IndexVar, IndexVar]
    ) -> Helper:
        name = fresh_name(f"at_{one.access.tensor}", self.taken)
        rows = _in_subscript(subscript)
        place = Placed(one.access.tensor, axis)
        original = (*(back.get(row, row) for row in rows), variable)
        self.helpers[name] = Helper(name, (*rows, variable), subscript, place, one.statement, original)
        return self.helpers[name]

    def _over_all(self, one: Contribution, value: Expr, names: dict[IndexVar, IndexVar], mask: Apply | None) -> Expr:
        """Returns a term times ones over each summed variable that it has not: it counts for each of its values."""
        free = set(free_indices(value)) | (set() if mask is None else set(free_indices(mask.arguments[0])))
        for old in one.summed:
            variable = names.get(old, old)
            if variable in free or old in one.access.indices:
                continue
            name = fresh_name(f"all_{old.name}", self.taken)
            self.helpers[name] = Helper(name, (variable,), None, None, one.statement, (old,))
            value = times(value, self.helpers[name].access)
        return value


def _in_subscript(subscript: Subscript) -> tuple[IndexVar, ...]:
    return Access("s", (subscript,)).indices


def _renamed(subscript: Subscript, names: dict[IndexVar, IndexVar]) -> Subscript:
    renamed = rename_variables(Access("s", (subscript,)), names)
    assert isinstance(renamed, Access)
    return renamed.subscripts[0]


def _summed(value: Expr, indices: Sequence[IndexVar], mask: Apply | None) -> Expr:
    """Returns a term with its sums: implied where it is a product, as the notation's own rule places those alike."""
    if not indices or _is_product(value):
        return value
    within = [] if mask is None else free_indices(mask.arguments[0])
    inner = tuple(index for index in indices if index not in within)
    if isinstance(value, Negate):
        return Negate(Reduce(ReduceOp.SUM, inner, value.operand)) if inner else value
    return Reduce(ReduceOp.SUM, inner, value) if inner else value


def _summed_inside(value: Expr, target: Access, mask: Apply | None) -> Expr:
    """Returns the value of a step with the sum of each term written out, which a call around it would leave outside."""
    match value:
        case Binary(BinaryOp.ADD | BinaryOp.SUB, left, right):
            return replace(value, left=_summed_inside(left, target, mask), right=_summed_inside(right, target, mask))
        case Negate(operand):
            return Negate(_summed_inside(operand, target, mask))
    outside = {*target.indices, *(() if mask is None else free_indices(mask.arguments[0]))}
    indices = tuple(index for index in free_indices(value) if index not in outside)
    return Reduce(ReduceOp.SUM, indices, value) if indices else value


def _is_product(node: Expr) -> bool:
    match node:
        case Binary(BinaryOp.MUL | BinaryOp.DIV, left, right):
            return _is_product(left) and _is_product(right)
        case Negate(operand):
            return _is_product(operand)
        case Binary() | Apply() | Fold():
            return False
        case _:
            return True


def adjoint_of_steps(
    statements: Sequence[Assignment],
    outputs: Mapping[str, str],
    wanted: Sequence[str],
    *,
    sparse: Collection[str] = (),
    complexes: Collection[str] = (),
) -> Adjoint:
    """Returns the adjoint of statements, of which each assigns a tensor of its own.

    Args:
        statements: the statements, in order, with explicit sums and `=`.
        outputs: by the user's name, the tensors whose cotangents are given.
        wanted: the tensors whose cotangents are computed; one that no output depends on differentiably has none.
        sparse: the tensors that store some of their elements only: cotangents of these have their pattern.
        complexes: the tensors of complex numbers.
    """
    taken = _names_in(statements)
    cotangents = {name: fresh_name(f"d{name}", taken) for name in outputs}
    given = {made: cotangents[name] for name, made in outputs.items()}
    active = _between(statements, wanted)
    builder = _Builder(statements, active, sparse, complexes, taken)
    for name, known in given.items():
        builder.name_cotangent(name, known)
    for name in (n for n in wanted if n not in given):
        builder.name_cotangent(name, fresh_name(f"d{name}", taken))
    for statement in reversed(statements):
        name = statement.target.tensor
        if name not in builder.cotangent and name in active:
            builder.name_cotangent(name, fresh_name(f"d{name}", taken))
        if name not in active:
            continue
        if name in given and builder.pending.get(name):  # a result that later statements read
            total = Access(given[name], statement.target.subscripts)
            builder.pending[name].append(Contribution(statement.target, total, (), None, statement))
            builder.name_cotangent(name, fresh_name(f"d{name}", taken))
        if builder.flush(name) or name in given:
            builder.differentiate(statement)
    results = {name: builder.cotangent[name] for name in wanted if builder.flush(name)}
    steps = _needed((*_again(statements), *builder.again, *builder.steps), results.values())
    read = {name for step in steps for name in step.statement.inputs}
    helpers = tuple(helper for name, helper in builder.helpers.items() if name in read)
    reasons = {name: tuple(dict.fromkeys(builder.reasons.get(name, ()))) for name in wanted}
    return Adjoint(steps, helpers, results, cotangents, reasons)


def _again(statements: Sequence[Assignment]) -> list[AdjointStep]:
    return [AdjointStep(statement) for statement in statements]


def _needed(steps: Sequence[AdjointStep], results: Iterable[str]) -> tuple[AdjointStep, ...]:
    """Returns the steps that results need."""
    wanted, found = set(results), []
    for step in reversed(steps):
        if step.target in wanted:
            found.append(step)
            wanted.update(step.statement.inputs)
    return tuple(reversed(found))


def _between(statements: Sequence[Assignment], wanted: Collection[str]) -> set[str]:
    """Returns the tensors that depend on a wanted one, and those."""
    found = set(wanted)
    for statement in statements:
        if found & {access.tensor for access in reads(statement.value)}:
            found.add(statement.target.tensor)
    return found


def _names_in(statements: Sequence[Assignment]) -> set[str]:
    names = {name for one in statements for name in (one.target.tensor, *one.inputs)}
    for one in statements:
        names |= {variable.name for variable in one.indices}
        names |= {index.name for node in walk(one.value) if isinstance(node, (Reduce, Fold)) for index in node.indices}
    return names

"""A definition joined with the types of its operands: the extents and the type of the tensor that it defines."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import INTEGER
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import ExtentError, RankError, UnknownTensorError
from mlir_sparse.notation import (
    Access,
    AffineSubscript,
    Assignment,
    AssignOp,
    Binary,
    BinaryOp,
    Call,
    Definition,
    Expr,
    IndexFormula,
    IndexVar,
    Literal,
    Negate,
    Subscript,
    children,
    fresh_name,
    reads,
    rebuild,
)
from mlir_sparse.spec.check_types import check_spec
from mlir_sparse.spec.computed_type import result_dtype
from mlir_sparse.spec.extents import check_inside, known_extents, subscript_bounds
from mlir_sparse.spec.kernel_spec import KernelSpec
from mlir_sparse.spec.result_storage import infer_output

__all__ = ["GuardedFormula", "LogicalTensor", "as_formula", "conjuncts", "is_condition", "logical_tensor"]


@dataclass(frozen=True, slots=True)
class GuardedFormula:
    """Integers of a formula where a condition holds, and 0 elsewhere, where nothing reads at them.

    Args:
        formula: the formula.
        guards: the conditions, of which all must hold.
    """

    formula: IndexFormula
    guards: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class LogicalTensor:
    """A defined tensor, by types alone.

    Args:
        definition: the definition.
        assignment: the statement that makes the tensor.
        formulas: by name, the arrays of integers that the statement reads.
        extents: the extent of each variable.
        types: by name, the type of each tensor that the statement reads.
        kind: the type of the tensor when it is made.
    """

    definition: Definition
    assignment: Assignment
    formulas: Mapping[str, GuardedFormula]
    extents: Mapping[IndexVar, int]
    types: Mapping[str, TensorType]
    kind: TensorType

    @property
    def shape(self) -> tuple[int, ...]:
        """Returns the extent of each dimension."""
        return tuple(self.extents[variable] for variable in self.assignment.target.indices)


def logical_tensor(
    definition: Definition, operands: Mapping[str, TensorType], shape: tuple[int | None, ...] | None
) -> LogicalTensor:
    """Returns what types say of a defined tensor.

    Args:
        definition: the definition.
        operands: the type of each tensor that it reads, with all extents.
        shape: the extents of the tensor, None for those that the operands determine.

    Raises:
        UnknownTensorError: for a tensor without operand, or the reverse.
        ExtentError: for a variable without extent, or with two; for a subscript out of range.
        SparseError: one of its kinds, as for a statement.
    """
    formulas = dict(definition.formulas)
    _check_operands(definition, formulas, operands)
    definition = replace(definition, value=_with_truth(definition.value, formulas, operands))
    assignment = Assignment(definition.target, AssignOp.ASSIGN, definition.value, definition.source)
    extents = _extents(definition, formulas, operands, shape)
    guarding = _Guards(formulas, operands, extents, _names_of(definition, operands))
    assignment = replace(assignment, value=guarding.guarded(definition.value, ()))
    integers = {name: TensorType(INTEGER, _shape_of(one.formula, extents)) for name, one in guarding.found.items()}
    types = {name: kind for name, kind in {**operands, **integers}.items() if name in assignment.inputs}
    kind = replace(infer_output(assignment, types), shape=tuple(extents[v] for v in assignment.target.indices))
    check_spec(KernelSpec(assignment, tuple((name, types[name]) for name in assignment.inputs), kind))
    return LogicalTensor(definition, assignment, guarding.found, extents, types, kind)


def _check_operands(
    definition: Definition, formulas: Mapping[str, IndexFormula], operands: Mapping[str, TensorType]
) -> None:
    values = (definition.value, *(one.value for one in formulas.values()))
    known = {index.name for one in formulas.values() for index in one.variables}
    found = dict.fromkeys(a.tensor for v in values for a in reads(v) if a.subscripts or a.tensor not in known)
    wanted = [name for name in found if name not in formulas]
    for name in wanted:
        if name not in operands:
            given = f"; given are {', '.join(operands)}" if operands else ""
            raise UnknownTensorError(
                f"expected data for tensor {name} of the definition {definition}, but got none{given}: pass {name}=..."
            )
    for access in (access for value in values for access in reads(value) if access.tensor in operands):
        if len(access.subscripts) != operands[access.tensor].rank:
            raise RankError(
                f"expected {operands[access.tensor].rank} subscripts for {access.tensor}, but got "
                f"{len(access.subscripts)} in {access}",
                source=definition.source,
                span=access.span,
            )
    for name in operands:
        if name not in wanted:
            raise UnknownTensorError(
                f"expected a tensor of the definition {definition} ({', '.join(wanted)}), but got {name}"
            )


def _with_truth(value: Expr, formulas: Collection[str], operands: Mapping[str, TensorType]) -> Expr:
    """Returns a value with a condition joined to it by `&`, if it is a truth value: false is no 0."""
    match value:
        case Call("where", (condition, then, Literal(span=None))):
            dtypes = {**dict.fromkeys(formulas, INTEGER), **{name: kind.dtype for name, kind in operands.items()}}
            return Binary(BinaryOp.AND, condition, then) if result_dtype(then, dtypes).is_truth else value
        case _:
            return value


def _names_of(definition: Definition, operands: Collection[str]) -> set[str]:
    accesses = {access.tensor for access in reads(definition.value)}
    variables = {v.name for access in reads(definition.value) for v in access.indices}
    return {*operands, *accesses, *variables, *(v.name for v in definition.target.indices), definition.target.tensor}


def _shape_of(formula: IndexFormula, extents: Mapping[IndexVar, int]) -> tuple[int, ...]:
    return tuple(extents[variable] for variable in formula.variables)


def _extents(
    definition: Definition,
    formulas: Mapping[str, IndexFormula],
    operands: Mapping[str, TensorType],
    shape: tuple[int | None, ...] | None,
) -> dict[IndexVar, int]:
    """Returns the extents of all variables, from `shape` and from the operands at plain and linear subscripts."""
    assignment = Assignment(definition.target, AssignOp.ASSIGN, definition.value, definition.source)
    values = (definition.value, *(one.value for one in formulas.values()))
    accesses = [
        (access, _static(operands[access.tensor]))
        for value in values
        for access in reads(value)
        if access.tensor in operands
    ]
    given: dict[IndexVar, int] = {}
    for variable, size in zip(definition.target.indices, shape or (), strict=True) if shape is not None else ():
        if size is not None:
            given[variable] = size
            accesses.append((Access(definition.target.tensor, (variable,)), (size,)))
    extents = known_extents(assignment, accesses, given)
    for variable in dict.fromkeys((*assignment.indices, *(v for one in formulas.values() for v in one.variables))):
        if variable not in extents:
            place = _place(definition, variable)
            raise ExtentError(
                f"expected index {variable} of {definition} to have an extent, but got no operand whose axis it runs "
                f"over: {place}",
                source=definition.source,
                span=variable.span,
            )
    return extents


def _place(definition: Definition, variable: IndexVar) -> str:
    target = definition.target.indices
    if variable not in target:
        return f"write a number in place of {variable}, or pass {variable}= as a number"
    sizes = ", ".join("n" if one == variable else "None" for one in target)
    return f"pass shape=({sizes}{',' if len(target) == 1 else ''}) with it"


def _static(kind: TensorType) -> tuple[int, ...]:
    assert all(size is not None for size in kind.shape), "operands of definitions are data"
    return tuple(size for size in kind.shape if size is not None)


def is_condition(node: Expr) -> bool:
    """Returns whether a node is its second argument where a condition holds, and 0 elsewhere."""
    match node:
        case Call("where", (_, _, Literal(value))):
            return not isinstance(value, complex) and value == 0 and str(value)[0] != "-"
        case _:
            return False


@dataclass(slots=True)
class _Guards:
    """Guards the subscripts below conditions, which may be out of range where these do not hold."""

    formulas: Mapping[str, IndexFormula]
    operands: Mapping[str, TensorType]
    extents: Mapping[IndexVar, int]
    taken: set[str]
    found: dict[str, GuardedFormula]

    def __init__(
        self,
        formulas: Mapping[str, IndexFormula],
        operands: Mapping[str, TensorType],
        extents: Mapping[IndexVar, int],
        taken: set[str],
    ) -> None:
        self.formulas, self.operands, self.extents, self.taken = formulas, operands, extents, taken
        self.found = {}

    def guarded(self, node: Expr, guards: tuple[Expr, ...]) -> Expr:
        """Returns an expression in which arrays of integers stand for subscripts that conditions guard."""
        match node:
            case Access():
                return self._access(node, guards)
            case Call("where", (condition, value, _)) if is_condition(node):
                known = self.guarded(condition, guards)
                own = as_formula(condition, self.formulas, self.operands)
                inner = guards if own is None else (*guards, own)
                return replace(node, arguments=(known, self.guarded(value, inner), node.arguments[2]))
            case _:
                return rebuild(node, tuple(self.guarded(child, guards) for child in children(node)))

    def _access(self, node: Access, guards: tuple[Expr, ...]) -> Access:
        if node.tensor in self.formulas:
            return self._array(self.formulas[node.tensor], (), node.tensor)
        sizes = _static(self.operands[node.tensor])
        pairs = zip(node.subscripts, sizes, strict=False)  # ranks are checked later, with a caret
        subscripts = tuple(self._subscript(node, subscript, size, guards) for subscript, size in pairs)
        return replace(node, subscripts=(*subscripts, *node.subscripts[len(subscripts) :]))

    def _subscript(self, node: Access, subscript: Subscript, size: int, guards: tuple[Expr, ...]) -> Subscript:
        match subscript:
            case Access(tensor) if tensor in self.formulas:
                return self._array(self.formulas[tensor], guards, tensor)
            case Access():
                return self._access(subscript, guards)
            case AffineSubscript() if guards and not self._is_inside(subscript, size):
                formula = IndexFormula(tuple(v for _, v in subscript.terms), _formula_of(subscript))
                return self._array(formula, guards, "index")
            case AffineSubscript():
                alone = Access(node.tensor, (subscript,))
                whole = Assignment(node, AssignOp.ASSIGN, node)
                check_inside(whole, [(alone, (size,))], self.extents, ranged=False)
                return subscript
            case _:
                return subscript

    def _is_inside(self, subscript: AffineSubscript, size: int) -> bool:
        bounds = subscript_bounds(subscript, self.extents)
        return bounds is None or (bounds[0] >= 0 and bounds[1] < size)

    def _array(self, formula: IndexFormula, guards: tuple[Expr, ...], name: str) -> Access:
        inside = tuple(guard for guard in guards if _variables_in(guard) <= set(formula.variables))
        one = GuardedFormula(formula, inside)
        for known, other in self.found.items():
            if other == one:
                return Access(known, formula.variables)
        if name in self.found or name not in self.formulas:
            name = fresh_name(name, self.taken)
        self.found[name] = one
        return Access(name, formula.variables)


def _variables_in(node: Expr) -> set[IndexVar]:
    return {v for a in reads(node) for v in (a.indices if a.subscripts else (IndexVar(a.tensor),))}


def _formula_of(subscript: AffineSubscript) -> Expr:
    found: Expr = Literal(subscript.constant)
    for factor, variable in subscript.terms:
        found = Binary(BinaryOp.ADD, found, Binary(BinaryOp.MUL, Literal(factor), Access(variable.name)))
    return found


_INTEGER_FUNCTIONS = ("abs", "floor_divide", "remainder", "max", "min", "logical_not")


def as_formula(node: Expr, formulas: Mapping[str, IndexFormula], operands: Mapping[str, TensorType]) -> Expr | None:
    """Returns an expression as a formula of index variables and arrays of integers; None for others."""
    match node:
        case Access(tensor, subscripts) if tensor in formulas:
            return formulas[tensor].value if subscripts == formulas[tensor].variables else None
        case Access(tensor, subscripts):
            kind = operands[tensor]
            plain = all(isinstance(subscript, IndexVar) for subscript in subscripts)
            return node if subscripts and plain and kind.dtype.is_integer and kind.encoding is None else None
        case Literal(int()):
            return node
        case Negate() | Call() | Binary():
            pass
        case _:
            return None
    if isinstance(node, Binary) and node.op is BinaryOp.DIV:
        return None
    if isinstance(node, Call) and node.function not in _INTEGER_FUNCTIONS:
        return None
    below = [as_formula(child, formulas, operands) for child in children(node)]
    known = tuple(child for child in below if child is not None)
    return rebuild(node, known) if len(known) == len(below) else None


def conjuncts(condition: Expr) -> Iterator[Expr]:
    """Yields the conditions that are joined by `&`."""
    if isinstance(condition, Binary) and condition.op is BinaryOp.AND:
        for child in children(condition):
            yield from conjuncts(child)
    else:
        yield condition

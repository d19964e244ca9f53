"""Tensors defined in index notation over arrays and other tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, NoReturn
from weakref import WeakValueDictionary

import numpy as np

from mlir_sparse.compile.definitions.composed_statement import Composable, ComposedStatement, compose_statement
from mlir_sparse.compile.definitions.defined_operators import DefinedOperators
from mlir_sparse.compile.definitions.derived_operands import (
    DerivedOperand,
    FormulaOperand,
    MadeOperand,
    PatternOperand,
    SelectionOperand,
    SourceOperand,
)
from mlir_sparse.compile.definitions.index_formulas import is_static
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import ExtentError, OperandError, UnknownTensorError
from mlir_sparse.notation import (
    Access,
    Assignment,
    AssignOp,
    Call,
    Composition,
    Definition,
    Expr,
    IndexVar,
    Literal,
    reads,
    with_explicit_sums,
)
from mlir_sparse.notation.definition_parser import parse_definition
from mlir_sparse.process.forks import Lock, importing
from mlir_sparse.spec import infer_output
from mlir_sparse.spec.composition_of import ComposedTensor, Selection, composition_of
from mlir_sparse.spec.logical_tensor import GuardedFormula, LogicalTensor, logical_tensor
from mlir_sparse.tensor import SparseTensor
from mlir_sparse.text.given_arguments import integer_of, several_of, text_of
from mlir_sparse.text.identifiers import by_name, generated_name
from mlir_sparse.text.lexer import tokenize

__all__ = ["DefinedTensor", "Signature", "define"]

Array = np.ndarray[Any, Any]


def define(
    text: str, /, *, shape: Sequence[int | None] | None = None, tensors: Mapping[str, Any] | None = None, **named: Any
) -> DefinedTensor:
    """Declares a tensor by what it is, in index notation over arrays and other tensors.

    It is used like any tensor, and need not be made: statements that read it are composed with its definition before
    they are planned. Elements that are not made are not rounded to its element type.

    Args:
        text: the definition, such as `"A(i,j) = U(i,k) * V(j,k)"`. Beyond the grammar of statements, a subscript may be
            any formula of integers, where `/` rounds down and `%` is the remainder (`B(i / 4, i % 4)`); an index
            variable may stand as a value; and the whole may stand under a condition, out of which it is zero
            (`1 if c(i) == j`). In values and conditions `/` is a quotient, as `x if floor_divide(i, 3) == j` rounds.
        shape: the extents; None for those that the operands determine.
        tensors: operands by name, for names that clash with these arguments.
        named: the operands: arrays, SparseTensors, other defined tensors, other libraries' sparse arrays. Python's
            numbers are constants, which may stand in subscripts.

    Returns:
        the tensor. Its operands are read at each call, so that changes of their values are seen in the next one.

    Raises:
        NotationSyntaxError, NotationError: for a text without a meaning.
        UnknownTensorError: for a tensor without operand, or the reverse.
        ExtentError: for an index without extent, or with two; for a subscript out of range.

    >>> U, V = np.array([[1.0], [2.0]]), np.array([[3.0], [4.0], [5.0]])
    >>> A = define("A(i,j) = U(i,k) * V(j,k)", U=U, V=V)
    >>> A.shape, A.toarray().tolist()
    ((2, 3), [[3.0, 4.0, 5.0], [6.0, 8.0, 10.0]])
    """
    return DefinedTensor(text_of(text, "a definition"), by_name(named, tensors), _extents(shape))


def _extents(shape: Sequence[int | None] | None) -> tuple[int | None, ...] | None:
    if shape is None:
        return None
    given = several_of(shape, "extents or None in shape=")
    found = tuple(None if size is None else integer_of(size, "each extent of shape=") for size in given)
    for size in found:
        if size is not None and size < 0:
            raise ExtentError(f"expected extents from 0 or None in shape=, but got {size}")
    return found


class Signature:
    """What defined tensors have in common that one composition serves; equal ones are one object."""

    _known: ClassVar[WeakValueDictionary[object, Signature]] = WeakValueDictionary()
    _lock: ClassVar[Lock] = Lock()

    @classmethod
    def of(cls, key: object) -> Signature:
        """Returns the signature for a key."""
        with cls._lock:
            return cls._known.setdefault(key, cls(key))

    def __init__(self, key: object) -> None:
        self._key = key

    def __reduce__(self) -> tuple[Any, ...]:
        return Signature.of, (self._key,)


class DefinedTensor(DefinedOperators):
    """A tensor that is defined over others; `define` declares one.

    It is equal to itself only. `operands` are the user's own, by name; `shape` and `ndim` are as an array's. Products
    by `@` are composed; for other operators and functions of NumPy's it is made.
    """

    def __init__(self, text: str, operands: Mapping[str, Any], shape: tuple[int | None, ...] | None) -> None:
        self._given = (text, dict(operands), shape)
        constants = {name: _constant(value) for name, value in operands.items() if _is_constant(value)}
        definition = parse_definition(text, constants)
        _check_constants(definition, constants)
        self.operands: Mapping[str, Any] = MappingProxyType(dict(operands))
        read = {access.tensor for value in _values_of(definition) for access in reads(value)}
        data = {name: value for name, value in operands.items() if name not in constants or name in read}
        self._sources = {name: SourceOperand(name, value) for name, value in data.items() if not _is_defined(value)}
        defined = {name: value for name, value in data.items() if _is_defined(value)}
        kinds = {name: one.kind for name, one in self._sources.items()}
        kinds |= {name: value.type for name, value in defined.items()}
        if shape is not None and len(shape) != len(definition.target.subscripts):
            rank = len(definition.target.subscripts)
            raise ExtentError(f"expected shape= of {rank} extents for {definition.target}, but got {len(shape)}")
        self._logical = logical_tensor(definition, kinds, shape)
        self.composable = self._composable(composition_of(self._logical), defined)
        self.signature = Signature.of(_key(self.composable))
        self.shape = self._logical.shape
        self.ndim = len(self.shape)

    # -- what it is ----------------------------------------------------------------------------------------------

    @property
    def notation(self) -> str:
        """The definition, as it was written."""
        return str(self._logical.definition)

    @property
    def type(self) -> TensorType:
        """The type of the tensor when it is made."""
        return self.composable.kind

    @property
    def T(self) -> DefinedTensor:  # noqa: N802 - NumPy's name
        """The tensor with its dimensions in reverse, which is defined too."""
        names = [f"d{dim}" for dim in range(self.ndim)]
        return define(f"T({','.join(reversed(names))}) = A({','.join(names)})", A=self)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type, as NumPy's."""
        return self.type.dtype.numpy

    def __repr__(self) -> str:
        return f"DefinedTensor {self.type}: {self.notation}"

    def _repr_html_(self) -> str:
        """Returns the definition and the types of what it reads, for notebooks."""
        with importing():
            from mlir_sparse.text.html_table import html_rows  # for notebooks only

        rows = [("is", self.notation), ("type", str(self.type))]
        for name, value in self.operands.items():
            kind = self._sources[name].kind if name in self._sources else getattr(value, "type", None)
            rows.append((name, repr(value) if kind is None else str(kind)))
        return html_rows("DefinedTensor", rows)

    def __reduce__(self) -> tuple[Any, ...]:
        return DefinedTensor, self._given

    # -- its elements --------------------------------------------------------------------------------------------

    def made(self) -> Array | SparseTensor:
        """Returns the tensor as data: an array, or a SparseTensor where its definition has entries."""
        # The functions that run statements stand above this module, which they compose statements with.
        with importing():
            from mlir_sparse.compile.definitions.make_tensor import make_tensor

        return make_tensor(self)

    def toarray(self) -> Array:
        """Returns the tensor as an array."""
        found = self.made()
        return found.to_numpy() if isinstance(found, SparseTensor) else found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError(f"expected copy=None or True for {self!r}, which is no data, but got False")
        found = self.toarray()
        return found if dtype is None else found.astype(dtype, copy=False)

    def __len__(self) -> int:
        if not self.shape:
            raise OperandError("expected a tensor of one dimension or more for len(), but got one of none")
        return self.shape[0]

    def __setitem__(self, key: object, value: object) -> NoReturn:
        raise OperandError(f"expected a tensor of data to write to, but got {self!r}: write to its operands")

    # -- composition ---------------------------------------------------------------------------------------------

    @property
    def logical(self) -> LogicalTensor:
        """The definition with the types of its operands."""
        return self._logical

    def raw_operands(self) -> dict[str, Any]:
        """Returns what the definition reads as it is written, by name: data, defined tensors and arrays of integers."""
        found: dict[str, Any] = {}
        for name in self._logical.assignment.inputs:
            found[name] = self.operands[name] if name in self.operands else self._formula(name).value()
        return found

    def _formula(self, name: str) -> FormulaOperand:
        return FormulaOperand(self._logical.formulas[name], self._logical.extents, self._sources)

    def _composable(self, found: ComposedTensor, defined: Mapping[str, Any]) -> Composable:
        text, kind = self.notation, self._logical.kind
        if found.composition is None:
            return Composable(text, kind, None, found.reason, {}, (), False)
        target = self._logical.definition.target
        statement = Assignment(target, AssignOp.ASSIGN, found.composition.value)
        own = {name: self._operand(name, found, defined) for name in statement.inputs if name not in defined}
        inner = {name: defined[name].composable for name in statement.inputs if name in defined}
        done = compose_statement(statement, inner, {name: one.kind.dtype for name, one in own.items()})
        operands = {new: _operand_of(own, defined, name, leaf) for new, name, leaf in done.operands}
        operands |= dict(done.ones)
        types = {name: one.kind for name, one in operands.items()}
        made = infer_output(done.assignment, types)
        if made.dtype != kind.dtype:
            return Composable(text, kind, None, f"its operands would make it {made.dtype}", {}, (), False)
        there = {s for access in reads(done.assignment.value) for s in access.subscripts if isinstance(s, IndexVar)}
        variables = target.indices
        open_axes = tuple(axis for axis, variable in enumerate(variables) if variable not in there)
        # Rows are gathered from arrays into an array, though selections of rows are sparse.
        sparse = found.patterns or any(not one.of for one in found.selections.values())
        made = TensorType(made.dtype, self._logical.shape, made.encoding if sparse else kind.encoding)
        value = with_explicit_sums(done.assignment).value
        operands, places = self._with_places(operands, found, done, inner)
        copies = _copies(self._logical.assignment.value) and all(one.copies for one in inner.values())
        return Composable(text, made, Composition(variables, value), "", operands, open_axes, copies, places)

    def _with_places(
        self,
        operands: dict[str, DerivedOperand],
        found: ComposedTensor,
        done: ComposedStatement,
        inner: Mapping[str, Composable],
    ) -> tuple[dict[str, DerivedOperand], dict[str, str]]:
        """Returns operands with those that have the columns of selections, and their names by those of selections."""
        places: dict[str, str] = {}
        for new, name, leaf in done.operands:
            operand: DerivedOperand | None = None
            if leaf and leaf in inner[name].places:
                operand = inner[name].operands[inner[name].places[leaf]]
            elif not leaf and name in found.selections:
                operand = self._places_of(found.selections[name])
            if operand is not None:
                owner = operand.source_name or "place"
                places[new] = generated_name(owner, "places", operands)
                operands = {**operands, places[new]: operand}
        return operands, places

    def _places_of(self, selection: Selection) -> DerivedOperand | None:
        """Returns the operand with the columns of a selection, if data decide them, by one variable."""
        formula = selection.formula
        if len(formula.variables) != 1 or is_static(formula):
            return None
        match formula.value:
            case Access(name, (IndexVar(),)) if name in self._sources:
                return self._sources[name]
            case _:
                return FormulaOperand(GuardedFormula(formula), self._logical.extents, self._sources)

    def _operand(self, name: str, found: ComposedTensor, defined: Mapping[str, Any]) -> DerivedOperand:
        extents, dtype = self._logical.extents, self._logical.kind.dtype
        if name in found.selections:
            return SelectionOperand(found.selections[name], extents, self._sources, dtype)
        if name in found.patterns:
            formulas = {one: guarded.formula for one, guarded in self._logical.formulas.items()}
            return PatternOperand(found.patterns[name], formulas, extents, self._sources, dtype)
        return self._sources[name] if name in self._sources else self._formula(name)


def _operand_of(own: Mapping[str, DerivedOperand], defined: Mapping[str, Any], name: str, leaf: str) -> DerivedOperand:
    if leaf:
        operand: DerivedOperand = defined[name].composable.operands[leaf]
        return operand
    return own[name] if name in own else MadeOperand(defined[name])


def _key(one: Composable) -> object:
    """Returns all that compositions depend on: whatever else differs, one composition serves."""
    operands = tuple((name, *_key_of_type(operand.kind), operand.digit) for name, operand in one.operands.items())
    # Statements are composed with these extents, which no operand has.
    declared = tuple((axis, one.kind.shape[axis]) for axis in one.open_axes)
    return (
        one.text,
        one.composition,
        operands,
        declared,
        _key_of_type(one.kind),
        one.copies,
        one.reason,
        tuple(one.places.items()),
    )


def _key_of_type(kind: TensorType) -> tuple[object, ...]:
    return kind.dtype, kind.encoding, kind.rank


def _copies(node: Expr) -> bool:
    """Returns whether the value of a node is that of an operand, a number, or one of them by a condition."""
    match node:
        case Access() | Literal():
            return True
        case Call("where", (_, then, otherwise)):
            return _copies(then) and _copies(otherwise)
        case _:
            return False


def _values_of(definition: Definition) -> list[Expr]:
    return [definition.value, *(one.value for _, one in definition.formulas)]


def _is_defined(value: object) -> bool:
    return isinstance(value, DefinedTensor)


def _is_constant(value: object) -> bool:
    """Returns whether a value is one of Python's numbers, or an integer of NumPy's."""
    if isinstance(value, np.generic):
        return isinstance(value, np.integer)
    return isinstance(value, int | float | complex) and not isinstance(value, bool) and bool(np.isfinite(value))


def _check_constants(definition: Definition, constants: Mapping[str, Any]) -> None:
    assert definition.source is not None, "it was parsed"
    there = {token.text for token in tokenize(definition.source)}
    for name in constants:
        if name not in there:
            raise UnknownTensorError(f"expected a tensor or a number of the definition {definition}, but got {name}")


def _constant(value: Any) -> int | float | complex:
    found: int | float | complex = int(value) if isinstance(value, np.integer) else value
    return found

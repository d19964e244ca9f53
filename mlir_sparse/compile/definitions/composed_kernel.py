"""The kernel of a statement that reads defined tensors."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np

from mlir_sparse.compile import exploring
from mlir_sparse.compile.compiled_kernel import CompiledKernel, Result
from mlir_sparse.compile.cpu_kernel import Kernel
from mlir_sparse.compile.definitions.composed_call import ComposedCall, Text
from mlir_sparse.compile.definitions.composed_calls import (
    check_options,
    composed_call,
    first_line,
    passed,
)
from mlir_sparse.compile.definitions.composed_for_operands import Parse
from mlir_sparse.compile.definitions.defined_tensor import DefinedTensor, Signature
from mlir_sparse.compile.definitions.filled_operands import definition_of
from mlir_sparse.compile.index_operands import with_made_operands
from mlir_sparse.compile.repeated_calls import RepeatedCalls
from mlir_sparse.encoding import TensorType
from mlir_sparse.errors import CoordinatesError, OperandError, UnknownTensorError, UnsupportedError
from mlir_sparse.notation import Assignment, Comprehension, Monoid, Operator, tensors_given
from mlir_sparse.spec import Alternative, Alternatives, bind_parameters, how_to_pass, in_order
from mlir_sparse.tensor import FilledTensor
from mlir_sparse.text.shortened import shortened
from mlir_sparse.text.shown_text import ShownText

if TYPE_CHECKING:
    from mlir_sparse.loops.remarks import Remark

__all__ = ["ComposedKernel", "compile_composed", "composed_kernel"]


class ComposedKernel(CompiledKernel):
    """A compiled statement that reads defined tensors: call it with operands as the statement names them.

    It takes other defined tensors of the same definitions too.

    Args:
        call: the statement composed.
        kernel: the kernel of the composed statement.
        signatures: by name, those of the defined tensors.
        by_selections: compiles the statement for operands by name without gathers, which refuse rows without an entry.
        written: the statement as the user wrote it.
        compile_text: compiles one that reads data.
    """

    def __init__(
        self,
        call: ComposedCall,
        kernel: CompiledKernel,
        signatures: Mapping[str, Signature],
        by_selections: Callable[..., ComposedKernel],
        written: Assignment | Comprehension,
        compile_text: Callable[..., CompiledKernel],
    ) -> None:
        self._compile_text = compile_text
        self._composed = call
        self._written = written
        self.kernel = kernel
        self._signatures = dict(signatures)
        self.parameters = tensors_given(written)
        self._has_vectors = self.parameters != call.inputs
        self._by_selections = by_selections
        self._instead: ComposedKernel | None = None
        self._with_gaps: WeakSet[DefinedTensor] = WeakSet()
        self._has_gaps = False
        self._order = kernel.parameters if isinstance(kernel, Kernel) and not self._has_vectors else ()
        # By place, the signature of a defined tensor; None for others.
        self._wanted = tuple(map(self._signatures.get, self.parameters))
        self._places = () if self._has_vectors else _places(call, self._order, self._signatures)

    def __getstate__(self) -> dict[str, Any]:
        # Tensors with gaps are known by identity, and their kernel is compiled again where one comes.
        return {**self.__dict__, "_with_gaps": None, "_has_gaps": False, "_instead": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _with_gaps=WeakSet())

    def __call__(self, /, *operands: Any, out: Any = None, **named: Any) -> Result:
        """Computes the result; see `Kernel`.

        Raises:
            OperandError: for a tensor of another definition than the kernel was compiled for.
        """
        if self._places and not self._has_gaps:
            given = in_order(self.parameters, operands, named) if named else operands
            data = None if given is None or type(out) is DefinedTensor else self._data(given)
            if data is not None:
                return self.kernel(*data, out=out)
        if self._has_gaps and not self._with_gaps.isdisjoint(_defined(operands, named)):
            return self._other(operands, named)(*operands, out=out, **named)
        bound = self._operands(operands, named, out)
        try:
            if self._composed.joined or bound.keys() != set(self._order):
                return self._composed.run(lambda array: self.kernel(out=array, **bound), _checked(out))
            return self.kernel(*[bound[name] for name in self._order], out=_checked(out))  # by position takes less
        except CoordinatesError:
            if not self._composed.gathers:
                raise
            result = self._other(operands, named)(*operands, out=out, **named)
        self.note_gaps(_defined(operands, named))
        return result

    def _data(self, operands: tuple[Any, ...]) -> list[Any] | None:
        """Returns the operands of the kernel in order; None for operands that `_operands` looks at."""
        wanted = self._wanted
        if len(operands) != len(wanted):
            return None
        for signature, value in zip(wanted, operands):  # noqa: B905 - their lengths were compared
            found = value.signature if type(value) is DefinedTensor else None
            if found is not signature:
                return None
        data = []
        for place, operand in self._places:
            value = operands[place]
            data.append(value.composable.operands[operand].value() if operand else value)
        return data

    def note_gaps(self, tensors: Iterable[DefinedTensor]) -> None:
        """Notes tensors of which some rows may have no entry: calls with them gather nothing."""
        self._with_gaps.update(tensors)
        self._has_gaps = True

    def _other(self, operands: tuple[Any, ...], named: Mapping[str, Any]) -> ComposedKernel:
        """Returns the kernel for selections of which some rows have no entry, and for data that are wrong."""
        if self._instead is None:
            self._instead = self._by_selections(given=bind_parameters(self.parameters, operands, named))
        return self._instead

    def _operands(self, operands: tuple[Any, ...], named: Mapping[str, Any], out: Any = None) -> dict[str, Any]:
        if not named and len(operands) == len(self.parameters):
            bound: Mapping[str, Any] = dict(zip(self.parameters, operands, strict=True))
        elif not operands and named.keys() == set(self.parameters):
            bound = named
        else:
            bound = bind_parameters(self.parameters, operands, named)
            self._check_names(bound)
        for name, signature in self._signatures.items():
            if type(bound[name]) is FilledTensor:
                bound = {**bound, name: definition_of(bound[name], signature=signature)}
            self._check(name, bound[name], signature)
        if self._has_vectors and isinstance(self._written, Assignment):
            bound = with_made_operands(self._written, bound, out)
        return self._composed.operands(bound)

    def _check_names(self, bound: Mapping[str, Any]) -> None:
        for name in self.parameters:
            if name not in bound:
                raise UnknownTensorError(
                    f"expected data for tensor {name}, but got none: {how_to_pass(name, called=True)}"
                )
        for name in bound:
            if name not in self.parameters:
                raise UnknownTensorError(f"expected one of {', '.join(self.parameters)}, but got {name}")

    def _check(self, name: str, value: object, signature: Signature) -> None:
        if not (isinstance(value, DefinedTensor) and value.signature is signature):
            got = repr(value) if isinstance(value, DefinedTensor) else type(value).__name__
            raise OperandError(
                f"expected {name} with the definition that the kernel was compiled for, but got {shortened(got)}: "
                "compile for it"
            )

    def ir(self, stage: Any = "linalg") -> str:
        """Returns the text of the composed statement's kernel at a stage."""
        return self.kernel.ir(stage)

    def passes(self) -> exploring.Passes:
        """Returns the module after each pass."""
        return self.kernel.passes()

    def remarks(self) -> tuple[Remark, ...]:
        """Returns the remarks of the strategies for fast loops."""
        return self.kernel.remarks()

    def explain(self, /, *operands: Any, **named: Any) -> str:
        """Returns an account of the kernel: which definitions stand in the statement, which tensors are made first.

        Args:
            operands: data and defined tensors, for the plan that a call on them takes; as compiled when absent.
            named: the operands, by name.
        """
        given = self._operands(operands, named) if operands or named else {}
        return ShownText("\n".join((*self._composed.account, "", self.kernel.explain(**given))))

    def alternatives(self, /, *operands: Any, **named: Any) -> tuple[Alternative, ...]:
        """Returns the ways to compute the composed statement; see `Kernel.alternatives`.

        `compile` and `evaluate` take one with the operands of this kernel, defined tensors among them.

        Raises:
            UnsupportedError: for several statements, which have none.
        """
        if not isinstance(self.kernel, Kernel):
            raise UnsupportedError(f"expected a kernel of one statement to have alternatives, but got {self!r}")
        found = self.kernel.alternatives(**self._operands(operands, named) if operands or named else {})
        return Alternatives([replace(way, compiled=partial(self._chosen, way)) for way in found])

    def _chosen(self, way: Alternative, given: Mapping[str, Any], asked: Mapping[str, Any]) -> ComposedKernel:
        """Returns the kernel that computes the composed statement in a way.

        Args:
            way: the way.
            given: the operands, by the names of the statement as it was written; none for those of this kernel.
            asked: the other arguments of `compile`.
        """
        check_options(asked)
        operands = passed(self._operands((), given)) if given else {}
        kernel = self._compile_text(way, **self._composed.options(asked), **operands)
        call, again = self._composed, self._by_selections
        return ComposedKernel(call, kernel, self._signatures, again, self._written, self._compile_text)

    @property
    def output(self) -> TensorType | tuple[TensorType, ...]:
        """The type of the result, or a tuple of the types of several."""
        return self.kernel.output

    def assemble(self, /, *operands: Any, **named: Any) -> Any:
        """Runs the symbolic phase: returns the result with its structure and zeros for values."""
        given = self._operands(operands, named)
        try:
            return self._composed.run(lambda _: self.kernel.assemble(**given), None)
        except CoordinatesError:
            if not self._composed.gathers:
                raise
            return self._other(operands, named).assemble(*operands, **named)

    def compute(self, /, *operands: Any, out: Any, **named: Any) -> Any:
        """Runs the numeric phase: computes the values of a result with a given structure."""
        given = self._operands(operands, named, out)
        try:
            return self._composed.run(lambda array: self.kernel.compute(out=array, **given), _checked(out))
        except CoordinatesError:
            if not self._composed.gathers:
                raise
            return self._other(operands, named).compute(*operands, out=out, **named)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Refuses: definitions are not saved.

        Raises:
            UnsupportedError: always.
        """
        raise UnsupportedError(
            f"expected a kernel of tensors of data to save in {os.fspath(path)}, but got one of defined tensors: save "
            "its `kernel`, whose operands are theirs"
        )

    def _described(self) -> tuple[str, Iterable[tuple[str, Any]]]:
        read = ((name, self._signatures.get(name, "data")) for name in self.parameters)
        return str(self._written), ((name, "data" if kind == "data" else "defined") for name, kind in read)

    def __repr__(self) -> str:
        return f"ComposedKernel({self._composed.text})"


def _defined(operands: tuple[Any, ...], named: Mapping[str, Any]) -> list[DefinedTensor]:
    return [value for value in (*operands, *named.values()) if isinstance(value, DefinedTensor)]


def _places(call: ComposedCall, order: Sequence[str], defined: Container[str]) -> tuple[tuple[int, str], ...]:
    """Returns whence a kernel's operands come in order: the number of one, and its definition's operand or "".

    Returns:
        the places; none for a call in which more is to do than to pass them.
    """
    statement = call.statement
    if statement is None or statement.checks or statement.ones or statement.gathers or call.splits or call.joined:
        return ()
    if statement.assignment.target.tensor in call.inputs or {new for new, *_ in statement.operands} != set(order):
        return ()
    if any(not operand and name in defined for _, name, operand in statement.operands):
        return ()  # it is made
    found = {new: (call.inputs.index(name), operand) for new, name, operand in statement.operands}
    return tuple(found[name] for name in order)


def _checked(out: Any) -> Any:
    if isinstance(out, DefinedTensor):
        raise OperandError(f"expected an array for out, but got {out!r}, which is no data")
    return out


def compile_composed(
    parse: Parse,
    compile_text: Callable[..., CompiledKernel],
    text: Text,
    given: Mapping[str, Any],
    options: Mapping[str, Any],
    *,
    gathers: bool = True,
) -> ComposedKernel:
    """Compiles a statement that reads defined tensors.

    Args:
        parse: parses a statement.
        compile_text: compiles one that reads data.
        text: the statement.
        given: its operands, types of them, and operators, by name.
        options: the other arguments of `compile`.
        gathers: whether elements may be gathered in place of sums over selections.
    """
    check_options(options)
    call = composed_call(parse, text, given, options, gathers=gathers)
    try:
        kernel = compile_text(call.text, **call.options(options), **passed(call.operands(given)))
        kernel.ir("plan")
    except UnsupportedError as error:
        if not call.composes:
            raise
        call = composed_call(parse, text, given, options, instead=first_line(error))
        kernel = compile_text(call.text, **call.options(options), **passed(call.operands(given)))
    return _kernel(parse, compile_text, text, given, options, call, kernel)


def composed_kernel(
    parse: Parse,
    compile_text: Callable[..., CompiledKernel],
    repeated: RepeatedCalls,
    text: Text,
    given: Mapping[str, Any],
    options: Mapping[str, Any],
    call: ComposedCall,
) -> ComposedKernel | None:
    """Returns the kernel of a call that was made; None where that has kept none.

    Args:
        parse: parses a statement.
        compile_text: compiles one that reads data.
        repeated: the kernels of calls on data.
        text: the statement.
        given: its operands and operators, by name.
        options: the other arguments of `evaluate`.
        call: how it was computed.
    """
    if not call.gathers and composed_call(parse, text, given, options).gathers:
        found = compile_composed(parse, compile_text, text, given, _storage_of(options))
        found.note_gaps(_defined((), given))
        return found
    inner, operands = call.options(options), passed(call.operands(given))
    if "tensors" in operands or call.joined:
        return None
    others = tuple(inner[name] for name in ("semiring", "target", "via", "schedule", "threads", "deterministic"))
    kernel = repeated.get(repeated.key(call.text, inner["out"], others, inner["optimize"], operands))
    return None if kernel is None else _kernel(parse, compile_text, text, given, options, call, kernel)


def _storage_of(options: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**options, "out": "dense"} if isinstance(options["out"], np.ndarray) else options


def _kernel(
    parse: Parse,
    compile_text: Callable[..., CompiledKernel],
    text: Text,
    given: Mapping[str, Any],
    options: Mapping[str, Any],
    call: ComposedCall,
    kernel: CompiledKernel,
) -> ComposedKernel:
    signatures = {name: value.signature for name, value in given.items() if isinstance(value, DefinedTensor)}
    options = _storage_of(options)
    # No data are kept with the kernel: it gets those of a call.
    again = partial(compile_composed, parse, compile_text, text, gathers=False, options=options)
    operators = {name: value for name, value in given.items() if isinstance(value, Operator | Monoid)}
    return ComposedKernel(call, kernel, signatures, again, parse(text, **operators), compile_text)

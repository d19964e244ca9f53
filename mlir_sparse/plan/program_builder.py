"""The values of a program under construction: their names, their types, the steps that make them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from mlir_sparse.dtypes import BYTE, DType
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.encoding.level_space import LevelSpace
from mlir_sparse.errors import ScheduleError
from mlir_sparse.notation import Access, Expr, IndexVar, Literal, ReduceOp, replace_accesses, walk
from mlir_sparse.plan.order.loop_choice import LoopChoice
from mlir_sparse.plan.order.storage_choice import is_sparse
from mlir_sparse.plan.plan_steps import AccumulateMode, Generic, Located, LocatedRows, Step
from mlir_sparse.plan.rewrite.rewrite_rule import Context, Rule, WhyNot
from mlir_sparse.program import Conversion, ExtentVector, LevelSpaceView
from mlir_sparse.spec import KernelSpec
from mlir_sparse.text.identifiers import generated_name

__all__ = ["Values", "scheduled"]


class Values:
    """Names and types of all values, and the steps so far.

    Args:
        spec: the kernel, whose inputs are the first values.
        order: the order of loops in a schedule.
        wide: whether values in f16 or bf16 are computed in f32, with their results.
    """

    def __init__(self, spec: KernelSpec, order: tuple[IndexVar, ...] | None = None, wide: bool = False) -> None:
        self.order = order
        # The order of loops that estimates on data prefer for the part that is made now.
        self.preferred: tuple[IndexVar, ...] | None = None
        self._wide = wide
        self.dtype: DType = self.computed(spec.output.dtype)
        self.output: TensorType = spec.output if self.dtype == spec.output.dtype else _computed(spec.output, self.dtype)
        self.steps: list[Step] = []
        self._widths = _widths(spec)
        self._extents = spec.static_extents
        self._types: dict[str, TensorType] = dict(spec.inputs)
        self._converted: dict[tuple[str, TensorType], str] = {}
        self._made: set[str] = set()
        # Separate from conversions: a view whose levels are in another order than the dimensions has the type of a
        # conversion.
        self._views: dict[str, str] = {}
        self._located: dict[tuple[str, bool | None], str] = {}
        self._ranges: dict[IndexVar, str] = {}
        self._inside: dict[IndexVar, str] = {}
        self._notes: dict[str, str] = {}
        self._licences: dict[str, None] = {}

    @contextmanager
    def computing(self, dtype: DType) -> Iterator[None]:
        """Makes values of another element type inside a block, for operands that start anew."""
        before, self.dtype = self.dtype, self.computed(dtype)
        try:
            yield
        finally:
            self.dtype = before

    def computed(self, dtype: DType) -> DType:
        """Returns the element type in which values of a type are computed."""
        return dtype.accumulated_in if self._wide else dtype

    def dtypes(self) -> Mapping[str, DType]:
        """Returns the element types by name."""
        return {name: kind.dtype for name, kind in self._types.items()}

    def types(self) -> tuple[tuple[str, TensorType], ...]:
        """Returns (name, type) of every value, in the order of declaration."""
        return tuple(self._types.items())

    def mapping(self) -> Mapping[str, TensorType]:
        """Returns the types by name."""
        return self._types

    def type_of(self, name: str) -> TensorType:
        """Returns the type of a value."""
        return self._types[name]

    def encoding_of(self, name: str) -> Encoding:
        """Returns the encoding of a sparse value."""
        found = self._types[name].encoding
        assert found is not None
        return found

    def sparse_names(self) -> frozenset[str]:
        """Returns the names of values with sparse storage."""
        return frozenset(name for name, kind in self._types.items() if is_sparse(kind))

    def context(self) -> Context:
        """Returns what rules on expressions may know of the computation."""
        return Context(self.sparse_names(), not self.dtype.is_integer)

    def typed(self, encoding: Encoding | None, variables: tuple[IndexVar, ...]) -> TensorType:
        """Returns a type with the element type of the computation and the extents of the variables."""
        return TensorType(self.dtype, tuple(self._extents.get(variable) for variable in variables), encoding)

    def widened(self, encoding: Encoding) -> Encoding:
        """Returns an encoding with the program's widths where it names none."""
        positions, coordinates = self._widths
        return encoding.with_widths(encoding.pos_width or positions, encoding.crd_width or coordinates)

    def fresh(self, owner: str = "t", role: str = "") -> str:
        """Returns a new generated name of a value.

        Args:
            owner: the named value that it belongs to, if there is one.
            role: its relation to that value.
        """
        name = generated_name(owner, role, self._made)
        self._made.add(name)
        return name

    def variable(self, owner: str, role: str) -> IndexVar:
        """Returns a new generated index variable; see `fresh`."""
        return IndexVar(self.fresh(owner, role))

    def result(self, target: str) -> str:
        """Returns the name of the result: the target's, or a generated one if the target is also an operand."""
        return self.fresh(target, "result") if target in self._types else target

    def declare(self, name: str, kind: TensorType) -> None:
        """Adds a value."""
        self._types[name] = kind

    def note(self, name: str, text: str) -> None:
        """Records the reason for a temporary; the first record stays."""
        self._notes.setdefault(name, text)

    def applied(self, rule: Rule, node: Expr) -> Expr:
        """Returns what a rule makes of an expression, the same one where nothing; says so as `rewritten` does."""
        found = rule.apply(node, self.context())
        if isinstance(found, WhyNot):
            return node
        self.rewritten(rule, f"`{node}` is `{found}`")
        return found

    def rewritten(self, rule: Rule, detail: str) -> None:
        """Says that a rule was applied, where what is computed is otherwise than it is written, in numbers that round.

        Args:
            rule: the rule.
            detail: what it made of what.
        """
        if rule.licence.is_explained and not self.dtype.is_integer:
            self._licences[f"{rule.participle}, {detail}"] = None

    def licences(self) -> tuple[str, ...]:
        """Returns what was said so."""
        return tuple(self._licences)

    def notes(self) -> tuple[tuple[str, str], ...]:
        """Returns (name, text) of what was noted."""
        return tuple(self._notes.items())

    def emit(self, step: Step) -> None:
        """Adds a step; a loop nest also gets extents for variables in sums only."""
        self.steps.append(self._with_extents(step) if isinstance(step, Generic) else step)

    def _with_extents(self, step: Generic) -> Generic:
        read = [node for node in walk(step.payload) if isinstance(node, Access)]
        plain = {subscript for access in (step.target, *read) for subscript in access.subscripts}
        missing = [variable for variable in step.loops if variable not in plain]
        return replace(step, extents=tuple(Access(self._extent(v), (v,)) for v in missing)) if missing else step

    def _extent(self, variable: IndexVar) -> str:
        """Returns the name of a vector with the extent of a variable; declared at most once."""
        known = self._ranges.get(variable)
        if known is None:
            known = self._ranges[variable] = self.fresh(variable.name, "extent")
            self.declare(known, self.typed(None, (variable,)))
            self.emit(ExtentVector(known, variable.name, self.dtype, f"{variable} is no subscript by itself"))
        return known

    def inside(self, variable: IndexVar) -> str:
        """Returns the name of a vector of ones with the extent of a variable; declared at most once.

        Calls pad it with zeros where loops exceed its bounds.
        """
        known = self._inside.get(variable)
        if known is None:
            known = self._inside[variable] = self.fresh(variable.name, "inside")
            with self.computing(BYTE):
                self.declare(known, self.typed(None, (variable,)))
            reason = "what the storage pads with beyond the edges counts as nothing"
            target, one = Access(known, (variable,)), Literal(1)
            self.emit(Generic(target, AccumulateMode.REPLACE, ReduceOp.SUM, (variable,), (), one, True, reason))
        return known

    def convert(self, name: str, kind: TensorType, reason: str, otherwise: str = "") -> str:
        """Returns the name of a value in another type; converts at most once."""
        if kind.encoding is not None:
            kind = replace(kind, encoding=self.widened(kind.encoding))
        if self._types[name] == kind:
            return name
        known = self._converted.get((name, kind))
        if known is not None:
            return known
        result = self.fresh(name, "converted")
        self.conversion(result, name, kind, False, reason, otherwise=otherwise)
        self._converted[name, kind] = result
        return result

    def conversion(
        self,
        result: str,
        operand: str,
        kind: TensorType,
        drop_zeros: bool,
        reason: str,
        missing: complex = 0,
        otherwise: str = "",
    ) -> None:
        """Declares a value, and adds the step that converts another to it; see `Conversion`."""
        self.declare(result, kind)
        self.emit(Conversion(result, operand, kind, drop_zeros, reason, missing, otherwise))

    def view_name(self, name: str) -> str:
        """Returns the name of a tensor's view in level space."""
        return generated_name(name, "levels")

    def view(self, name: str, space: LevelSpace) -> str:
        """Returns the name of a tensor's view in level space, after declaring it at most once."""
        known = self._views.get(name)
        if known is None:
            encoding = self._types[name].encoding
            assert encoding is not None
            known = self._views[name] = self.view_name(name)
            self.declare(known, self._viewed(name, space))
            self.emit(LevelSpaceView(known, name, f"the sparsifier makes no loops of {encoding.map_text()}"))
        return known

    def _viewed(self, name: str, space: LevelSpace) -> TensorType:
        shape = (None,) * len(space.views)
        return replace(self._types[name], shape=shape, encoding=self.widened(space.encoding))

    def located(self, step: Located) -> str:
        """Returns the name of a tensor whose elements are looked up; declared at most once."""
        name = self._located.get((step.source, step.whole))
        if name is None:
            name = self._located[step.source, step.whole] = self.fresh(step.source, "located")
            kind = self._types[step.source]
            self.declare(name, replace(kind, encoding=None))
            self.emit(replace(step, result=name))
        return name

    def located_rows(self, step: LocatedRows, encoding: Encoding) -> str:
        """Returns the name of a tensor whose rows are looked up, with its encoding then; declared at most once."""
        name = self._located.get((step.operand, None))
        if name is None:
            name = self._located[step.operand, None] = self.fresh(step.operand, "rows")
            self.declare(name, replace(self._types[step.operand], encoding=encoding))
            self.emit(replace(step, result=name))
        return name

    def converted(self, body: Expr, choice: LoopChoice) -> Expr:
        """Returns a payload that reads its operands in the storage for a loop order."""
        told = zip(choice.conversions, choice.reasons, choice.otherwise, strict=True)
        names = {
            access: self.convert(access.tensor, kind, reason, otherwise) for (access, kind), reason, otherwise in told
        }
        return replace_accesses(body, names)

    def dense(self, name: str, reason: str) -> str:
        """Returns the name of a value as a dense array."""
        return self.convert(name, replace(self._types[name], encoding=None), reason)


def scheduled(spec: KernelSpec, order: tuple[str, ...] | None) -> tuple[IndexVar, ...] | None:
    """Returns the index variables in the order of a schedule."""
    if order is None:
        return None
    named = {variable.name: variable for variable in spec.assignment.indices}
    if set(order) != set(named):
        raise ScheduleError(
            f"expected an order of the index variables {', '.join(named)}, each once, but got {', '.join(order)}"
        )
    return tuple(named[name] for name in order)


def _computed(kind: TensorType, dtype: DType) -> TensorType:
    """Returns a type with another element type, without explicit values of the old one."""
    encoding = kind.encoding
    plain = None if encoding is None else replace(encoding, explicit_val=None, implicit_val=None)
    return TensorType(dtype, kind.shape, plain)


def _widths(spec: KernelSpec) -> tuple[int, int]:
    """Returns the widths of temporaries: wide enough for all sparse tensors of the kernel, at least 32 bits.

    They are 0, the machine's index, if the kernel names no widths.
    """
    kinds = [spec.output, *(kind for _, kind in spec.inputs)]
    found = [kind.encoding for kind in kinds if kind.encoding is not None]
    if not any(e.pos_width or e.crd_width for e in found):
        return 0, 0
    return max(32, *(e.pos_width for e in found)), max(32, *(e.crd_width for e in found))

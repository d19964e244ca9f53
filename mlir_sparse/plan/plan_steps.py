"""The steps of a plan; loop nests have the expressions that they compute."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum

from mlir_sparse.affine import AffineMap
from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DType
from mlir_sparse.encoding import TensorType
from mlir_sparse.notation import Access, AffineSubscript, Expr, IndexVar, Monoid, ReduceOp, Subscript, walk
from mlir_sparse.notation.entry_functions import COMBINING
from mlir_sparse.notation.semiring import MONOIDS
from mlir_sparse.program import Gathered, IndexSum, NativeStep, Place
from mlir_sparse.spec import KernelSpec, extreme_or

__all__ = [
    "AccumulateMode",
    "Frame",
    "Generic",
    "Located",
    "LocatedRows",
    "NestFunction",
    "Program",
    "Step",
    "combining_name",
    "functions_of",
    "identity_of",
    "place_of",
    "values_read",
]


class AccumulateMode(Enum):
    """The accumulate mode: how a Generic combines its payload with the output's present value."""

    REPLACE = "="
    START = "from the identity"
    CONTINUE = "onto the present value"


@dataclass(frozen=True, slots=True)
class Frame:
    """The bounds of a variable that is a sum of levels: they exceed the tensor's, over zeros.

    Arrays that it indexes are padded before the loops, and trimmed afterwards.

    Args:
        variable: the index variable.
        subscript: its expression in the loops, relative to its least value.
        operand: the tensor whose storage decides its bounds.
        dim: the tensor's dimension that it is.
    """

    variable: IndexVar
    subscript: AffineSubscript
    operand: str
    dim: int


@dataclass(frozen=True, slots=True)
class Generic:
    """One `linalg.generic`: a loop nest with at most one accumulation.

    Args:
        target: the output value at its subscripts, all plain variables.
        mode: the accumulate mode.
        combine: the operator of the accumulation.
        loops: the loop order, outermost first.
        reductions: the loops that the output lacks.
        payload: the scalar computation, free of reductions.
        in_order: whether the sparsifier must keep the loop order (it schedules blocked operands itself).
        reason: why the plan has this step.
        frames: the variables that are sums of levels, where an operand is read in level space.
        extents: operands that are not read, but bound the variables that occur in sums only.
        order_reason: why the loops have this order, if there was a choice.
        start: the initial value of an accumulation, dense and elementwise; None for the identity.
        sampled: the operand for each of whose stored entries the result has an element, in order; None if the target
            decides the element.
        short_rows: whether rows of the sparse operand are fibres, which usually have few entries.
        zeros: whether rows of the sparse operand that leave elements out have a zero among what is accumulated.
    """

    target: Access
    mode: AccumulateMode
    combine: ReduceOp | Monoid
    loops: tuple[IndexVar, ...]
    reductions: tuple[IndexVar, ...]
    payload: Expr
    in_order: bool
    reason: str
    frames: tuple[Frame, ...] = ()
    extents: tuple[Access, ...] = ()
    order_reason: str = ""
    start: Expr | None = None
    sampled: Access | None = None
    short_rows: bool = False
    zeros: bool = False

    @property
    def result(self) -> str:
        """Returns the name of the computed value."""
        return self.target.tensor

    @property
    def bodies(self) -> tuple[Expr, ...]:
        """Returns the payload, and the initial value of an accumulation if it is an expression."""
        return (self.payload,) if self.start is None else (self.payload, self.start)

    @property
    def operands(self) -> tuple[Access, ...]:
        """Returns the accesses read, one for each argument of the function."""
        read = (node for body in self.bodies for node in walk(body) if isinstance(node, Access))
        return tuple(dict.fromkeys((*read, *self.extents)))

    @property
    def computed(self) -> Access:
        """Returns the result at its index variables, even if its elements are those of entries."""
        return self.target if self.sampled is None else replace(self.sampled, tensor=self.result)

    @property
    def gathers(self) -> bool:
        """Returns whether a reduction runs outside the result's last variable, so that its row must be gathered."""
        variables = self.computed.subscripts
        return bool(self.reductions) and set(self.loops[: len(variables)]) != set(variables)

    def at_entries(self, target: Access, sampled: Access, reason: str) -> Generic:
        """Returns the loops with the values at an operand's entries as their result.

        Args:
            target: a vector, at a variable that no loop has.
            sampled: the operand; it has the variables of the result.
            reason: why the plan has this step.
        """
        return replace(self, target=target, sampled=sampled, reason=reason)

    def __str__(self) -> str:
        order = ", ".join(map(str, self.loops)) or "no loops"
        sign = (
            "="
            if self.mode is AccumulateMode.REPLACE
            else "+="
            if self.combine is ReduceOp.SUM
            else f"{combining_name(self.combine)}="
        )
        origin = "the identity" if self.start is None else self.start
        start = f" from {origin}" if self.mode is AccumulateMode.START else ""
        at = "" if self.sampled is None else f" at each entry of {self.sampled}"
        return f"{self.target} {sign} {self.payload}{start}{at}; loops {order}  # {self.reason}"


def combining_name(combine: ReduceOp | Monoid) -> str:
    """Returns the name in notation of a loop nest's accumulation."""
    return combine.name if isinstance(combine, Monoid) else combine.value


@dataclass(frozen=True, slots=True)
class Located:
    """A sparse tensor whose elements are looked up by coordinates; it allocates nothing.

    Loops read it as an array. At a missing entry an iteration has no effect, or the element is zero.

    Args:
        result: the name of the value.
        operand: the tensor, or its view over levels.
        source: the tensor.
        coordinates: the coordinate in each level, over coordinates and sizes of the tensor.
        whole: whether missing entries are zeros.
        reason: why the plan has this step.
    """

    result: str
    operand: str
    source: str
    coordinates: AffineMap
    whole: bool
    reason: str

    def __str__(self) -> str:
        return f"{self.result} = elements of {self.source}, by a search  # {self.reason}"


@dataclass(frozen=True, slots=True)
class LocatedRows:
    """A sparse tensor read as if its outermost level were dense: the begin of each row is found by search.

    Args:
        result: the name of the value.
        operand: the tensor.
        first: the first of its buffers that is not searched.
        stride: the stride and the offset of its second level's coordinates.
        reason: why the plan has this step.
    """

    result: str
    operand: str
    first: int
    stride: tuple[int, int]
    reason: str

    def __str__(self) -> str:
        return f"{self.result} = rows of {self.operand}, by a search  # {self.reason}"


Step = Generic | Located | LocatedRows | NativeStep


def values_read(step: Step) -> tuple[str, ...]:
    """Returns the names of the values that a step reads, with repeats."""
    match step:
        case Generic():
            return tuple(node.tensor for body in step.bodies for node in walk(body) if isinstance(node, Access))
        case Located() | LocatedRows():
            return (step.operand,)
        case _:
            return step.operands


@dataclass(frozen=True, slots=True)
class Program:
    """A planned kernel.

    Args:
        spec: the kernel.
        types: (name, type) of every value: inputs, temporaries, the result.
        steps: the steps, in order.
        result: the name of the value returned.
        notes: (name, reason) of temporaries.
        licences: what is computed otherwise than it is written, in numbers that round.
    """

    spec: KernelSpec
    types: tuple[tuple[str, TensorType], ...]
    steps: tuple[Step, ...]
    result: str
    notes: tuple[tuple[str, str], ...] = ()
    licences: tuple[str, ...] = ()

    def type_of(self, name: str) -> TensorType:
        """Returns the type of a value."""
        return dict(self.types)[name]

    def __str__(self) -> str:
        lines = [f"{self.spec.explicit}"]
        lines += [f"  {name}: {kind}" for name, kind in self.types]
        lines += [f"  {step}" for step in self.steps]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class NestFunction:
    """The function that a Generic becomes.

    Args:
        name: its symbol.
        step: the Generic.
        operands: the accesses read, one per argument; a dense output is one more argument, the last.
    """

    name: str
    step: Generic
    operands: tuple[Access, ...]


def functions_of(program: Program) -> tuple[NestFunction, ...]:
    """Returns the function that each Generic of a program becomes."""
    nests = [step for step in program.steps if isinstance(step, Generic)]
    names = ["kernel"] if len(nests) == 1 else [f"kernel_{number}" for number in range(len(nests))]
    return tuple(NestFunction(name, step, step.operands) for name, step in zip(names, nests, strict=True))


def identity_of(combine: ReduceOp | Monoid, dtype: DType) -> complex:
    """Returns the initial value of an accumulation by an operator.

    Raises:
        UnsupportedError: for the greatest or least of complex numbers, which have no order.
    """
    if isinstance(combine, ReduceOp):
        combine = MONOIDS["plus"] if combine is ReduceOp.SUM else COMBINING[combine]
    return extreme_or(combine.identity, dtype)


def place_of(subscript: Subscript) -> Place:
    """Returns a subscript as data."""
    match subscript:
        case IndexVar(name):
            return IndexSum(((1, name),))
        case AffineSubscript(terms, constant):
            return IndexSum(tuple((coefficient, variable.name) for coefficient, variable in terms), constant)
        case Access(tensor):
            return Gathered(tensor, tuple(variable.name for variable in subscript.indices))

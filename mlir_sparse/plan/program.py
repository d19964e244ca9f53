"""What the planner makes of a kernel: steps, each of which the sparsifier is known to take."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from mlir_sparse.affine import AffineMap
from mlir_sparse.encoding import TensorType
from mlir_sparse.notation import Access, AffineSubscript, Expr, IndexVar, Monoid, ReduceOp, reads, walk
from mlir_sparse.notation.operator import Extreme, Number
from mlir_sparse.spec import KernelSpec

__all__ = [
    "Conversion",
    "Extent",
    "FibreView",
    "Frame",
    "Generic",
    "LevelView",
    "Located",
    "LocatedRows",
    "Meeting",
    "Pick",
    "Position",
    "Program",
    "Rows",
    "Step",
    "combining_name",
    "values_read",
]


class Meeting(Enum):
    """How the payload of a Generic meets the output's present value."""

    REPLACE = "="
    START = "from the identity"
    CONTINUE = "onto the present value"


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a variable runs that is a sum of levels: beyond the tensor's edges, over zeros.

    Arrays that it indexes are given that room before the loops, and lose it after.

    Args:
        variable: the index variable.
        subscript: what stands for it in the loops, counted from the least value it takes.
        operand: the tensor whose storage says how far it runs.
        dim: which of its dimensions the variable is.
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
        meeting: how the payload meets what the output holds.
        combine: the operator of the accumulation.
        loops: the loop order, outermost first.
        reductions: those of the loops that the output does not have.
        payload: the scalar computation, free of reductions.
        in_order: whether the sparsifier must keep the loop order (blocked operands are scheduled by it instead).
        reason: why the plan has this step.
        frames: the variables that are sums of levels, where an operand is read in level space.
        extents: operands that are not read, but say how far the variables run that stand in sums only.
        order_reason: why the loops run in this order, where there was a choice.
        start: what an accumulation starts from, dense and elementwise; None for the identity.
        sampled: the operand at whose stored entries the result has its elements, in their order, one for each; None
            where the target says which element is computed.
        short: whether rows of the sparse operand are fibres, of a few entries as a rule.
    """

    target: Access
    meeting: Meeting
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
    short: bool = False

    @property
    def result(self) -> str:
        """Returns the name of the value computed."""
        return self.target.tensor

    @property
    def computed(self) -> Access:
        """Returns the result as loops compute it: at index variables, also where it holds what is at entries."""
        return self.target if self.sampled is None else replace(self.sampled, tensor=self.result)

    @property
    def gathers(self) -> bool:
        """Returns whether a reduction runs outside the result's last variable, whose row must then be gathered."""
        variables = self.computed.subscripts
        return bool(self.reductions) and set(self.loops[: len(variables)]) != set(variables)

    def at_entries(self, target: Access, sampled: Access, reason: str) -> Generic:
        """Returns the loops with the values at the entries of an operand as their result.

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
            if self.meeting is Meeting.REPLACE
            else "+="
            if self.combine is ReduceOp.SUM
            else f"{combining_name(self.combine)}="
        )
        origin = "the identity" if self.start is None else self.start
        start = f" from {origin}" if self.meeting is Meeting.START else ""
        at = "" if self.sampled is None else f" at each entry of {self.sampled}"
        return f"{self.target} {sign} {self.payload}{start}{at}; loops {order}  # {self.reason}"


def combining_name(combine: ReduceOp | Monoid) -> str:
    """Returns how notation calls what a loop nest accumulates by."""
    return combine.name if isinstance(combine, Monoid) else combine.value


@dataclass(frozen=True, slots=True)
class Conversion:
    """A change of storage, done natively between kernels.

    Args:
        result: the name of the new value.
        operand: the value to convert.
        drop_zeros: whether explicit zeros go, as they must where a dense value becomes sparse.
        reason: why the plan has this step.
        missing: the value that an element has which is no entry, where a dense value becomes sparse.
        otherwise: what going without the conversion would cost.
    """

    result: str
    operand: str
    drop_zeros: bool
    reason: str
    missing: Number | Extreme = 0
    otherwise: str = ""

    def __str__(self) -> str:
        return f"{self.result} = convert {self.operand}  # {self.reason}"


@dataclass(frozen=True, slots=True)
class LevelView:
    """A tensor read as the plain tensor over levels that its buffers are.

    Args:
        result: the name of the view.
        operand: the tensor.
        reason: why the plan has this step.
    """

    result: str
    operand: str
    reason: str

    def __str__(self) -> str:
        return f"{self.result} = levels of {self.operand}  # {self.reason}"


@dataclass(frozen=True, slots=True)
class Located:
    """A sparse tensor whose elements are looked up by their coordinates; it takes no room.

    Loops read it as an array. Where it has no entry, a turn is as if it had not been made; or there are zeros.

    Args:
        result: the name of the value.
        operand: the tensor, or its view over levels.
        source: the tensor.
        coordinates: those of each level of the operand, by coordinates and sizes of the tensor.
        whole: whether there are zeros where it has no entry.
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
    """A sparse tensor read as if its outermost level were dense: where each row begins is searched for.

    Args:
        result: the name of the value.
        operand: the tensor.
        first: which of its buffers is the first of the value that is not searched.
        stride: how far its second level's coordinates are apart, and from where on.
        reason: why the plan has this step.
    """

    result: str
    operand: str
    first: int
    stride: tuple[int, int]
    reason: str

    def __str__(self) -> str:
        return f"{self.result} = rows of {self.operand}, by a search  # {self.reason}"


@dataclass(frozen=True, slots=True)
class FibreView:
    """A tensor read as its stored fibres, one after another: a dimension counts them, the rest is that of a fibre.

    Args:
        result: the name of the view.
        operand: the tensor.
        depth: how many levels are above the fibres.
        reason: why the plan has this step.
    """

    result: str
    operand: str
    depth: int
    reason: str

    def __str__(self) -> str:
        return f"{self.result} = fibres of {self.operand} below {self.depth} levels  # {self.reason}"


@dataclass(frozen=True, slots=True)
class Rows:
    """A tensor with the levels of another above its fibres, and a computed row for each fibre; or with all its levels.

    Args:
        result: the name of the tensor.
        operand: the rows, dense; values, where all levels are taken.
        structure: whose levels it has.
        depth: how many of them.
        variables: the index variable of each dimension of the result.
        reason: why the plan has this step.
    """

    result: str
    operand: str
    structure: str
    depth: int
    variables: tuple[IndexVar, ...]
    reason: str

    def __str__(self) -> str:
        return f"{self.result} = {self.operand} below {self.depth} levels of {self.structure}  # {self.reason}"


@dataclass(frozen=True, slots=True)
class Extent:
    """A vector as long as an index variable runs, whose elements nobody reads.

    A loop's bounds are those of an axis that it runs over, which a variable that
    only stands in sums (the `k` of `x(2*i + k)`) has not.

    Args:
        result: the name of the vector.
        variable: the index variable.
        reason: why the plan has this step.
    """

    result: str
    variable: IndexVar
    reason: str

    def __str__(self) -> str:
        return f"{self.result} = extent of {self.variable}  # {self.reason}"


@dataclass(frozen=True, slots=True)
class Pick:
    """The elements that an access reads, as a tensor over its variables; done natively between kernels.

    Args:
        result: the name of the new value, a dimension for each variable of the access.
        operand: the tensor that is read.
        access: which of its elements: gathered, on a diagonal, or strided.
        reason: why the plan has this step.
    """

    result: str
    operand: str
    access: Access
    reason: str

    def __str__(self) -> str:
        return f"{self.result} = pick {self.access}  # {self.reason}"


@dataclass(frozen=True, slots=True)
class Position:
    """The first position of the greatest or least value along the last axis, done natively between kernels.

    Args:
        result: the name of the new value, dense.
        operand: the value to look in; zeros that it does not store count.
        greatest: whether to look for the greatest.
        reason: why the plan has this step.
    """

    result: str
    operand: str
    greatest: bool
    reason: str

    def __str__(self) -> str:
        return f"{self.result} = arg{'max' if self.greatest else 'min'} {self.operand}  # {self.reason}"


Step = Generic | Conversion | LevelView | Located | LocatedRows | FibreView | Rows | Extent | Pick | Position


def values_read(step: Step) -> tuple[str, ...]:
    """Returns the names of the values that a step reads, each as often as it does."""
    match step:
        case Generic():
            read = (step.payload,) if step.start is None else (step.payload, step.start)
            return tuple(node.tensor for body in read for node in walk(body) if isinstance(node, Access))
        case Extent():
            return ()
        case Pick():
            return tuple(access.tensor for access in reads(step.access))
        case Rows():
            return step.operand, step.structure
        case _:
            return (step.operand,)


@dataclass(frozen=True, slots=True)
class Program:
    """A planned kernel.

    Args:
        spec: the kernel.
        types: (name, type) of every value: inputs, temporaries, the result.
        steps: what to do, in order.
        result: the name of the value returned.
        notes: (name, text): why there are temporaries.
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

"""A kernel before it is planned: an assignment joined with the types of its tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mlir_sparse.classes import dataclass
from mlir_sparse.encoding import TensorType
from mlir_sparse.notation import Access, Assignment, IndexVar, Subscript, chosen_values, reads, with_explicit_sums
from mlir_sparse.process.forks import cached_property
from mlir_sparse.spec.rewriting import Rewriting
from mlir_sparse.spec.rounded_literals import round_literals
from mlir_sparse.spec.truth_arithmetic import as_logic, updates_numbers

__all__ = ["KernelSpec"]


@dataclass(frozen=True)
class KernelSpec:
    """An assignment, the type of every tensor it reads, and the type of its result.

    Args:
        assignment: the statement as the user wrote it.
        inputs: (name, type) of each tensor read, in the order of `assignment.inputs`.
        output: the type of the result; its storage is the user's choice, or inferred.
        rewriting: another way to compute it; None for the statement as it is written.
    """

    assignment: Assignment
    inputs: tuple[tuple[str, TensorType], ...]
    output: TensorType
    rewriting: Rewriting | None = None

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        # Found once: caches are asked for a kernel many times, and each time all of its nodes would count.
        return hash((self.assignment, self.inputs, self.output, self.rewriting))

    def __getstate__(self) -> dict[str, Any]:
        # Hashes of texts differ from process to process.
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}

    @cached_property
    def explicit(self) -> Assignment:
        """Returns the assignment to compute: reductions are explicit, arithmetic of truth values is logic."""
        dtypes = {name: kind.dtype for name, kind in self.inputs}
        found = with_explicit_sums(updates_numbers(self.assignment, dtypes))
        if self.output.encoding is None:  # no entries to drop
            found = replace(found, value=chosen_values(found.value))
        found = as_logic(found, dtypes)
        value = round_literals(found.value, dtypes, self.output.dtype)
        return found if value is found.value else replace(found, value=value)

    @property
    def planned(self) -> Assignment:
        """Returns the assignment that loops are planned for: the explicit one, or the rewritten one."""
        explicit = self.explicit
        return explicit if self.rewriting is None else replace(explicit, value=self.rewriting.value)

    def type_of(self, tensor: str) -> TensorType:
        """Returns the type of an input by name."""
        return dict(self.inputs)[tensor]

    def named(self, extents: Mapping[IndexVar, int], shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
        """Returns extents by the names of variables, those of the rewriting included.

        Args:
            extents: the extent of each variable of the text.
            shapes: the shape of each operand.
        """
        found = {variable.name: extent for variable, extent in extents.items()}
        if self.rewriting is None:
            return found
        found |= {name: shapes[tensor][axis] for name, tensor, axis in self.rewriting.gathered}
        return found | {name: found[written] for name, written in self.rewriting.renamed}

    def with_static_extents(self) -> KernelSpec:
        """Returns the kernel with every static extent in all types that share its variable.

        MLIR does not unify a static size with a dynamic one.
        """
        if all(size is None for kind in (self.output, *dict(self.inputs).values()) for size in kind.shape):
            return self
        extents, types = self.static_extents, dict(self.inputs)
        for access in self._accesses():
            types[access.tensor] = _with_extents(access, types[access.tensor], extents)
        inputs, output = tuple(types.items()), _with_extents(self.assignment.target, self.output, extents)
        return self if (inputs, output) == (self.inputs, self.output) else self._with(inputs=inputs, output=output)

    def _with(self, **changed: Any) -> KernelSpec:
        """Returns the kernel with other shapes or another rewriting: the explicit assignment is the same."""
        other = replace(self, **changed)
        if "explicit" in self.__dict__:
            other.__dict__["explicit"] = self.explicit
        return other

    def rewritten(self, rewriting: Rewriting | None) -> KernelSpec:
        """Returns the kernel computed in another way.

        Args:
            rewriting: the way; None for the statement as it is written.
        """
        return self if rewriting is self.rewriting else self._with(rewriting=rewriting)

    @property
    def static_extents(self) -> Mapping[IndexVar, int]:
        """Returns the extent of each index variable with a static extent in some type."""
        kinds = [(self.assignment.target, self.output), *((a, self.type_of(a.tensor)) for a in self._accesses())]
        return {
            subscript: size
            for access, kind in kinds
            for subscript, size in zip(access.subscripts, kind.shape, strict=True)
            if isinstance(subscript, IndexVar) and size is not None
        }

    def _accesses(self) -> list[Access]:
        found = list(self.assignment.reads)
        if self.rewriting is not None:  # it may have other variables
            known = dict(self.inputs)
            values = (*(part.value for part in self.rewriting.parts), self.rewriting.value)
            found += [access for value in values for access in reads(value) if access.tensor in known]
        return found

    def with_output_widths(self) -> KernelSpec:
        """Returns the kernel with the operands' widths, at least 32 bits, where the result's encoding names none.

        They stay open if no operand has any.
        """
        storage = self.output.encoding
        found = [kind.encoding for _, kind in self.inputs if kind.encoding is not None]
        if storage is None or not any(encoding.pos_width or encoding.crd_width for encoding in found):
            return self
        positions = storage.pos_width or max(32, *(encoding.pos_width or 64 for encoding in found))
        coordinates = storage.crd_width or max(32, *(encoding.crd_width or 64 for encoding in found))
        return replace(self, output=replace(self.output, encoding=storage.with_widths(positions, coordinates)))

    def with_open_blocks(self) -> KernelSpec:
        """Returns the kernel with dynamic extents if blocks do not divide an extent, or one block covers it.

        MLIR folds a loop over one block, and cannot lower the rest; with dynamic extents it can.
        """
        kinds = (self.output, *(kind for _, kind in self.inputs))
        if all(_divides(kind) for kind in kinds):
            return self
        inputs = tuple((name, replace(kind, shape=(None,) * kind.rank)) for name, kind in self.inputs)
        return replace(self, inputs=inputs, output=replace(self.output, shape=(None,) * self.output.rank))

    def __str__(self) -> str:
        types = ", ".join(f"{name}: {kind}" for name, kind in self.inputs)
        return f"{self.assignment} where {types} -> {self.output}"


def _with_extents(access: Access, kind: TensorType, extents: Mapping[IndexVar, int]) -> TensorType:
    def known(subscript: Subscript, size: int | None) -> int | None:
        return extents.get(subscript) if size is None and isinstance(subscript, IndexVar) else size

    return replace(kind, shape=tuple(map(known, access.subscripts, kind.shape)))


def _divides(kind: TensorType) -> bool:
    if kind.encoding is None:
        return True
    blocks = (kind.encoding.block_of(dim) for dim in range(kind.rank))
    pairs = zip(kind.shape, blocks, strict=True)
    return all(size is None or block == 1 or (size > block and size % block == 0) for size, block in pairs)

"""What statements have made that those after them may read: their parts, and their values."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from mlir_sparse.classes import dataclass
from mlir_sparse.dtypes import DType
from mlir_sparse.notation import Access
from mlir_sparse.plan.algebra.equal_parts import PartKey, key_of
from mlir_sparse.plan.algebra.normal_form import Factor, ProductTerm
from mlir_sparse.plan.algebra.tensor_facts import TensorFacts

__all__ = ["NOTHING_KNOWN", "KnownParts"]

# By key of a product and its element type the name, and which of the numbered variables each dimension is.
_Made = Mapping[tuple[PartKey, DType | None], tuple[str, tuple[int, ...]]]


@dataclass(frozen=True, slots=True)
class KnownParts:
    """Parts and results that are made already, which statements after them may read.

    Args:
        made: by key the name, and which of the numbered variables each dimension is.
        facts: what is known of each, by name.
    """

    made: _Made
    facts: Mapping[str, TensorFacts]

    def with_product(self, value: Access, factors: Sequence[Factor], facts: TensorFacts) -> KnownParts:
        """Returns these and a tensor that holds a product.

        Args:
            value: the tensor, at the variables that the product keeps.
            factors: the product.
            facts: what is known of the tensor.
        """
        product, numbered = key_of(factors, frozenset(value.indices))
        if (product, None) in self.made:
            return self
        places = tuple(numbered.index(variable) for variable in value.indices)
        made = {**self.made, (product, None): (value.tensor, places)}
        return KnownParts(made, {**self.facts, value.tensor: facts})

    def of(self, tensors: Collection[str], target: str) -> KnownParts:
        """Returns those that a statement may read, and those that are named after its target.

        Args:
            tensors: the names of the tensors that it reads.
            target: the name of its target.
        """
        names, made = set(tensors), dict[tuple[PartKey, DType | None], tuple[str, tuple[int, ...]]]()
        for key, value in self.made.items():
            texts = [str(text) for text, *_ in key[0].factors]
            # What begins with anything else is no name, but the text of an expression.
            there = all(text in names for text in texts if text.replace(".", "_").isidentifier())
            if there or value[0].startswith(f"{target}."):
                made[key] = value
                names.add(value[0])
        return KnownParts(made, {name: self.facts[name] for name, _ in made.values()})

    def joined(self, other: KnownParts) -> KnownParts:
        """Returns these and others."""
        return KnownParts({**self.made, **other.made}, {**self.facts, **other.facts})

    def product(self, terms: Sequence[ProductTerm], target: Access) -> Access | None:
        """Returns what holds the value of a statement that is one product; None if nothing does."""
        if len(terms) != 1 or terms[0].negative or not terms[0].bound:
            return None
        product, numbered = key_of(terms[0].factors, frozenset(target.indices))
        if (product, None) not in self.made:
            return None
        name, places = self.made[product, None]
        return Access(name, tuple(numbered[place] for place in places))


NOTHING_KNOWN = KnownParts({}, {})

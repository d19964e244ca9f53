"""Sets of factors of a product: the variables of each, and those that it keeps where it is a part.

A factor is a bit, and a set of factors a number with their bits. Above them are those of variables that the set keeps
although nothing else has them: they are summed later, by what reads the part.
"""

from __future__ import annotations

from collections.abc import Sequence

from mlir_sparse.plan.algebra.estimates import EntrySet, bits_of

__all__ = ["FactorSets", "Members"]

Members = int
"""The bits of a set of factors, and above them those of the variables that are summed later."""


class FactorSets:
    """The sets of factors of a product.

    Args:
        relations: what each factor is to estimates.
        kept: the variables of the result.
    """

    def __init__(self, relations: Sequence[EntrySet], kept: int) -> None:
        self.whole: Members = (1 << len(relations)) - 1
        self._count = len(relations)
        self._relations = {1 << number: relation for number, relation in enumerate(relations)}
        self._result = kept
        self._linked: dict[Members, bool] = {}
        self._kept: dict[Members, int] = {}
        self._variables: dict[Members, int] = {0: 0}
        # The factors that are read as they are: no variable is summed over in one of them alone.
        self._plain = sum(one for one, each in self._relations.items() if each.variables == self.kept(one))

    def kept(self, members: Members) -> int:
        """Returns the variables of a set that the result or other factors have, or that are summed later."""
        found = self._kept.get(members)
        if found is None:
            others = self._result | self.variables(self.whole & ~members) | members >> self._count
            found = self._kept[members] = self.variables(members) & others
        return found

    def variables(self, members: Members) -> int:
        """Returns the variables of a set."""
        found = self._variables.get(members)
        if found is None:
            found = 0
            for one in bits_of(members & self.whole):
                found |= self._relations[one].variables
            self._variables[members] = found
        return found

    def relations_of(self, members: Members) -> list[EntrySet]:
        """Returns what the factors of a set are to estimates."""
        return [self._relations[one] for one in bits_of(members & self.whole)]

    def keeping(self, members: Members, late: int) -> Members:
        """Returns a set that keeps some variables more, those of them that it has and does not keep yet."""
        return members | (late & self.variables(members) & ~self.kept(members)) << self._count

    def late(self, members: Members) -> int:
        """Returns the variables that a set keeps although nothing else has them."""
        return members >> self._count

    def is_read(self, part: Members) -> bool:
        """Returns whether a part is a factor that is read as it is: no variable is summed over in it alone."""
        if part <= self.whole:
            return not part & (part - 1) and bool(part & self._plain)
        factor = part & self.whole
        return not factor & (factor - 1) and self._relations[factor].variables == self.kept(part)

    def is_linked(self, members: Members) -> bool:
        """Returns whether variables link all factors of a set: a product of others is larger than both."""
        found = self._linked.get(members)
        if found is None:
            first, *left = (one.variables for one in self.relations_of(members))
            reached = first
            while left:
                apart = [own for own in left if own and not own & reached]
                if len(apart) == len(left):
                    break
                for own in left:
                    reached |= own if not own or own & reached else 0
                left = apart
            found = self._linked[members] = not left
        return found

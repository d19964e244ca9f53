"""The operations on two numbers that index notation writes between its operands."""

from __future__ import annotations

from enum import Enum

__all__ = ["BinaryOp"]


class BinaryOp(Enum):
    """An operator between two expressions: arithmetic, comparison or logic.

    Comparisons and logic give truth values, 0 or 1; in logic every number except zero is true.
    """

    ADD = "+"
    SUB = "-"
    MUL = "*"
    DIV = "/"
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    EQ = "=="
    NE = "!="
    AND = "&"
    OR = "|"

    def __init__(self, text: str) -> None:
        # Looked up here once: members of an Enum take long to find in a set.
        self._compares = text in ("<", "<=", ">", ">=", "==", "!=")
        self._gives_truth = self._compares or text in ("&", "|")

    @property
    def compares(self) -> bool:
        """Returns whether the operator is one of `< <= > >= == !=`."""
        return self._compares

    @property
    def gives_truth(self) -> bool:
        """Returns whether the result is 0 or 1 for all operands."""
        return self._gives_truth

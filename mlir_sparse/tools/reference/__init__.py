"""What a kernel must give: an evaluator of index notation in NumPy that shares nothing with the compiler.

>>> import numpy as np
>>> from mlir_sparse.notation.ast import Access, AssignOp, Assignment, IndexVar
>>> i, j = IndexVar("i"), IndexVar("j")
>>> row_sums = Assignment(Access("y", (i,)), AssignOp.ASSIGN, Access("A", (i, j)))
>>> matrix = Operand(np.array([1.0, 2.0, 4.0]), (2, 2), (np.array([0, 0, 1]), np.array([0, 1, 1])))
>>> evaluate(row_sums, Block({"A": matrix}, {"i": 2, "j": 2})).values
array([3., 4.])
"""

from mlir_sparse.tools.reference.access import Block, Operand
from mlir_sparse.tools.reference.compare import Comparison, compare
from mlir_sparse.tools.reference.evaluator import evaluate

__all__ = ["Block", "Comparison", "Operand", "compare", "evaluate"]

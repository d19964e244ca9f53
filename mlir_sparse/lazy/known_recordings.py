"""Recordings that were made before: equal ones on operands of equal types and shapes share what is known of them.

So an expression that a loop records again takes neither its steps nor their checks, until somebody asks for them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

import numpy as np

from mlir_sparse.tensor import SparseTensor

__all__ = ["Operands", "RecordedForm", "keep_form", "known_form", "merged_operands", "operand_key"]

# Enough for the expressions of a program.
_CAPACITY = 1024
# Expressions of more operands take much longer to compute than to record, and each step lists its operands.
_MOST_OPERANDS = 8
# So many steps, one of which reads another, are left for later at most: Python's stack has them all then.
_MOST_STEPS = 32

Operands = tuple[SparseTensor | np.ndarray[Any, Any], ...]


class RecordedForm:
    """What an expression is, whatever its data: of its operands it holds none. It is equal to itself alone.

    Args:
        steps: how many steps there are from an operand to it.
    """

    __slots__ = ("steps",)

    def __init__(self, steps: int) -> None:
        self.steps = steps


# Its `popitem` is one step, where threads record at once. A form that it drops is made anew, and is another one then.
_forms: OrderedDict[Hashable, RecordedForm] = OrderedDict()


def operand_key(source: Any) -> Hashable:
    """Returns what decides how an operand is recorded; None where its elements might, or where it is brought in form.

    Args:
        source: any object.
    """
    if type(source) is SparseTensor:
        storage = source._storage
        return storage.encoding, storage.values.dtype, source._shape
    if type(source) is not np.ndarray:
        return None
    shape = source.shape
    # Numbers count where they meet sparse operands: they must be finite there.
    if not shape or 1 in shape or not source.flags.c_contiguous or not source.dtype.isnative:
        return None
    return source.dtype, shape


def known_form(key: Hashable) -> RecordedForm | None:
    """Returns the form of a recording that was made before.

    Args:
        key: the step, the forms of what it reads, and which operands they share.
    """
    return _forms.get(key)


def keep_form(key: Hashable, *read: RecordedForm) -> RecordedForm | None:
    """Returns the form of a recording that was made, which further ones like it have too; None after many steps.

    Args:
        key: as for `known_form`.
        read: the forms of what the step reads; none for an operand.
    """
    steps = max((one.steps for one in read), default=-1) + 1
    if steps > _MOST_STEPS:
        return None
    while len(_forms) >= _CAPACITY:
        _forms.popitem(last=False)
    return _forms.setdefault(key, RecordedForm(steps))


def merged_operands(left: Operands, right: Operands) -> tuple[Operands, tuple[int, ...] | None] | None:
    """Returns the operands of two expressions, each once, and their places among them; None for many.

    The places are None where the two share none.
    """
    together = left + right
    if len(together) > _MOST_OPERANDS:
        return None
    merged = {id(one): one for one in together}
    if len(merged) == len(together):
        return together, None
    order = [*merged]
    return tuple(merged.values()), tuple([order.index(id(one)) for one in together])

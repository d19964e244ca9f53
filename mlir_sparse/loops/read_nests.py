"""Compares the loops of sparsified code with those that the plan expects.

Strategies recognise loops of the forms that the sparsifier is known to write. A compiler that writes others would cost
speed without a word, so loops of other forms get a remark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from mlir_sparse._mlir import ir
from mlir_sparse.loops.model import loop_of
from mlir_sparse.loops.operation_index import Seen
from mlir_sparse.loops.remarks import Missed, loops_by_depth
from mlir_sparse.program.loop_form import LoopForm
from mlir_sparse.text.listed_words import listed

__all__ = ["remark_other_loops"]

# What remarks call this.
_READ_LOOPS = "read-loops"


def remark_other_loops(seen: Seen) -> None:
    """Says which loops have other forms than the plan expects, if somebody asks.

    Args:
        seen: a module as the sparsifier made it.
    """
    for function in seen.whole.named("func.func") if seen.remarks.wanted else ():
        expected = seen.remarks.expected_in(function).forms
        for loops, wanted in zip_longest(loops_by_depth(function), expected, fillvalue=()):
            why = _difference(loops, frozenset(wanted))
            if why:
                seen.remarks.of(loops[0] if loops else function, Missed(why), _READ_LOOPS)


def _difference(loops: Sequence[ir.Operation], wanted: frozenset[LoopForm]) -> str:
    """Returns how loops at one depth differ from what the plan expects; "" if they do not."""
    read = {loop: None if (found := loop_of(loop)) is None else found.form for loop in loops}
    unread = dict.fromkeys(f"an {loop.name} that no strategy reads" for loop, form in read.items() if form is None)
    forms = frozenset(form for form in read.values() if form is not None)
    if forms == wanted and not unread:
        return ""
    came = [*([_text_of(forms)] if forms or not unread else []), *unread]
    return f"the plan expects {_text_of(wanted)}, but the compiler in use writes {listed(came)}"


def _text_of(forms: Iterable[LoopForm]) -> str:
    found = [form.value for form in LoopForm if form in forms]
    return f"loops over {listed(found)}" if found else "no loop"

"""Decides how loop nests are cut into parallel chunks, or why they are not.

A chunk runs the loop nest on a part of the operands: a range of the outermost index variable, for all operands that
have it. In dense arrays and dense levels the part is a slice. In compressed levels it is the entries with coordinates
in the range; all operands must then be compressed, so that no loop runs outside of a chunk's entries. Each chunk has
its own rows of the result; if the result lacks the variable, the reduction's operator combines the chunks' results.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mlir_sparse.affine import Constant
from mlir_sparse.encoding import Encoding, TensorType
from mlir_sparse.encoding.buffer_layout import buffer_numbers, level_buffers
from mlir_sparse.encoding.levels.level_loops import LevelLoop, LoopKind
from mlir_sparse.notation import (
    Access,
    AffineSubscript,
    Call,
    IndexVar,
    Literal,
    Subscript,
    accesses_of,
    walk,
)
from mlir_sparse.plan.chunk_operators import native_operator, refused_combination
from mlir_sparse.plan.order.co_iteration import products, walks
from mlir_sparse.plan.order.storage_choice import is_sparse, level_variables
from mlir_sparse.plan.plan_steps import AccumulateMode, Generic, combining_name, identity_of, place_of
from mlir_sparse.program import Cut, CutResult, IndexSum, StoredCut

__all__ = ["choose_cut"]

Types = Mapping[str, TensorType]

# The functions that take several nanoseconds, and about as many entries as one of them lasts.
_EXPONENTIALS = "cbrt exp exp2 expm1 log log2 log10 log1p pow logaddexp logaddexp2 erf"
_ANGLES = "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sinc atan2"
_LONG_FUNCTIONS = frozenset([*_EXPONENTIALS.split(), *_ANGLES.split()])
_LONG = 4


def choose_cut(step: Generic, types: Types) -> Cut | str:
    """Returns the cut of a loop nest into chunks, or why there is none.

    Args:
        step: the loop nest.
        types: the types of the values.
    """
    if not step.loops:
        return "there are no loops"
    found = _along_first(step, types)
    if isinstance(found, Cut) and found.outcome != "added":
        return found
    return _along_rows(step, types) or found


def _along_rows(step: Generic, types: Types) -> Cut | None:
    """Returns the cut along rows below diagonals, slots and the like; None if there is none."""
    stored = [access for access in (*accesses_of(step.payload), *step.extents) if types[access.tensor].encoding]
    if types[step.result].encoding is not None or len(set(stored)) != 1:
        return None
    if step.mode is AccumulateMode.REPLACE or step.sampled is not None:
        return None
    encoding = _encoding(stored[0], types)
    for level, spec in enumerate(encoding.levels):
        dims = tuple(spec.expr.dims())
        kind = spec.type
        if level == 0 or not kind.functions.has_full_loop or kind.interval is not None or len(dims) != 1:
            continue
        variable = stored[0].subscripts[dims[0]]
        alone = [other for other in encoding.levels if dims[0] in other.expr.dims()] == [spec]
        if not alone or not isinstance(variable, IndexVar) or variable not in step.target.subscripts:
            continue
        if [_has(subscript, variable) for subscript in stored[0].subscripts].count(True) != 1:
            continue
        part = _walked(step, stored[0], encoding, 1, False, level)
        if isinstance(part, StoredCut):
            return _cut(step, variable, "apart", (part,), types)
    return None


def _cut(
    step: Generic,
    variable: IndexVar,
    outcome: CutResult,
    stored: tuple[StoredCut, ...],
    types: Types,
    reached: int | None = None,
) -> Cut:
    output = types[step.result]
    arguments = (*step.operands, *((step.target,) if output.encoding is None else ()))
    return Cut(
        variable=variable.name,
        compressed=any(part.compressed for part in stored),
        outcome=outcome,
        stored=stored,
        axes=tuple(
            axis
            for number, access in enumerate(arguments)
            if types[access.tensor].encoding is None
            for axis in _axes(number, access, variable)
        ),
        factors=_factors(step, variable, types),
        fills=step.mode is AccumulateMode.START and step.start is None and step.sampled is None,
        identity=_identity(step, output),
        combine=f"{native_operator(step.combine) or combining_name(step.combine)} {output.dtype.numpy.name}",
        reached=reached,
        weight=_weight(step) if outcome == "apart" else 1,
    )


def _weight(step: Generic) -> int:
    """Returns how many entries take as long as one of this nest: more where each calls a function of C's library.

    Chunks with results that are combined do not count functions: their number decides how sums are rounded.
    """
    calls = (node for node in walk(step.payload) if isinstance(node, Call) and _is_long(node))
    inner = step.loops[-1]  # what lacks its variable is computed outside of its loop
    return _LONG if any(inner in access.indices for call in calls for access in accesses_of(call)) else 1


def _is_long(call: Call) -> bool:
    return call.function in _LONG_FUNCTIONS and not any(isinstance(each, Literal) for each in call.arguments[1:])


def _axes(number: int, access: Access, variable: IndexVar) -> list[tuple[int, int, int, bool]]:
    """Returns the axes of an array that are cut."""
    found = []
    for dim, subscript in enumerate(access.subscripts):
        place = place_of(subscript)
        assert isinstance(place, IndexSum), "gathered elements are picked before the loops"
        terms = [coefficient for coefficient, name in place.terms if name == variable.name]
        found += [(number, dim, coefficient, subscript == variable) for coefficient in terms]
    return found


def _identity(step: Generic, output: TensorType) -> str:
    """Returns the bytes of an accumulation's initial value, as hexadecimal digits."""
    if output.encoding is not None or step.mode is AccumulateMode.REPLACE:
        return ""
    return np.array(identity_of(step.combine, output.dtype), output.dtype.numpy).tobytes().hex()


def _along_first(step: Generic, types: Types) -> Cut | str:
    variable = step.loops[0]
    stored = _stored(step, variable, types)
    if isinstance(stored, str):
        return stored
    by_lists = any(part.compressed for part in stored)
    if by_lists:
        refused = _refused_lists(step, variable, stored, types)
        if refused:
            return refused
        # Products with rows of dense levels have entries only where the compressed operands have some.
        stored = tuple(part for part in stored if part.compressed)
    outcome = _outcome(step, variable, by_lists, types)
    refused = _refused_result(step, variable, outcome, types)
    if refused:
        return refused
    reached = _reached(step, stored, types) if outcome == "added" else None
    return _cut(step, variable, outcome, stored, types, reached)


def _reached(step: Generic, stored: tuple[StoredCut, ...], types: Types) -> int | None:
    """Returns the coordinates buffer below dense rows, if the coordinates are rows of the result."""
    if len(stored) != 1 or stored[0].compressed or stored[0].block != 1 or not step.target.subscripts:
        return None
    access, row = step.operands[stored[0].argument], step.target.subscripts[0]
    encoding = _encoding(access, types)
    if not encoding.is_permutation or stored[0].steps[:1] != (("positions", 0),) or not isinstance(row, IndexVar):
        return None
    if level_variables(access, encoding)[1] != row or not encoding.level_types[1].has_coordinates:
        return None
    for product in products(step.payload, types):
        if not any((one.access, one.level) == (access, 1) for one in walks(product, row, step.loops, types)):
            return None
    return 1


def _factors(step: Generic, variable: IndexVar, types: Types) -> tuple[str, ...]:
    """Returns the index variables over which each entry is used again."""
    met = {index for a in accesses_of(step.payload) if is_sparse(types[a.tensor]) for index in a.indices}
    return tuple(other.name for other in step.loops if other != variable and other not in met)


def _stored(step: Generic, variable: IndexVar, types: Types) -> tuple[StoredCut, ...] | str:
    found = []
    for access in dict.fromkeys((*accesses_of(step.payload), *step.extents)):
        encoding = types[access.tensor].encoding
        if encoding is None or variable not in access.indices:
            continue
        part = _part(step, access, encoding, variable)
        if isinstance(part, str):
            return part
        found.append(part)
    return tuple(found)


def _part(step: Generic, access: Access, encoding: Encoding, variable: IndexVar) -> StoredCut | str:
    """Returns the cut of an operand, or why there is none."""
    dims = [dim for dim, subscript in enumerate(access.subscripts) if _has(subscript, variable)]
    levels = encoding.levels
    naming = [level for level, spec in enumerate(levels) if dims[0] in spec.expr.dims()]
    alone = len(dims) == 1 and access.subscripts[dims[0]] == variable
    if not alone or naming[0] != 0 or tuple(levels[0].expr.dims()) != (dims[0],):
        return f"the first level of {access.tensor} is not one of {variable}"
    block = encoding.block_of(dims[0])
    if (len(naming) > 1) != (block > 1):
        return f"{access.tensor} has several levels of {variable}"
    kind = levels[0].type
    by_list = kind.has_positions and kind.has_coordinates
    if by_list and block > 1:
        return f"{access.tensor} lists blocks"
    if not by_list and (not kind.functions.has_full_loop or kind.interval is not None):
        return f"the first level of {access.tensor} is {kind}"
    return _walked(step, access, encoding, block, by_list)


def _walked(
    step: Generic, access: Access, encoding: Encoding, block: int, by_list: bool, first: int = 0
) -> StoredCut | str:
    steps: list[tuple[str, int]] = []
    shifts: list[tuple[int, int, int]] = []
    begins, aos, numbers = by_list, encoding.aos_levels, buffer_numbers(encoding)
    for level, kind in list(enumerate(encoding.level_types))[first + 1 :]:
        match kind.loop:
            case LevelLoop(LoopKind.SEGMENTS, factor):
                buffer = numbers[level, "positions"]
                if not begins:
                    shifts.append((buffer, len(steps), factor))
                begins = True  # positions give the levels below
                steps.append(("segments" if factor == 2 else "positions", buffer))
            case LevelLoop(LoopKind.FULL):
                steps.append(("level", level))
            case LevelLoop(LoopKind.GROUPS, kept):
                steps.append(("times", kept))
                if not begins:
                    shifts.append((numbers[level, "coordinates"], len(steps), 1))
            case LevelLoop(LoopKind.CHAINED) if begins:
                pass
            case _:
                return f"a level of {access.tensor} is {kind}"
    if not begins:
        shifts.append((len(level_buffers(encoding)), len(steps), 1))
    stride = len(aos) if 0 in aos else 1
    ordered, argument = encoding.level_types[first].ordered, step.operands.index(access)
    return StoredCut(access.tensor, argument, by_list, block, tuple(steps), tuple(shifts), stride, ordered, first)


def _refused_lists(step: Generic, variable: IndexVar, stored: tuple[StoredCut, ...], types: Types) -> str:
    """Returns why loops over compressed levels cannot be cut at stored coordinates; empty if they can."""
    for product in products(step.payload, types):
        if not walks(product, variable, step.loops, types):
            return f"{variable} is counted, with lists alongside"
    lists = [part for part in stored if part.compressed]
    for part in lists:
        first = _encoding(step.operands[part.argument], types).level_types[0]
        if not first.ordered and (len(lists) > 1 or not first.unique):
            return f"the coordinates of {part.tensor} are in no order"
    return (
        f"what {variable} does not reach is given a value"
        if step.mode is AccumulateMode.REPLACE and step.sampled is None and _is_dense(step, types)
        else ""
    )


def _outcome(step: Generic, variable: IndexVar, by_lists: bool, types: Types) -> CutResult:
    if types[step.result].encoding is not None:
        return "joined"
    if step.sampled is not None:
        # A chunk has its own rows of the operand, and their positions are those in the result.
        return "apart"
    sums = [subscript for subscript in step.target.subscripts if _has(subscript, variable)]
    of_blocks = not by_lists and any(_is_of_blocks(subscript, variable, step, types) for subscript in sums)
    return "apart" if variable in sums or of_blocks else "added"


def _refused_result(step: Generic, variable: IndexVar, outcome: CutResult, types: Types) -> str:
    """Returns why results of chunks cannot be combined; empty if they can."""
    output = types[step.result]
    if output.encoding is not None:
        first = level_variables(step.target, output.encoding)[:1] == (variable,)
        return "" if first else f"the first level of {step.result} is not one of {variable}"
    if step.sampled is not None:
        first = level_variables(step.sampled, _encoding(step.sampled, types))[:1] == (variable,)
        return "" if first else f"the first level of {step.sampled.tensor} is not {variable}"
    if outcome == "apart":
        return ""
    return refused_combination(step, output.dtype)


def _is_of_blocks(subscript: Subscript, variable: IndexVar, step: Generic, types: Types) -> bool:
    """Returns whether a sum of levels takes other values for each value of one: that of blocks, the rest within one."""
    frame = next((frame for frame in step.frames if frame.subscript == subscript), None)
    encoding = None if frame is None else types[frame.operand].encoding
    if frame is None or encoding is None:
        return False
    views = encoding.level_space().views  # the outermost loops run over these, in order
    sizes = {loop: view.size for loop, view in zip(step.loops, views, strict=False)}
    factors = {other: factor for factor, other in frame.subscript.terms}
    block, reach = factors.pop(variable), 0
    for other, factor in factors.items():
        size = sizes.get(other)
        if not isinstance(size, Constant):
            return False
        reach += abs(factor) * (size.value - 1)
    return reach < abs(block)


def _is_dense(step: Generic, types: Types) -> bool:
    return types[step.result].encoding is None


def _encoding(access: Access, types: Types) -> Encoding:
    encoding = types[access.tensor].encoding
    assert encoding is not None
    return encoding


def _has(subscript: object, variable: IndexVar) -> bool:
    match subscript:
        case IndexVar():
            return subscript == variable
        case AffineSubscript(terms):
            return any(other == variable for _, other in terms)
        case _:
            return False

"""Operations of the sparse_tensor dialect whose syntax is another today, each as a rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mlir_sparse.migration.operation_facts import OldOperation, Rule
from mlir_sparse.text.edits import Edit
from mlir_sparse.text.mlir_tokens import UnreadableError

__all__ = ["SPARSE_RULES"]

_STABLE, _QUICK = "insertion_sort_stable", "hybrid_quick_sort"
_ALGORITHMS = ("hybrid_quick_sort", "quick_sort", "heap_sort", _STABLE)
_FIELDS = {"dim_sz": "lvl_sz", "ptr_mem_sz": "pos_mem_sz", "idx_mem_sz": "crd_mem_sz"}


def _level_buffer(name: str) -> Rule:
    """Returns the rule of `pointers` and `indices`: a level in an attribute was a dimension, or an operand."""

    def rule(operation: OldOperation) -> Iterator[Edit]:
        text, at = operation.text, operation.at
        yield operation.rename(name)
        after = operation.after_operand(at + 1)
        if text.word(after) == ",":
            level = operation.facts.constant(text.word(after + 1), at)
            yield operation.replace(after, after + 2, f" {{ level = {level} : index }}")
            return
        for place in range(after, text.after_bracket(after)):
            if text.word(place) == "dimension" and text.word(place + 1) == "=":
                yield operation.replace(place, place + 1, "level")

    return rule


def _new(operation: OldOperation) -> Iterable[Edit]:
    if operation.text.word(operation.at + 1) == "expand_symmetry":
        raise UnreadableError(
            "today a symmetric file gives the triangle that it stores: write a general file, and no expand_symmetry"
        )
    return ()


def _init(operation: OldOperation) -> Iterator[Edit]:
    """`init [%m, %n] : tensor<?x4xf64>`: sizes of static extents were operands too."""
    text, at = operation.text, operation.at
    stop = text.after_bracket(text.expect(at + 1, "[") - 1)
    sizes = [text.word(place) for place in range(at + 2, stop - 1) if text.word(place) != ","]
    end = text.after_type(text.expect(stop, ":"))
    extents = operation.facts.shape(text.between(stop + 1, end)).extents
    if len(sizes) != len(extents):
        raise UnreadableError(f"expected {len(extents)} sizes, but got {len(sizes)}")
    dynamic = [size for size, extent in zip(sizes, extents, strict=True) if extent is None]
    yield operation.replace(at, stop, f"tensor.empty({', '.join(dynamic)})")


def _insert(operation: OldOperation) -> Iterator[Edit]:
    yield operation.rename("tensor.insert")


def _sort(operation: OldOperation) -> Iterator[Edit]:
    """`sort stable %n, %x jointly %y`: one array of keys is a sort of tuples of one."""
    text, at = operation.text, operation.at
    keys = [text.word(place) for place in _until(operation, ("jointly", ":", "{"))]
    has_map = "perm_map" in [text.word(place) for place in range(at, _colon(operation))]
    if text.word(at + 1) in _ALGORITHMS and has_map:
        return
    if keys.count(",") != 1:
        raise UnreadableError("today the keys of an entry stand beside each other in one array: see perm_map")
    yield _algorithm(operation)
    yield operation.insert(_colon(operation), " {perm_map = affine_map<(d0) -> (d0)>}")


def _sort_coo(operation: OldOperation) -> Iterator[Edit]:
    text, at = operation.text, operation.at
    colon = _colon(operation)
    yield operation.rename("sparse_tensor.sort")
    yield _algorithm(operation)
    for place in range(at, colon):
        if text.word(place) == "nx" and text.word(place + 1) == "=":
            dims = ", ".join(f"d{dim}" for dim in range(int(text.word(place + 2))))
            stop = place + 5 if text.word(place + 3) == ":" else place + 3
            yield operation.replace(place, stop, f"perm_map = affine_map<({dims}) -> ({dims})>")
            return
    yield operation.insert(colon, " {perm_map = affine_map<(d0) -> (d0)>}")


def _algorithm(operation: OldOperation) -> Edit:
    """Returns the edit that names the algorithm: `stable` named one, and nothing another."""
    text, after = operation.text, operation.at + 1
    if text.word(after) in _ALGORITHMS:
        return operation.insert(after, "")
    if text.word(after) == "stable":
        return operation.replace(after, after + 1, _STABLE)
    return operation.insert(after, f" {_QUICK}")


def _until(operation: OldOperation, stops: tuple[str, ...]) -> Iterator[int]:
    text, at = operation.text, operation.at + 1
    while at < len(text.tokens) and text.word(at) not in stops:
        yield at
        at += 1


def _colon(operation: OldOperation) -> int:
    """Returns the colon before the types of the operands."""
    text, at = operation.text, operation.at
    while at < len(text.tokens):
        if text.word(at) == ":":
            return at
        at = text.after_bracket(at) if text.word(at) in ("{", "[", "(") else at + 1
    raise UnreadableError("expected `:` and types")


def _pack(operation: OldOperation) -> Iterator[Edit]:
    """`pack %values, %pos, %crd : V, P, C to T` of LLVM 17."""
    text, at = operation.text, operation.at
    colon = _colon(operation)
    operands = [text.word(place) for place in range(at + 1, colon) if text.word(place) != ","]
    types, place = [], colon
    while text.word(place) in (":", ","):
        stop = text.after_type(place + 1)
        types.append(text.between(place + 1, stop))
        place = stop
    text.expect(place, "to")
    if len(operands) != len(types) or len(operands) < 3:
        raise UnreadableError("today it takes the positions of levels too, as assemble (%pos, %crd), %values")
    named = f"sparse_tensor.assemble ({', '.join(operands[1:])}), {operands[0]}"
    yield operation.replace(at, place, f"{named} : ({', '.join(types[1:])}), {types[0]}")


def _unpack(operation: OldOperation) -> Iterator[Edit]:
    """`unpack %t : T outs(%values, %pos, %crd : V, P, C) -> V, (P, C), index, (index, index)` of LLVM 17."""
    text, at = operation.text, operation.at
    outs = text.after_type(text.expect(_colon(operation), ":"))
    if text.word(outs) != "outs":
        raise UnreadableError("today it gives the positions of levels too, into buffers: see disassemble")
    arrow = text.after_bracket(text.expect(outs, "outs"))
    inside = range(outs + 2, arrow - 1)
    middle = next(place for place in inside if text.word(place) == ":")
    buffers = [text.word(place) for place in range(outs + 2, middle) if text.word(place) != ","]
    types, place = [], middle
    while place < arrow - 1:
        stop = text.after_type(place + 1)
        types.append(text.between(place + 1, stop))
        place = stop
    places = [place for place in range(operation.first, at - 1) if text.word(place)[:1] == "%"]
    results = [text.word(place) for place in places]
    count = len(buffers) - 1
    if len(results) != 2 * (count + 1) or len(types) != len(buffers):
        raise UnreadableError("expected a name for each result, as disassemble has them in another order")
    stops = [arrow]
    for separator in ("->", ",", ",", ","):
        stops.append(text.after_type(text.expect(stops[-1], separator)))
    value, levels, length, lengths = (text.between(stops[at] + 1, stops[at + 1]) for at in range(4))
    end = stops[-1]
    ordered = [*results[1 : count + 1], results[0], *results[count + 2 :], results[count + 1]]
    yield operation.replace(operation.first, at - 1, ", ".join(ordered))
    yield operation.rename("sparse_tensor.disassemble")
    into = f"out_lvls({', '.join(buffers[1:])} : {', '.join(types[1:])}) out_vals({buffers[0]} : {types[0]})"
    yield operation.replace(outs, end, f"{into} -> {levels}, {value}, {lengths}, {length}")


def _specifier(operation: OldOperation) -> Iterator[Edit]:
    """`storage_specifier.get %s dim_sz at 0 : S to index`: other names of fields, and always an index."""
    text, at = operation.text, operation.at
    for place in range(at + 1, at + 4):
        if text.word(place) in _FIELDS:
            yield operation.replace(place, place + 1, _FIELDS[text.word(place)])
    end = text.after_type(text.expect(_colon(operation), ":"))
    if text.word(end) == "to":
        if text.word(end + 1) != "index":
            raise UnreadableError(f"today it gives an index, not {text.word(end + 1)}: add an arith.index_cast")
        yield operation.replace(end, end + 2, "")


def _set_specifier(operation: OldOperation) -> Iterator[Edit]:
    text, at = operation.text, operation.at
    for place in range(at + 1, at + 4):
        if text.word(place) in _FIELDS:
            yield operation.replace(place, place + 1, _FIELDS[text.word(place)])
    colon = _colon(operation)
    given = text.word(colon + 1)
    if given != "index" and given[:1] != "!":  # the specifier's own type is all that is written today
        raise UnreadableError(f"today it takes an index, not {given}: add an arith.index_cast")


def _push_back(operation: OldOperation) -> Iterable[Edit]:
    """LLVM 15 kept sizes in a memref: `push_back %sizes, %buffer, %value {idx = 0 : index} : ...`."""
    if operation.text.word(_colon(operation) + 1) == "memref":
        raise UnreadableError("today it takes the size and returns the new one: %b1, %n1 = push_back %n, %b, %v")
    return ()


def _gone(instead: str) -> Rule:
    def rule(_: OldOperation) -> Iterable[Edit]:
        raise UnreadableError(instead)

    return rule


_NO_TUPLE = "a tensor is no tuple of buffers today: see sparse_tensor.positions, coordinates, values and assemble"

SPARSE_RULES: dict[str, Rule] = {
    "sparse_tensor.pointers": _level_buffer("sparse_tensor.positions"),
    "sparse_tensor.indices": _level_buffer("sparse_tensor.coordinates"),
    "sparse_tensor.new": _new,
    "sparse_tensor.init": _init,
    "sparse_tensor.insert": _insert,
    "sparse_tensor.sort": _sort,
    "sparse_tensor.sort_coo": _sort_coo,
    "sparse_tensor.pack": _pack,
    "sparse_tensor.unpack": _unpack,
    "sparse_tensor.push_back": _push_back,
    "sparse_tensor.storage_specifier.get": _specifier,
    "sparse_tensor.storage_specifier.set": _set_specifier,
    "sparse_tensor.lex_insert": _gone(
        "today it is %1 = tensor.insert %value into %0[%i, %j], which returns the tensor"
    ),
    "sparse_tensor.storage": _gone(_NO_TUPLE),
    "sparse_tensor.storage_get": _gone(_NO_TUPLE),
    "sparse_tensor.storage_set": _gone(_NO_TUPLE),
}

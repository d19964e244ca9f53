"""Operations of other dialects whose syntax is another today, each as a rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from mlir_sparse.migration.operation_facts import OldOperation, Rule, ShapedType
from mlir_sparse.text.edits import Edit
from mlir_sparse.text.mlir_tokens import UnreadableError

__all__ = ["OTHER_RULES"]


def _init_tensor(operation: OldOperation) -> Iterator[Edit]:
    """`linalg.init_tensor [%m, 4] : T` is `tensor.empty(%m) : T`."""
    text, at = operation.text, operation.at
    stop = text.after_bracket(text.expect(at + 1, "[") - 1)
    sizes = [text.word(place) for place in range(at + 2, stop - 1) if text.word(place)[:1] == "%"]
    yield operation.replace(at, stop, f"tensor.empty({', '.join(sizes)})")


def _to_buffer(operation: OldOperation) -> Iterator[Edit]:
    """`bufferization.to_memref %t : memref<4xf64>` names the tensor's type too."""
    text = operation.text
    yield operation.rename("bufferization.to_buffer")
    colon = _colon(operation)
    stop = text.after_type(colon + 1)
    if text.word(stop) != "to":
        shape = operation.facts.shape(text.between(colon + 1, stop))
        yield operation.insert(colon + 1, f" {shape.of_kind('tensor')} to")


def _to_tensor(operation: OldOperation) -> Iterator[Edit]:
    text = operation.text
    if operation.name != "bufferization.to_tensor":
        yield operation.rename("bufferization.to_tensor")
    colon = _colon(operation)
    stop = text.after_type(colon + 1)
    if text.word(stop) != "to":
        shape = operation.facts.shape(text.between(colon + 1, stop))
        yield operation.insert(stop, f" to {shape.of_kind('tensor')}")


def _expand_shape(operation: OldOperation) -> Iterator[Edit]:
    """`expand_shape %t [[0, 1]] : S into T` names the extents of T; dynamic ones are computed before."""
    text, at = operation.text, operation.at
    if operation.name == "linalg.tensor_expand_shape":
        yield operation.rename("tensor.expand_shape")
    opening = operation.after_operand(at + 1)
    stop = text.after_bracket(text.expect(opening, "[") - 1)
    if text.word(stop) == "output_shape":
        return
    into = text.after_type(text.expect(stop, ":"))
    source_type = text.between(stop + 1, into)
    target_type = text.between(into + 1, text.after_type(text.expect(into, "into")))
    source, target = operation.facts.shape(source_type), operation.facts.shape(target_type)
    if not target.extents and stop == opening + 2:
        groups: list[list[int]] = []
    else:
        groups = _groups(operation, opening, stop)
    lines: list[str] = []
    extents = [str(extent) for extent in target.extents]
    for axis, group in enumerate(groups):
        dynamic = [place for place in group if target.extents[place] is None]
        if len(dynamic) > 1:
            raise UnreadableError("expected one dynamic extent in each group: write output_shape [...] with the others")
        for place in dynamic:
            known = prod(target.extents[other] or 1 for other in group if other != place)
            operand = text.between(at + 1, opening)
            extents[place] = _extent(operation, lines, f"{operand} : {source_type}", axis, known, source)
    if lines:
        yield operation.before(lines)
    yield operation.insert(stop, f" output_shape [{', '.join(extents)}]")


def _groups(operation: OldOperation, opening: int, stop: int) -> list[list[int]]:
    """Returns the dimensions of each group of `[[0], [1, 2]]`."""
    text = operation.text
    groups: list[list[int]] = []
    for place in range(opening + 1, stop - 1):
        word = text.word(place)
        if word == "[":
            groups.append([])
        elif word.isdecimal() and groups:
            groups[-1].append(int(word))
        elif word not in ("]", ","):
            raise UnreadableError(f"expected groups of dimensions, as [[0], [1, 2]], but got `{word}`")
    return groups


def _extent(operation: OldOperation, lines: list[str], typed: str, axis: int, known: int, source: ShapedType) -> str:
    """Adds the operations that compute an extent: that of the source's axis by the known ones of its group."""
    dialect = "memref" if source.kind == "memref" else "tensor"
    name, _, mlir = typed.partition(" : ")
    place, whole = operation.facts.fresh(f"%axis{axis}"), operation.facts.fresh(f"%extent{axis}")
    lines.append(f"{place} = arith.constant {axis} : index")
    lines.append(f"{whole} = {dialect}.dim {name}, {place} : {mlir}")
    if known == 1:
        return whole
    divisor, quotient = operation.facts.fresh(f"%known{axis}"), operation.facts.fresh(f"%part{axis}")
    lines.append(f"{divisor} = arith.constant {known} : index")
    lines.append(f"{quotient} = arith.divui {whole}, {divisor} : index")
    return quotient


def _subview(operation: OldOperation) -> Iterator[Edit]:
    """`memref.subview %x[%i][%n][%c4] : ... strided<[4], ...>`: a stride that the type has is a number today."""
    text = operation.text
    offsets = operation.after_operand(operation.at + 1)
    sizes = text.after_bracket(text.expect(offsets, "[") - 1)
    strides = text.after_bracket(text.expect(sizes, "[") - 1)
    stop = text.after_bracket(text.expect(strides, "[") - 1)
    source = text.after_type(text.expect(stop, ":"))
    given = [place for place in range(strides + 1, stop - 1) if text.word(place) != ","]
    layout = operation.facts.shape(text.between(source + 1, text.after_type(source + 1))).layout_strides
    if "strided" in text.between(stop + 1, source) or len(given) != 1 or layout is None:
        return  # strides of a source that has its own are products
    for place, stride in zip(given, layout, strict=False):
        if stride is not None and text.word(place)[:1] == "%":
            try:
                known = operation.facts.constant(text.word(place), operation.at)
            except UnreadableError:
                return
            if known == stride:
                yield operation.replace(place, place + 1, str(stride))


def _fill(operation: OldOperation) -> Iterator[Edit]:
    """`linalg.fill(%v, %t) : f64, T -> T` of LLVM 13 and 14."""
    text, at = operation.text, operation.at
    if text.word(at + 1) != "(":
        return
    stop = text.after_bracket(at + 1)
    value, target = (word for word in (text.word(place) for place in range(at + 2, stop - 1)) if word != ",")
    first = text.after_type(text.expect(stop, ":"))
    second = text.after_type(text.expect(first, ","))
    types = text.between(stop + 1, first), text.between(first + 1, second)
    yield operation.replace(at + 1, second, f" ins({value} : {types[0]}) outs({target} : {types[1]})")


def _extract_element(operation: OldOperation) -> Iterator[Edit]:
    """`vector.extractelement %v[%i : index] : vector<4xf32>`."""
    text, at = operation.text, operation.at
    yield operation.rename("vector.extract")
    opening = operation.after_operand(at + 1)
    stop = text.after_bracket(text.expect(opening, "[") - 1)
    yield from _untyped_index(operation, opening, stop)
    yield from _from_vector(operation, stop)


def _untyped_index(operation: OldOperation, opening: int, stop: int) -> Iterator[Edit]:
    text = operation.text
    index = operation.after_operand(opening + 1)
    if text.word(index) == ":":
        if text.word(index + 1) != "index":
            raise UnreadableError(f"today its index is an index, not {text.word(index + 1)}: add an arith.index_cast")
        yield operation.replace(index, stop - 1, "")


def _from_vector(operation: OldOperation, stop: int) -> Iterator[Edit]:
    """Yields the edit of `: vector<4xf32>` behind an index to `: f32 from vector<4xf32>`."""
    text = operation.text
    end = text.after_type(text.expect(stop, ":"))
    if text.word(end) == "from":
        return
    shape = operation.facts.shape(text.between(stop + 1, end))
    opening = operation.after_operand(operation.at + 1)
    indices = sum(text.word(place) == "," for place in range(opening, stop)) + 1
    inner = ShapedType("vector", shape.extents[indices:], shape.rest)
    yield operation.insert(stop + 1, f" {inner.of_kind('vector') if inner.extents else inner.element} from")


def _extract(operation: OldOperation) -> Iterator[Edit]:
    text = operation.text
    opening = operation.after_operand(operation.at + 1)
    yield from _from_vector(operation, text.after_bracket(text.expect(opening, "[") - 1))


def _insert_element(operation: OldOperation) -> Iterator[Edit]:
    """`vector.insertelement %x, %v[%i : index] : vector<4xf32>`."""
    text = operation.text
    yield operation.rename("vector.insert")
    opening = operation.after_operand(text.expect(operation.after_operand(operation.at + 1), ","))
    stop = text.after_bracket(text.expect(opening, "[") - 1)
    yield from _untyped_index(operation, opening, stop)
    shape = operation.facts.shape(text.between(stop + 1, text.after_type(text.expect(stop, ":"))))
    yield operation.insert(stop + 1, f" {shape.element} into")


def _splat(operation: OldOperation) -> Iterator[Edit]:
    text = operation.text
    yield operation.rename("vector.broadcast")
    colon = _colon(operation)
    shape = operation.facts.shape(text.between(colon + 1, text.after_type(colon + 1)))
    yield operation.insert(colon + 1, f" {shape.element} to")


def _reduction(operation: OldOperation) -> Iterator[Edit]:
    """The kinds `minf` and `maxf` of LLVM 17, which NaN passes through; `"add"` of LLVM 13."""
    text, at = operation.text, operation.at
    if text.word(at + 1).startswith('"'):
        kind = text.word(at + 1).strip('"')
        yield operation.replace(at + 1, at + 2, f"<{_KINDS.get(kind, kind)}>")
    elif text.word(at + 2) in _KINDS:
        yield operation.replace(at + 2, at + 3, _KINDS[text.word(at + 2)])


_KINDS = {"minf": "minimumf", "maxf": "maximumf"}


def _load(operation: OldOperation) -> Iterator[Edit]:
    """`llvm.load %p : !llvm.ptr<f32>`, from when pointers had types."""
    text = operation.text
    colon = _colon(operation)
    stop = text.after_type(colon + 1)
    if (pointed := _pointed(operation, colon + 1)) is not None:
        yield operation.replace(colon + 1, stop, f"!llvm.ptr -> {pointed}")


def _store(operation: OldOperation) -> Iterator[Edit]:
    text = operation.text
    colon = _colon(operation)
    stop = text.after_type(colon + 1)
    if (pointed := _pointed(operation, colon + 1)) is not None:
        yield operation.replace(colon + 1, stop, f"{pointed}, !llvm.ptr")


def _address(operation: OldOperation) -> Iterable[Edit]:
    """`llvm.getelementptr %p[%i] : (!llvm.ptr<f32>, i64) -> !llvm.ptr<f32>`."""
    text = operation.text
    colon = _colon(operation)
    if text.word(colon + 1) != "(" or (pointed := _pointed(operation, colon + 2)) is None:
        return
    stop = text.after_type(colon + 1)
    yield operation.insert(stop, f", {pointed}")


def _pointed(operation: OldOperation, at: int) -> str | None:
    """Returns the type that a pointer's type names; None for a pointer of today."""
    text = operation.text
    if text.word(at) != "!llvm.ptr" or text.word(at + 1) != "<" or text.word(at + 2).isdecimal():
        return None
    stop = text.after_type(at + 2)
    pointed = text.between(at + 2, stop)
    return f"!llvm.{pointed}" if pointed.startswith(("ptr", "struct", "array", "func")) else pointed


def _colon(operation: OldOperation) -> int:
    """Returns the colon before the types of the operands."""
    text, at = operation.text, operation.at
    while at < len(text.tokens):
        if text.word(at) == ":":
            return at
        at = text.after_bracket(at) if text.word(at) in ("{", "[", "(") else at + 1
    raise UnreadableError("expected `:` and types")


OTHER_RULES: dict[str, Rule] = {
    "bufferization.to_memref": _to_buffer,
    "bufferization.to_tensor": _to_tensor,
    "linalg.fill": _fill,
    "linalg.init_tensor": _init_tensor,
    "linalg.tensor_expand_shape": _expand_shape,
    "llvm.getelementptr": _address,
    "llvm.load": _load,
    "llvm.store": _store,
    "memref.buffer_cast": _to_buffer,
    "memref.expand_shape": _expand_shape,
    "memref.subview": _subview,
    "memref.tensor_load": _to_tensor,
    "tensor.expand_shape": _expand_shape,
    "vector.extract": _extract,
    "vector.extractelement": _extract_element,
    "vector.insertelement": _insert_element,
    "vector.reduction": _reduction,
    "vector.splat": _splat,
}

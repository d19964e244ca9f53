"""CHECK lines for an output: of IR function by function with captures, of any other text as it is."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from mlir_sparse.classes import dataclass
from mlir_sparse.testing.checks.names_in_file import NamesInFile
from mlir_sparse.testing.checks.value_names import ValueNames
from mlir_sparse.text.parameter_names import FUNCTION

__all__ = ["CheckSection", "check_sections"]

_HEAD = re.compile(rf"{FUNCTION.pattern}\(")
_ALIAS = re.compile(r"#(?P<name>[a-zA-Z_]\w*) = ")
_VALUE_OR_ALIAS = re.compile(r'"(?:[^"\\]|\\.)*"|%([\w.$-]+)|#([a-zA-Z_]\w*)\b(?![.<])')
_SPECIAL = re.compile(r"\[\[|\{\{")
_OPENED, _CLOSED = "(<[{", ")>]}"


@dataclass(frozen=True, slots=True)
class CheckSection:
    """The CHECK lines of one function, or of what stands between functions.

    Args:
        function: its symbol; None for what stands between.
        lines: the lines, without what makes them comments.
    """

    function: str | None
    lines: tuple[str, ...]


def check_sections(output: str, prefix: str, names: NamesInFile) -> tuple[CheckSection, ...]:
    r"""Returns CHECK lines for an output, in its order.

    Args:
        output: what a command printed.
        prefix: FileCheck's, such as CHECK.
        names: those that the file has, which MLIR forgets.

    >>> names = NamesInFile("func.func @f(%n: i32) { return }")
    >>> (section,) = check_sections("func.func @f(%arg0: i32) {\n  return\n}", "CHECK", names)
    >>> print("\n".join(section.lines))
    CHECK-LABEL: func.func @f(
    CHECK-SAME:    %[[N:[^:]*]]: i32) {
    CHECK:         return
    CHECK:       }
    """
    lines = output.splitlines()
    if not any(map(_HEAD.match, lines)):
        return tuple(_plain(lines, prefix))
    return tuple(_of_module(lines, _Writer(prefix, names)))


def _plain(lines: Sequence[str], prefix: str) -> Iterator[CheckSection]:
    """Yields the lines of a text that is no module, each behind the one before."""
    found: list[str] = []
    after_empty = True
    for line in lines:
        if line.strip():
            directive = f"{prefix}:" if after_empty else f"{prefix}-NEXT:"
            found.append(f"{directive:<{len(prefix) + 6}} {_escaped(line.strip())}")
        after_empty = not line.strip()
    if found:
        yield CheckSection(None, tuple(found))


def _of_module(lines: Sequence[str], writer: _Writer) -> Iterator[CheckSection]:
    between: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        head = _HEAD.match(line)
        if head is None:
            between += writer.between(line)
            at += 1
            continue
        if between:
            yield CheckSection(None, tuple(between))
            between = []
        end = _end(lines, at)
        name = head["name"].strip('"')
        yield CheckSection(name, tuple(writer.function(head, lines[at:end])))
        at = end
    if between:
        yield CheckSection(None, tuple(between))


def _end(lines: Sequence[str], start: int) -> int:
    """Returns the line behind a function: of one without a body that behind its head."""
    if not lines[start].rstrip().endswith("{"):
        return start + 1
    closing = " " * _depth(lines[start]) + "}"
    found = (at for at in range(start + 1, len(lines)) if lines[at].startswith(closing))
    return next(found, len(lines) - 1) + 1


class _Writer:
    """Writes the lines of a module with captures for values, and for aliases of attributes, which all functions see."""

    def __init__(self, prefix: str, names: NamesInFile) -> None:
        self._prefix = prefix
        self._names = names
        self._aliases: dict[str, str] = {}

    def between(self, line: str) -> Iterator[str]:
        """Yields the lines for one outside of functions; a module's own braces tell nothing."""
        text = line.strip()
        if not text or text in ("}", "module {", "// -----"):
            return
        found = _ALIAS.match(text)
        if found is None:
            yield self._line("", self._with_captures(text, ValueNames((), ()), 0))
            return
        known = self._names.alias_of(text[found.end() :]) or found["name"].upper()
        others = {name for alias, name in self._aliases.items() if alias != found["name"]}
        name = next(one for count in itertools.count() if (one := f"${known}_{count}".removesuffix("_0")) not in others)
        # The alias of another module of the file may have the same name.
        rest = self._with_captures(text[found.end() :], ValueNames((), ()), 0)
        self._aliases[found["name"]] = name
        yield self._line("", f"#[[{name}:.*]] = {rest}")

    def function(self, head: re.Match[str], lines: Sequence[str]) -> Iterator[str]:
        """Yields the lines for a function."""
        names = ValueNames(self._names.parameters_of(head["name"].strip('"')), lines)
        base = _depth(lines[0])
        yield self._line("-LABEL", head[0].strip())
        for part in _arguments(lines[0][head.end() :]):
            yield self._line("-SAME", "  " + self._head(part.strip(), names, base))
        for line in lines[1:]:
            if not line.strip():
                continue
            depth = _depth(line)
            if line.lstrip().startswith("}"):
                names.close(depth)
            written = self._with_captures(line.strip(), names, depth)
            yield self._line("", " " * (depth - base) + written)

    def _head(self, part: str, names: ValueNames, depth: int) -> str:
        """Returns a parameter of a function, or what follows the last."""
        found = re.match(r"%([\w.$-]+)", part)
        if found is None:
            return self._with_captures(part, names, depth)
        name = names.parameter(found[1], depth)
        # Several parameters may have one type: a name ends at its colon.
        return f"%[[{name}:[^:]*]]{self._with_captures(part[found.end() :], names, depth)}"

    def _with_captures(self, text: str, names: ValueNames, depth: int) -> str:
        """Returns a line with captures for what it defines, and the captured for what it uses."""
        results = re.match(r"%[\w.$-]+(?::\d+)?(?:, %[\w.$-]+(?::\d+)?)* = ", text)
        defining = results.end() if results else 0
        found, at, pending = [], 0, list(_VALUE_OR_ALIAS.finditer(text))
        # Operands come first: what a result means may depend on them.
        written = {one.start(): self._use(one, text, names, depth) for one in pending if one.start() >= defining}
        written |= {one.start(): self._define(one[1], text, names, depth) for one in pending if one.start() < defining}
        for one in pending:
            found += [_escaped(text[at : one.start()]), written[one.start()]]
            at = one.end()
        return "".join((*found, _escaped(text[at:])))

    def _use(self, one: re.Match[str], text: str, names: ValueNames, depth: int) -> str:
        if one[2] is not None:
            alias = self._aliases.get(one[2])
            return one[0] if alias is None else f"#[[{alias}]]"
        if one[1] is None:
            return _escaped(one[0])
        # A loop may reuse the name that a result or another loop had.
        name = names.name_of(one[1])
        return self._define(one[1], text, names, depth) if name is None else f"%[[{name}]]"

    def _define(self, value: str, text: str, names: ValueNames, depth: int) -> str:
        return f"%[[{names.define(value, text, depth)}:.*]]"

    def _line(self, suffix: str, text: str) -> str:
        return f"{self._prefix + suffix + ':':<{len(self._prefix) + 7}} {text}".rstrip()


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _escaped(text: str) -> str:
    """Returns a text that FileCheck takes as it is."""
    return _SPECIAL.sub(lambda found: r"{{\[\[}}" if found[0] == "[[" else "{{[{][{]}}", text)


def _arguments(signature: str) -> Iterator[str]:
    """Yields the parameters of a signature behind its opening, the last with what follows."""
    depth = start = at = 0
    while at < len(signature) and depth >= 0:
        character = signature[at]
        if signature.startswith("->", at):  # of a map: it closes nothing
            at += 1
        elif character in _OPENED:
            depth += 1
        elif character in _CLOSED:
            depth -= 1
        elif character == "," and depth == 0:
            yield signature[start : at + 1]
            start = at + 1
        at += 1
    yield signature[start:]

"""CHECK lines of a file, made anew from what its RUN lines print."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mlir_sparse.classes import dataclass
from mlir_sparse.disk.replace import write_whole
from mlir_sparse.errors import OperandError
from mlir_sparse.testing.checks.check_lines import CheckSection, check_sections
from mlir_sparse.testing.checks.names_in_file import NamesInFile
from mlir_sparse.testing.checks.recorded_runs import RecordedRun, passes_in_lit, recorded_runs
from mlir_sparse.text.parameter_names import FUNCTION

__all__ = ["UpdatedChecks", "update_checks"]

NOTE = "NOTE: mlir-sparse update-checks wrote the lines of"
"""What a file says that its CHECK lines are not written by hand; prefixes follow."""
_RUN = re.compile(r"^(?P<comment>.*?)\bRUN:")
_SUFFIXES = "LABEL|SAME|NEXT|DAG|NOT|EMPTY|COUNT-[0-9]+"


@dataclass(frozen=True, slots=True)
class UpdatedChecks:
    """What became of a file.

    Args:
        text: the text with its CHECK lines.
        written: how many lines of each prefix it has now.
        changed: whether the file had another text.
    """

    text: str
    written: Mapping[str, int]
    changed: bool


def update_checks(path: Path, *, prefixes: Sequence[str] = (), replaces: bool = False) -> UpdatedChecks:
    """Writes CHECK lines for what the RUN lines of a test print, and runs it: a file that does not pass stays.

    The lines of a function stand before it, those of other output at the end. Values are captured by names of what
    they mean. Lines that were written here before are replaced, of which a note in the file tells.

    Args:
        path: the test, in a suite that `mlir_sparse.testing.lit` configures.
        prefixes: those to write; all that RUN lines name by default.
        replaces: whether CHECK lines written by hand are replaced too.

    Returns:
        what the file has now.

    Raises:
        OperandError: for RUN lines that fail or use no FileCheck, lines written by hand, runs that print different
            texts for one prefix, and a prefix that no RUN line names.
        MissingPackageError: without lit.
    """
    before = path.read_text(encoding="utf-8")
    outputs = _outputs(recorded_runs(path), path, prefixes)
    lines = before.splitlines()
    noted = _noted(lines)
    for prefix in outputs:
        by_hand = None if prefix in noted or replaces else _first_of(lines, prefix)
        if by_hand is not None:
            raise OperandError(
                f"expected no {prefix} lines written by hand in {path}, but got line {by_hand}: --force replaces them"
            )
    lines = [line for line in lines if not any(_is_of(line, prefix) for prefix in outputs) and NOTE not in line]
    names = NamesInFile("\n".join(lines))
    written = {}
    for prefix, output in outputs.items():
        sections = check_sections(_portable(output, path), prefix, names)
        written[prefix] = sum(len(one.lines) for one in sections)
        lines = list(_placed(lines, sections))
    lines = list(_with_note(lines, (*(one for one in noted if one not in outputs), *outputs)))
    text = "\n".join(lines) + "\n"
    if text != before:
        _write_where_it_passes(path, before, text)
    return UpdatedChecks(text, written, text != before)


def _write_where_it_passes(path: Path, before: str, text: str) -> None:
    write_whole(path, text.encode())
    said = passes_in_lit(path)
    if said is not None:
        write_whole(path, before.encode())
        raise OperandError(
            f"expected {path} to pass with lines of what it printed, but a second run differs: leave out what changes "
            f"from run to run, such as times and places in the file; it stays as it was, and lit says:\n{said.strip()}"
        )


def _outputs(runs: Sequence[RecordedRun], path: Path, wanted: Sequence[str]) -> dict[str, str]:
    """Returns the text that each prefix stands for."""
    texts: dict[str, set[str]] = {}
    for run in runs:
        for prefix in run.prefixes:
            texts.setdefault(prefix, set()).add(run.output)
    if unknown := [prefix for prefix in wanted if prefix not in texts]:
        raise OperandError(
            f"expected a prefix of {', '.join(texts)}, as RUN lines of {path} name, but got {unknown[0]}"
        )
    found = {}
    for number, run in enumerate(runs, 1):
        own = [prefix for prefix in run.prefixes if len(texts[prefix]) == 1]
        if not own:
            raise OperandError(
                f"expected the RUN lines of {path} with --check-prefix={run.prefixes[0]} to print the same, but "
                f"number {number} prints another text: give it a prefix of its own, --check-prefix=OTHER"
            )
        if not wanted or own[0] in wanted:
            found[own[0]] = run.output
    return found


def _portable(output: str, path: Path) -> str:
    """Returns an output in which the test has no folder."""
    return output.replace(f"{path.resolve().parent}/", "").replace(f"{path.parent}/", "")


def _is_of(line: str, prefix: str) -> bool:
    """Returns whether a line is one of FileCheck's with a prefix."""
    return re.match(rf"\s*(//|#|;)?\s*{re.escape(prefix)}(-({_SUFFIXES}))?:", line) is not None


def _first_of(lines: Sequence[str], prefix: str) -> int | None:
    """Returns the number of the first line of a prefix; None if there is none."""
    return next((number for number, line in enumerate(lines, 1) if _is_of(line, prefix)), None)


def _noted(lines: Sequence[str]) -> tuple[str, ...]:
    """Returns the prefixes whose lines were written here."""
    found = next((line for line in lines if NOTE in line), None)
    return () if found is None else tuple(found.partition(NOTE)[2].replace(",", " ").split())


def _with_note(lines: Sequence[str], prefixes: Sequence[str]) -> Iterator[str]:
    """Yields the lines of a file with a note behind the RUN lines."""
    last = _run_lines(lines)[-1]
    for number, line in enumerate(lines):
        yield line
        if number == last:
            yield f"{_comment(lines)}{NOTE} {', '.join(prefixes)}"


def _run_lines(lines: Sequence[str]) -> list[int]:
    return [number for number, line in enumerate(lines) if _RUN.match(line)]


def _comment(lines: Sequence[str]) -> str:
    """Returns what makes a line a comment, as in the RUN lines."""
    found = _RUN.match(lines[_run_lines(lines)[0]])
    return found["comment"] if found else ""


def _placed(lines: Sequence[str], sections: Sequence[CheckSection]) -> Iterator[str]:
    """Yields the lines of a file with those of sections: each before its function, in the order of the output."""
    comment = _comment(lines)
    places = {head[1].strip('"'): at for at, line in enumerate(lines) if (head := FUNCTION.match(line))}
    before: dict[int, list[str]] = {}
    waiting: list[str] = []
    at = 0
    for section in sections:
        waiting += section.lines
        if section.function in places:
            at = max(at, places[section.function])
            before.setdefault(at, []).extend(waiting)
            waiting = []
    for number, line in enumerate(lines):
        yield from (f"{comment}{one}" for one in before.get(number, ()))
        yield line
    yield from (f"{comment}{one}" for one in waiting)

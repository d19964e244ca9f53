"""The parts of a page: the source with its parts, the plan, the operands, the passes, and what they end in."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from html import escape
from itertools import groupby, pairwise

from mlir_sparse.classes import dataclass
from mlir_sparse.compile.explain_build import pass_of
from mlir_sparse.compile.exploring.page_graph import graph_picture
from mlir_sparse.compile.exploring.page_listings import (
    Change,
    Links,
    code_box,
    lines_of,
    listing,
    plain_lines,
    source_lines,
)
from mlir_sparse.compile.exploring.passes_value import (
    MachineText,
    OperandView,
    PassSection,
    PlanStep,
    SectionDetails,
    SourcePart,
)
from mlir_sparse.loops.remarks import Remark
from mlir_sparse.pipeline import Snapshot
from mlir_sparse.pipeline.pass_values import pass_name

__all__ = ["changed_passes", "section_html", "time_text"]

_HUES = 8
_OPEN = ("input", "sparsification", "sparsification-and-bufferization")
_HINT = "Choose a part of the text, or a line of code: what belongs to it is marked in every stage."


@dataclass(frozen=True, slots=True)
class _Stage:
    """A snapshot with what its pass did."""

    number: int
    snapshot: Snapshot
    change: Change

    @property
    def is_quiet(self) -> bool:
        return self.number > 0 and not (self.change.added or self.change.removed)


def section_html(number: int, section: PassSection, *, titled: bool) -> str:
    """Returns a section of a page.

    Args:
        number: its number, from 1.
        section: the section.
        titled: whether it is one of several.
    """
    details = section.details()
    parts = [f'<section id="s{number}">']
    links = Links(details.parts)
    linked = {number for one in section.trace for places in one.places for number in links.of(places)}
    parts.append(_source(section, details.parts, linked, 2 if titled else 1))
    parts += _plan(details)
    parts += _operands(details.operands)
    parts.append(f"<h{3 if titled else 2} class=over>Passes</h{3 if titled else 2}>")
    parts += _passes(section, details, links)
    parts += [_machine(text) for text in details.machine]
    parts += [f"<p class=note>{escape(note)}</p>" for note in details.notes]
    return "\n".join([*parts, "</section>"])


def changed_passes(section: PassSection) -> int:
    """Returns the number of passes that changed the module."""
    texts = [snapshot.text for snapshot in section.trace]
    return sum(before != after for before, after in pairwise(texts))


def time_text(seconds: float) -> str:
    """Returns a time for people.

    >>> time_text(0.00095), time_text(0.0123), time_text(1.5)
    ('0.95 ms', '12.3 ms', '1.50 s')
    """
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.{1 if seconds >= 0.01 else 2}f} ms"


# -- source ----------------------------------------------------------------------------------------------------------


def _source(section: PassSection, parts: Sequence[SourcePart], linked: Container[int], level: int) -> str:
    """Returns the source, whose parts with code are buttons; a statement is the heading of its section."""
    tools = (
        '<div class="tools needs-script">'
        f'<span class=status role=status>{_HINT}</span><button type=button disabled title="p">Previous</button>'
        '<button type=button disabled title="n">Next</button><button type=button>Open all stages</button></div>'
    )
    if _is_statement(parts):
        inner = f"<h{level} class=notation>{_notation(section.source, parts, linked)}</h{level}>{_chips(parts, linked)}"
        return f"<div class=source>{inner}{tools}</div>"
    text = code_box(source_lines(section.source, parts), "the module as it was written")
    return (
        f"<details class=card open><summary>{escape(section.title)}</summary><div class=body>{text}</div></details>"
        f"<div class=source>{tools}</div>"
    )


def _is_statement(parts: Sequence[SourcePart]) -> bool:
    """Returns whether a source is one statement, with parts in its line, and no module of lines."""
    return any(part.in_line and part.places[0].start for part in parts)


def _notation(text: str, parts: Sequence[SourcePart], linked: Container[int]) -> str:
    """Returns a statement, each of its parts a button."""
    spans = sorted(
        (place.start - 1, place.end - 1, number)
        for number, part in enumerate(parts)
        for place in (part.places if part.in_line else ())
    )
    found, at = [], 0
    for start, end, number in spans:
        if start < at or number not in linked:
            continue  # inside of another part, or without code of its own
        found += [escape(text[at:start]), _button(number, parts[number], text[start:end])]
        at = end
    return "".join([*found, escape(text[at:])])


def _chips(parts: Sequence[SourcePart], linked: Container[int]) -> str:
    chips = [
        _button(number, part, part.text) if number in linked else f"<code>{escape(part.text)}</code>"
        for number, part in enumerate(parts)
        if not part.in_line
    ]
    return f"<div class=chips>index variables {''.join(chips)}</div>" if chips else ""


def _button(number: int, part: SourcePart, text: str) -> str:
    return (
        f'<button type=button class="part x{number % _HUES}" data-n={number} aria-pressed=false '
        f'title="{escape(part.label)}">{escape(text)}</button>'
    )


# -- plan and operands -----------------------------------------------------------------------------------------------


def _plan(details: SectionDetails) -> Iterator[str]:
    if details.steps:
        hues = {part.text: number % _HUES for number, part in enumerate(details.parts)}
        steps = "".join(_step(step, hues) for step in details.steps)
        yield (
            "<details class=card open><summary>Iteration graph</summary><div class=body>"
            f"{steps}<p class=note>A column is a loop, outermost first, with the levels that it runs over. A line is "
            "an access: levels are walked, or looked up, from left to right; an array is read in any order."
            "</p></div></details>"
        )
    if details.account:
        yield (
            "<details class=card><summary>The plan, with reasons</summary>"
            f"<div class=body><pre>{escape(details.account)}</pre></div></details>"
        )


def _step(step: PlanStep, hues: Mapping[str, int]) -> str:
    picture = graph_picture(step.graph, hues) if step.graph is not None else ""
    scrolled = f"<div class=scroll tabindex=0 role=group aria-label=graph>{picture}</div>" if picture else ""
    return f"<h3><code>{escape(step.title)}</code></h3>{scrolled}"


def _operands(operands: Sequence[OperandView]) -> Iterator[str]:
    if not operands:
        return
    views = []
    for one in operands:
        # The name space of pictures is that of a file of its own; in a page it needs none.
        picture = one.picture.replace(' xmlns="http://www.w3.org/2000/svg"', "")
        tree = (
            f'<div class="scroll tree" tabindex=0 role=group aria-label="level tree of {escape(one.name)}">'
            f"{picture}</div><p class=note>{escape(one.example)}</p>"
            if picture
            else ""
        )
        head = f"<h3>{escape(one.name)}: {escape(one.type)}</h3>"
        views.append(f"<div>{head}<pre>{escape(one.account)}</pre>{tree}</div>")
    yield (
        "<details class=card><summary>Operands and their level trees</summary>"
        f'<div class="body operands">{"".join(views)}</div></details>'
    )


# -- passes ----------------------------------------------------------------------------------------------------------


def _passes(section: PassSection, details: SectionDetails, links: Links) -> Iterator[str]:
    before: list[Snapshot | None] = [None, *section.trace]
    stages = [
        _Stage(number, after, listing(before[number], after, links)) for number, after in enumerate(section.trace)
    ]
    longest = max((stage.snapshot.seconds for stage in stages), default=0.0)
    for quiet, run in groupby(stages, lambda stage: stage.is_quiet):
        if quiet:
            yield _quiet(list(run), details.remarks)
        else:
            yield from (_stage(stage, details.remarks, longest) for stage in run)
    if section.trace.failure is not None:
        yield _failed(len(stages), section)


def _stage(stage: _Stage, remarks: Sequence[Remark], longest: float) -> str:
    step, change = stage.snapshot, stage.change
    delta = f"<span class=delta><ins>+{change.added}</ins> <del>&minus;{change.removed}</del></span>"
    if stage.number == 0:
        delta = f"<span class=delta>{len(lines_of(step.text))} lines</span>"
    spent = f'<span class=spent style="width:{100 * step.seconds / longest:.1f}%"></span>' if step.seconds else ""
    time = f"<span class=time>{time_text(step.seconds) if stage.number else ''}</span>"
    opened = " open" if step.name in _OPEN else ""
    head = (
        f"<summary><span class=num>{stage.number}</span><span class=name>{escape(step.name)}</span>"
        f"<span class=hits></span>{delta}{time}<span class=why>{_prose(step.reason)}</span>{spent}</summary>"
    )
    options = f"<p class=options><code>{escape(step.item)}</code></p>" if "{" in step.item else ""
    box = code_box(change.html, f"the module after {step.name}")
    body = f"{options}{_remarks(step.name, remarks)}{box}"
    return f"<details class=pass{opened}>{head}<div class=body>{body}</div></details>"


def _quiet(run: Sequence[_Stage], remarks: Sequence[Remark]) -> str:
    first, last = run[0].number, run[-1].number
    numbers = str(first) if first == last else f"{first}&ndash;{last}"
    many = "1 pass" if len(run) == 1 else f"{len(run)} passes"
    items = "".join(
        f"<li><code>{escape(stage.snapshot.name)}</code> {_prose(stage.snapshot.reason)} "
        f"({time_text(stage.snapshot.seconds)}){_remarks(stage.snapshot.name, remarks)}</li>"
        for stage in run
    )
    spent = time_text(sum(stage.snapshot.seconds for stage in run))
    return (
        f"<details class=quiet><summary><span class=num>{numbers}</span><span>{many} left the module as it was</span>"
        f"<span class=time>{spent}</span></summary><ul>{items}</ul></details>"
    )


def _prose(text: str) -> str:
    """Returns a reason, code between its backquotes."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))


def _remarks(name: str, remarks: Sequence[Remark]) -> str:
    mine = [one for one in remarks if pass_of(one.strategy) == name]
    items = [f"<li{' class=applied' if one.applied else ''}>{escape(str(one))}</li>" for one in mine]
    return f"<ul class=remarks>{''.join(items)}</ul>" if items else ""


def _failed(number: int, section: PassSection) -> str:
    item = section.trace.failed
    options = f"<p class=options><code>{escape(item)}</code></p>" if "{" in item else ""
    return (
        f'<div class="pass failed" role=alert><div class=body>{number} '
        f"<span class=name>{escape(pass_name(item)) or 'the compiler'}</span> "
        f"<b class=mark>failed; no pass behind it ran</b>{options}"
        f"<pre>{escape(str(section.trace.failure))}</pre></div></div>"
    )


def _machine(text: MachineText) -> str:
    box = code_box(plain_lines(text.text, text.language), text.language.value)
    lines = len(lines_of(text.text))
    return (
        f"<details class=pass><summary><span class=num></span><span class=name>{text.name}</span>"
        f"<span class=delta>{lines} lines</span><span class=why>{text.language.value}, which has no debug locations "
        f"</span></summary><div class=body>{box}</div></details>"
    )

"""What every pass does: the explorer's pages, how to read them, and pictures of some.

All commands and all code of the page are run for it; the pictures are those of `python -m doc_pages.screenshots`.
"""

from __future__ import annotations

from typing import Any

from doc_pages import markup
from doc_pages.running import command, folder_of, session
from doc_pages.screenshots import ADDED, PICTURES, picture
from doc_pages.user_modules import SPMV

__all__ = ["page"]

FILES = {"spmv.mlir": SPMV, "added.mlir": ADDED}

LEAD = """`mlir-sparse explore` writes a page of what every pass makes of a statement: the text, the iteration graph,
the storage of each operand with the level tree of an example, each pass with its time, what it changed and what
strategies say of it, then LLVM IR and assembly. It is one file, which needs no server and no network, so that it can
be mailed, or put beside an issue."""

LINKS = """Parts of the text have colours, and so have the lines that come from them, in every stage. Choose a part,
by mouse, touch or keyboard, and its lines are marked in all stages; choose a line, and the parts that it comes from
are. The buttons go from one marked line to the next, and open the stage that it is in. Debug locations say what comes
from where: the statement's module has them, MLIR's passes keep them, and where the sparsifier gives all of its loops
that of the whole statement, loads take that of the buffer which they read, arithmetic that of the generic's payload,
and loops that of their index variable. LLVM IR and machine code have none."""

STAGES = """Each stage is one listing, its diff and its module at once: lines that a pass took away are red, those
that it added green, and long stretches that it left are folded. Passes that changed nothing are one line together,
with their times, and with the reason where a strategy did not apply."""

NOTEBOOK = """`kernel.passes()` gives the same as a value: a list of modules, each with its pass, its time and its
text. It prints as text, shows itself as the page in a notebook, and writes it. Modules are compiled anew for it, pass
by pass in the compiler's process, also where calls run machine code from the cache or from a file."""

PASSES = """
import mlir_sparse as ms

spmv = ms.compile("y(i) = A(i,j) * x(j)", A="f64[?,?] CSR", x="f64[?]")
passes = spmv.passes()
print(len(passes), "modules; the second is that after", passes[1].name)
print(passes.diff("linalg-generalize")[:270])
passes.save("spmv.html")
"""

MODULES = """A module of MLIR is explored line by line, through the passes that `mlir-sparse run` compiles modules
with, or through those that are asked for, by flags as those of `mlir-sparse opt`. `--entry` leaves out what a
function does not call."""

GPU = """A GPU is not needed for a page of its kernels, which ends in PTX:"""

FAILURE = """Where a pass fails, or kills the compiler's process, the page shows the passes before it, the failing one
is marked, and the command ends with status 1 and a file that reproduces it: the module as it was before that pass.
This sum of a number and a sparse vector ends MLIR's sparsifier:"""


def page() -> str:
    """Returns the page."""
    with folder_of(FILES):
        return markup.document("exploring.html", _parts(), STYLE)


STYLE = """
figure { margin: 1rem 0 2rem; } figcaption { color: var(--faint); font-size: .9rem; }
figure img { border: 1px solid var(--line); border-radius: 8px; height: auto; max-width: 100%; }
figure.phone img { max-width: 20rem; }
"""


def _figure(name: str) -> str:
    kind = ' class="phone"' if PICTURES[name].width < 600 else ""
    return f"<figure{kind}>{picture(name)}<figcaption>{markup.inline(PICTURES[name].caption)}</figcaption></figure>"


def _parts() -> list[str]:
    names: dict[str, Any] = {}
    return [
        markup.paragraph(LEAD),
        command('mlir-sparse explore "y(i) = A(i,j) * x(j)" -f A:CSR -o spmv.html'),
        _figure("spmv"),
        markup.anchor("How to read a page"),
        markup.paragraph(LINKS),
        markup.paragraph(STAGES),
        _figure("spgemm"),
        _figure("phone"),
        markup.anchor("From Python"),
        markup.paragraph(NOTEBOOK),
        session(PASSES, names),
        markup.anchor("Modules of your own"),
        markup.paragraph(MODULES),
        command("mlir-sparse explore spmv.mlir --entry spmv -o module.html"),
        command(
            "mlir-sparse explore spmv.mlir --linalg-generalize-named-ops --sparse-reinterpret-map --sparsification "
            "-o loops.html"
        ),
        _figure("module"),
        markup.anchor("Kernels for a GPU"),
        markup.paragraph(GPU),
        command('mlir-sparse explore "y(i) = A(i,j) * x(j)" -f A:CSR --target cuda:sm_90 -o gpu.html'),
        markup.anchor("Passes that fail"),
        markup.paragraph(FAILURE),
        markup.pre(ADDED.strip()),
        command(
            'MLIR_SPARSE_CACHE=$PWD mlir-sparse explore added.mlir -o added.html |& sed "s|$PWD/||"\n'
            "echo status ${PIPESTATUS[0]}"
        ),
    ]

"""Pages in a browser, on a phone and on a desk: what fits, and what is marked when a part is chosen."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import escape, unescape
from pathlib import Path
from typing import Any

import pytest

import mlir_sparse as ms
from mlir_sparse.compile.exploring import Passes, module_passes

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs a headless Chromium: apt-get install chromium")

# Runs steps on a page, and leaves what each found in it.
DRIVER = """
const found = {errors: []};
addEventListener("error", (event) => found.errors.push(String(event.message)));
addEventListener("securitypolicyviolation", (event) => found.errors.push(event.violatedDirective));
const all = (query) => [...document.querySelectorAll(query)];
const part = (text) => all(".part").find((one) => one.textContent.trim() === text);
const key = (name, at = document) => at.dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true}));
const on = () => all(".on[data-p]").map((line) => line.textContent.trim());
const run = () => {
  if (document.getElementById("packed")) return setTimeout(run, 50);  // until its content is there
  STEPS
  const shown = document.createElement("pre");
  shown.id = "found";
  shown.textContent = JSON.stringify(found);
  parent.document.body.append(shown);
};
addEventListener("load", run);
"""
FITS = """
  const overflow = () => document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth;
  found.closed = overflow();
  all("details").forEach((one) => { one.open = true; });
  found.open = overflow();
  found.width = innerWidth;
  found.scrolled = all(".code").filter((box) => box.scrollWidth > box.clientWidth).length;
  found.focused = all(".code").every((box) => box.tabIndex === 0);
  found.paper = getComputedStyle(document.body).backgroundColor;
  found.shown = getComputedStyle(all(".tools")[0]).display;
"""


def shown(passes: Passes, steps: str, folder: Path, *, width: int = 1200, dark: bool = False) -> dict[str, Any]:
    """Returns what steps find on a page."""
    path = folder / "page.html"
    # Before the page's own script, whose errors it hears too.
    driver = f"<script>{DRIVER.replace('STEPS', steps)}</script>"
    page = passes.html().replace("<body>", f"<body>{driver}")
    # In a frame, as windows are no narrower than 500 pixels.
    framed = f'<!doctype html><iframe width={width} height=800 style="border:0" srcdoc="{escape(page)}"></iframe>'
    path.write_text(framed, encoding="utf-8")
    assert BROWSER is not None
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'browser'}"]
    command += [
        "--window-size=1300,900",
        *(["--virtual-time-budget=60000"] if "id=packed>" in page else []),
        *(["--blink-settings=preferredColorScheme=0"] if dark else []),
    ]
    ran = subprocess.run(
        [*command, "--dump-dom", path.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    left = re.search(r'<pre id="found">(.*?)</pre>', ran.stdout, re.DOTALL)
    assert left is not None, ran.stdout[-2000:]
    found: dict[str, Any] = json.loads(unescape(left[1]))
    assert found["errors"] == []
    return found


@pytest.fixture(scope="module")
def spmv() -> Passes:
    return ms.compile("y(i) = A(i,j) * x(j)", A="f64[?,?] CSR", x="f64[?]").passes()


def test_a_phone_scrolls_code_and_not_the_page(spmv: Passes, tmp_path: Path) -> None:
    found = shown(spmv, FITS, tmp_path, width=390, dark=True)
    assert found["width"] == 390
    assert (found["closed"], found["open"]) == (0, 0)
    assert found["scrolled"] > 5
    assert found["focused"]
    assert found["paper"] == "rgb(15, 20, 27)"  # dark, as the system is
    assert found["shown"] == "flex"


def test_a_compressed_page_is_inflated_and_fits_a_phone(tmp_path: Path) -> None:
    passes = ms.compile("y(i) = A(i,j) * x(j)", A="f64[?,?] CSR", x="f64[?]", target="cuda:sm_90").passes()
    steps = f"""{FITS}
  found.stages = all(".pass").length;
  part("*").click();
  found.product = on().length;
"""
    found = shown(passes, steps, tmp_path, width=390)
    assert (found["width"], found["closed"], found["open"]) == (390, 0, 0)
    assert found["stages"] > 10
    assert found["product"] > 5
    assert found["shown"] == "flex"


def test_a_part_marks_its_lines_and_a_line_its_parts(spmv: Passes, tmp_path: Path) -> None:
    steps = """
  part("*").click();
  found.product = on();
  found.pressed = part("*").getAttribute("aria-pressed");
  found.hits = all(".hits").map((one) => one.textContent).filter(Boolean);
  key("n");
  found.next = all(".now").map((line) => line.textContent.trim());
  found.at = all(".status")[0].textContent;
  found.opened = all(".now").every((line) => line.closest("details").open);
  key("p");
  found.last = all(".now").map((line) => line.textContent.trim());
  part("*").click();
  found.again = on().length;
  const load = all("[data-p]").find((line) => line.textContent.includes("memref.load %arg4"));
  load.dispatchEvent(new PointerEvent("pointerover", {bubbles: true, pointerType: "mouse"}));
  found.hovered = all(".part.hov").map((one) => one.textContent);
  load.click();
  found.chosen = all("[aria-pressed=true]").map((one) => one.textContent);
  found.status = all(".status")[0].textContent;
  key("Escape");
  found.cleared = on().length + all("[aria-pressed=true]").length;
"""
    found = shown(spmv, steps, tmp_path)
    words = {line.split(" = ")[-1].split()[0] for line in found["product"]}
    assert {"arith.mulf", "llvm.fmul"} <= words
    assert words <= {"arith.mulf", "llvm.fmul", "^bb0(%in:", "^bb0(%in_0:"}
    assert found["pressed"] == "true"
    assert len(found["hits"]) > 5
    assert set(found["hits"]) >= {"1 line"}
    assert found["next"] == [found["product"][0]]
    assert found["opened"]
    assert re.fullmatch(r"1 of \d+, input, from [^ ]+", found["at"])
    assert found["last"] == [found["product"][-1]]
    assert found["again"] == 0
    assert found["hovered"] == ["x(j)"]
    assert found["chosen"] == ["x(j)"]
    assert re.fullmatch(r"x\(j\): \d+ lines", found["status"])
    assert found["cleared"] == 0


def test_lines_of_a_module_are_chosen_by_keyboard(tmp_path: Path) -> None:
    text = "func.func @f(%x: f64) -> f64 {\n  %0 = arith.addf %x, %x : f64\n  return %0 : f64\n}"
    passes = module_passes(text.encode(), "f.mlir", ["canonicalize", "convert-arith-to-llvm"])
    steps = """
  const line = part("%0 = arith.addf %x, %x : f64");
  line.focus();
  found.focused = document.activeElement === line;
  key("Enter", line);
  found.lines = on();
"""
    found = shown(passes, steps, tmp_path)
    assert found["focused"]
    assert found["lines"] == [
        "%0 = arith.addf %arg0, %arg0 : f64",
        "%0 = arith.addf %arg0, %arg0 : f64",
        "%0 = llvm.fadd %arg0, %arg0 : f64",
    ]

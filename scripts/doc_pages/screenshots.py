"""Pictures of the explorer's pages: `python -m doc_pages.screenshots` takes them anew, with a headless Chromium.

They are kept beside this file, as the documentation is built where no browser is.
"""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlir_sparse as ms
from doc_pages.user_modules import SPMV

__all__ = ["ADDED", "PICTURES", "data_of", "picture"]

FOLDER = Path(__file__).with_name("screenshots")
ADDED = """\
#V = #sparse_tensor.encoding<{ map = (i) -> (i : compressed) }>
#sum = { indexing_maps = [affine_map<(i) -> ()>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
         iterator_types = ["parallel"] }

func.func @added(%b: tensor<f64>, %x: tensor<?xf64, #V>, %y: tensor<?xf64>) -> tensor<?xf64> {
  %0 = linalg.generic #sum ins(%b, %x : tensor<f64>, tensor<?xf64, #V>) outs(%y : tensor<?xf64>) {
  ^bb0(%u: f64, %v: f64, %w: f64):
    %1 = arith.addf %u, %v : f64
    linalg.yield %1 : f64
  } -> tensor<?xf64>
  return %0 : tensor<?xf64>
}
"""
_CSR, _VECTOR = "f64[?,?] CSR", "f64[?]"


@dataclass(frozen=True)
class Picture:
    """A picture of a page.

    Args:
        caption: what it shows.
        width: of the window, in pixels.
        height: likewise.
        dark: whether the system is.
        chosen: the part that is chosen, by its text.
        top: the first stage that is shown, by its name; all of the page when empty.
    """

    caption: str
    width: int
    height: int
    dark: bool = False
    chosen: str = ""
    top: str = ""


PICTURES = {
    "spmv": Picture(
        "The page of `y(i) = A(i,j) * x(j)`, A in CSR. The access `x(j)` is chosen.", 1160, 1250, chosen="x(j)"
    ),
    "spgemm": Picture(
        "Stages of `C(i,j) = A(i,k) * B(k,j)`, all in CSR, on a system that is dark. The access `A(i,k)` is chosen.",
        1160,
        1100,
        dark=True,
        chosen="A(i,k)",
        top="sparsification",
    ),
    "phone": Picture("The same page as on a phone: code scrolls in its own box.", 390, 844, chosen="B(k,j)"),
    "module": Picture(
        "A module of a user's, linked with its own lines: that of `linalg.matvec` is chosen.",
        1160,
        1000,
        chosen="linalg.matvec",
    ),
}

DRIVER = """
const wanted = CHOSEN, top_ = TOP;
// A page that is compressed has its parts, and what happens when they are chosen, some time after it is loaded.
const waiting = setInterval(() => {
  if (!document.querySelector(".pass") || document.readyState !== "complete") return;
  clearInterval(waiting);
  setTimeout(() => {
    const parts = [...document.querySelectorAll(".part")];
    const part = parts.find((one) => one.textContent.trim() === wanted) ||
      parts.find((one) => wanted && one.textContent.includes(wanted));
    if (part) part.click();
    // A screenshot begins at the top of the page: what is before the stage is left out.
    const stages = [...document.querySelectorAll(".pass, .quiet, .card, h2")];
    const shown = (one) => top_ && one.matches(".pass") && one.querySelector(".name").textContent === top_;
    stages.slice(0, Math.max(stages.findIndex(shown), 0)).forEach((one) => one.remove());
  }, 100);
}, 20);
"""


def data_of(name: str) -> str:
    """Returns a picture as an address that holds its data, so that pages are files of their own."""
    return "data:image/webp;base64," + base64.b64encode((FOLDER / f"{name}.webp").read_bytes()).decode()


def picture(name: str) -> str:
    """Returns a picture as HTML."""
    about = PICTURES[name]
    caption = about.caption.replace("`", "")
    return f'<img src="{data_of(name)}" width="{about.width}" height="{about.height}" alt="{caption}">'


def _pages() -> dict[str, Any]:
    spgemm = ms.compile("C(i,j) = A(i,k) * B(k,j)", A=_CSR, B=_CSR, out="CSR").passes()
    Path("spmv.mlir").write_text(SPMV)
    return {
        "spmv": ms.compile("y(i) = A(i,j) * x(j)", A=_CSR, x=_VECTOR).passes(),
        "spgemm": spgemm,
        "phone": spgemm,
        "module": ms.module("spmv.mlir").passes(),
    }


def main() -> int:
    """Takes all pictures."""
    from PIL import Image  # comes with matplotlib

    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        print("expected Chromium on PATH, but got none", file=sys.stderr)
        return 1
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, passes in _pages().items():
            about = PICTURES[name]
            driver = DRIVER
            for key, value in (("CHOSEN", about.chosen), ("TOP", about.top)):
                driver = driver.replace(key, repr(value))
            page = Path(folder, "page.html")
            page.write_text(passes.html().replace("<body>", f"<body><script>{driver}</script>"), encoding="utf-8")
            command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
            command += [f"--user-data-dir={folder}/browser", f"--window-size={about.width},{about.height}"]
            command += ["--blink-settings=preferredColorScheme=0"] if about.dark else []
            shot = Path(folder, "shot.png")
            command += ["--virtual-time-budget=60000"]
            subprocess.run([*command, f"--screenshot={shot}", page.as_uri()], check=True, capture_output=True)
            with Image.open(shot) as image:
                image.convert("RGB").save(FOLDER / f"{name}.webp", quality=72, method=6)
            print(f"{name}: {(FOLDER / f'{name}.webp').stat().st_size:,} bytes")
        os.chdir(FOLDER)
    return 0


if __name__ == "__main__":
    sys.exit(main())

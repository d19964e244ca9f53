document.documentElement.classList.add("script");
async function unpack(packed) {
  const main = document.querySelector("main");
  if (!("DecompressionStream" in window)) {
    main.textContent = "This page is compressed: it needs Chrome 80, Firefox 113, Safari 16.4 or later.";
    return;
  }
  const bytes = Uint8Array.from(atob(packed.textContent), (letter) => letter.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  main.innerHTML = await new Response(plain).text();
  packed.remove();
  const target = location.hash && document.getElementById(location.hash.slice(1));
  if (target) target.scrollIntoView();
}
function prepare(section) {
  const parts = [...section.querySelectorAll(".part")];
  const lines = [...section.querySelectorAll("[data-p]")];
  const status = section.querySelector(".status"), hint = status ? status.textContent : "";
  const [before, after, opens] = section.querySelectorAll(".tools button");
  const numbers = (line) => line.dataset.p.split(" ");
  const linesOf = new Map();
  for (const line of lines)
    for (const n of numbers(line)) linesOf.set(n, [...(linesOf.get(n) || []), line]);
  const namesOf = (chosen) =>
    [...new Set(parts.filter((part) => chosen.has(part.dataset.n)).map((part) => part.textContent.trim()))].join(", ");
  let pinned = new Set(), marked = [], at = -1;

  function mark(chosen, name, on) {
    for (const part of parts) if (chosen.has(part.dataset.n)) part.classList.toggle(name, on);
    for (const n of chosen) for (const line of linesOf.get(n) || []) line.classList.toggle(name, on);
  }
  function pin(chosen) {
    const same = chosen.size === pinned.size && [...chosen].every((n) => pinned.has(n));
    mark(pinned, "on", false);
    lines.forEach((line) => line.classList.remove("now"));
    pinned = same ? new Set() : chosen;
    mark(pinned, "on", true);
    parts.forEach((part) => part.setAttribute("aria-pressed", String(pinned.has(part.dataset.n))));
    marked = lines.filter((line) => line.classList.contains("on"));
    at = -1;
    for (const stage of section.querySelectorAll(".pass")) {
      const hits = stage.querySelectorAll(".on[data-p]").length, shown = stage.querySelector(".hits");
      if (shown) shown.textContent = hits ? hits + (hits === 1 ? " line" : " lines") : "";
    }
    if (status) status.textContent = pinned.size ? namesOf(pinned) + ": " + marked.length + " lines" : hint;
    if (before) before.disabled = after.disabled = !marked.length;
  }
  function go(step) {
    if (!marked.length) return;
    marked.forEach((line) => line.classList.remove("now"));
    at = at < 0 && step < 0 ? marked.length - 1 : (at + step + marked.length) % marked.length;
    const line = marked[at];
    for (let up = line.parentElement; up; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
    line.classList.add("now");
    line.scrollIntoView({ block: "center", inline: "nearest" });
    const stage = line.closest(".pass");
    const where = at + 1 + " of " + marked.length + ", " + stage.querySelector(".name").textContent;
    if (status) status.textContent = where + ", from " + namesOf(new Set(numbers(line)));
  }
  const partOf = (event) => event.target.closest && event.target.closest(".part");
  const lineOf = (event) => event.target.closest && event.target.closest("[data-p]");
  const chosenBy = (event) => {
    const part = partOf(event), line = lineOf(event);
    return part ? new Set([part.dataset.n]) : line ? new Set(numbers(line)) : null;
  };
  let hovered = null;
  section.addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    if (hovered) mark(hovered, "hov", false);
    hovered = chosenBy(event);
    if (hovered) mark(hovered, "hov", true);
  });
  section.addEventListener("pointerleave", () => {
    if (hovered) mark(hovered, "hov", false);
    hovered = null;
  });
  section.addEventListener("click", (event) => {
    const chosen = chosenBy(event);
    if (chosen && String(getSelection()) === "") pin(chosen);
  });
  section.addEventListener("keydown", (event) => {
    const part = partOf(event);
    if (part && part.tagName !== "BUTTON" && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      pin(new Set([part.dataset.n]));
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !pinned.size) return;
    if (event.key === "Escape") pin(new Set());
    else if (event.key === "n") go(1);
    else if (event.key === "p") go(-1);
  });
  if (before) {
    before.addEventListener("click", () => go(-1));
    after.addEventListener("click", () => go(1));
    opens.addEventListener("click", () => {
      const stages = [...section.querySelectorAll("details.pass")], all = stages.every((stage) => stage.open);
      stages.forEach((stage) => { stage.open = !all; });
      opens.textContent = all ? "Open all stages" : "Close all stages";
    });
  }
}
const packed = document.getElementById("packed");
Promise.resolve(packed && unpack(packed)).then(() => document.querySelectorAll("section").forEach(prepare));

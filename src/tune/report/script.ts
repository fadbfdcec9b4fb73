// The page's own script: what one points at is shown everywhere, tables are sorted by a click, and ranges are chosen on axes.
// The page allows this script by its hash and no other, so a test compares the two.

export const SCRIPT_HASH = "sha256-QbpZv11FtX9P2tmekk0/aSoKSjDx0E6PYGOxmdxSBdg=";

export const SCRIPT = `
document.documentElement.classList.add("scripted-page");
const marks = new Map();
for (const mark of document.querySelectorAll("[data-trial]")) {
  const same = marks.get(mark.dataset.trial);
  if (same) same.push(mark);
  else marks.set(mark.dataset.trial, [mark]);
}
const tables = [...document.querySelectorAll("table")];
const whole = tables.at(-1);
const tip = document.querySelector(".tip");
let pointed;

function point(trial, event) {
  if (trial !== pointed) {
    for (const mark of marks.get(pointed) ?? []) mark.classList.remove("on");
    for (const mark of marks.get(trial) ?? []) mark.classList.add("on");
    pointed = trial;
  }
  tip.hidden = trial === undefined || event.target.closest("table") !== null;
  if (tip.hidden) return;
  const row = whole.querySelector('tr[data-trial="' + trial + '"]');
  const titles = [...whole.tHead.rows[0].cells].map((cell) => cell.textContent);
  tip.textContent = [...row.cells]
    .map((cell, i) => [titles[i], cell.textContent])
    .filter(([, text]) => text !== "")
    .map((both) => both.join(": "))
    .join("\\n");
  const { offsetWidth: width, offsetHeight: height } = tip;
  tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8)) + "px";
  tip.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - height - 8)) + "px";
}
document.addEventListener("pointermove", (event) => {
  point(event.target.closest?.("[data-trial]")?.dataset.trial, event);
});

for (const table of tables) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) =>
    head.querySelector("button").addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const isNumber = head.classList.contains("number");
      const key = (row) => row.cells[column].textContent;
      const order = (a, b) => (isNumber ? a - b : a.localeCompare(b));
      const rows = [...table.tBodies[0].rows].sort((a, b) => {
        const [left, right] = [key(a), key(b)];
        // What is missing stays at the end.
        if (left === "" || right === "") return (left === "") - (right === "");
        return down ? order(right, left) : order(left, right);
      });
      table.tBodies[0].append(...rows);
    }),
  );
}

const chosen = new Map();
const lines = [...document.querySelectorAll(".parallel polyline")].map((line) => ({
  trial: line.dataset.trial,
  heights: line.getAttribute("points").split(" ").map((corner) => Number(corner.split(",")[1])),
}));
function choose() {
  for (const { trial, heights } of lines) {
    const out = [...chosen].some(([axis, [from, to]]) => heights[axis] < from || heights[axis] > to);
    for (const mark of marks.get(trial)) mark.classList.toggle("out", out);
  }
}
for (const brush of document.querySelectorAll(".brush")) {
  const axis = Number(brush.dataset.axis);
  const range = brush.previousElementSibling;
  const height = (event) => event.clientY - brush.ownerSVGElement.getBoundingClientRect().top;
  let from;
  const show = (low, high) => {
    range.setAttribute("y", low);
    range.setAttribute("height", high - low);
  };
  brush.addEventListener("pointerdown", (event) => {
    from = height(event);
    brush.setPointerCapture(event.pointerId);
  });
  brush.addEventListener("pointermove", (event) => {
    if (from === undefined) return;
    const to = height(event);
    show(Math.min(from, to), Math.max(from, to));
  });
  brush.addEventListener("pointerup", (event) => {
    const to = height(event);
    if (Math.abs(to - from) < 3) {
      chosen.delete(axis);
      show(0, 0);
    } else chosen.set(axis, [Math.min(from, to), Math.max(from, to)]);
    from = undefined;
    choose();
  });
}
`;

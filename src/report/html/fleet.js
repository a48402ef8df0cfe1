"use strict";
// Sorting by a column and finding by words; the rows are in the page, and stay readable without this.
const body = document.querySelector("#runs tbody");
const rows = [...body.rows];
const texts = rows.map((row) => row.textContent.toLowerCase());
const heads = [...document.querySelectorAll("#runs th")];
const find = document.getElementById("find");
const shown = document.getElementById("shown");

function show() {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  let n = 0;
  rows.forEach((row, i) => {
    row.hidden = !words.every((word) => texts[i].includes(word));
    n += !row.hidden;
  });
  shown.textContent = words.length ? `${n} of ${rows.length} runs` : "";
}

function compare(a, b, sign) {
  const x = a.dataset.order ?? a.textContent, y = b.dataset.order ?? b.textContent;
  if (x === "" || y === "") // what is not known comes last
    return (x === "") - (y === "");
  return sign * x.localeCompare(y, "en", { numeric: true });
}

function sort(column) {
  const down = heads[column].getAttribute("aria-sort") === "ascending";
  heads.forEach((head) => head.removeAttribute("aria-sort"));
  heads[column].setAttribute("aria-sort", down ? "descending" : "ascending");
  const sorted = [...rows].sort((a, b) => compare(a.cells[column], b.cells[column], down ? -1 : 1));
  body.append(...sorted);
}

heads.forEach((head, i) => head.querySelector("button").addEventListener("click", () => sort(i)));
find.addEventListener("input", show);

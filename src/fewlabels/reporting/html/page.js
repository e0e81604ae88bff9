"use strict";
// Sorts a table by the column that is clicked, hides the rows that do not match what is typed, and folds long tables. Without it, all is shown.
const valueOf = (row, column) => {
  const cell = row.cells[column], data = cell && cell.querySelector("data");
  const text = data ? data.value : cell ? cell.textContent.trim() : "";
  const number = Number(text.replace(/[,%]/g, "").replace(/^[<>]/, ""));
  return text !== "" && !Number.isNaN(number) ? number : text;
};
const compare = (a, b) =>
  typeof a === typeof b ? (typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true })) : typeof a === "number" ? -1 : 1;
const isOverall = (row) => row.classList.contains("overall");
const foldRows = (table) => [...table.tBodies[0].rows].forEach((row, i) => row.classList.toggle("more", i >= Number(table.dataset.shown || Infinity)));
const sortBy = (table, column, header) => {
  const body = table.tBodies[0], down = header.getAttribute("aria-sort") === "ascending";
  const rows = [...body.rows].filter((row) => !isOverall(row));
  rows.sort((a, b) => compare(valueOf(a, column), valueOf(b, column)) * (down ? -1 : 1));
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", down ? "descending" : "ascending");
  body.append(...rows);
  foldRows(table);
};
const addUnfoldButton = (table) => {
  const button = document.createElement("button"), n = table.tBodies[0].rows.length - Number(table.dataset.shown);
  button.type = "button";
  button.className = "unfold";
  button.textContent = `show ${n} more ${n === 1 ? "row" : "rows"}`;
  button.addEventListener("click", () => { table.classList.remove("folded"); button.remove(); });
  table.closest(".scroll").after(button);
  table.classList.add("folded");
  foldRows(table);
};
for (const table of document.querySelectorAll("table.sortable")) {
  [...table.tHead.rows[0].cells].forEach((header, column) => {
    if (!header.textContent.trim() || header.classList.contains("bar")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    button.addEventListener("click", () => sortBy(table, column, header));
    header.append(button);
  });
  if (table.dataset.shown) addUnfoldButton(table);
}
for (const box of document.querySelectorAll(".filter")) {
  const table = document.getElementById(box.dataset.table), none = box.querySelector("output");
  box.hidden = table.tBodies[0].rows.length < 8;
  box.querySelector("input").addEventListener("input", (event) => {
    const wanted = event.target.value.trim().toLocaleLowerCase();
    let shown = 0;
    table.classList.toggle("searched", wanted !== "");
    for (const row of table.tBodies[0].rows) {
      row.hidden = wanted !== "" && !isOverall(row) && !row.textContent.toLocaleLowerCase().includes(wanted);
      shown += !row.hidden && !isOverall(row);
    }
    none.textContent = shown ? "" : "no row matches";
  });
}

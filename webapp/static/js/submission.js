// Makes the table of identities sortable by any column and, if it is long, searchable by name.
const SHOWN = 10;

function value(row, column) {
  const text = row.cells[column].textContent.trim();
  if (column === 0) return text.toLowerCase();
  const number = parseFloat(text);
  return Number.isNaN(number) ? Infinity : number; // undefined AUCs last
}

function sort(table, column, isDescending) {
  const [body] = table.tBodies;
  const sign = isDescending ? -1 : 1;
  const rows = [...body.rows].map((row) => [value(row, column), row]);
  rows.sort(([a], [b]) => (a === b ? 0 : a === Infinity || (b !== Infinity && (a > b) === !isDescending) ? 1 : -1));
  rows.forEach(([, row], place) => { row.classList.toggle("more", place >= SHOWN); });
  body.append(...rows.map(([, row]) => row));
  for (const head of table.tHead.rows[0].cells) head.removeAttribute("aria-sort");
  table.tHead.rows[0].cells[column].setAttribute("aria-sort", sign < 0 ? "descending" : "ascending");
}

function makeSortable(table) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(table, column, head.ariaSort === "ascending"));
    head.append(button);
  });
}

function makeFindable(box, table) {
  const field = box.querySelector(".find");
  if (!field) return;
  field.hidden = false;
  field.querySelector("input").addEventListener("input", ({ target }) => {
    const wanted = target.value.trim().toLowerCase();
    for (const row of table.tBodies[0].rows) row.hidden = !value(row, 0).includes(wanted);
  });
}

function enhance() {
  for (const box of document.querySelectorAll(".identities:not([data-sortable])")) {
    box.dataset.sortable = "";
    const table = box.querySelector("table");
    makeSortable(table);
    makeFindable(box, table);
  }
}

enhance();
new MutationObserver(enhance).observe(document.body, { childList: true, subtree: true }); // for tables that live pages replace

// Search in the documentation: sections that contain all words, those with a word in the heading first.
const form = document.querySelector(".docs-search");
const list = form.querySelector("ul");
const input = form.querySelector("input");
const MOST = 12;
let index;

async function search() {
  index ??= await (await fetch("/docs/search.json")).json();
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = words.length === 0 ? [] : index
    .map((each) => [each, `${each.title} ${each.heading}`.toLowerCase()])
    .filter(([each, heading]) => words.every((word) => heading.includes(word) || each.text.toLowerCase().includes(word)))
    .sort(([, one], [, other]) => words.some((word) => other.includes(word)) - words.some((word) => one.includes(word)));
  list.replaceChildren(...found.slice(0, MOST).map(([each]) => {
    const item = document.createElement("li");
    const link = item.appendChild(document.createElement("a"));
    link.href = each.url;
    link.textContent = each.heading === each.title ? each.title : `${each.title}: ${each.heading}`;
    return item;
  }));
}

input.addEventListener("input", search);
form.addEventListener("submit", (event) => event.preventDefault());
form.hidden = false;

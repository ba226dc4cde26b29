// Hides the options that do not match the search field; without this script, all options are shown.
for (const search of document.querySelectorAll("[data-filter]")) {
  const list = document.getElementById(search.dataset.filter);
  const nothing = list.querySelector("[data-nothing]");
  search.hidden = false;
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/);
    let shown = 0;
    for (const option of list.querySelectorAll("label")) {
      option.hidden = !words.every((word) => option.textContent.toLowerCase().includes(word));
      if (!option.hidden) shown += 1;
    }
    nothing.hidden = shown > 0;
  });
}

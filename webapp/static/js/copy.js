// Adds a copy button to every `.copyable` block, including blocks that are inserted later.
function enhance() {
  for (const block of document.querySelectorAll(".copyable:not(.with-button)")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "small outline secondary";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(block.querySelector("[data-copy], code").textContent.trim());
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    block.classList.add("with-button");
    block.append(button);
  }
}

// Pages over plain HTTP have no clipboard access except on localhost. Their text can still be selected.
if (navigator.clipboard) {
  enhance();
  new MutationObserver(enhance).observe(document.body, { childList: true, subtree: true });
}

// Every `.copyable` block gets a button that copies its text, also one that comes later.
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

if (navigator.clipboard) { // plain http away from localhost has none: the text can still be selected
  enhance();
  new MutationObserver(enhance).observe(document.body, { childList: true, subtree: true });
}

// Every `.copyable` block gets a button that copies its text.
for (const block of document.querySelectorAll(".copyable")) {
  if (!navigator.clipboard) continue; // plain http away from localhost: the text can still be selected
  const button = document.createElement("button");
  button.type = "button";
  button.className = "small outline secondary";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.querySelector("code").textContent.trim());
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  block.classList.add("with-button");
  block.append(button);
}

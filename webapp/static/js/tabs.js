// On a phone the tabs scroll sideways: the current one is brought into view.
const current = document.querySelector(".tabs [aria-current]");
const list = current?.closest("ul");
if (list) list.scrollLeft = current.offsetLeft - (list.clientWidth - current.offsetWidth) / 2;

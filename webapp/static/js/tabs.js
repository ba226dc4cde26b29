// Scrolls the current tab into view, because tabs scroll sideways on a phone.
const current = document.querySelector(".tabs [aria-current]");
const list = current?.closest("ul");
if (list) list.scrollLeft = current.offsetLeft - (list.clientWidth - current.offsetWidth) / 2;

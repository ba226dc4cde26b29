// Times stand on the page in UTC. Here each gets the reader's own time, with UTC for hover and focus; times of the form
// `ago` and `left` say how long it is, and go on.
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const short = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
const dated = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
const hours = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const two = (number) => String(number).padStart(2, "0");

// The server's clock, where the page shows it; else the reader's.
const clock = document.querySelector("time[data-clock]");
const ahead = clock ? new Date(clock.dateTime).getTime() - performance.now() : performance.timeOrigin;
const now = () => ahead + performance.now();

function ago(milliseconds) {
  if (milliseconds < MINUTE) return "just now";
  if (milliseconds < HOUR) return `${Math.floor(milliseconds / MINUTE)} min ago`;
  if (milliseconds < DAY) return `${Math.floor(milliseconds / HOUR)} h ago`;
  return `${Math.floor(milliseconds / DAY)} d ago`;
}

function left(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const days = Math.floor(seconds / 86_400);
  if (days > 0) return `${days} d ${Math.floor(seconds / 3600) % 24} h`;
  return `${Math.floor(seconds / 3600)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
}

const forms = {
  short: (moment) => (moment.getFullYear() === new Date(now()).getFullYear() ? short : dated).format(moment),
  clock: (moment) => hours.format(moment),
  ago: (moment) => ago(now() - moment),
  left: (moment) => left(moment - now()),
};

function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function localize(root) {
  for (const element of root.querySelectorAll("time[datetime]:not([data-clock], [data-utc])")) {
    const moment = new Date(element.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    const { form } = element.dataset;
    const isUtc = moment.getTimezoneOffset() === 0;
    element.dataset.utc = `${moment.toISOString().slice(0, 16).replace("T", " ")} UTC`;
    // In a table every time would be a stop of the Tab key: there UTC is for hovering alone.
    if (element.closest("table, a, button, summary")) element.title = form || !isUtc ? `${full.format(moment)}; ${element.dataset.utc}` : element.dataset.utc;
    else { element.removeAttribute("title"); element.tabIndex = 0; }
    if (form) say(element, forms[form](moment));
    else if (!isUtc) say(element, full.format(moment));
  }
}

function tick() {
  for (const element of document.querySelectorAll("time[data-form=left], time[data-form=ago]")) {
    say(element, forms[element.dataset.form](new Date(element.dateTime)));
  }
  if (clock) say(clock, new Date(now()).toISOString().slice(11, 19));
}

if (new Date().getTimezoneOffset() !== 0) document.documentElement.classList.add("is-local");
localize(document);
setInterval(tick, 1000);
// Live pages put fresh parts in place of old ones.
new MutationObserver((changes) => {
  for (const { addedNodes } of changes) {
    for (const node of addedNodes) if (node instanceof Element && node.localName !== "time") localize(node.parentElement ?? node);
  }
}).observe(document.body, { childList: true, subtree: true });

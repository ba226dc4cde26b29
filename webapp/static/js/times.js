// Converts the times on a page from UTC to the reader's time zone and shows UTC on hover. Every time names its
// zone. Times of the forms `ago` and `left` are durations and are updated every second.
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const PARTS = new Intl.DateTimeFormat("en-US", {
  year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZoneName: "short",
});
// The formats of webapp/presentation/formats.py, in the reader's time zone.
function written(moment) {
  const { year, month, day, hour, minute, second, timeZoneName: zone } = Object.fromEntries(PARTS.formatToParts(moment).map(({ type, value }) => [type, value]));
  const clock = `${hour}:${minute}`;
  return { day: `${day} ${month}`, clock, hours: `${clock} ${zone}`, seconds: `${clock}:${second} ${zone}`, short: `${day} ${month}, ${clock} ${zone}`, full: `${day} ${month} ${year}, ${clock} ${zone}`, zone };
}
// The formats of times in sentences, menus and chart titles rendered by the server.
const WRITTEN = /\b(?:\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?|\d{1,2} [A-Z][a-z]{2}(?: \d{4})?,? \d\d:\d\d(?::\d\d)?|\d\d:\d\d:\d\d) UTC\b/g;
const PLAIN_TEXT = "option, svg";  // elements that cannot contain a `time` element
const UNTOUCHED = "time, code, pre, textarea, label, legend, script, style, bdi";
const two = (number) => String(number).padStart(2, "0");

// The server's clock if the page shows it, otherwise the reader's.
const clock = document.querySelector("time[data-clock]");
const ahead = clock ? new Date(clock.dateTime).getTime() - performance.now() : performance.timeOrigin;
const now = () => ahead + performance.now();
// Two dates are compared because a zone, such as London's, can equal UTC for part of the year.
const isLocal = [0, 6].some((month) => new Date(new Date().getFullYear(), month, 1).getTimezoneOffset() !== 0);

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
  short: (moment) => written(moment)[moment.getFullYear() === new Date(now()).getFullYear() ? "short" : "full"],
  clock: (moment) => written(moment).hours,
  zone: (moment) => written(moment).zone,
  axis: (moment) => written(moment)[moment.getHours() || moment.getMinutes() ? "clock" : "day"],
  ago: (moment) => ago(now() - moment),
  left: (moment) => left(moment - now()),
};

function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// A time without a year is in the current year. A time without a date is today.
function read(sentence) {
  const text = sentence.slice(0, -4).replace(",", "");
  const today = new Date(now());
  if (/^\d{4}-/.test(text)) return new Date(`${text.replace(" ", "T")}Z`);
  if (/^\d\d:/.test(text)) return new Date(`${today.toISOString().slice(0, 10)}T${text}Z`);
  const [day, month, ...rest] = text.split(" ");
  const [year, clock] = rest.length > 1 ? rest : [today.getUTCFullYear(), rest[0]];
  return new Date(`${day} ${month} ${year} ${clock} UTC`);
}

function timeElement(moment) {
  const element = document.createElement("time");
  element.dateTime = moment.toISOString();
  return element;
}

function localizeWritten(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const { currentNode: node } = walker;
    if (node.data.includes(" UTC") && !node.parentElement.closest(UNTOUCHED)) found.push(node);
  }
  for (const node of found) {
    const moments = [...node.data.matchAll(WRITTEN)].map((match) => [match, read(match[0])]).filter(([, moment]) => !Number.isNaN(moment.getTime()));
    const isPlain = node.parentElement.closest(PLAIN_TEXT);
    const parts = [];
    let end = 0;
    for (const [match, moment] of moments) {
      parts.push(node.data.slice(end, match.index), isPlain ? forms.short(moment) : timeElement(moment));
      end = match.index + match[0].length;
    }
    if (!parts.length) continue;
    parts.push(node.data.slice(end));
    if (isPlain) node.data = parts.join("");
    else node.replaceWith(...parts);
  }
}

function localize(root) {
  if (isLocal) {
    localizeWritten(root);
    for (const mark of root.querySelectorAll("svg text[data-time]")) {
      say(mark, forms[mark.dataset.form](new Date(mark.dataset.time)));
      delete mark.dataset.time;
    }
  }
  for (const element of root.querySelectorAll("time[datetime]:not([data-clock], [data-utc])")) {
    const moment = new Date(element.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    const { form } = element.dataset;
    const isUtc = moment.getTimezoneOffset() === 0;
    element.dataset.utc = `${moment.toISOString().slice(0, 16).replace("T", " ")} UTC`;
    element.title = form || !isUtc ? `${written(moment).full}; ${element.dataset.utc}` : element.dataset.utc;
    if (form) say(element, forms[form](moment));
    else if (!isUtc) say(element, written(moment).full);
  }
}

function tick() {
  for (const element of document.querySelectorAll("time[data-form=left], time[data-form=ago]")) {
    say(element, forms[element.dataset.form](new Date(element.dateTime)));
  }
  if (clock) say(clock, isLocal ? written(new Date(now())).seconds : `${new Date(now()).toISOString().slice(11, 19)} UTC`);
}

localize(document.body);
tick();
setInterval(tick, 1000);
// Live pages replace regions of the page.
new MutationObserver((changes) => {
  for (const { addedNodes } of changes) {
    for (const node of addedNodes) {
      if (node instanceof Element && node.localName !== "time") localize(node.parentElement ?? node);
      else if (isLocal && node instanceof Text && node.data.includes(" UTC") && node.parentElement) localizeWritten(node.parentElement);
    }
  }
}).observe(document.body, { childList: true, subtree: true });

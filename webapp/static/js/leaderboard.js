// The interactive leaderboard: typing filters the rows, "/" focuses the search,
// and a button announces new scores. Without JavaScript, the form, the links and a reload provide the same functions.
const FILTER_WAIT_MS = 250;
const FIRST_LOOK_MS = 15_000;
const LAST_LOOK_MS = 60_000;
const field = document.querySelector("#q");
const region = () => document.querySelector("#leaderboard");

async function page(address) {
  const answer = await fetch(address, { headers: { Accept: "text/html" } });
  if (!answer.ok) throw new Error(`${answer.status}`);
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

// Filter

const folded = (text) => text.normalize("NFKC").toLocaleLowerCase();

function filterShown() {
  const wanted = folded(field.value.trim());
  for (const row of region().querySelectorAll(".standings tbody tr")) {
    row.hidden = !folded(row.querySelector(".team bdi").textContent).includes(wanted);
  }
}

let waiting;
function ask() {
  clearTimeout(waiting);
  waiting = setTimeout(async () => {
    const address = new URL(window.location);
    address.hash = "";
    address.searchParams.delete("page");
    const wanted = field.value.trim();
    if (wanted) address.searchParams.set("q", wanted);
    else address.searchParams.delete("q");
    try {
      const fresh = (await page(address)).querySelector("#leaderboard");
      if (!fresh || field.value.trim() !== wanted) return;
      region().replaceWith(fresh);
      history.replaceState(null, "", address);
    } catch {
      // The network failed. The rows filtered in the browser remain.
    }
  }, FILTER_WAIT_MS);
}

if (field && region()) {
  const hasAll = () => Number(region().dataset.pageCount) <= 1 && !new URL(window.location).searchParams.get("q");
  field.addEventListener("input", () => {
    filterShown();
    if (!hasAll()) ask();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select, dialog[open]")) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
}

// New scores

async function look(address, etag) {
  const answer = await fetch(address, { headers: { Accept: "application/json", ...(etag && { "If-None-Match": etag }) } });
  if (answer.status === 304) return null;
  if (!answer.ok) throw new Error(`${answer.status}`);
  return { etag: answer.headers.get("ETag"), ...(await answer.json()) };
}

function say(count) {
  let button = document.querySelector(".new-scores");
  if (!button) {
    const status = document.createElement("p");
    status.role = "status";
    status.className = "new-scores-line";
    region().before(status);
    button = document.createElement("button");
    button.type = "button";
    button.className = "small new-scores";
    button.addEventListener("click", () => window.location.reload());
    status.append(button);
  }
  const what = count > 0 ? `${count.toLocaleString()} new ${count === 1 ? "score" : "scores"}` : "The leaderboard has changed";
  if (button.dataset.what !== what) button.textContent = `${what}: refresh`;
  button.dataset.what = what;
}

async function follow(address) {
  let first;
  let etag;
  let wait = FIRST_LOOK_MS;
  for (;;) {
    if (!document.hidden) {
      try {
        const seen = await look(address, etag);
        first ??= seen;
        etag = seen?.etag ?? etag;
        if (seen && (seen.version !== first.version || seen.entries !== first.entries)) say(seen.entries - first.entries);
      } catch {
        // The network failed. The next poll tries again.
      }
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(wait * 1.25, LAST_LOOK_MS);
  }
}

const address = region()?.dataset.version;
if (address) follow(address);

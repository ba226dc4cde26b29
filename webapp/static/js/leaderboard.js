// The interactive leaderboard: typing filters the rows, "/" focuses the search, and a button announces new scores.
// Without JavaScript, the form and a reload provide the same functions.
const FILTER_WAIT_MS = 250;
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

// The shown page of the leaderboard is polled as JSON with its ETag.
async function follow(address) {
  let etag;
  for (let wait = 15_000; ; wait = Math.min(wait * 1.25, 60_000)) {
    const headers = { Accept: "application/json", ...(etag && { "If-None-Match": etag }) };
    const answer = document.hidden ? null : await fetch(address, { headers }).catch(() => null);
    if (answer?.ok) {
      document.querySelector("#new-scores").hidden = !etag;
      etag = answer.headers.get("ETag");
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

const polled = region()?.dataset.poll;
if (polled) follow(polled);

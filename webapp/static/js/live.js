// Polls the JSON of each `[data-live]` region. When the state has changed, the page is fetched again and
// the region is replaced, so that all HTML is rendered by the server. Elements with `data-fresh` and an id, which depend
// on the same state but are outside the region, are replaced too.
const FIRST_WAIT_MS = 200; // Most submissions are scored sooner.
const WAIT_AFTER_CHANGE_MS = 2000; // A progress bar changes with every poll.
const LAST_WAIT_MS = 10000;
const GROWTH = 1.5;

const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function refresh(region) {
  if ("reload" in region.dataset) { // Content outside the region changes too.
    window.location.reload();
    return region;
  }
  const page = await fetch(window.location.href, { headers: { Accept: "text/html" } });
  if (!page.ok) return region;
  const current = new DOMParser().parseFromString(await page.text(), "text/html");
  const fresh = current.getElementById(region.id);
  if (!fresh) return region;
  for (const part of document.querySelectorAll("[data-fresh]")) {
    const freshPart = current.getElementById(part.id);
    if (freshPart) part.replaceWith(freshPart);
  }
  region.replaceWith(fresh);
  return fresh;
}

async function follow(region) {
  let etag = region.dataset.etag;
  let wait = FIRST_WAIT_MS;
  for (;;) {
    await sleep(wait);
    if (document.hidden) continue;
    try {
      const answer = await fetch(region.dataset.live, { headers: { Accept: "application/json", "If-None-Match": etag } });
      if (answer.status === 200) {
        etag = answer.headers.get("ETag");
        region = await refresh(region);
        if (!region.dataset.live) return; // The state is final.
        wait = WAIT_AFTER_CHANGE_MS;
        continue;
      }
      if (answer.status !== 304) return; // The user is logged out, or the object no longer exists.
    } catch {
      // The network failed. The next poll tries again.
    }
    wait = Math.min(wait * GROWTH, LAST_WAIT_MS);
  }
}

for (const region of document.querySelectorAll("[data-live]")) follow(region);

// Times stand on the page in UTC. Each gets its local form as a tooltip, and one with `data-local` also behind it.
function localize(root) {
  for (const element of root.querySelectorAll("time[datetime]")) {
    const moment = new Date(element.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    element.title = moment.toLocaleString(undefined, { dateStyle: "full", timeStyle: "short" }) + " (your time)";
    if (element.dataset.local !== undefined && moment.getTimezoneOffset() !== 0) {
      delete element.dataset.local;
      const weekday = moment.getDate() === moment.getUTCDate() ? undefined : "short"; // there it is another day
      const local = moment.toLocaleTimeString(undefined, { weekday, hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
      element.after(` (${local} your time)`);
    }
  }
}

localize(document);
// Live pages put fresh parts in place of old ones.
new MutationObserver((changes) => {
  for (const { addedNodes } of changes) {
    for (const node of addedNodes) if (node instanceof Element) localize(node.parentElement ?? node);
  }
}).observe(document.body, { childList: true, subtree: true });

// Times stand on the page in UTC; here each gets its local form as a tooltip, and countdowns their own.
for (const element of document.querySelectorAll("time[datetime]")) {
  const moment = new Date(element.dateTime);
  if (!Number.isNaN(moment.getTime())) {
    element.title = moment.toLocaleString(undefined, { dateStyle: "full", timeStyle: "short" }) + " (your time)";
  }
}

// The upload form: drag and drop, the size limit, a check as soon as a file is chosen (if the form has `data-check`), the
// upload progress, and the reason for a rejection. A rejected file stays chosen.
const form = document.querySelector("form[data-upload]");
const drop = form.querySelector(".drop");
const input = form.querySelector("input[type=file]");
const button = form.querySelector(":scope > button") ?? document.querySelector(`button[form=${form.id}]`);
const progress = form.querySelector("progress");
const status = form.querySelector("[data-upload-status]");
// Larger files are checked only when they are submitted, so that they are uploaded only once.
const LARGEST_CHECKED_BYTES = 25e6;
const megabytes = (bytes) => (bytes < 1e5 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);
let checking = null;

function say(sentence, isFault = false) {
  status.textContent = sentence;
  status.classList.toggle("fault", isFault);
}

function choose() {
  const [file] = input.files;
  const limit = Number(form.dataset.maxBytes);
  const isTooLarge = Boolean(file) && file.size > limit;
  checking?.abort();
  checking = null;
  button.disabled = isTooLarge;
  hide("refusal");
  hide("check");
  if (!file) say("");
  else if (isTooLarge) say(`The file is ${megabytes(file.size)}; the limit is ${megabytes(limit)}.`, true);
  else {
    say(`${file.name}, ${megabytes(file.size)}`);
    if ("check" in form.dataset && file.size <= LARGEST_CHECKED_BYTES) check(file);
  }
}

for (const name of ["dragenter", "dragover"]) {
  drop.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add("over"); });
}
for (const name of ["dragleave", "drop"]) {
  drop.addEventListener(name, (event) => { event.preventDefault(); drop.classList.remove("over"); });
}
drop.addEventListener("drop", (event) => {
  if (!event.dataTransfer.files.length) return;
  const one = new DataTransfer();
  one.items.add(event.dataTransfer.files[0]);
  input.files = one.files;
  choose();
});
input.addEventListener("change", choose);

function hide(id) {
  const part = document.getElementById(id);
  if (part) part.hidden = true;
}

// Replaces the previous result with the one that the server rendered.
function show(html, id) {
  const fresh = new DOMParser().parseFromString(html, "text/html").getElementById(id);
  document.getElementById(id).replaceWith(fresh);
  for (const list of fresh.querySelectorAll(".problems")) addCopyButton(list);
  return fresh;
}

function addCopyButton(list) {
  // Pages over plain HTTP have no clipboard access except on localhost. Their text can still be selected.
  if (!navigator.clipboard) return;
  const copy = document.createElement("button");
  copy.type = "button";
  copy.className = "small secondary";
  copy.textContent = "Copy";
  copy.setAttribute("aria-label", "Copy all problems");
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(Array.from(list.children, (each) => (each.querySelector("[data-copy]") ?? each).textContent).join("\n"));
    copy.textContent = "Copied";
  });
  list.after(copy);
}

// Checks a file without submitting it. Errors of the check itself are ignored, because submitting the file reports them.
async function check(file) {
  const mine = new AbortController();
  checking = mine;
  say(`${file.name}, ${megabytes(file.size)}: checking`);
  const sent = new FormData(form);
  sent.set("check", "only");
  let found = null;
  try {
    const answer = await fetch(form.action, {
      method: "POST", body: sent, headers: { Accept: "application/json" }, signal: mine.signal,
    });
    found = await answer.json();
  } catch {
    found = null;
  }
  if (checking !== mine) return; // Another file has been chosen in the meantime.
  checking = null;
  say(`${file.name}, ${megabytes(file.size)}`);
  button.disabled = found?.is_clean === false;
  if (found?.html) show(found.html, found.error ? "refusal" : "check");
  else if (found?.message) say(found.message, true);
  document.dispatchEvent(new Event("checked"));
}

function finish(request) {
  const answer = request.response ?? {};
  if (request.status === 201) {
    window.location.assign(answer.location);
    return;
  }
  progress.hidden = true;
  button.disabled = false;
  if (answer.html) {
    say("");
    const fresh = show(answer.html, "refusal");
    fresh.tabIndex = -1; // to make it focusable
    fresh.focus();
  } else {
    say(answer.message ?? "The upload failed. Try again.", true);
  }
}

function send() {
  const request = new XMLHttpRequest(); // because fetch does not report upload progress
  request.open("POST", form.action || window.location.href);
  request.responseType = "json";
  request.setRequestHeader("Accept", "application/json");
  request.upload.addEventListener("progress", ({ loaded, total }) => {
    progress.max = total;
    progress.value = loaded;
    say(loaded < total ? `${megabytes(loaded)} of ${megabytes(total)} uploaded` : form.dataset.sent ?? "Uploaded. Checking the file");
  });
  request.addEventListener("load", () => finish(request));
  request.addEventListener("error", () => finish(request));
  progress.hidden = false;
  button.disabled = true;
  hide("refusal");
  request.send(new FormData(form));
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (checking) {
    // Submit after the running check has ended, unless it finds problems.
    button.disabled = true;
    document.addEventListener("checked", () => { if (!button.disabled) send(); }, { once: true });
  } else send();
});
choose();

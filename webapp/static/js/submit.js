// A form for a file: drag and drop, an early word about its size, a check as soon as it is chosen (where the form asks
// for one), the progress of the upload, and why a file was refused beside the file that is still chosen.
const form = document.querySelector("form[data-upload]");
const drop = form.querySelector(".drop");
const input = form.querySelector("input[type=file]");
const button = form.querySelector(":scope > button") ?? document.querySelector(`button[form=${form.id}]`);
const progress = form.querySelector("progress");
const status = form.querySelector("[data-upload-status]");
const LARGEST_CHECKED_BYTES = 25e6; // a larger file is sent once, and checked then
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

// What the server drew takes the place of what it drew before.
function show(html, id) {
  const fresh = new DOMParser().parseFromString(html, "text/html").getElementById(id);
  document.getElementById(id).replaceWith(fresh);
  for (const list of fresh.querySelectorAll(".problems")) addCopyButton(list);
  return fresh;
}

function addCopyButton(list) {
  if (!navigator.clipboard) return; // plain http away from localhost: the text can still be selected
  const copy = document.createElement("button");
  copy.type = "button";
  copy.className = "small secondary";
  copy.textContent = "Copy";
  copy.setAttribute("aria-label", "Copy the problems");
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(Array.from(list.children, (each) => (each.querySelector("[data-copy]") ?? each).textContent).join("\n"));
    copy.textContent = "Copied";
  });
  list.after(copy);
}

// Ask what is wrong with a file, without submitting it. Whatever goes wrong here is told when it is submitted.
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
  if (checking !== mine) return; // another file was chosen meanwhile
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
    fresh.tabIndex = -1; // where the eye and the keyboard go on
    fresh.focus();
  } else {
    say(answer.message ?? "The upload did not arrive. Please try again.", true);
  }
}

function send() {
  const request = new XMLHttpRequest(); // fetch tells nothing about the progress of an upload
  request.open("POST", form.action || window.location.href);
  request.responseType = "json";
  request.setRequestHeader("Accept", "application/json");
  request.upload.addEventListener("progress", ({ loaded, total }) => {
    progress.max = total;
    progress.value = loaded;
    say(loaded < total ? `${megabytes(loaded)} of ${megabytes(total)} sent` : form.dataset.sent ?? "Sent; checking the file");
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
    button.disabled = true; // one check at a time: it goes on once this one has ended, unless it found problems
    document.addEventListener("checked", () => { if (!button.disabled) send(); }, { once: true });
  } else send();
});
choose();

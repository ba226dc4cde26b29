// The upload form: drag and drop, the size limit, the upload progress, and the reason for a rejection. A rejected file stays
// chosen. If the form has `data-check`, a file is uploaded and checked as soon as it is chosen, and submitted by its token.
const form = document.querySelector("form[data-upload]");
const drop = form.querySelector(".drop");
const input = form.querySelector("input[type=file]");
const button = form.querySelector(":scope > button") ?? document.querySelector(`button[form=${form.id}]`);
const progress = form.querySelector("progress");
const status = form.querySelector("[data-upload-status]");
const megabytes = (bytes) => (bytes < 1e5 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);
let checking = null; // the request of the running check
let token = null; // of the uploaded file, if it has no problems
const WAITS = "It will be submitted after its check, unless it has problems.";
let isWanted = false; // whether Submit was pressed during the check

function say(sentence, isFault = false) {
  status.textContent = sentence;
  status.classList.toggle("fault", isFault);
}

function choose() {
  const [file] = input.files;
  const limit = Number(form.dataset.maxBytes);
  const isTooLarge = Boolean(file) && file.size > limit;
  checking?.abort();
  checking = token = null;
  isWanted = false;
  progress.hidden = true;
  button.disabled = isTooLarge;
  hide("refusal");
  hide("check");
  if (!file) say("");
  else if (isTooLarge) say(`The file is ${megabytes(file.size)}; the limit is ${megabytes(limit)}.`, true);
  else {
    say(`${file.name}, ${megabytes(file.size)}`);
    if ("check" in form.dataset) check(file);
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

// Uploads the form with its progress. fetch does not report it.
function upload(body, whenDone, words) {
  const request = new XMLHttpRequest();
  request.open("POST", form.action || window.location.href);
  request.responseType = "json";
  request.setRequestHeader("Accept", "application/json");
  request.upload.addEventListener("progress", ({ loaded, total }) => {
    progress.max = total;
    progress.value = loaded;
    say((loaded < total ? `${megabytes(loaded)} of ${megabytes(total)} uploaded` : words) + (isWanted ? `. ${WAITS}` : ""));
  });
  for (const end of ["load", "error"]) request.addEventListener(end, () => whenDone(request));
  progress.hidden = false;
  request.send(body);
  return request;
}

// Uploads and checks a file without submitting it. Errors of the check itself are ignored, because Submit reports them.
function check(file) {
  const sent = new FormData(form);
  sent.set("check", "only");
  checking = upload(sent, (request) => {
    if (checking !== request) return; // Another file has been chosen in the meantime.
    const found = request.response;
    checking = null;
    token = found?.upload ?? null;
    progress.hidden = true;
    say(`${file.name}, ${megabytes(file.size)}`);
    button.disabled = found?.is_clean === false;
    if (found?.html) show(found.html, found.error ? "refusal" : "check");
    else if (found?.message) say(found.message, true);
    if (isWanted && !button.disabled && !found?.error) send();
    isWanted = false;
  }, "Uploaded. Checking the file");
}

function finish(request) {
  const answer = request.response ?? {};
  if (token && request.status === 404) { // The upload has expired.
    token = null;
    send();
    return;
  }
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
  const body = new FormData(form);
  if (token) {
    body.delete("file");
    body.set("upload", token);
  }
  button.disabled = true;
  hide("refusal");
  upload(body, finish, token ? "Submitting the file" : form.dataset.sent ?? "Uploaded. Checking the file");
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (checking) {
    button.disabled = isWanted = true;
    say(`${status.textContent}. ${WAITS}`);
  } else send();
});
choose();

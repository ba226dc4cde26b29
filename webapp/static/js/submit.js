// The submit form with drag and drop, an early word about the size, the progress of the upload, why a file was not
// submitted beside the file that is still chosen, and a server clock that goes on.
const form = document.querySelector("form[data-upload]");
const drop = form.querySelector(".drop");
const input = form.querySelector("input[type=file]");
const button = form.querySelector(":scope > button");
const progress = form.querySelector("progress");
const status = form.querySelector("[data-upload-status]");
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

function say(sentence, isFault = false) {
  status.textContent = sentence;
  status.classList.toggle("fault", isFault);
}

function check() {
  const [file] = input.files;
  const limit = Number(form.dataset.maxBytes);
  const isTooLarge = Boolean(file) && file.size > limit;
  button.disabled = isTooLarge;
  if (!file) say("");
  else if (isTooLarge) say(`The file is ${megabytes(file.size)}; the limit is ${megabytes(limit)}.`, true);
  else say(`${file.name}, ${megabytes(file.size)}`);
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
  check();
});
input.addEventListener("change", check);

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
    show(answer.html);
  } else {
    say(answer.message ?? "The upload did not arrive. Please try again.", true);
  }
}

// What the server drew takes the place of what it drew before, and is looked at.
function show(html) {
  const fresh = new DOMParser().parseFromString(html, "text/html").getElementById("refusal");
  document.getElementById("refusal").replaceWith(fresh);
  fresh.tabIndex = -1; // where the eye and the keyboard go on
  fresh.focus();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
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
  document.getElementById("refusal").hidden = true;
  request.send(new FormData(form));
});
check();

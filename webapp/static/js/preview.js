// Shows a live preview next to a text field. The server renders it in the same way as the final page.
const PAUSE_MS = 350;

function follow(field) {
  const panel = document.getElementById(field.dataset.panel);
  const token = field.form.querySelector("input[name=csrf_token]").value;
  let timer = 0;
  let latest = 0;
  async function draw() {
    const turn = ++latest;
    try {
      const body = new URLSearchParams({ csrf_token: token, text: field.value });
      const answer = await fetch(field.dataset.preview, { method: "POST", body, headers: { Accept: "text/html" } });
      if (turn !== latest) return;
      if (answer.status === 429) timer = setTimeout(draw, 1000 * (answer.headers.get("Retry-After") || 1));
      if (!answer.ok || answer.redirected) return; // A redirect leads to the login page.
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      panel.replaceChildren(...fresh.body.childNodes);
    } catch {
      // The network failed. The next keystroke tries again.
    }
  }
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(draw, PAUSE_MS);
  });
}

for (const field of document.querySelectorAll("textarea[data-preview]")) follow(field);

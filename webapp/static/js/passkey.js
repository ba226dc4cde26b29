// Submits forms with a passkey: `data-passkey-create` and `data-passkey-get` contain the server's options.
const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0));
const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const withKeys = (keys) => (keys ?? []).map((key) => ({ ...key, id: bytes(key.id) }));

async function respond(form) {
  const isNew = "passkeyCreate" in form.dataset;
  const options = JSON.parse(isNew ? form.dataset.passkeyCreate : form.dataset.passkeyGet);
  options.challenge = bytes(options.challenge);
  if (isNew) {
    options.user.id = bytes(options.user.id);
    options.excludeCredentials = withKeys(options.excludeCredentials);
  } else {
    options.allowCredentials = withKeys(options.allowCredentials);
  }
  const found = await navigator.credentials[isNew ? "create" : "get"]({ publicKey: options });
  const response = { clientDataJSON: text(found.response.clientDataJSON) };
  const names = isNew ? ["attestationObject"] : ["authenticatorData", "signature"];
  for (const name of names) response[name] = text(found.response[name]);
  return JSON.stringify({ id: found.id, rawId: text(found.rawId), type: found.type, response });
}

for (const form of document.querySelectorAll("[data-passkey-create], [data-passkey-get]")) {
  if (!window.PublicKeyCredential) continue;
  form.hidden = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const fault = form.querySelector("[role=alert]");
    fault.hidden = true;
    try {
      form.elements.passkey.value = await respond(form);
      form.submit();
    } catch (error) {
      fault.textContent = error.name === "InvalidStateError"
        ? "This device already has a passkey for your account."
        : "The browser did not use a passkey. Try again.";
      fault.hidden = false;
    }
  });
}

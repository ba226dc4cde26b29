// Derives the address from the title until the user edits it. The server derives the same address if the field is blank.
const title = document.getElementById("title");
const slug = document.getElementById("slug");
let isFollowing = !slug.value;

slug.addEventListener("input", () => { isFollowing = !slug.value; });
title.addEventListener("input", () => {
  if (!isFollowing) return;
  const plain = title.value.normalize("NFKD").replace(/[^\x00-\x7f]/g, "").toLowerCase();
  slug.value = plain.replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 36).replace(/-$/, "");
});

// Signs in with a key, and shows what the key may see. Whatever comes from the server is shown as
// text, never as HTML; the key is kept nowhere.

const element = (id) => document.getElementById(id);

async function ask(method, body) {
  const answer = await fetch("/session", {
    method,
    headers: body ? { "content-type": "application/json" } : {},
    body: body && JSON.stringify(body),
  });
  const content = await answer.json();
  if (!answer.ok) throw new Error(content.error.message);
  return content;
}

function show(session) {
  element("sign-in").hidden = session.signed_in;
  element("links").hidden = !session.signed_in;
  for (const link of document.querySelectorAll("[data-scope]")) {
    link.hidden = !session.scopes.includes(link.dataset.scope);
  }
  element("state").textContent = session.signed_in ? "You are signed in." : "";
  element("failure").textContent = "";
}

async function attempt(method, body) {
  try {
    show(await ask(method, body));
  } catch (error) {
    element("failure").textContent = error.message;
  }
}

element("sign-in").addEventListener("submit", (event) => {
  event.preventDefault();
  const key = element("key").value;
  element("key").value = "";
  attempt("POST", { key });
});
element("sign-out").addEventListener("click", () => attempt("DELETE"));
attempt("GET");

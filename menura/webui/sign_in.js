// Signs in with a key and keeps it nowhere: the server answers with a cookie that scripts cannot
// read.

import * as api from "./api.js";
import { button, el, field } from "./dom.js";
import { errorPlace } from "./notices.js";
import { languageSwitch, mark, themeSwitch } from "./shell.js";
import { t } from "./words.js";

/**
 * Shows the form in `container`; `done(session)` is called once somebody is signed in, `rebuild`
 * after a change of language.
 */
export function signInForm(container, { done, rebuild }) {
  const key = el("input", {
    type: "password",
    id: "key",
    autocomplete: "current-password",
    required: true,
    spellcheck: "false",
  });
  const problem = errorPlace("failure");
  const submit = button(t("sign_in.button"), null, {
    kind: "primary wide",
    type: "submit",
    id: "sign-in-button",
  });
  const form = el(
    "form",
    { class: "sign-in", id: "sign-in" },
    mark(40),
    el("h1", {}, t("sign_in.title")),
    field(t("sign_in.key"), key, t("sign_in.help")),
    problem.element,
    submit,
    el("div", { class: "sign-in-foot" }, languageSwitch(rebuild), themeSwitch()),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const given = key.value;
    key.value = "";
    problem.clear();
    submit.disabled = true;
    try {
      done(await api.post("/session", { key: given }));
    } catch (error) {
      problem.show(error);
      key.focus();
    } finally {
      submit.disabled = false;
    }
  });
  container.replaceChildren(form);
  key.focus();
}

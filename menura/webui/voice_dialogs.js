// What can be done to a kept voice: change its words, take it along as a file, delete it.

import { confirmDialog, openDialog } from "./dialogs.js";
import { button, el, field } from "./dom.js";
import { errorPlace, toast } from "./notices.js";
import { forgetVoice } from "./takes_store.js";
import { editVoice, exportVoice, removeVoice } from "./voice_api.js";
import { languageSelect } from "./voice_fields.js";
import { t } from "./words.js";

/** Changes a voice in a dialog; the voices are drawn anew when something was changed. */
export async function editDialog(voice, context) {
  const clip = voice.clips[0];
  const label = el("input", { type: "text", value: voice.label, required: true, maxlength: "80" });
  const language = await languageSelect(voice.language ?? "", context.signal);
  const transcript = el("textarea", { rows: "3", value: clip?.transcript ?? "" });
  const notes = el("textarea", { rows: "2", value: voice.notes });
  const consent = el("textarea", { rows: "2", value: voice.consent?.text ?? "" });
  const problem = errorPlace();
  const dialog = openDialog({
    title: t("edit.title", { name: voice.label }),
    content: el("form", { class: "voice-form", on: { submit: save } },
      el("div", { class: "pair" }, field(t("field.label"), label), field(t("field.language"), language)),
      clip && field(t("field.transcript"), transcript, t("field.transcript_help")),
      field(t("field.notes"), notes),
      field(t("field.consent"), consent, voice.consent ? t("field.consent_given", { date: voice.consent.given_on }) : ""),
      problem.element),
    actions: [
      button(t("word.cancel"), () => dialog.close(), { kind: "plain" }),
      button(t("word.save"), save, { kind: "primary" }),
    ],
  });

  async function save(event) {
    event.preventDefault();
    const changes = changed(voice, { label, language, transcript, notes, consent });
    if (!Object.keys(changes).length) return dialog.close();
    problem.clear();
    try {
      await editVoice(voice, changes);
      dialog.close();
      await context.changed();
    } catch (error) {
      problem.show(error);
    }
    return undefined;
  }
}

function changed(voice, { label, language, transcript, notes, consent }) {
  const before = {
    name: voice.label, language: voice.language ?? "", notes: voice.notes,
    transcript: voice.clips[0]?.transcript ?? "", consent: voice.consent?.text ?? "",
  };
  const after = {
    name: label.value, language: language.value, notes: notes.value,
    transcript: transcript.value, consent: consent.value,
  };
  const differing = Object.keys(after).filter((key) => after[key].trim() !== before[key].trim());
  return Object.fromEntries(differing.map((key) => [key, after[key].trim() || emptied(key)]));
}

const emptied = (key) => (key === "notes" || key === "name" ? "" : null);

/** Gives the voice to the browser as a file. */
export async function download(voice) {
  const address = URL.createObjectURL(await exportVoice(voice));
  el("a", { href: address, download: `${voice.label.replace(/[\\/:*?"<>|]+/g, "_")}.voice.zip` }).click();
  URL.revokeObjectURL(address);
}

/** Deletes the voice, and its takes in this browser, once the person has said yes. */
export async function confirmRemoval(voice, context) {
  const isSure = await confirmDialog({
    title: t("remove.title", { name: voice.label }),
    text: t("remove.text"),
    confirm: t("remove.confirm"),
    danger: true,
  });
  if (!isSure) return;
  await removeVoice(voice);
  await forgetVoice(voice.id, voice.label);
  toast(t("remove.done", { name: voice.label }));
  await context.changed();
  document.querySelector("#screen h1")?.focus();  // the button that was pressed went with its card
}

// The takes that this browser kept: hear one, take its settings over, save or delete it.

import { button, el, fill, icon } from "./dom.js";
import { confirmDialog } from "./dialogs.js";
import { download } from "./downloads.js";
import { remember } from "./memory.js";
import { toast } from "./notices.js";
import { studio } from "./studio.js";
import * as store from "./takes_store.js";
import { settingsOf } from "./voice_panel.js";
import { bytes, clock, dateOf, t } from "./words.js";

export async function screen(container, { go }) {
  const history = new HistoryScreen(container, go);
  await history.read();
  return { leave: () => history.leave() };
}

class HistoryScreen {
  constructor(container, go) {
    this.go = go;
    this.takes = [];
    this.search = el("input", {
      type: "search",
      id: "history-search",
      placeholder: t("history.search"),
      "aria-label": t("history.search"),
      on: { input: () => this.draw() },
    });
    this.clear = button(t("history.clear"), () => this.clearAll(), {
      kind: "quiet",
      icon: "trash",
      id: "history-clear",
    });
    this.list = el("div", { class: "takes", id: "takes" });
    this.reread = () => this.read();
    window.addEventListener("menura:takes", this.reread);
    fill(container, heading(), this.tools(), this.list);
  }

  leave() {
    window.removeEventListener("menura:takes", this.reread);
  }

  async read() {
    this.takes = await store.list();
    this.draw();
  }

  tools() {
    const isOn = el("input", { type: "checkbox", id: "history-on", checked: store.isOn() });
    isOn.addEventListener("change", () => store.setOn(isOn.checked));
    return el("div", { class: "toolbar history-tools" }, [
      el("div", { class: "search" }, icon("search", 18), this.search),
      el("div", { class: "check" }, isOn, el("label", { for: "history-on" }, t("history.on"))),
      this.clear,
    ]);
  }

  draw() {
    this.clear.hidden = !this.takes.length;
    const wanted = this.search.value.trim().toLocaleLowerCase();
    const found = this.takes.filter(({ text, voice, model }) =>
      `${text} ${voice} ${model}`.toLocaleLowerCase().includes(wanted),
    );
    const days = byDay(found).map(([day, takes]) => [
      el("h2", { class: "subtitle day" }, day),
      el(
        "ul",
        { class: "row-list" },
        takes.map((take) => this.row(take)),
      ),
    ]);
    const note = store.hasFailed() && el("p", { class: "notice" }, icon("warning", 18), t("history.refused"));
    fill(this.list, note, days.length ? days : nothing(this.takes.length > 0));
  }

  row(take) {
    const tool = (name, key, deed) =>
      button("", () => deed.call(this, take), { kind: "quiet", icon: name, label: t(key) });
    const play = button("", () => this.play(take), {
      kind: "plain round",
      icon: "play",
      label: t("history.play", { text: take.text.slice(0, 60) }),
    });
    return el("li", { class: "row take-row", data: { take: take.id } }, [
      play,
      el("div", { class: "main" }, [
        el("p", { class: "take-text" }, take.text),
        el("p", { class: "small muted numbers" }, factsOf(take).join(" · ")),
      ]),
      el("div", { class: "row-tools" }, [
        tool("edit", "history.reuse", this.reuse),
        tool("download", "history.save", this.save),
        tool("trash", "history.delete", this.drop),
      ]),
    ]);
  }

  /** The take with its sound; the person is told where the browser has let it go. */
  async whole(take) {
    const found = studio.take?.id === take.id ? studio.take : await store.load(take.id);
    if (!found) toast(t("history.gone"));
    return found;
  }

  async play(take) {
    studio.player.prepare(take.rate);
    const whole = await this.whole(take);
    if (!whole) return;
    studio.show(whole);
    studio.player.play();
  }

  async reuse(take) {
    const whole = await this.whole(take);
    if (whole) studio.show(whole);
    const handed = { text: take.text, settings: settingsOf(take.asked) };
    remember("menura.reuse", JSON.stringify(handed));
    this.go("speak");
  }

  async save(take) {
    const whole = await this.whole(take);
    if (whole) download(whole, "mp3");
  }

  async drop(take) {
    await store.forget([take.id]);
    await this.read();
    (this.list.querySelector("button") ?? this.search).focus();
  }

  async clearAll() {
    const yes = await confirmDialog({
      title: t("history.clear"),
      text: t("history.clear_sure", { n: this.takes.length }),
      confirm: t("history.clear_yes"),
      danger: true,
    });
    if (yes) await store.forgetAll();
  }
}

function heading() {
  const policy = t("history.policy", { n: store.MAX_TAKES, size: bytes(store.MAX_BYTES) });
  return el("header", { class: "screen-head" }, [
    el("div", {}, [
      el("h1", { class: "title", tabindex: "-1" }, t("nav.history")),
      el("p", { class: "lede" }, policy),
    ]),
  ]);
}

function nothing(hasTakes) {
  return el("div", { class: "empty" }, [
    icon("history", 32),
    el("p", {}, t(hasTakes ? "history.none_found" : "history.empty")),
    !hasTakes && el("a", { href: "#/speak" }, t("history.to_speak")),
  ]);
}

function factsOf(take) {
  const length = clock(take.n_samples / take.rate);
  const time = dateOf(take.made_on, { timeStyle: "short" });
  return [take.voice, take.model, length, time].filter(Boolean);
}

/** The takes by the day they were made, each day under its name. */
function byDay(takes) {
  const today = new Date().toDateString();
  const yesterday = new Date(Date.now() - 864e5).toDateString();
  const days = new Map();
  for (const take of takes) {
    const day = new Date(take.made_on).toDateString();
    const name =
      day === today
        ? t("history.today")
        : day === yesterday
          ? t("history.yesterday")
          : dateOf(take.made_on);
    days.set(name, [...(days.get(name) ?? []), take]);
  }
  return [...days];
}

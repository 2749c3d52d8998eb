// The Speak screen: a text, beside it who speaks it, under it what came. The dock plays.

import { isAbort } from "./api.js";
import { catalogue, forget } from "./catalogue.js";
import { button, el, fill, icon } from "./dom.js";
import { recall, remember } from "./memory.js";
import { announce, errorPlace } from "./notices.js";
import { mine } from "./owner.js";
import { planView } from "./plan_view.js";
import { speak } from "./speaking.js";
import { studio } from "./studio.js";
import { secondsOf } from "./take.js";
import { takeView } from "./take_view.js";
import { takeDrops } from "./text_drop.js";
import { VoicePanel } from "./voice_panel.js";
import { span, t } from "./words.js";

/** The screen stays as it was left: a text that was half written, a take, an open panel. */
export const keep = true;

const DRAFT = "menura.draft";
const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

export async function screen(container, context) {
  const speaker = new SpeakScreen(container, context.can);
  await speaker.arrive(context.route);
  return { shown: (place) => speaker.arrive(place), leave: () => speaker.leave() };
}

class SpeakScreen {
  constructor(container, can) {
    this.container = container;
    this.mayFetch = can("admin");
    this.abort = null; // set while a text is spoken
    this.isStale = true; // whether models and voices must be read
    this.problem = errorPlace("speak-failure");
    this.plan = planView({ refused: (error) => this.refused(error) });
    this.panel = new VoicePanel(() => this.changed(), { mayAdd: can("voices") });
    this.take = takeView();
    this.makeControls();
    this.place();
    this.ties = [
      [studio, "take", () => this.changed()],
      [document, "keydown", (event) => this.byKeys(event)],
      [window, "menura:catalogue", () => (this.isStale = true)],
    ];
    for (const [source, name, listener] of this.ties) source.addEventListener(name, listener);
  }

  makeControls() {
    this.text = el("textarea", {
      id: "text",
      class: "text",
      rows: 6,
      placeholder: t("speak.placeholder"),
      value: recall(mine(DRAFT)) ?? "",
      "aria-label": t("speak.text"),
      "aria-describedby": "plan",
      on: { input: () => this.changed() },
    });
    this.main = button(t("speak.speak"), ({ detail }) => this.speakOrStop({ isSecond: detail > 1 }), {
      kind: "primary large",
      icon: "speak",
      id: "speak-button",
      "aria-keyshortcuts": "Control+Enter Meta+Enter",
    });
    this.get = el("a", { class: "button primary large", id: "get-model", hidden: true });
    this.summary = el("span", { id: "panel-summary" });
    this.tries = examples((words) => this.write(words));
    takeDrops(this.text, {
      read: (words) => this.write(words),
      refuse: (name) => this.problem.show(t("speak.no_text_file", { name })),
    });
  }

  place() {
    const hint = el("kbd", { class: "hint", "aria-hidden": "true" }, isMac ? "⌘ ↩" : "Ctrl ↩");
    const foot = el(
      "div",
      { class: "composer-foot" },
      this.plan.element,
      hint,
      this.main,
      this.get,
    );
    const isWide = matchMedia("(min-width: 761px)").matches; // on a phone the panel waits, closed
    this.container.classList.add("speak");
    fill(
      this.container,
      el("h1", { class: "unseen", tabindex: "-1" }, t("nav.speak")),
      el("div", { class: "composer" }, [
        el("div", { class: "paper" }, this.text, foot),
        this.problem.element,
      ]),
      el("details", { class: "panel-place", open: isWide, id: "panel-place" }, [
        el("summary", { class: "panel-summary" }, [
          icon("voices", 18),
          this.summary,
          icon("chevron", 18),
        ]),
        this.panel.element,
      ]),
      this.tries,
      this.take.element,
    );
  }

  /** Nothing; the settings are those of the address, or of a take that is to be spoken again. */
  async arrive({ query }) {
    const reused = reusedTake();
    if (reused) this.text.value = reused.text;
    const wished = reused?.settings ?? wishedBy(query);
    if (this.isStale || Object.keys(wished).length) await this.readCatalogue(wished);
    this.changed();
  }

  async readCatalogue(wished) {
    try {
      const there = await catalogue();
      const all = this.mayFetch ? there : { ...there, absent: [] }; // nothing that leads nowhere
      if (!all.models.length && !all.absent.length) {
        return this.problem.show(t("speak.no_models"), toModels());
      }
      this.isStale = false;
      this.problem.clear();
      this.panel.set(all, wished);
    } catch (error) {
      this.problem.show(error);
    }
  }

  write(words) {
    this.text.value = words;
    this.text.focus();
    this.changed();
  }

  /** Nothing; the text, the settings or the take changed. */
  changed() {
    const { model, absent } = this.panel;
    remember(mine(DRAFT), this.text.value);
    this.main.hidden = Boolean(absent);
    this.get.hidden = !absent;
    if (absent) {
      this.get.href = `#/models/${encodeURIComponent(absent.name)}`;
      fill(this.get, icon("download"), t("speak.get_model"));
    }
    this.tries.hidden = Boolean(this.text.value.trim() || studio.take || studio.live);
    this.summary.textContent = this.panel.summary;
    this.plan.ask(this.text.value, model ? this.panel.asked() : null, this.panel.all.longest);
    this.drawMain();
  }

  refused(error) {
    if (this.abort) return;
    if (!error) this.problem.clear();
    else if (error.code !== "nothing_to_speak") this.problem.show(error);
  }

  /** Nothing; `isSecond`: of a double click, which wanted to speak and not to stop at once. */
  async speakOrStop({ isSecond = false } = {}) {
    if (this.abort) return isSecond || this.abort.abort();
    if (this.main.disabled || this.main.hidden) return;
    this.problem.clear();
    this.abort = new AbortController();
    this.drawMain();
    announce(t("player.making"));
    try {
      const made = await speak(this.text.value, this.panel.asked(), {
        rate: this.panel.model.menura.sample_rate_hz,
        name: this.panel.voiceName,
        longest: this.panel.all.longest,
        expected: this.plan.plan?.expected_s ?? guess(this.text.value),
        signal: this.abort.signal,
      });
      announce(t("player.made", { span: span(secondsOf(made)) }));
    } catch (error) {
      announce(isAbort(error) ? t("player.stopped") : ""); // an alert says what went wrong
      this.problem.show(error, error.code === "model_not_found" ? toModels() : null);
      if (error.param === "voice") forget(); // it went, from another window: see who is there now
    } finally {
      this.abort = null;
      this.drawMain();
    }
  }

  /** Nothing; the one button says what it would do now. */
  drawMain() {
    const what = this.abort ? "stop" : "speak";
    this.main.id = this.abort ? "stop" : "speak-button";
    this.main.classList.toggle("stops", Boolean(this.abort));
    this.main.disabled = !this.abort && !(this.text.value.trim() && this.panel.model);
    fill(this.main, icon(what), el("span", {}, t(`speak.${what}`)));
  }

  byKeys(event) {
    if (!this.container.isConnected || document.querySelector("dialog[open]")) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      if (!this.abort) this.speakOrStop();
    } else if (event.key === "Escape") {
      if (this.abort) this.abort.abort();
      else studio.player.pause();
    }
  }

  leave() {
    this.abort?.abort();
    this.take.destroy();
    for (const [source, name, listener] of this.ties) source.removeEventListener(name, listener);
  }
}

/** Texts to begin with, for whoever sees the page for the first time. */
function examples(use) {
  return el(
    "section",
    { class: "examples", "aria-label": t("speak.examples"), id: "examples" },
    el("h2", { class: "subtitle" }, t("speak.examples")),
    el(
      "ul",
      {},
      [1, 2, 3]
        .map((n) => t(`speak.example_${n}`))
        .map((words) =>
          el("li", {}, el("button", { type: "button", on: { click: () => use(words) } }, words)),
        ),
    ),
  );
}

const toModels = () => el("a", { href: "#/models" }, t("speak.to_models"));

/** A text's length in seconds, roughly, where the server makes no plan. */
const guess = (text) => [...text].length / 14;

/** The text and settings that History handed over, once. */
function reusedTake() {
  const given = recall("menura.reuse");
  remember("menura.reuse", null);
  return given && JSON.parse(given);
}

/** What an address such as #/speak?voice=anna&model=m asks for. */
function wishedBy(query) {
  const wished = {};
  for (const name of ["voice", "model", "language", "instructions"]) {
    if (query.has(name)) wished[name] = query.get(name);
  }
  return wished;
}

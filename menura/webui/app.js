// Starts the page: who is here, in which language, which screen. Screens are modules that are
// fetched when they are first wanted, so the first paint carries Speak alone.

import * as api from "./api.js";
import { buildDock } from "./dock.js";
import { button, el, fill } from "./dom.js";
import { announce, errorPlace, toast } from "./notices.js";
import { setOwner } from "./owner.js";
import { buildShell, SCREENS } from "./shell.js";
import { signInForm } from "./sign_in.js";
import { studio } from "./studio.js";
import * as words from "./words.js";

const { t } = words;
const MODULES = {
  speak: () => import("./speak.js"),
  history: () => import("./history.js"),
  voices: () => withMoreWords(() => import("./voices.js")),
  models: () => withMoreWords(() => import("./models.js")),
  status: () => withMoreWords(() => import("./status.js")),
};

const state = {
  session: null,
  shell: null,
  dock: null,
  leave: null,
  abort: null,
  kept: new Map(),
  name: "",
};

async function start() {
  await words.load(words.preferred());
  window.addEventListener("hashchange", route);
  window.addEventListener("menura:signed-out", signedOut);
  await begin();
}

async function begin() {
  try {
    state.session = await api.get("/session");
  } catch (error) {
    return showProblem(error);
  }
  enter();
}

function enter() {
  setOwner(state.session.label);
  if (state.session.signed_in) return build();
  document.title = `${t("sign_in.title")} · Menura`;
  const place = el("main", { class: "lone", id: "screen", tabindex: "-1" });
  document.getElementById("shell").className = "shell alone";
  fill(document.getElementById("shell"), place);
  signInForm(place, {
    done: (session) => {
      state.session = session;
      enter();
    },
    rebuild: async (language) => {
      await words.load(language);
      enter();
    },
  });
}

function build() {
  state.dock?.destroy();
  state.shell = buildShell({
    can,
    rebuild: async (language) => {
      await words.load(language);
      build();
    },
    signOut: state.session.label ? signOut : null,
  });
  document.getElementById("shell").className = "shell";
  fill(document.getElementById("shell"), state.shell.root);
  state.dock = buildDock(state.shell.dock, { needsKey: Boolean(state.session.label) });
  forgetScreens();
  route();
}

/** What a screen gets beside its container; changes.md and voices.js rely on this shape. */
function contextOf(place, signal) {
  return { session: state.session, can, route: place, go, signal, announce };
}

function can(scope) {
  return state.session.scopes.includes(scope);
}

/** Nothing; the page goes to a screen, such as `go("history")` or `go("speak?voice=Anna")`. */
function go(place) {
  location.hash = `#/${place}`;
}

function placeOf(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [name, ...parts] = path.split("/").map(decodeURIComponent);
  const open = SCREENS.filter(({ scope }) => !scope || can(scope)).map((screen) => screen.name);
  const known = open.includes(name) ? name : open[0];
  if (known !== name && SCREENS.some((screen) => screen.name === name)) toast(t("error.not_yours"));
  return { name: known, parts, query: new URLSearchParams(query) };
}

async function route() {
  if (!state.shell || !state.session.signed_in) return;
  const place = placeOf(location.hash);
  const isFirst = !state.name;
  leaveScreen();
  state.name = place.name;
  state.shell.show(place.name);
  document.getElementById("shell").dataset.screen = place.name;
  document.title = `${t(`nav.${place.name}`)} · Menura`;
  await showScreen(place);
  const here = state.shell.screen.querySelector(".here");
  if (isFirst || here?.contains(document.activeElement)) return; // the screen led to a place in it
  window.scrollTo(0, 0);
  const heading = state.shell.screen.querySelector(".here h1, .here [data-heading]");
  (heading ?? state.shell.screen).focus({ preventScroll: true });
}

/** Shows a screen: a kept one as it was left, any other one anew. */
async function showScreen(place) {
  const { screen } = state.shell;
  const kept = state.kept.get(place.name);
  if (kept) {
    screen.replaceChildren(kept.container);
    kept.shown?.(place);
    return;
  }
  const container = el("div", { class: `here here-${place.name}` });
  screen.replaceChildren(container);
  const abort = new AbortController();
  state.abort = abort;
  try {
    const module = await fetched(MODULES[place.name]);
    if (abort.signal.aborted) return;
    const result = await module.screen(container, contextOf(place, abort.signal));
    if (module.keep) state.kept.set(place.name, { container, abort, ...result });
    else if (abort.signal.aborted) result?.leave?.();
    else state.leave = result?.leave ?? null;
  } catch (error) {
    if (!api.isAbort(error) && !abort.signal.aborted) failed(container, error, route);
  }
}

function leaveScreen() {
  state.leave?.();
  if (!state.kept.has(state.name)) state.abort?.abort();
  state.leave = null;
}

function forgetScreens() {
  leaveScreen();
  for (const kept of state.kept.values()) {
    kept.leave?.();
    kept.abort.abort();
  }
  state.kept.clear();
  state.name = "";
}

// What the server said is no fault of the page, so the console hears of the others alone.
function failed(container, error, again) {
  if (!(error instanceof api.ApiError)) console.error(error);
  const problem = errorPlace();
  fill(container, problem.element);
  problem.show(error, el("p", {}, button(t("error.again"), again, { kind: "link", id: "again" })));
}

// The modules of a screen; one that does not come means that the server does not answer.
async function fetched(load) {
  try {
    return await load();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new api.ApiError(t("error.offline"));
  }
}

async function withMoreWords(load) {
  await words.more("words_more");
  return load();
}

async function signOut() {
  await api.remove("/session");
  signedOut();
}

async function signedOut() {
  if (!state.session.signed_in) return;
  forgetScreens();
  studio.clear();
  state.session = { signed_in: false, scopes: [], label: "" };
  enter();
}

function showProblem(error) {
  const place = el("main", { class: "lone", id: "screen", tabindex: "-1" });
  fill(document.getElementById("shell"), place);
  failed(place, error, begin);
}

start();

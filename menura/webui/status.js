// The screen of the server's state: what it does now, how fast it has been, the last requests, and
// the settings with where each value came from.

import { get } from "./api.js";
import { button, el, fill } from "./dom.js";
import { copy, errorPlace } from "./notices.js";
import { stylesheets } from "./stylesheet.js";
import { bytes, dateOf, span, t } from "./words.js";

const ASK_AGAIN_MS = 2000;
const THIS_LOOK = 1;  // asking how the server is, is a request too
const ID_SHOWN = "req_".length + 8;  // enough to tell them apart; the whole is copied

/** The screen; it asks again every two seconds while it is looked at. */
export async function screen(container, context) {
  await stylesheets("status");
  const tiles = el("dl", { class: "tiles" });
  const models = el("div", {});
  const requests = el("div", {});
  const settings = el("div", {});
  const problem = errorPlace();
  let timer = 0;

  async function draw() {
    clearTimeout(timer);
    try {
      const status = await get("/v1/status", { signal: context.signal });
      const { data } = await get("/v1/status/requests", { signal: context.signal });
      problem.clear();
      fill(tiles, ...tilesOf(status, data));
      fill(models, modelTable(status.models.filter((model) => model.is_complete)));
      show(requests, requestTable(data));
      if (!settings.firstChild) fill(settings, settingTable(status));
    } catch (error) {
      problem.show(error);
    }
    if (!context.signal.aborted) timer = setTimeout(draw, ASK_AGAIN_MS);
  }

  fill(container,
    el("header", { class: "screen-head" },
      el("div", {}, el("h1", { class: "title", tabindex: "-1" }, t("nav.status")), el("p", { class: "lede" }, t("status.lead")))),
    problem.element, tiles,
    part("status.models", models), part("status.requests", requests), part("status.settings", settings));
  await draw();
  return { leave: () => clearTimeout(timer) };
}

function part(key, content) {
  return el("section", { class: "status-part" }, el("h2", {}, t(key)), content);
}

// A table that someone reads or scrolls stays as it is until they look away.
function show(place, table) {
  if (place.matches(":hover") || place.contains(document.activeElement)) {
    if (place.firstChild) return;
  }
  fill(place, table);
}

function tilesOf({ version, uptime_s: uptime, models, requests, memory, device }, log) {
  const waiting = models.reduce((sum, model) => sum + (model.queue ?? 0), 0);
  const rows = models.reduce((sum, model) => sum + (model.rows ?? 0), 0);
  const speed = speedOf(log);
  return [
    tile(t("status.live"), Math.max(0, requests.live - THIS_LOOK), t("status.waiting", { n: waiting })),
    tile(t("status.speed"), speed ? t("status.times", { n: speed.toFixed(1) }) : "–", t(speed ? "status.speed_help" : "status.no_speed")),
    tile(t("status.rows"), rows, t("status.rows_help")),
    tile(t("status.memory"), memory.available_bytes ? bytes(memory.available_bytes) : "–", t("status.memory_help")),
    tile(t("status.device"), device || "–", t("status.version", { version })),
    tile(t("status.uptime"), duration(uptime), t("status.total", { n: requests.total })),
  ];
}

const tile = (name, value, more) => el("div", { class: "tile" },
  el("dt", {}, name), el("dd", {}, el("span", { class: "value" }, value), el("span", { class: "more" }, more)));

// The two largest units are enough: 3 d 4 h, 1 h 10 min.
function duration(seconds) {
  if (seconds < 3600) return span(seconds);
  const hours = Math.floor(seconds / 3600);
  if (hours < 24) return t("status.hours", { h: hours, m: Math.floor(seconds / 60) % 60 });
  return t("status.days", { d: Math.floor(hours / 24), h: hours % 24 });
}

// How many seconds of audio a second of work made, over the requests of the log.
function speedOf(log) {
  const spoken = log.filter((one) => one.audio_s > 0);
  const audio = spoken.reduce((sum, one) => sum + one.audio_s, 0);
  const work = spoken.reduce((sum, one) => sum + (one.speaking_s ?? one.ms / 1000), 0);
  return work ? audio / work : 0;
}

const modelTable = (models) => table(
  ["status.model", "status.state", "status.rows", "status.queue", "status.memory"],
  models.map((model) => [
    model.name, t(`state.${model.state}`), model.rows ?? 0, model.queue ?? 0,
    model.rss_bytes ? bytes(model.rss_bytes) : "–",
  ]), "status.models");

function requestTable(log) {
  if (!log.length) return el("p", { class: "help" }, t("status.no_requests"));
  return table(
    ["status.at", "status.id", "status.route", "status.answer", "status.ms", "status.audio", "status.first", "status.model"],
    log.map((one) => [
      dateOf(one.at * 1000, { timeStyle: "medium" }), idButton(one.id), one.route, answer(one), one.ms === undefined ? "–" : Math.round(one.ms),
      one.audio_s ? span(one.audio_s) : "–", one.first_audio_s ? `${Math.round(one.first_audio_s * 1000)} ms` : "–",
      one.model || "–",
    ]), "status.requests");
}

const idButton = (id) => button(`${id.slice(0, ID_SHOWN)}…`, () => copy(id), {
  kind: "link id", label: t("status.copy_id", { id }), title: id,
});

const answer = ({ status, finish }) => el("span", { class: status >= 400 || status === 0 ? "bad" : "good" },
  status || "–", finish && finish !== "stop" ? ` ${finish}` : "");

const settingTable = ({ settings, models }) => table(
  ["status.name", "status.value", "status.source"],
  settings.map((one) => asServed(one, models)).map((one) => [
    el("div", {}, el("code", {}, one.name), one.help && el("p", { class: "help" }, one.help)),
    one.value === null || one.value === "" ? "–" : String(one.value),
    el("span", { class: one.source === "default" ? "" : "set" }, one.source),
  ]), "status.settings");

// The first model that is served is the default one, whatever the settings name.
function asServed(setting, models) {
  const first = models.find((model) => model.is_default)?.name;
  if (setting.name !== "default_model" || !first || first === setting.value) return setting;
  return { ...setting, value: first, source: "--model", help: `${setting.help} ${t("status.served_first")}` };
}

function table(heads, rows, label) {
  return el("div", { class: "table-place", tabindex: "0", role: "region", "aria-label": t(label) },
    el("table", {},
      el("thead", {}, el("tr", {}, heads.map((key) => el("th", { scope: "col" }, t(key))))),
      el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((cell) => el("td", {}, cell)))))));
}

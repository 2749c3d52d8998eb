// The screen of models: what is here, what could be, what is loaded; fetching with its progress.

import { get, post, remove } from "./api.js";
import { confirmDialog } from "./dialogs.js";
import { button, el, fill } from "./dom.js";
import { failedLine, jobLine } from "./job_line.js";
import { errorPlace, toast } from "./notices.js";
import { stylesheets } from "./stylesheet.js";
import { bytes, has, t } from "./words.js";

const ASK_AGAIN_MS = 1000;
const SETTLES_MS = 20_000;  // after a deed its effect may take a moment to show
const BUILTIN = "builtin";  // the engine whose voices are models of their own, all alike but in sound
const dismissed = new Set();  // failed jobs that were read
const BY_STATE = ["ready", "loading", "restarting", "cold"];

/** The screen; it asks again while a job runs or a model is loading. */
export async function screen(container, context) {
  await stylesheets("models");
  const problem = errorPlace();
  const installed = el("ul", { class: "model-list", "aria-label": t("models.installed") });
  const others = el("ul", { class: "model-list", "aria-label": t("models.others") });
  const rest = el("section", { class: "model-others" }, el("h2", {}, t("models.others")), others);
  const small = el("ul", { class: "model-list small", "aria-label": t("models.builtin") });
  const builtin = el("section", { class: "model-others" },
    el("h2", {}, t("models.builtin")), el("p", { class: "help" }, t("models.builtin_help")), small);
  const seen = { jobs: new Map(), timer: 0, settles: 0, isAdmin: context.can("admin") };

  async function draw() {
    clearTimeout(seen.timer);
    const [{ data }, jobs] = await Promise.all([
      get("/v1/store/models", { signal: context.signal }), jobsNow(seen, context)]);
    const deeds = { ...seen, jobs, run, cancel, dismiss };
    const here = data.filter((model) => model.is_complete);
    const away = Object.groupBy(data.filter((model) => !model.is_complete),
      ({ engine }) => (engine === BUILTIN ? "small" : "large"));
    keepingFocus(container, () => {
      fill(installed, here.sort(byState).map((model) => row(model, deeds)));
      fill(small, (away.small ?? []).map((model) => row(model, deeds)));
      fill(others, (away.large ?? []).map((model) => row(model, deeds)));
    });
    builtin.hidden = !away.small;
    rest.hidden = !away.large;
    const runs = [...jobs.values()].some((job) => job.state === "running");
    if (runs || data.some((model) => model.state === "loading") || Date.now() < seen.settles) {
      seen.timer = setTimeout(() => attempt(draw), ASK_AGAIN_MS);
    }
  }
  async function attempt(deed) {
    try {
      await deed();
    } catch (error) {
      problem.show(error);
    }
  }
  const run = (model, verb) => attempt(async () => {
    problem.clear();
    const { job } = await post(`/v1/store/models/${encodeURIComponent(model.name)}/${verb}`, {});
    if (job) seen.jobs.set(job.id, "running");  // over before the next look, it is told of too
    seen.settles = Date.now() + SETTLES_MS;
    await draw();
  });
  const cancel = (job) => attempt(async () => {
    await remove(`/v1/store/jobs/${encodeURIComponent(job.id)}`);
    await draw();
  });

  const dismiss = (job) => attempt(async () => {
    dismissed.add(job.id);
    await draw();
  });

  fill(container,
    el("header", { class: "screen-head" },
      el("div", {},
        el("h1", { class: "title", tabindex: "-1" }, t("nav.models")),
        el("p", { class: "lede" }, t("models.lead")))),
    problem.element, el("h2", { class: "unseen" }, t("models.installed")), installed, builtin, rest);
  await draw();
  point(container, context.route.parts[0]);
  return { leave: () => clearTimeout(seen.timer) };
}

// The jobs that run, by model. One that ended since the last look is told once.
async function jobsNow(seen, { signal, announce }) {
  if (!seen.isAdmin) return new Map();
  const { data } = await get("/v1/store/jobs", { signal });
  for (const job of data) {
    if (seen.jobs.get(job.id) === "running" && job.state !== "running") tell(job, announce);
    seen.jobs.set(job.id, job.state);
  }
  const last = new Map([...data].reverse().map((job) => [job.model, job]));  // the newest came first
  return new Map([...last].filter(([, job]) => job.state === "running" || isOpen(job)));
}

const isOpen = (job) => job.state === "failed" && !dismissed.has(job.id);

// A failure stays in its row, to be read; what went well is said in passing.
function tell(job, announce) {
  const words = t(`job.${job.kind}_${job.state}`, { model: job.model });
  if (job.state === "failed") announce(words);
  else toast(words);
}

function row(model, deeds) {
  const job = deeds.jobs.get(model.name);
  const isRunning = job?.state === "running";
  return el("li", { class: `model-row ${model.state}`, data: { model: model.name } },
    el("div", { class: "model-main" },
      el("h3", {}, model.name),
      el("p", { class: "about" }, titleOf(model)),
      el("p", { class: "facts" }, [licence(model), ...abilities(model)].filter(Boolean).join(" · "))),
    el("p", { class: "model-state" }, stateBadge(model), el("span", { class: "facts" }, numbers(model))),
    deeds.isAdmin && el("div", { class: "model-deeds" }, isRunning ? null : buttons(model, deeds)),
    isRunning && jobLine(job, () => deeds.cancel(job)),
    job && !isRunning && failedLine(job, {
      again: () => deeds.run(model, job.kind), dismiss: () => deeds.dismiss(job),
    }));
}

// The catalogue speaks English; the page has words for what it lists in other languages.
function titleOf({ name, title }) {
  const key = `about.${name.replaceAll("-", "_")}`;
  return has(key) ? t(key) : title;
}

const licence = ({ licence: own, output_licence: output }) => (
  output && output !== own ? t("models.licences", { own, output }) : own);

const abilities = ({ capabilities = [] }) => capabilities.filter((one) => has(`can.${one}`)).map((one) => t(`can.${one}`));

function stateBadge({ state, is_default: isDefault, is_complete: isComplete }) {
  const shown = isComplete ? state : "absent";
  return [
    el("span", { class: `badge state-${shown}` }, t(`state.${shown}`)),
    isDefault && el("span", { class: "badge" }, t("models.default")),
  ];
}

function numbers(model) {
  if (!model.is_complete) {
    return model.download_bytes ? t("models.to_fetch", { size: bytes(model.download_bytes) }) : "";
  }
  return [
    model.n_bytes ? t("models.on_disk", { size: bytes(model.n_bytes) }) : null,
    model.rss_bytes ? t("models.in_memory", { size: bytes(model.rss_bytes) }) : null,
    model.device && model.state === "ready" ? model.device : null,
  ].filter(Boolean).join(" · ");
}

function buttons(model, { run }) {
  const deed = (verb, options) => button(t(`models.${verb}`), () => run(model, verb), {
    label: t(`models.${verb}_name`, { name: model.name }), data: { deed: verb }, ...options,
  });
  if (!model.is_complete) {
    return [button(t("models.pull"), () => agreed(model, run), {
      kind: "plain", icon: "download", data: { deed: "pull" },
      label: t("models.pull_name", { name: model.name }),
    })];
  }
  const isLoaded = ["ready", "loading", "restarting"].includes(model.state);
  return [
    model.n_bytes > 0 && deed("verify", { kind: "quiet", icon: "check" }),
    isLoaded ? deed("unload", { kind: "plain" }) : deed("load", { kind: "plain" }),
  ];
}

// Size and licence are shown before a download, as some voices may not be sold.
async function agreed(model, run) {
  const isSure = await confirmDialog({
    title: t("pull.title", { name: model.name }),
    text: t("pull.text", { size: bytes(model.download_bytes ?? 0), licence: licence(model) }),
    confirm: t("models.pull"),
  });
  if (isSure) await run(model, "pull");
}

const byState = (a, b) => (
  Number(b.is_default) - Number(a.is_default)
  || BY_STATE.indexOf(a.state) - BY_STATE.indexOf(b.state)
  || a.name.localeCompare(b.name));

// The model that another screen led here for comes into view.
function point(container, name) {
  const wanted = name && container.querySelector(`[data-model="${CSS.escape(name)}"]`);
  if (!wanted) return;
  wanted.classList.add("wanted");
  wanted.scrollIntoView({ block: "center" });
  wanted.querySelector("button")?.focus({ preventScroll: true });
}

// Drawing anew takes the focused button away: the same one of the new rows gets the focus.
function keepingFocus(container, redraw) {
  const focused = container.contains(document.activeElement) ? document.activeElement : null;
  const model = focused?.closest("[data-model]")?.dataset.model;
  const deed = focused?.dataset.deed;
  redraw();
  if (!model) return;
  const again = container.querySelector(`[data-model="${CSS.escape(model)}"]`);
  (again?.querySelector(`[data-deed="${deed}"]`) ?? again?.querySelector("button"))?.focus();
}


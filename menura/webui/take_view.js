// The take under the text, segment by segment: go to one, speak one anew, take that back.

import { button, el, fill, icon } from "./dom.js";
import { errorPlace, toast } from "./notices.js";
import { remake } from "./speaking.js";
import { studio } from "./studio.js";
import { factsOf } from "./take_facts.js";
import { segmentAt, STOPPED } from "./take.js";
import { keep } from "./takes_store.js";
import { clock, t } from "./words.js";

/** { element, destroy }: it follows the studio by itself. */
export function takeView() {
  const problem = errorPlace("take-failure");
  const list = el("ol", { class: "segments", id: "segments" });
  const undo = button(t("take.undo"), takeBack, { kind: "quiet", icon: "undo", id: "undo" });
  const title = el("h2", { class: "subtitle" });
  const facts = el("p", { class: "take-facts numbers" }); // the dock has no room for them on a phone
  const element = el(
    "section",
    { class: "take", "aria-label": t("take.label"), hidden: true },
    el("header", { class: "take-head" }, title, undo, facts),
    problem.element,
    list,
  );
  let endNote = () => {};
  let busy = null; // { index, abort } while a segment is spoken anew

  function draw() {
    const { take } = studio;
    element.hidden = !take || Boolean(studio.live);
    if (!take) return;
    undo.hidden = !studio.canUndo;
    title.textContent = t("take.segments", { n: take.segments.length });
    facts.textContent = factsOf(take).join(" · ");
    fill(
      list,
      take.segments.map((segment, index) => row(take, segment, index)),
    );
    follow();
  }

  function row(take, segment, index) {
    const from = segment.from / take.rate;
    const isBusy = busy?.index === index;
    return el(
      "li",
      { class: `segment${isBusy ? " busy" : ""}` },
      el(
        "button",
        {
          type: "button",
          class: "segment-text",
          "aria-label": t("take.go", { n: index + 1, text: segment.text.trim() }),
          on: {
            click: () => {
              studio.player.seek(from);
              studio.player.play();
            },
          },
        },
        el("span", { class: "at numbers" }, clock(from)),
        el("span", {}, segment.text.trim()),
      ),
      segment.remade && el("span", { class: "badge ok" }, t("take.remade")),
      segment.finish === "length" && el("span", { class: "badge warn" }, t("take.cut")),
      segment.finish === STOPPED && el("span", { class: "badge warn" }, t("take.stopped")),
      isBusy
        ? button(t("speak.stop"), () => busy.abort.abort(), {
            kind: "quiet again",
            icon: "stop",
            label: t("take.stop"),
          })
        : button(t("take.again_short"), () => again(index), {
            kind: "quiet again",
            icon: "redo",
            label: t("take.again", { n: index + 1 }),
            disabled: Boolean(busy),
          }),
    );
  }

  async function again(index) {
    busy = { index, abort: new AbortController() };
    problem.clear();
    draw();
    try {
      const changed = await remake(studio.take, index, { signal: busy.abort.signal });
      if (changed)
        endNote = toast(t("take.done", { n: index + 1 }), {
          action: { text: t("take.undo"), run: takeBack },
        });
    } catch (error) {
      problem.show(error);
    } finally {
      busy = null;
      draw();
    }
  }

  function takeBack() {
    endNote();
    studio.undo();
    if (studio.take) keep(studio.take);
  }

  function follow() {
    const { take, player } = studio;
    if (!take) return;
    const isHeard = player.state === "playing" || player.position > 0;
    const at = isHeard ? segmentAt(take, player.position) : -1;
    [...list.children].forEach((item, index) => item.classList.toggle("now", index === at));
  }

  studio.addEventListener("take", draw);
  studio.addEventListener("live", draw);
  studio.player.addEventListener("position", follow);
  draw();
  return {
    element,
    destroy() {
      busy?.abort.abort();
      studio.removeEventListener("take", draw);
      studio.removeEventListener("live", draw);
      studio.player.removeEventListener("position", follow);
    },
  };
}

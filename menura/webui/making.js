// What is told while a text is spoken: how long one has waited, whether the model is still being
// loaded, how much of the speech is there.

import * as api from "./api.js";
import { clock, span, t } from "./words.js";

const EACH_MS = 500;
const QUICK_MS = 2000; // before that nobody wants to know how long it takes

/** Calls `tell(words)` now and every half second, until the function that it gives is called. */
export function watchMaking(live, player, tell) {
  let isLoading = false;
  let isAsking = false;
  const hasSound = () => player.n > 0;

  async function look() {
    if (isAsking || hasSound() || performance.now() - live.since < QUICK_MS) return;
    isAsking = true;
    isLoading = await isBeingLoaded(live.model);
    isAsking = false;
  }
  function say() {
    look();
    const waited = performance.now() - live.since;
    if (hasSound()) tell(madeSoFar(live, player));
    else if (waited < QUICK_MS) tell(t("player.making"));
    else tell(t(isLoading ? "player.loading" : "player.waiting", { span: span(waited / 1000, 0) }));
  }
  say();
  const timer = setInterval(say, EACH_MS);
  return () => clearInterval(timer);
}

const madeSoFar = ({ expected }, { seconds }) =>
  expected > seconds
    ? t("player.made_of", { made: clock(seconds), of: clock(expected) })
    : t("player.waiting", { span: clock(seconds) });

/** Whether the server says that it loads the model; it need not tell. */
async function isBeingLoaded(name) {
  try {
    const { data } = await api.get("/v1/store/models");
    return data.some((model) => model.name === name && model.state === "loading");
  } catch (error) {
    if (error instanceof api.ApiError) return false;
    throw error;
  }
}

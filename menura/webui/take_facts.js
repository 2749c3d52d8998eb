// What is said of how a take was made.

import { span, t } from "./words.js";

/** When the first sound came, and how fast the rest did, in words. */
export const factsOf = (take) => [
  t("player.first_audio", { span: span(take.first_audio_s, 2) }),
  t("player.speed", { x: pace(take.speed) }),
];

const pace = (times) => (times < 10 ? times.toFixed(1) : String(Math.round(times)));

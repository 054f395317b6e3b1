// A small drawing of a feature vector: a bar for each feature, or for each run of them where they are many.

import { draw } from "./elements.js";

const MOST_BARS = 48;
const WIDTH = 96;
const HEIGHT = 48;

/** At most `MOST_BARS` values, each the mean of a run of features. */
export function bars(features) {
  if (features.length <= MOST_BARS) return [...features];
  return Array.from({ length: MOST_BARS }, (_, at) => {
    const run = features.slice(
      Math.floor((at * features.length) / MOST_BARS),
      Math.floor(((at + 1) * features.length) / MOST_BARS),
    );
    return run.reduce((sum, value) => sum + value, 0) / run.length;
  });
}

/** `reach` is the value that fills the height, the same for all samples that are to be compared. */
export function drawing(features, reach) {
  const values = bars(features);
  const signed = values.some((value) => value < 0);
  const base = signed ? HEIGHT / 2 : HEIGHT;
  const step = WIDTH / values.length;
  const gap = step > 3 ? 1 : 0;
  const path = values.map((value, at) => {
    const share = Math.max(-1, Math.min(1, value / (reach || 1)));
    const height = share * base || 0.5;
    return `M${(at * step).toFixed(2)} ${base}h${(step - gap).toFixed(2)}v${(-height).toFixed(2)}h${(gap - step).toFixed(2)}z`;
  });
  return draw(
    "svg",
    { class: "drawing", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    draw("path", { d: path.join("") }),
  );
}

/** The largest of the values that are drawn. */
export function reachOf(vectors) {
  return Math.max(0, ...vectors.map((features) => Math.max(0, ...bars(features).map(Math.abs))));
}

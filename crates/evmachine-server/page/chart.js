// A line over time, as SVG.

import { draw, make } from "./elements.js";
import { moment, percent } from "./words.js";

const WIDTH = 640;
const HEIGHT = 220;
const LEFT = 52;
const RIGHT = 12;
const TOP = 14;
const BOTTOM = 30;

/** `series` are `{ time, share }` in order of time; `reference` a share that is drawn across, with its words. */
export function shareChart(title, series, reference) {
  const first = series[0].time;
  const last = series.at(-1).time;
  const top = Math.min(1, Math.max(0.05, reference?.share ?? 0, ...series.map(({ share }) => share)) * 1.15);
  const x = (time) => LEFT + ((time - first) / (last - first || 1)) * (WIDTH - LEFT - RIGHT);
  const y = (share) => HEIGHT - BOTTOM - (share / top) * (HEIGHT - TOP - BOTTOM);
  const path = series.map(({ time, share }, at) => `${at ? "L" : "M"}${x(time).toFixed(1)} ${y(share).toFixed(1)}`).join("");
  const lines = [0, top / 2, top].map((share) => [
    draw("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(share), y2: y(share) }),
    draw("text", { x: LEFT - 8, y: y(share) + 4, "text-anchor": "end" }, percent(share)),
  ]);
  const across = reference && [
    draw("line", { class: "reference", x1: LEFT, x2: WIDTH - RIGHT, y1: y(reference.share), y2: y(reference.share) }),
    draw("text", { x: WIDTH - RIGHT, y: y(reference.share) - 6, "text-anchor": "end" }, reference.words),
  ];
  const chart = draw(
    "svg",
    { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": title },
    lines.flat(),
    across ?? [],
    series.length > 1 ? draw("path", { class: "series", d: path }) : draw("circle", { class: "series-point", cx: x(first), cy: y(series[0].share), r: 4 }),
    draw("text", { x: LEFT, y: HEIGHT - 8 }, moment(first)),
    draw("text", { x: WIDTH - RIGHT, y: HEIGHT - 8, "text-anchor": "end" }, moment(last)),
  );
  return make("figure", {}, make("figcaption", {}, title), chart);
}

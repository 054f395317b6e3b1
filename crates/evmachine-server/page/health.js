// "Does it work?": drift and its cause, the closest stranger, the closest pair of classes, and the rate of unknowns over time.

import { get } from "./api.js";
import { shareChart } from "./chart.js";
import { button, make, table } from "./elements.js";
import { explain } from "./explanation.js";
import { complain } from "./notices.js";
import { refresh, standing } from "./pool.js";
import { count, distance, moment, percent, support, whole } from "./words.js";

/** The recent rate is worth a warning where it is so many times that of calibration, over so many rows. */
const DRIFT = 2;
const ENOUGH_ROWS = 100;

/** What came, and what to do about it. */
const CAUSES = {
  new_class: ["A new class came", "Name its group in the queue, and learn."],
  moved: ["All vectors moved", "Look at the sensor or the preprocessing; calibrate or train again."],
  class_ages: ["A class changed", "Update that class with new rows."],
  encoder: ["The encoder changed", "Check which encoder made the vectors."],
};

export function healthView(place) {
  async function show() {
    try {
      // While a version becomes live, there is no report.
      const [health, watched] = await Promise.all([get("/v1/health-of-model"), get("/v1/drift").catch(() => null), refresh()]);
      place.replaceChildren(
        make("div", { class: "view-head" }, make("h2", {}, "Does it work?"), button("Load anew", show)),
        make("div", { class: "facts" }, verdict(standing()?.unknown_rate), drift(watched), stranger(health.closest_stranger), pair(health.closest_pair)),
        ...rates(health),
      );
    } catch (error) {
      complain(error);
    }
  }
  return { show };
}

function fact(title, ...children) {
  return make("section", { class: "fact" }, make("h3", {}, title), ...children);
}

function verdict(rate) {
  if (!rate || rate.recent === null || rate.recent === undefined) return fact("Unknown now", make("p", {}, "Nothing was asked yet."));
  const { recent, calibrated, recent_rows: rows, estimated, estimated_error: error } = rate;
  const drifts = calibrated !== null && rows >= ENOUGH_ROWS && recent > DRIFT * calibrated;
  const beside = calibrated === null ? "" : `; ${percent(calibrated)} of known rows were when the threshold was set`;
  return fact(
    "Unknown now",
    make("p", { class: "large" }, percent(recent)),
    make("p", {}, `of the last ${count(rows, "row")}${beside}.`),
    Number.isFinite(estimated) ? make("p", {}, `By their p-values ${percent(estimated)} ± ${percent(error)} are truly unknown, an estimate.`) : "",
    drifts ? make("p", { class: "warning" }, "Much more is unknown than at calibration: something new comes in.") : "",
  );
}

function drift(found) {
  if (!found) return "";
  const { alarm, cause, rate, rows } = found;
  const promise = `At most ${percent(rate)} of streams without drift ever raise an alarm.`;
  if (!alarm) return fact("Drift", make("p", { class: "large" }, "none"), make("p", {}, `in ${count(rows, "row")}. ${promise}`));
  const [words, advice] = CAUSES[cause?.kind] ?? ["Rows changed", "The last rows do not show the cause."];
  return fact(
    "Drift",
    make("p", { class: "large" }, words),
    cause ? make("p", {}, `${cause.text}.`) : "",
    make("p", {}, `Since about row ${whole(alarm.since)}, found at row ${whole(alarm.row)}. ${promise}`),
    make("p", { class: "warning" }, advice),
  );
}

function stranger(closest) {
  if (!closest) return fact("Closest stranger", make("p", {}, "No stranger waits."));
  return fact(
    "Closest stranger",
    make("p", { class: "large" }, `sample ${closest.sample}`),
    make("p", {}, `is almost ${closest.best}: its support is ${support(closest.support)}, and 0 would be known.`),
    button("Why?", () => explain({ sample: closest.sample })),
  );
}

function pair(closest) {
  if (!closest) return fact("Closest classes", make("p", {}, "There are no two classes."));
  return fact(
    "Closest classes",
    make("p", { class: "large" }, `${closest.a} and ${closest.b}`),
    make("p", {}, `are ${distance(closest.distance)} apart at their nearest rows.`),
  );
}

function rates({ unknown_rate: buckets, calibrated }) {
  const series = buckets.filter(({ rows }) => rows > 0).map(({ time, rows, unknown }) => ({ time, rows, unknown, share: unknown / rows }));
  if (!series.length) return [];
  const reference = calibrated === null || calibrated === undefined ? null : { share: calibrated, words: `calibration ${percent(calibrated)}` };
  const cells = series.map(({ time, rows, unknown, share }) => [moment(time), whole(rows), whole(unknown), percent(share)]);
  return [
    shareChart("Unknown rate over time", series, reference),
    make("details", {}, make("summary", {}, "The same as a table"), table("Unknown rate by minute", ["Time", "Rows", "Unknown", "Rate"], cells)),
  ];
}

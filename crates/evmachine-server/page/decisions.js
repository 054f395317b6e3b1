// The last decisions, and "was wrong" on each of them.

import { get } from "./api.js";
import { button, make, table } from "./elements.js";
import { explain } from "./explanation.js";
import { complain } from "./notices.js";
import { moment, support } from "./words.js";

const COUNT = 100;

/** What was decided, in words. */
export function outcome({ known, class: name, best }) {
  if (known) return make("span", { class: "outcome known" }, name);
  return make("span", { class: "outcome unknown" }, "unknown", best ? make("span", { class: "quiet" }, ` near ${best}`) : "");
}

/** What was decided on, as a person knows it. */
export function nameOf({ id, text, sample, time }) {
  return text ?? id ?? (sample ? `sample ${sample}` : `a row of ${moment(time)}`);
}

export function decisionsView(place) {
  async function show() {
    try {
      const { decisions } = await get(`/v1/decisions?count=${COUNT}`);
      const rows = decisions.map((decision) => [
        moment(decision.time),
        make("span", { class: "clipped" }, nameOf(decision)),
        outcome(decision),
        support(decision.support),
        button("Was wrong", () => explain({ decision: decision.decision, text: decision.text }, show), {
          "aria-label": `Was wrong: ${nameOf(decision)}`,
        }),
      ]);
      place.replaceChildren(
        make("div", { class: "view-head" }, make("h2", {}, "Decisions"), button("Load anew", show)),
        decisions.length
          ? table("The last decisions, the newest first", ["Time", "Of", "Decision", "Support", "Correct"], rows)
          : make("p", {}, "Nothing was asked yet. Decisions come here as the server is asked for them."),
      );
    } catch (error) {
      complain(error);
    }
  }
  return { show };
}

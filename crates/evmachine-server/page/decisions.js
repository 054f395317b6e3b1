// The last decisions, and "was wrong" on each of them.

import { get } from "./api.js";
import { button, make, table } from "./elements.js";
import { explain } from "./explanation.js";
import { complain } from "./notices.js";
import { moment, probability } from "./words.js";

const COUNT = 100;

/** What was decided, in words. */
export function outcome({ known, class: name, nearest }) {
  if (known) return make("span", { class: "outcome known" }, name);
  return make("span", { class: "outcome unknown" }, "unknown", nearest ? make("span", { class: "quiet" }, ` near ${nearest}`) : "");
}

export function decisionsView(place) {
  async function show() {
    try {
      const { decisions } = await get(`/v1/decisions?count=${COUNT}`);
      const rows = decisions.map((decision) => [
        moment(decision.time),
        whatOf(decision),
        outcome(decision),
        probability(decision.probability),
        button("Was wrong", () => explain({ decision: decision.decision }, show), {
          "aria-label": `Was wrong: decision ${decision.decision}`,
        }),
      ]);
      place.replaceChildren(
        make("div", { class: "view-head" }, make("h2", {}, "Decisions"), button("Load anew", show)),
        decisions.length
          ? table("The last decisions, the newest first", ["Time", "Of", "Decision", "P", "Correct"], rows)
          : make("p", {}, "Nothing was asked yet. Decisions come here as the server is asked for them."),
      );
    } catch (error) {
      complain(error);
    }
  }
  return { show };
}

function whatOf({ id, text, sample, decision }) {
  if (text) return make("span", { class: "clipped" }, text);
  if (id) return id;
  return sample ? `sample ${sample}` : `decision ${decision}`;
}

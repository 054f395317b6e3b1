// Learning: begun by a key, watched while the server goes on serving, and then what changed.

import { change } from "./api.js";
import { forgetChanges } from "./changes.js";
import { button, make } from "./elements.js";
import { sync } from "./labelling.js";
import { complain, say } from "./notices.js";
import { can, onStanding, refresh, standing } from "./pool.js";
import { count, version, whole } from "./words.js";

const place = document.getElementById("learning");
const learnButton = document.getElementById("learn");
let bar = null;
let words = null;
let resultBefore = null;
let settledUnder = null;

export async function learn() {
  const status = standing();
  if (!status || status.learning) return;
  if (!can("label")) return say("Your key may look, not learn.");
  resultBefore = JSON.stringify(status.last_learning);
  try {
    await change("/v1/update");
    showProgress({ done: 0, total: 0, stage: "beginning" });
  } catch (error) {
    complain(error);
  }
  refresh();
}

async function stop() {
  try {
    await change("/v1/update", undefined, "DELETE");
    say("Learning is being stopped; the live version stays.");
  } catch (error) {
    complain(error);
  }
  refresh();
}

/** When the stage began that is being done, and what it is. */
let step = { stage: null, begun: 0 };

/** How long it goes on already, and how long the stage may still take. */
function timeOf({ done, total, stage, started }) {
  if (!started) return "";
  const now = Date.now() / 1000;
  if (step.stage !== stage) step = { stage, begun: now };
  const so = `, ${Math.max(0, Math.round(now - started))} s so far`;
  const share = total ? done / total : 0;
  if (share < 0.05 || share >= 1 || now - step.begun < 1) return so;
  return `${so}, about ${Math.max(1, Math.round(((now - step.begun) * (1 - share)) / share))} s left of this step`;
}

function showProgress({ done, total, stage, started }) {
  if (!bar) {
    bar = make("progress", { "aria-label": "Learning" });
    words = make("span");
    place.replaceChildren(words, bar, button("Stop", stop));
    place.hidden = false;
  }
  words.textContent = `${stage ? `Learning: ${stage}` : "Learning"}${timeOf({ done, total, stage, started })}`;
  if (total) {
    bar.max = total;
    bar.value = done;
  } else bar.removeAttribute("value");
}

function showResult(result) {
  bar = null;
  const close = button("Close", () => {
    place.hidden = true;
  });
  if (!result || result.error) {
    place.replaceChildren(make("p", {}, result?.error ? `Nothing was learned: ${result.error}` : "Nothing was learned."), close);
    return;
  }
  const known = `It recognises ${whole(result.known_now)} of the ${count(result.before_waiting, "sample")} that waited`;
  const differ = `${count(result.changed_decisions, "recent decision")} would differ`;
  place.replaceChildren(
    make("p", { role: "status" }, make("strong", {}, `Version ${version(result.version)} is live. `), `${known}; ${differ}.`),
    result.known_now ? make("a", { href: "#recognised" }, "Accept what is recognised") : "",
    make("a", { href: "#history" }, "What changed"),
    close,
  );
}

onStanding((status, before) => {
  const pending = status.to_learn + status.to_ignore;
  learnButton.disabled = !can("label") || Boolean(status.learning) || pending === 0;
  const said = pending ? `Learn ${whole(pending)} ` : "Learn ";
  if (learnButton.firstChild.textContent !== said) learnButton.firstChild.textContent = said;
  if (status.learning) showProgress(status.learning);
  else if (bar && (before?.learning || JSON.stringify(status.last_learning) !== resultBefore)) showResult(status.last_learning);
  if (before && before.live !== status.live) forgetChanges();
  // The queue is asked for once the server has decided and grouped what waits by the version that is live.
  settledUnder ??= status.live;
  if (status.settled && settledUnder !== status.live) {
    settledUnder = status.live;
    sync();
  }
});

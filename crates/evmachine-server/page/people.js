// Who else is at work, and on what. The group before a person is kept for them while they look at it.

import { ask, get } from "./api.js";
import { make } from "./elements.js";
import { can, onStanding } from "./pool.js";
import { sitting } from "./sitting.js";
import { count } from "./words.js";

/** Who leafs through groups does not take each of them. */
const PAUSE = 700;
const AGAIN = 120_000;
const ASKED = 10_000;

let timer = 0;
let looked = null;

/** Says which group is looked at; again and again while it is. */
export function lookingAt(group) {
  if (group === looked) return;
  looked = group;
  clearTimeout(timer);
  if (group) timer = setTimeout(hold, PAUSE);
}

async function hold() {
  const group = looked;
  if (!group || !can("label")) return;
  if (document.visibilityState === "visible") {
    try {
      const held = await ask(`/v1/groups/${group.number}/hold`, { sitting: sitting() });
      group.held_by = held.held_by;
    } catch {
      // Whoever answered it first has answered it; the queue says so.
    }
  }
  if (group === looked) timer = setTimeout(hold, AGAIN);
}

function nameOf(name) {
  return name.startsWith("tab ") ? "another tab" : name;
}

/** A line for each of the others, above the queue; asked for with the status, as long as the queue is seen. */
export function peopleList(place) {
  let asked = -ASKED;

  onStanding(async (status) => {
    if (document.body.dataset.view !== "queue" || performance.now() - asked < ASKED) return;
    asked = performance.now();
    try {
      const { people } = await get("/v1/people");
      const own = status.person ?? sitting();
      const others = people.filter(({ name }) => name !== own);
      place.hidden = others.length === 0;
      place.replaceChildren(make("h3", {}, "At work"), make("ul", {}, others.map(lineOf)));
    } catch {
      // The status says that the server does not answer.
    }
  });
}

function lineOf(person) {
  const at = person.group ? `looks at a group of ${count(person.size, "sample")}` : "looks at no group";
  const done = person.answers ? `, ${count(person.answers, "answer")} in the last hour` : "";
  return make("li", {}, make("strong", {}, nameOf(person.name)), make("span", { class: "quiet" }, ` ${at}${done}`));
}

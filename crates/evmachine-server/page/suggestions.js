// Names that are one key away: known classes near the group, and names that were given and are not learned yet.

import { make } from "./elements.js";
import { say } from "./notices.js";
import { unlearnedNames } from "./pool.js";
import { count, distance, short, support } from "./words.js";

const MOST = 9;
/** A class whose psi is below this is far: its key has to be pressed twice. */
const FAR = 1e-3;

/** `take(name)` is called when one was chosen for `samples()` samples. */
export function suggestionList(place, take, samples) {
  let names = [];
  let asked = null;

  /** The suggestions for a group, which may be none. */
  function show(group) {
    const near = (group?.neighbors ?? []).slice(0, MOST);
    const known = near.map((one) => ({ name: one.class, isFar: !(one.psi >= FAR), note: `support ${support(one.support)}, distance ${distance(one.distance)}` }));
    const taken = new Set(known.map(({ name }) => name));
    const given = group ? unlearnedNames().filter((name) => !taken.has(name)) : [];
    const lately = given.map((name) => ({ name, isFar: false, note: "not learned yet" }));
    names = [...known, ...lately].slice(0, MOST);
    asked = null;
    const parts = [
      ["Known classes that are near", names.slice(0, known.length), 0],
      ["Named and not learned yet", names.slice(known.length), known.length],
    ];
    place.replaceChildren(
      ...parts.flatMap(([title, some, first]) => (some.length ? [make("h3", {}, title), ...some.map((one, at) => buttonOf(one, first + at))] : [])),
    );
  }

  function buttonOf({ name, isFar, note }, at) {
    return make(
      "button",
      { type: "button", class: isFar ? "far" : undefined, title: name, onclick: () => choose(at + 1), "aria-keyshortcuts": String(at + 1) },
      make("kbd", { "aria-hidden": "true" }, String(at + 1)),
      make("span", { class: "name" }, short(name)),
      make("span", { class: "quiet" }, isFar ? `far: ${note}` : note),
    );
  }

  /** Takes the nth; one that is far asks first. */
  function choose(nth) {
    const chosen = names[nth - 1];
    if (!chosen) return;
    if (chosen.isFar && asked !== chosen) {
      asked = chosen;
      say(`${short(chosen.name)} is far from these samples: psi is below 0.001. Press ${nth} again to name ${count(samples(), "sample")} so.`);
      return;
    }
    asked = null;
    take(chosen.name);
  }

  return { show, choose };
}

// One sample, as large as the screen lets it be: the whole picture or text, and what is known of it.

import { button, make } from "./elements.js";
import { faceOf, linkOf } from "./samples.js";
import { distance, sampleName } from "./words.js";

/** Shows a member of a group; `toggle` ticks it out or in, and `isIn()` says which. */
export function look(member, { toggle, isIn }) {
  const dialog = document.getElementById("look");
  const tick = button("", () => {
    toggle();
    tellTick();
  });
  const tellTick = () => {
    tick.textContent = isIn() ? "Tick out: it does not belong here" : "Tick in: it belongs here";
  };
  tellTick();
  const facts = [
    ["Decided", member.known ? member.class : `unknown, nearest to ${member.class}`],
    ["Distance to the middle of the group", distance(member.distance)],
  ];
  dialog.replaceChildren(
    make("h2", { id: "look-title" }, sampleName(member)),
    make("div", { class: "look-face" }, faceOf(member)),
    member.picture && member.text ? make("p", { class: "look-text" }, member.text) : "",
    make("dl", { class: "facts" }, facts.map(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])),
    make("div", { class: "dialog-buttons" }, linkOf(member), tick, button("Close", () => dialog.close(), { autofocus: true })),
  );
  dialog.showModal();
}

// Single keys, and the dialog that lists them. They can be switched off, for those whom they would surprise.

import { button, make } from "./elements.js";

const SWITCH = "evmachine-single-keys";
const bindings = [];

/** `{ keys, words, act, views }`: `act(event)` runs for any of `keys` while one of `views` is seen, or all where none is named. */
export function bind(...more) {
  bindings.push(...more);
}

function isOn() {
  return localStorage.getItem(SWITCH) !== "off";
}

function isTyping(target) {
  if (target.closest("[contenteditable], textarea, select")) return true;
  return target.tagName === "INPUT" && target.type !== "checkbox" && target.type !== "range";
}

/** Enter and space belong to what has the focus where that is something to press. */
function isPressing(event) {
  if (event.key !== "Enter" && event.key !== " ") return false;
  return event.target.closest("button, a, summary, input, [role=checkbox]") !== null;
}

/** Arrows belong to what has the focus where it moves by them. */
function isMoving(event) {
  return event.key.startsWith("Arrow") && event.target.closest("input, .samples, canvas, .table") !== null;
}

export function listen(currentView) {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (!isOn() || isTyping(event.target) || isPressing(event) || isMoving(event)) return;
    if (document.querySelector("dialog[open]")) return;
    const view = currentView();
    const found = bindings.find(({ keys, views }) => keys.includes(event.key) && (!views || views.includes(view)));
    if (!found) return;
    event.preventDefault();
    found.act(event);
  });
}

const SHOWN = { " ": "Space", ArrowDown: "↓", ArrowUp: "↑", ArrowLeft: "←", ArrowRight: "→" };

/** The first and the last of many. */
function shown(keys) {
  return keys.length > 3 ? [keys[0], "…", keys.at(-1)] : keys;
}

export function showHelp() {
  const dialog = document.getElementById("help");
  const rows = bindings.map(({ keys, words }) => [
    make("dt", {}, shown(keys).map((key) => make("kbd", {}, SHOWN[key] ?? key))),
    make("dd", {}, words),
  ]);
  const toggle = make("input", {
    type: "checkbox",
    checked: isOn(),
    onchange: ({ target }) => localStorage.setItem(SWITCH, target.checked ? "on" : "off"),
  });
  dialog.replaceChildren(
    make("h2", { id: "help-title" }, "Keys"),
    make("dl", { class: "keys" }, rows),
    make("p", {}, "In the field for a name, Enter takes a class of exactly that name; ↓ chooses another one, and Ctrl+Enter founds a new one."),
    make("label", { class: "line" }, toggle, " Single keys do these things"),
    button("Close", () => dialog.close(), { autofocus: true }),
  );
  dialog.showModal();
}

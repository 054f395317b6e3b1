// Samples or training rows in a grid, each with a box: what the views beside the queue show.

import { make } from "./elements.js";
import { faceOf, linkOf } from "./samples.js";
import { lookLabel, sampleName } from "./words.js";

/**
 * `on` has `look(item)` and `changed()`. Items are `{ sample, id, text, picture, features, note, tags }`; those in `chosen` have their box
 * ticked. `isStray` says whether an item without a tick is struck out.
 */
export function sampleGrid(label, on, { isStray = false } = {}) {
  let cards = [];
  let active = 0;
  const chosen = new Set();
  const node = make("ul", { class: "samples", "aria-label": label, onkeydown: walk });

  function cardOf(item) {
    const name = sampleName(item);
    const tick = make(
      "button",
      { type: "button", role: "checkbox", tabindex: "-1", class: "tick", onclick: () => toggle(item), onfocus: () => activate(cards.findIndex((card) => card.item === item)) },
      make("span", { class: "box", "aria-hidden": "true" }),
      make("span", { class: "sample-name" }, name),
      item.note ? make("span", { class: "quiet" }, item.note) : "",
    );
    const face = make("button", { type: "button", tabindex: "-1", class: "look", "aria-label": lookLabel(item), onclick: () => on.look(item) }, faceOf(item));
    const tags = (item.tags ?? []).map((words) => make("span", { class: "tag doubtful" }, words));
    return { item, tick, node: make("li", {}, make("div", { class: "sample" }, face, tags.length ? make("div", { class: "sample-tags" }, tags) : "", tick), linkOf(item)) };
  }

  function show(items, ticked) {
    chosen.clear();
    if (ticked) for (const item of items) chosen.add(item);
    cards = items.map(cardOf);
    node.classList.toggle("texts", items.some((item) => item.text && !item.picture));
    node.replaceChildren(...cards.map((card) => card.node));
    activate(0);
    refresh();
  }

  function toggle(item) {
    if (!chosen.delete(item)) chosen.add(item);
    refresh();
  }

  function refresh() {
    for (const { item, tick, node: line } of cards) {
      tick.setAttribute("aria-checked", String(chosen.has(item)));
      line.classList.toggle("stray", isStray && !chosen.has(item));
      line.classList.toggle("chosen", !isStray && chosen.has(item));
    }
    on.changed();
  }

  function activate(at) {
    active = Math.max(0, Math.min(at, cards.length - 1));
    for (const [place, { node: line, tick }] of cards.entries()) {
      line.classList.toggle("active", place === active);
      tick.setAttribute("tabindex", place === active ? "0" : "-1");
    }
  }

  function focusCard(at) {
    if (!cards.length) return;
    activate(at);
    cards[active].tick.focus();
  }

  function walk(event) {
    const columns = Math.max(1, cards.findIndex((card) => card.node.offsetTop > cards[0].node.offsetTop));
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns, Home: -active, End: cards.length - 1 - active };
    if (!(event.key in steps)) return;
    event.preventDefault();
    focusCard(active + steps[event.key]);
  }

  return {
    node,
    show,
    chosen: () => cards.map((card) => card.item).filter((item) => chosen.has(item)),
    left: () => cards.map((card) => card.item).filter((item) => !chosen.has(item)),
    walk: (by) => focusCard(active + by),
    look: () => cards[active] && on.look(cards[active].item),
    tick() {
      if (!cards.length) return;
      focusCard(active);
      toggle(cards[active].item);
    },
  };
}

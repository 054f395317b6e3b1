// The group in the middle: its samples in a grid, strays ticked out, and the slider that splits it by its radius.

import { get } from "./api.js";
import { button, make } from "./elements.js";
import { look } from "./look.js";
import { complain } from "./notices.js";
import { beyond } from "./queue.js";
import { faceOf, linkOf } from "./samples.js";
import { count, distance, lookLabel, sampleName } from "./words.js";

const MOST_AT_FIRST = 120;

/** `on` has `split(group)` and `changed(group)`. */
export function groupView(place, on) {
  let group = null;
  let cards = [];
  let active = 0;
  let summary = null;
  let slider = null;
  let splitButton = null;
  const shownOf = new WeakMap();

  function show(next) {
    group = next;
    cards = [];
    if (!group) {
      place.replaceChildren(
        make("h2", { id: "group-title" }, "Nothing waits"),
        make("p", {}, "Every unknown sample has an answer. Press l to learn what you have named, or wait for new ones."),
      );
      return;
    }
    const shown = shownOf.get(group) ?? MOST_AT_FIRST;
    cards = group.members.slice(0, shown).map(cardOf);
    summary = make("p", { class: "quiet", id: "group-summary" });
    const isText = cards.some(({ member }) => member.text && !member.picture);
    const grid = make("ul", { class: isText ? "samples texts" : "samples", onkeydown: walk, "aria-describedby": "group-summary" }, cards.map((card) => card.node));
    place.replaceChildren(
      make("h2", { id: "group-title", tabindex: "-1" }, group.size === 1 ? "1 sample on its own" : `${count(group.size, "sample")} that look alike`),
      summary,
      cutter(),
      grid,
      group.size > cards.length ? button(`Show all ${group.size}`, showAll) : "",
    );
    activate(0);
    refresh();
  }

  /** A click on what is shown of a sample looks at it; only its box ticks it. */
  function cardOf(member) {
    const name = sampleName(member);
    const tick = make(
      "button",
      { type: "button", role: "checkbox", tabindex: "-1", class: "tick", onclick: () => toggle(member), onfocus: () => activate(cardWith(member)) },
      make("span", { class: "box", "aria-hidden": "true" }),
      make("span", { class: "sample-name" }, name),
      make("span", { class: "quiet" }, distance(member.distance)),
    );
    const face = make("button", { type: "button", tabindex: "-1", class: "look", "aria-label": lookLabel(member), onclick: () => lookAt(cardWith(member)) }, faceOf(member));
    return { member, tick, node: make("li", {}, make("div", { class: "sample" }, face, tick), linkOf(member)) };
  }

  function cardWith(member) {
    return cards.findIndex((card) => card.member === member);
  }

  /** The sample that keys are for. */
  function activate(at) {
    active = Math.max(0, Math.min(at, cards.length - 1));
    for (const [place, { node, tick }] of cards.entries()) {
      node.classList.toggle("active", place === active);
      tick.setAttribute("tabindex", place === active ? "0" : "-1");
    }
  }

  function lookAt(at) {
    if (!cards[at]) return;
    activate(at);
    const { member } = cards[at];
    look(member, { toggle: () => toggle(member), isIn: () => !group.strays.has(member.sample) });
  }

  /** The distance of the farthest sample; what the radius allows, as long as it is not here. */
  function reach() {
    if (group.members.length < group.size) return group.radius;
    return Math.max(0, ...group.members.map((member) => member.distance));
  }

  function cutter() {
    slider = make("input", {
      id: "radius",
      type: "range",
      min: "0",
      max: "1000",
      value: group.cut === null ? 1000 : Math.round((group.cut / reach()) * 1000),
      "aria-describedby": "group-summary",
      // What is farthest comes last, and may not be here yet.
      onfocus: () => fetchRest(group),
      oninput: readSlider,
      onkeydown: (event) => {
        if (event.key !== "Enter") return;
        event.preventDefault();
        event.stopPropagation();
        split();
      },
    });
    splitButton = button("Split", split);
    return make("div", { class: "cutter" }, make("label", { for: "radius" }, "Radius ", make("kbd", {}, "r")), slider, splitButton);
  }

  function readSlider() {
    const at = Number(slider.value);
    group.cut = at >= 1000 ? null : (at / 1000) * reach();
    refresh();
  }

  function split() {
    if (beyond(group).length) on.split(group);
  }

  /** A list of groups has the first samples of each alone. */
  async function fetchRest(mine) {
    if (mine.members.length >= mine.size) return;
    try {
      const { members } = await get(`/v1/groups/${mine.number}`);
      // What came to it since was not seen, and is not meant.
      const own = new Set(mine.samples);
      mine.members = members.filter(({ sample }) => own.has(sample));
      if (group === mine) readSlider();
    } catch (error) {
      complain(error);
    }
  }

  async function showAll() {
    const mine = group;
    await fetchRest(mine);
    shownOf.set(mine, mine.members.length);
    if (group === mine) show(mine);
  }

  function toggle(member) {
    if (!group.strays.delete(member.sample)) group.strays.add(member.sample);
    refresh();
  }

  /** What ticks and slider say, without drawing samples anew. */
  function refresh() {
    const far = new Set(beyond(group));
    for (const { member, tick, node } of cards) {
      const belongs = !group.strays.has(member.sample);
      tick.setAttribute("aria-checked", String(belongs));
      node.classList.toggle("stray", !belongs);
      node.classList.toggle("beyond", far.has(member));
    }
    const radius = group.cut ?? reach();
    slider.setAttribute("aria-valuetext", `${distance(radius)}, ${count(far.size, "sample")} beyond`);
    splitButton.disabled = far.size === 0;
    splitButton.textContent = far.size ? `Split ${far.size} off` : "Split";
    const parts = [`Within ${distance(reach())} of ${sampleName(exemplar())}.`];
    if (group.strays.size) parts.push(`${count(group.strays.size, "stray")} ticked out.`);
    if (far.size) parts.push(`${count(far.size, "sample")} beyond ${distance(radius)}.`);
    summary.textContent = parts.join(" ");
    on.changed(group);
  }

  function exemplar() {
    return group.members.find((member) => member.sample === group.exemplar) ?? { number: group.exemplar };
  }

  function walk(event) {
    const columns = Math.max(1, cards.findIndex((card) => card.node.offsetTop > cards[0].node.offsetTop));
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns, Home: -active, End: cards.length - 1 - active };
    if (!(event.key in steps)) return;
    event.preventDefault();
    focusCard(active + steps[event.key]);
  }

  function focusCard(at) {
    if (!cards.length) return;
    activate(at);
    cards[active].tick.focus();
  }

  return {
    show,
    refresh: () => group && refresh(),
    focusRadius: () => slider?.focus(),
    focusTitle: () => place.querySelector("h2")?.focus({ preventScroll: true }),
    /** Goes so many samples on. */
    walk: (by) => focusCard(active + by),
    look: () => lookAt(active),
    /** Ticks the sample that keys are for out or in. */
    tick() {
      if (!cards.length) return;
      focusCard(active);
      toggle(cards[active].member);
    },
  };
}

// What waits although the model knows it: class by class, the most doubtful first, to be accepted at once or gone through.

import { settle } from "./address.js";
import { answer } from "./answers.js";
import { get } from "./api.js";
import { button, make } from "./elements.js";
import { sync } from "./labelling.js";
import { look } from "./look.js";
import { namingField } from "./naming.js";
import { complain } from "./notices.js";
import { can, onStanding, refresh } from "./pool.js";
import { sampleGrid } from "./sample-grid.js";
import { count, support, whole } from "./words.js";

export function recognisedView(place) {
  let classes = [];
  let current = null;
  let samples = [];
  let isSeen = false;
  const list = make("ul", { class: "class-list" });
  const title = make("h2", { tabindex: "-1" });
  const words = make("p", { class: "quiet" });
  const grid = sampleGrid("Samples that are recognised", { look: (item) => look(item, tickOf(item)), changed: describe }, { isStray: true });
  const acceptAll = button("Accept", () => accept(samples), { key: "a", class: "main" });
  const acceptShown = button("Accept those shown", () => accept(grid.chosen().map(({ sample }) => sample)));
  const field = namingField((label, isNew) => nameLeft(label, isNew));
  const others = make("div", { class: "others", hidden: true }, make("p", {}, "What are those that you ticked out?"), field.node);
  const body = make("div", { class: "class-body" }, title, words, make("div", { class: "class-verbs" }, acceptAll, acceptShown), others, grid.node);
  place.append(make("nav", { class: "class-side", "aria-label": "Classes that samples are recognised as" }, make("h2", {}, "Recognised"), list), body);

  function tickOf(item) {
    return { toggle: () => toggle(item), isIn: () => grid.chosen().includes(item) };
  }

  function toggle(item) {
    grid.node.querySelectorAll(".tick")[shown.indexOf(item)].click();
  }

  let shown = [];

  function renderList() {
    list.replaceChildren(
      ...classes.map((one) =>
        make(
          "li",
          {},
          make("button", { type: "button", "aria-current": one.class === current ? "true" : undefined, onclick: () => open(one.class, true) }, make("span", { class: "name" }, one.class), make("span", { class: "quiet" }, `${count(one.samples, "sample")}, from ${support(one.least_support)}`)),
        ),
      ),
    );
  }

  /** Samples that are not ticked out. */
  function meant() {
    const left = new Set(grid.left().map(({ sample }) => sample));
    return samples.filter((sample) => !left.has(sample));
  }

  function describe() {
    const left = grid.left().length;
    const many = meant().length;
    acceptAll.firstChild.textContent = many === samples.length ? `Accept all ${whole(many)}` : `Accept ${whole(many)}`;
    acceptAll.disabled = !can("label") || many === 0;
    acceptShown.hidden = shown.length >= samples.length;
    acceptShown.textContent = `Accept the ${whole(grid.chosen().length)} shown`;
    acceptShown.disabled = !can("label") || grid.chosen().length === 0;
    others.hidden = left === 0 || !can("label");
    words.textContent = left ? `${count(left, "sample")} ticked out, to wait on.` : "The most doubtful come first. Tick out what is wrong, or accept all.";
  }

  async function load(wanted) {
    try {
      classes = (await get("/v1/recognised")).classes;
      const found = classes.find((one) => one.class === (wanted ?? current)) ?? classes[0];
      if (found) await open(found.class);
      else showNothing();
    } catch (error) {
      complain(error);
    }
  }

  function showNothing() {
    current = null;
    [samples, shown] = [[], []];
    renderList();
    grid.show([]);
    title.textContent = "Nothing waits that is recognised";
    words.textContent = "When the model has learned, samples that wait and that it knows now are offered here.";
    acceptAll.hidden = acceptShown.hidden = others.hidden = true;
  }

  async function open(name, focus) {
    current = name;
    settle("recognised", { class: name });
    renderList();
    try {
      const found = await get(`/v1/recognised/samples?class=${encodeURIComponent(name)}`);
      if (current !== name) return;
      samples = found.samples;
      shown = found.shown.map((sample) => ({ ...sample, sample: sample.number, note: support(sample.support) }));
      title.textContent = `${count(samples.length, "sample")} recognised as ${name}`;
      acceptAll.hidden = false;
      grid.show(shown, true);
      if (focus) title.focus({ preventScroll: true });
    } catch (error) {
      complain(error);
    }
  }

  /** Names those that are meant as what they are recognised as. */
  function accept(wanted) {
    const left = new Set(grid.left().map(({ sample }) => sample));
    tell(wanted.filter((sample) => !left.has(sample)), current, false);
  }

  function nameLeft(label, isNew) {
    tell(grid.left().map(({ sample }) => sample), label, isNew);
  }

  function tell(wanted, label, isNew) {
    if (!wanted.length || !can("label")) return;
    const before = { current, samples, shown };
    const gone = new Set(wanted);
    answer({
      verb: "labels",
      label,
      isNew,
      samples: wanted,
      field,
      apply() {
        samples = samples.filter((sample) => !gone.has(sample));
        const isLast = samples.length === 0;
        const kept = grid.left();
        shown = shown.filter(({ sample }) => !gone.has(sample));
        classes = classes.map((one) => (one.class === before.current ? { ...one, samples: samples.length } : one)).filter((one) => one.samples > 0);
        if (isLast) load();
        else {
          title.textContent = `${count(samples.length, "sample")} recognised as ${current}`;
          grid.show(shown, true);
          for (const item of kept.filter((one) => shown.includes(one))) toggle(item);
          renderList();
        }
      },
      revert: () => load(before.current),
      after: () => Promise.all([load(), sync()]),
      undone: () => Promise.all([load(before.current), sync()]),
      taken: () => load(before.current),
    });
  }

  onStanding((status, before) => {
    if (isSeen && before && status.settled && (before.live !== status.live || !before.settled)) load();
  });

  return {
    show(asked) {
      isSeen = true;
      load(asked.get("class"));
      refresh();
    },
    hide() {
      isSeen = false;
    },
    accept: () => !acceptAll.hidden && !acceptAll.disabled && acceptAll.click(),
    tick: () => grid.tick(),
    walk: (by) => grid.walk(by),
    look: () => grid.look(),
    step(by) {
      const at = classes.findIndex((one) => one.class === current) + by;
      if (classes[at]) open(classes[at].class, true);
    },
  };
}

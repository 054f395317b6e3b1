// Samples by what is known of them, and answers to all that were found. What is looked for is in the address.

import { addressOf } from "./address.js";
import { change, get } from "./api.js";
import { confirm } from "./confirmation.js";
import { button, make } from "./elements.js";
import { sync } from "./labelling.js";
import { askOpinion, look, lookAt } from "./look.js";
import { namingField } from "./naming.js";
import { complain, say } from "./notices.js";
import { can, refresh } from "./pool.js";
import { sampleGrid } from "./sample-grid.js";
import { count, support, whole } from "./words.js";

const SHOWN = 100;
/** More samples than these are not answered at once. */
const MOST = 100_000;

const FIELDS = [
  { name: "text", words: "Text has", type: "text" },
  { name: "id", words: "Name has", type: "text" },
  { name: "state", words: "Answer", options: [["", "any"], ["waiting", "waits"], ["labelled", "named"], ["ignored", "ignored"], ["discarded", "discarded"]] },
  { name: "label", words: "Named", type: "text" },
  { name: "known", words: "Decision", options: [["", "any"], ["true", "known"], ["false", "unknown"]] },
  { name: "best", words: "Best class", type: "text" },
  { name: "least_support", words: "Support from", type: "number" },
  { name: "most_support", words: "Support to", type: "number" },
  { name: "since", words: "Came from", type: "datetime-local" },
  { name: "until", words: "Came before", type: "datetime-local" },
  { name: "order", words: "First", options: [["", "the oldest"], ["doubtful", "the least supported"]] },
];

/** Times are seconds in addresses and local clocks in fields. */
function toField({ type }, value) {
  if (type !== "datetime-local" || !value) return value ?? "";
  const date = new Date(Number(value) * 1000);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function fromField({ type }, value) {
  if (type !== "datetime-local" || !value) return value.trim();
  return String(Math.floor(new Date(value).getTime() / 1000));
}

export function searchView(place) {
  let items = [];
  let matching = 0;
  const inputs = new Map(FIELDS.map((field) => [field.name, inputOf(field)]));
  const title = make("h2", { tabindex: "-1", "aria-live": "polite" }, "Search");
  const words = make("p", { class: "quiet" });
  const grid = sampleGrid("Samples that were found", { look: (item) => look(item), changed: describe });
  const field = namingField((label, isNew) => bulk("labels", { label, new_class: isNew }, `name %s “${label}”`));
  const more = button("Show more", () => extend());
  const verbs = make(
    "div",
    { class: "class-verbs" },
    button("Ignore", () => bulk("ignore", {}, "ignore %s")),
    button("Discard", () => bulk("discard", {}, "discard %s")),
    button("Have them wait", () => bulk("reopen", {}, "have %s wait again")),
    button("Second opinion", () => opinion()),
  );
  const target = make("p", { class: "target", "aria-live": "polite" });
  const panel = make("div", { class: "others", hidden: true }, target, field.node, verbs);
  const form = make(
    "form",
    { class: "search-form", role: "search", onsubmit: submit },
    FIELDS.map(({ name, words: label }) => make("div", {}, make("label", { for: `search-${name}` }, label), inputs.get(name))),
    make("div", { class: "search-buttons" }, make("button", { type: "submit", class: "main" }, "Search"), button("Clear", clear)),
  );
  place.append(form, make("div", { class: "class-body" }, title, words, panel, grid.node, more));

  function inputOf({ name, type, options }) {
    const properties = { id: `search-${name}`, name };
    if (options) return make("select", properties, options.map(([value, shown]) => make("option", { value }, shown)));
    return make("input", { ...properties, type, step: type === "number" ? "any" : undefined, autocomplete: "off" });
  }

  function asked() {
    return Object.fromEntries(FIELDS.map((one) => [one.name, fromField(one, inputs.get(one.name).value)]).filter(([, value]) => value !== ""));
  }

  function submit(event) {
    event.preventDefault();
    const wanted = addressOf("search", asked());
    if (location.hash === wanted) run();
    else location.hash = wanted;
  }

  function clear() {
    form.reset();
    location.hash = addressOf("search");
  }

  const query = (more) => new URLSearchParams({ ...asked(), ...more });

  function itemOf(sample) {
    const said = sample.label ?? (sample.state === "waiting" ? null : sample.state);
    return { ...sample, sample: sample.number, note: said ?? `${sample.class ?? "unknown"} ${support(sample.support)}` };
  }

  async function run() {
    try {
      const [found, numbers] = await Promise.all([get(`/v1/samples?${query({ count: SHOWN })}`), get(`/v1/samples/numbers?${query({ count: 1 })}`)]);
      items = found.samples.map(itemOf);
      matching = numbers.matching;
      title.textContent = `${count(matching, "sample")} found`;
      grid.show(items);
      describe();
    } catch (error) {
      complain(error);
    }
  }

  async function extend() {
    try {
      const found = await get(`/v1/samples?${query({ count: SHOWN, after: items.at(-1).number })}`);
      items = [...items, ...found.samples.map(itemOf)];
      grid.show(items);
    } catch (error) {
      complain(error);
    }
  }

  /** Samples in the order of their support cannot be gone on with; those that came first can. */
  function describe() {
    const chosen = grid.chosen();
    more.hidden = items.length >= matching || inputs.get("order").value === "doubtful";
    panel.hidden = !can("label") || matching === 0;
    target.textContent = chosen.length ? `Your answer goes for the ${count(chosen.length, "sample")} that you ticked.` : `Your answer goes for all ${count(matching, "sample")} found.`;
    words.textContent = items.length < matching ? `The first ${whole(items.length)} are shown.` : "";
  }

  /** The samples that are ticked, or without a tick all that were found. */
  async function meant() {
    const chosen = grid.chosen();
    if (chosen.length) return chosen.map(({ sample }) => sample);
    return (await get(`/v1/samples/numbers?${query({})}`)).samples;
  }

  async function bulk(verb, told, action) {
    try {
      const samples = await meant();
      if (!samples.length) return;
      if (samples.length >= MOST) return say(`At most ${whole(MOST)} samples are answered at once; search for fewer.`);
      const many = count(samples.length, "sample");
      const done = action.replace("%s", many);
      const onlyWaiting = asked().state === "waiting" && verb !== "reopen";
      const caution = onlyWaiting ? "If somebody answers one of them meanwhile, nothing is done." : "Answers that were given to them before are replaced.";
      if (!(await confirm(`${done[0].toUpperCase()}${done.slice(1)}?`, [caution, "It can be undone."], "Do it"))) return;
      const replace = onlyWaiting || verb === "reopen" ? {} : { replace: true };
      const { event } = await change(`/v1/${verb}`, { samples, ...told, ...replace });
      say(`Done: ${done}.`, { words: "Undo", act: () => undo(event) });
    } catch (error) {
      if (error.body?.known && told.label) field.refill(told.label, error.message);
      else complain(error);
    }
    await after();
  }

  async function opinion() {
    try {
      const samples = await meant();
      if (samples.length && (await confirm(`Ask for a second opinion on ${count(samples.length, "sample")}?`, ["Somebody else is shown them, without what was said of them."], "Ask"))) await askOpinion(samples);
    } catch (error) {
      complain(error);
    }
  }

  async function undo(event) {
    try {
      await change("/v1/undo", { event });
      say("Undone.");
    } catch (error) {
      complain(error);
    }
    await after();
  }

  async function after() {
    await Promise.all([refresh(), run()]);
    sync();
  }

  return {
    show(wanted) {
      for (const one of FIELDS) inputs.get(one.name).value = toField(one, wanted.get(one.name));
      run();
      if (wanted.has("sample")) lookAt(Number(wanted.get("sample")));
    },
    tick: () => grid.tick(),
    walk: (by) => grid.walk(by),
    look: () => grid.look(),
    focus: () => inputs.get("text").focus(),
  };
}


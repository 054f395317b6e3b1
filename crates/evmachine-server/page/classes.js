// The classes: what each is made of, which of its rows are in doubt, and renaming, merging, splitting, moving and removing.

import { settle } from "./address.js";
import { change, get } from "./api.js";
import { confirm } from "./confirmation.js";
import { button, make } from "./elements.js";
import { look, lookAt, rowName } from "./look.js";
import { namingField } from "./naming.js";
import { complain, say } from "./notices.js";
import { can, refresh } from "./pool.js";
import { sampleGrid } from "./sample-grid.js";
import { count, version, whole } from "./words.js";

const SHOWN = 200;

export function classesView(place) {
  let classes = [];
  let current = null;
  let rows = [];
  const filter = make("input", { type: "text", id: "class-filter", placeholder: "part of a name", oninput: renderList });
  const list = make("ul", { class: "class-list" });
  const title = make("h2", { tabindex: "-1" });
  const words = make("p", { class: "quiet" });
  const grid = sampleGrid("Rows of the class", { look: lookAtRow, changed: describe });
  const renaming = nameForm("Rename", (to) => edit("rename", { class: current, to }, `${current} is called ${to} now`, to));
  const merging = namingField((into, isNew) => merge(into, isNew));
  const moving = namingField((to, isNew) => move(to, isNew));
  const mergePart = make("details", {}, make("summary", {}, "Merge into another class"), merging.node);
  const renamePart = make("details", {}, make("summary", {}, "Rename"), renaming);
  const removeButton = button("Remove the class", remove);
  const verbs = make("div", { class: "class-verbs" }, renamePart, mergePart, removeButton);
  const chosenWords = make("p", { "aria-live": "polite" });
  const movePart = make("div", { class: "others", hidden: true }, chosenWords, moving.node);
  const body = make("div", { class: "class-body" }, title, words, verbs, movePart, grid.node);
  place.append(make("nav", { class: "class-side", "aria-label": "Classes" }, make("h2", {}, "Classes"), make("label", { for: "class-filter" }, "Find a class"), filter, list), body);

  function nameForm(action, act) {
    const field = make("input", { type: "text", maxlength: "256", "aria-label": "New name", autocomplete: "off" });
    const submit = (event) => {
      event.preventDefault();
      const name = field.value.trim();
      if (!name) return;
      field.value = "";
      act(name);
    };
    return make("form", { class: "name-form", onsubmit: submit }, field, make("button", { type: "submit" }, action));
  }

  function renderList() {
    const part = filter.value.trim().toLocaleLowerCase();
    const found = classes.filter(({ name }) => name.toLocaleLowerCase().includes(part));
    list.replaceChildren(
      ...found.map((one) =>
        make(
          "li",
          {},
          make(
            "button",
            { type: "button", "aria-current": one.name === current ? "true" : undefined, onclick: () => open(one.name, true) },
            make("span", { class: "name" }, one.name),
            make("span", { class: "quiet" }, [count(one.vectors, "row"), one.to_learn ? `${whole(one.to_learn)} to learn` : ""].filter(Boolean).join(", ")),
          ),
        ),
      ),
    );
  }

  function lookAtRow(row) {
    if (row.number && row.isSample) lookAt(row.sample);
    else look({ ...row, known: true });
  }

  function describe() {
    const chosen = grid.chosen();
    movePart.hidden = !chosen.length || !can("label");
    chosenWords.textContent = `${count(chosen.length, "row")} chosen. Move ${chosen.length === 1 ? "it" : "them"} to another class, or split off a new one:`;
  }

  async function load(wanted) {
    try {
      classes = (await get("/v1/classes")).classes;
      const found = classes.find(({ name }) => name === (wanted ?? current)) ?? classes[0];
      if (found) await open(found.name);
    } catch (error) {
      complain(error);
    }
  }

  async function open(name, focus) {
    current = name;
    settle("classes", { class: name });
    renderList();
    try {
      const found = await get(`/v1/classes/rows?class=${encodeURIComponent(name)}&count=${SHOWN}`);
      if (current !== name) return;
      const items = found.rows.map((row) => ({
        ...row,
        isSample: row.sample !== null,
        sample: row.sample ?? `row ${row.source}`,
        id: rowName(row),
        text: row.text ?? (row.picture ? null : row.id),
        tags: [row.claimed_by ? `or ${row.claimed_by}?` : null, row.alone ? "on its own" : null].filter(Boolean),
      }));
      // Those in doubt first; the others as the model has them.
      rows = [...items.filter((row) => row.claimed_by), ...items.filter((row) => !row.claimed_by && row.alone), ...items.filter((row) => !row.claimed_by && !row.alone)];
      const doubtful = items.filter((row) => row.claimed_by).length;
      const alone = items.filter((row) => row.alone && !row.claimed_by).length;
      title.textContent = name;
      const parts = [`${count(found.vectors, "row")} make up this class`];
      if (found.vectors > items.length) parts.push(`the first ${whole(items.length)} are shown`);
      parts.push(doubtful ? `${whole(doubtful)} would be taken for another class if the row itself were silent` : "no other class claims any of them");
      if (alone) parts.push(alone === 1 ? "1 lies on its own" : `${whole(alone)} lie on their own`);
      words.textContent = `${parts.join("; ")}.`;
      for (const part of [renamePart, mergePart]) part.open = false;
      verbs.hidden = !can("label");
      removeButton.disabled = classes.length < 2;
      grid.show(rows);
      if (focus) title.focus({ preventScroll: true });
    } catch (error) {
      complain(error);
    }
  }

  async function edit(verb, told, done, next) {
    try {
      const { event, version: live } = await change(`/v1/classes/${verb}`, told);
      const back = { words: "Undo", act: () => undo(event) };
      say(`${done}, in version ${version(live)}, which is live.`, can("admin") ? back : undefined);
    } catch (error) {
      complain(error);
    }
    await refresh();
    await load(next);
  }

  async function undo(event) {
    try {
      await change("/v1/undo", { event });
      say("The version before is live again.");
    } catch (error) {
      complain(error);
    }
    await refresh();
    await load();
  }

  async function merge(into, isNew) {
    if (isNew) return say(`There is no class ${into} to merge into; rename does that.`);
    const wanted = await confirm(`Merge ${current} into ${into}?`, [`${current} ends, and its rows become rows of ${into}, in a new version that is live at once.`], "Merge");
    if (wanted) edit("merge", { class: current, into }, `${current} is merged into ${into}`, into);
  }

  function move(to, isNew) {
    const chosen = grid.chosen();
    if (!chosen.length) return;
    edit("move", { rows: chosen.map(({ source }) => source), to, new_class: isNew }, `${count(chosen.length, "row")} of ${current} moved to ${to}`, current);
  }

  async function remove() {
    const { vectors } = classes.find(({ name }) => name === current) ?? { vectors: 0 };
    const wanted = await confirm(`Remove ${current}?`, [`The model forgets its ${count(vectors, "row")}, in a new version that is live at once. What is of this class is unknown from then on. Samples keep their names.`], "Remove");
    if (wanted) edit("remove", { class: current }, `${current} is removed`);
  }

  return {
    show: (asked) => load(asked.get("class")),
    tick: () => grid.tick(),
    walk: (by) => grid.walk(by),
    look: () => grid.look(),
    step(by) {
      const at = classes.findIndex(({ name }) => name === current) + by;
      if (classes[at]) open(classes[at].name, true);
    },
  };
}

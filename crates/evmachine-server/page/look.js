// One sample, as large as the screen lets it be: the whole picture or text, what is known of it, what lies near it in training, what
// happened to it, and notes.

import { addressOf } from "./address.js";
import { change, get } from "./api.js";
import { button, make } from "./elements.js";
import { sentence } from "./history.js";
import { complain, say } from "./notices.js";
import { can, refresh } from "./pool.js";
import { faceOf, linkOf } from "./samples.js";
import { distance, moment, sampleName, support } from "./words.js";

const NEAR = 6;

/** Shows a sample of which the number is known. */
export async function lookAt(number) {
  try {
    const sample = await get(`/v1/samples/${number}`);
    look({ ...sample, sample: number });
  } catch (error) {
    complain(error);
  }
}

/** Shows a member of a group, or a sample; `tick`, if there is one, has `toggle()` and `isIn()`, which tick it out or in and say which. */
export function look(member, tick) {
  const dialog = document.getElementById("look");
  const number = member.sample;
  const near = make("div", { class: "look-part" }, make("p", { class: "quiet" }, "Asking for its neighbours…"));
  const past = make("div", { class: "look-part" });
  dialog.replaceChildren(
    make("h2", { id: "look-title" }, sampleName(member)),
    make("div", { class: "look-face" }, faceOf(member)),
    member.picture && member.text ? make("p", { class: "look-text" }, member.text) : "",
    facts(member),
    near,
    past,
    make("div", { class: "dialog-buttons" }, linkOf(member), addressLink(number), tickButton(tick), button("Close", () => dialog.close(), { autofocus: true })),
  );
  dialog.dataset.sample = number;
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  const isShown = () => dialog.open && dialog.dataset.sample === String(number);
  showNear(number, near, isShown);
  showPast(number, past, isShown);
}

function facts(member) {
  const decided = member.class ?? `unknown, best class ${member.best}`;
  const lines = [["Decided", Number.isFinite(member.support) ? `${decided} (support ${support(member.support)})` : decided]];
  if (member.state) lines.push(["Answer", member.label ? `named ${member.label}` : member.state]);
  if (member.added) lines.push(["Came", moment(member.added)]);
  if (Number.isFinite(member.distance)) lines.push(["Distance to the middle of the group", distance(member.distance)]);
  return make("dl", { class: "look-facts" }, lines.map(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
}

function tickButton(tick) {
  if (!tick) return "";
  const words = () => (tick.isIn() ? "Tick out: it does not belong here" : "Tick in: it belongs here");
  const node = button(words(), () => {
    tick.toggle();
    node.textContent = words();
  });
  return node;
}

function addressLink(number) {
  return make("a", { href: addressOf("search", { sample: number }), onclick: () => document.getElementById("look").close() }, "Its address");
}

async function showNear(number, place, isShown) {
  try {
    const { rows } = await get(`/v1/samples/${number}/neighbors?count=${NEAR}`);
    if (!isShown()) return;
    const lines = rows.map((row) =>
      make(
        "li",
        {},
        make("span", { class: "near-face" }, faceOf({ ...row, text: row.text ?? (row.picture ? null : row.id), sample: `row ${row.source}` })),
        make("span", { class: "near-words" }, make("strong", {}, row.class), make("span", { class: "quiet" }, `${rowName(row)}, distance ${distance(row.distance)}`)),
      ),
    );
    place.replaceChildren(make("h3", {}, "Nearest in training"), make("ul", { class: "near" }, lines));
  } catch (error) {
    place.replaceChildren(make("p", { class: "quiet" }, error.message));
  }
}

/** What a training row is called. */
export function rowName(row) {
  return row.sample ? `sample ${row.sample}` : row.id && !row.text && row.picture ? row.id : `row ${row.number}`;
}

async function showPast(number, place, isShown) {
  let found;
  try {
    found = await get(`/v1/samples/${number}/history`);
  } catch (error) {
    place.replaceChildren(make("p", { class: "quiet" }, error.message));
    return;
  }
  if (!isShown()) return;
  const { events, notes } = found;
  const lines = events.map((event) =>
    make("li", { class: event.in_force ? undefined : "undone" }, `${moment(event.time)}: ${sentence({ ...event, samples: event.samples > 1 ? event.samples : 0 })}`, event.person ? ` (${event.person})` : "", event.in_force ? "" : ", undone"),
  );
  const isAnswered = events.some(({ kind, in_force: holds }) => holds && ["labelled", "proposed", "ignored", "discarded"].includes(kind));
  place.replaceChildren(
    make("h3", {}, "History"),
    lines.length ? make("ul", { class: "past" }, lines) : make("p", { class: "quiet" }, "Nothing was said of it yet."),
    isAnswered && can("label") ? button("Ask for a second opinion", () => askOpinion([number])) : "",
    make("h3", {}, "Notes"),
    notes.length ? make("ul", { class: "past" }, notes.map((note) => make("li", {}, make("span", { class: "note" }, note.text), make("span", { class: "quiet" }, ` ${note.person ?? "somebody"}, ${moment(note.time)}`)))) : "",
    can("label") ? noteForm(number, place, isShown) : "",
  );
}

function noteForm(number, place, isShown) {
  const field = make("textarea", { id: "look-note", rows: "2", maxlength: "2000", "aria-label": "A note beside this sample", placeholder: "a note for others" });
  const leave = async () => {
    if (!field.value.trim()) return;
    try {
      await change(`/v1/samples/${number}/notes`, { text: field.value });
      await showPast(number, place, isShown);
    } catch (error) {
      complain(error);
    }
  };
  return make("div", { class: "note-form" }, field, button("Leave note", leave));
}

/** Asks somebody else about samples that were answered. */
export async function askOpinion(samples) {
  try {
    const { event } = await change("/v1/opinions/ask", { samples });
    const words = samples.length === 1 ? "A second opinion is asked for." : `Second opinions on ${samples.length} samples are asked for.`;
    say(words, { words: "Undo", act: () => change("/v1/undo", { event }).then(() => say("Not asked for any more."), complain) });
  } catch (error) {
    complain(error);
  }
  refresh();
}

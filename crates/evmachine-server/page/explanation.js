// Why a decision fell as it did: the training row that carried it, the score without it, who would have won; what is right, and setting
// the row aside.

import { ask, change, get } from "./api.js";
import { button, make, table } from "./elements.js";
import { namingField } from "./naming.js";
import { complain, say } from "./notices.js";
import { can, refresh } from "./pool.js";
import { faceOf } from "./samples.js";
import { distance, moment, support, version } from "./words.js";

const MOST_CLASSES = 6;

/** `what` is `{ decision }` or `{ sample }`; `after` is called when a row was set aside. */
export async function explain(what, after) {
  const dialog = document.getElementById("explanation");
  let found;
  try {
    const { text: _, ...asked } = what;
    found = await ask("/v1/explain", asked);
  } catch (error) {
    complain(error);
    return;
  }
  const own = found.sample ? await get(`/v1/samples/${found.sample}`).catch(() => null) : null;
  const carried = found.known && what.decision !== undefined;
  const field = namingField((label, isNew) => nameRight({ ...what, sample: found.sample }, label, isNew, field, dialog, after));
  const aside = button("Set this row aside", () => setAside(found.because, dialog, after), { class: "main", disabled: !can("label") });
  const not = button(`Not ${found.class}`, () => deny(what, found.class, dialog, after), { disabled: !can("label") });
  dialog.replaceChildren(
    make("h2", { id: "explanation-title" }, found.known ? `Why ${found.class}?` : "Why unknown?"),
    verdict(found),
    faces(found, own, what),
    carrier(found),
    nearby(found.ignored),
    ...(found.denied ?? []).map(denied),
    table(
      "Classes by their support",
      ["Class", "Support", "Distance"],
      found.classes.slice(0, MOST_CLASSES).map((known) => [known.class, support(known.support), distance(known.extreme_vectors[0]?.distance)]),
    ),
    can("label") ? make("div", { class: "right" }, make("p", {}, "What is it really?"), field.node) : "",
    make("div", { class: "dialog-buttons" }, carried ? not : "", carried ? aside : "", button("Close", () => dialog.close(), { autofocus: true })),
  );
  dialog.showModal();
}

/** What was decided on beside what it was taken for, where there is something to see. */
function faces({ carrier: row }, own, { text }) {
  const mine = own ? { ...own, sample: own.number } : text ? { text } : null;
  const theirs = { ...row, text: row.text ?? (row.picture ? null : row.id), sample: `row ${row.source}` };
  return make(
    "div",
    { class: "both-faces" },
    mine ? make("figure", {}, faceOf(mine), make("figcaption", {}, "what was decided on")) : "",
    make("figure", {}, faceOf(theirs), make("figcaption", {}, `the row of ${row.class} that spoke for it most`)),
  );
}

/** Names what was decided on; a row that was not kept is kept first. */
async function nameRight({ decision, sample }, label, isNew, field, dialog, after) {
  try {
    const number = sample ?? (await change(`/v1/decisions/${decision}/keep`)).sample;
    const { event } = await change("/v1/labels", { samples: [number], label, new_class: isNew, replace: true });
    dialog.close();
    say(`It is ${label}. The model knows when it has learned.`, { words: "Undo", act: () => change("/v1/undo", { event }).then(() => say("Undone."), complain) });
  } catch (error) {
    if (error.body?.known) return field.refill(label, error.message);
    dialog.close();
    complain(error);
  }
  refresh();
  return after?.();
}

function verdict({ known, class: name, support: found, model }) {
  const by = `The version that decided is ${version(model)}.`;
  if (known) return make("p", {}, `It was taken for ${name} with a support of ${support(found)}; the threshold is 0. ${by}`);
  return make("p", {}, `No class supports it enough: the best has a support of ${support(found)}, and the threshold is 0. ${by}`);
}

function carrier({ known, because, without }) {
  const { row } = because;
  const origin = [row.id, row.batch_name, row.time && moment(row.time)].filter(Boolean).join(", ");
  const did = known ? "carried it" : "speaks for it most";
  const speaker = make("strong", {}, `Row ${row.number} of ${because.class}`);
  const sentences = [make("p", {}, speaker, origin ? ` (${origin})` : "", ` ${did}, at distance ${distance(because.distance)}.`)];
  if (known) {
    const winner = without.known ? `${without.class} would have won` : "it would have been unknown";
    sentences.push(make("p", {}, `Without that row ${winner}, with a support of ${support(without.support)}.`));
  }
  return make("div", { class: "carrier" }, sentences);
}

function nearby(ignored) {
  if (!ignored) return "";
  const name = ignored.row.id ?? `sample ${ignored.row.number}`;
  return make("p", {}, `An ignored stranger is near: ${name}, at distance ${distance(ignored.distance)}.`);
}

function denied({ class: name, row, distance: far, decides }) {
  const what = decides ? `so it is not taken for ${name}` : `which is not ${name}`;
  return make("p", {}, `A correction is near: ${row.id ?? `row ${row.number}`}, at distance ${distance(far)}, ${what}.`);
}

async function deny(what, name, dialog, after) {
  try {
    await change("/v1/rows/not", { ...what, class: name });
    dialog.close();
    say(`It is not ${name}: a new version that is live never takes it for ${name}. Undo takes that back.`);
  } catch (error) {
    dialog.close();
    complain(error);
  }
  refresh();
  after?.();
}

async function setAside({ row, class: name }, dialog, after) {
  try {
    await change("/v1/rows/aside", { source: row.source });
    dialog.close();
    say(`Row ${row.number} of ${name} is set aside, in a new version that is live.`, {
      words: "Bring it back",
      act: () => restore(name, row),
    });
  } catch (error) {
    dialog.close();
    complain(error);
  }
  refresh();
  after?.();
}

async function restore(name, row) {
  try {
    await change("/v1/rows/restore", { source: row.source });
    say(`Row ${row.number} of ${name} is back.`);
  } catch (error) {
    complain(error);
  }
  refresh();
}

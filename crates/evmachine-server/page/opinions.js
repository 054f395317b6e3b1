// Second opinions: what is asked of you, where two people differ, and how often they agree.

import { change, get } from "./api.js";
import { button, make, table } from "./elements.js";
import { look, lookAt } from "./look.js";
import { namingField } from "./naming.js";
import { complain, say } from "./notices.js";
import { can, refresh } from "./pool.js";
import { faceOf } from "./samples.js";
import { count, lookLabel, percent, sampleName, whole } from "./words.js";

export function opinionsView(place) {
  let wanted = [];
  const asked = make("section", { class: "opinion", "aria-label": "Asked of you" });
  const differing = make("section", { "aria-label": "Disagreements" });
  const agreeing = make("section", { "aria-label": "Agreement" });
  const field = namingField((label, isNew) => give(label, isNew), "n");
  place.append(asked, differing, agreeing);

  async function show() {
    try {
      const [mine, all] = await Promise.all([can("label") ? get("/v1/opinions") : { samples: [] }, get("/v1/disagreements")]);
      wanted = mine.samples;
      showWanted();
      showDiffering(all.disagreements);
      showAgreement(all.agreement);
    } catch (error) {
      complain(error);
    }
  }

  function showWanted() {
    const [first] = wanted;
    if (!first) {
      asked.replaceChildren(make("h2", {}, "No second opinion is asked of you"), make("p", { class: "quiet" }, "Ask for one where you look closely at a sample that was answered, or for many in the search."));
      return;
    }
    const item = { ...first, sample: first.number };
    asked.replaceChildren(
      make("h2", {}, `${count(wanted.length, "second opinion")} asked of you`),
      make("p", {}, "What is this? What others said is not shown."),
      make("div", { class: "opinion-face" }, faceOf(item), make("p", { class: "quiet" }, sampleName(item))),
      field.node,
      make("div", { class: "class-verbs" }, button("Of no class", () => give(null, false), { key: "i" }), button("Skip", skip, { key: "s" })),
    );
  }

  function skip() {
    if (wanted.length < 2) return;
    wanted.push(wanted.shift());
    showWanted();
  }

  async function give(label, isNew) {
    const [first] = wanted;
    if (!first) return;
    try {
      const { event } = await change("/v1/opinions", { samples: [first.number], label, new_class: isNew });
      wanted = wanted.filter((sample) => sample !== first);
      say(`You say: ${label ?? "of no class"}.`, { words: "Undo", act: () => undo(event) });
    } catch (error) {
      if (error.body?.known && label) field.refill(label, error.message);
      else complain(error);
      return;
    }
    refresh();
    await show();
  }

  async function undo(event) {
    try {
      await change("/v1/undo", { event });
      say("Undone.");
    } catch (error) {
      complain(error);
    }
    await show();
  }

  /** Settles a disagreement: the answer stays, or the second opinion takes its place. */
  async function settleOn(one, label) {
    const isSame = label === one.sample.label;
    const samples = [one.sample.number];
    try {
      if (isSame) await change("/v1/opinions", { samples, label });
      else if (label === null) await change("/v1/ignore", { samples, replace: true });
      else await change("/v1/labels", { samples, label, new_class: true, replace: true });
      say(`Settled: ${label ?? "of no class"}.`);
    } catch (error) {
      complain(error);
    }
    refresh();
    await show();
  }

  function showDiffering(list) {
    const rows = list.map((one) => {
      const { sample } = one;
      const item = { ...sample, sample: sample.number };
      const said = sample.label ?? null;
      return [
        make("button", { type: "button", class: "look small", "aria-label": lookLabel(item), onclick: () => (sample.text ? look(item) : lookAt(sample.number)) }, faceOf(item)),
        make("span", {}, make("strong", {}, said ?? sample.state), make("span", { class: "quiet" }, ` ${one.answered_by ?? "somebody"}`)),
        make("span", {}, make("strong", {}, one.opinion ?? "of no class"), make("span", { class: "quiet" }, ` ${one.person ?? "somebody else"}`)),
        can("label")
          ? [button(said ?? "Stays", () => settleOn(one, said), { "aria-label": `Settle on: ${said ?? "Stays"}` }), button(one.opinion ?? "Of no class", () => settleOn(one, one.opinion), { "aria-label": `Settle on: ${one.opinion ?? "Of no class"}` })]
          : "",
      ];
    });
    differing.replaceChildren(
      make("h2", {}, list.length ? `${count(list.length, "disagreement")}` : "Nobody disagrees"),
      rows.length ? table("Samples that two people see differently", ["Sample", "Answer", "Second opinion", "It is"], rows) : "",
    );
  }

  function showAgreement(list) {
    const rows = list.map((one) => [one.class ?? "of no class", whole(one.opinions), whole(one.agreed), percent(one.agreed / one.opinions)]);
    agreeing.replaceChildren(rows.length ? make("h2", {}, "Agreement") : "", rows.length ? table("Second opinions that were the same, by the class of the answer", ["Class", "Opinions", "The same", "Share"], rows) : "");
  }

  return { show, name: () => wanted.length && field.focus(), stranger: () => give(null, false), skip };
}

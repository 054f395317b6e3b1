// What naming, ignoring and discarding have in common, whatever they are about.

import { perform } from "./changes.js";
import { complain } from "./notices.js";
import { expectName, forgetName } from "./pool.js";
import { count } from "./words.js";

/**
 * Answers for `samples`, numbers of samples, and for no others; `group` is the one that they were shown in, if any. `verb` is labels,
 * ignore or discard; `label` and `isNew` go with labels. Where others have answered some of them meanwhile, `taken(numbers)` is called with
 * these. A name that is refused goes back into `field`. The rest is as in `perform`.
 */
export function answer({ verb, label, isNew, samples, group, field, apply, revert, after, failed, taken, undone }) {
  const said = { labels: `named ${label}`, ignore: "ignored", discard: "discarded" }[verb];
  const named = label === undefined ? {} : { label, new_class: isNew };
  return perform({
    words: `${count(samples.length, "sample")} ${said}.`,
    path: `/v1/${verb}`,
    body: { samples, ...(group === undefined ? {} : { group }), ...named },
    apply() {
      if (isNew) expectName(label);
      apply();
    },
    revert() {
      if (isNew) forgetName(label);
      revert();
    },
    after,
    undone,
    failed(error) {
      if (error.status === 409 && error.body.answered) {
        taken(error.body.answered.map(({ sample }) => sample));
        complain({ message: meanwhile(error.body.answered, samples.length) });
        return true;
      }
      failed?.(error);
      if (error.status !== 409 && error.status !== 422) return false;
      if (label === undefined) return false;
      field.refill(label, error.message);
      return true;
    },
  });
}

/** What others have done to samples that were about to be answered. */
export function meanwhile(answered, meant) {
  const told = new Map();
  for (const { state, label, person } of answered) {
    const did = `${person ?? "Somebody else"} ${label === null ? state : "named"}`;
    const what = label === null ? "" : ` “${label}”`;
    const key = JSON.stringify([did, what]);
    told.set(key, (told.get(key) ?? 0) + 1);
  }
  const parts = [...told].map(([key, many]) => {
    const [did, what] = JSON.parse(key);
    return `${did} ${count(many, "sample")}${what}`;
  });
  const left = meant - answered.length;
  const rest = left ? `Nothing was answered: look at the ${count(left, "sample")} that are left, and answer again.` : "Nothing is left of them.";
  return `Meanwhile: ${parts.join("; ")}. ${rest}`;
}

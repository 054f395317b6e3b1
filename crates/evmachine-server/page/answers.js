// What naming, ignoring and discarding have in common, whatever they are about.

import { perform } from "./changes.js";
import { expectName, forgetName } from "./pool.js";
import { count } from "./words.js";

/**
 * Answers for `samples` samples, which `about()` names to the server. `verb` is labels, ignore or discard; `label` and `isNew` go with
 * labels. A name that is refused goes back into `field`. The rest is as in `perform`.
 */
export function answer({ verb, label, isNew, samples, about, field, apply, revert, after, failed }) {
  const said = { labels: `named ${label}`, ignore: "ignored", discard: "discarded" }[verb];
  const named = label === undefined ? {} : { label, new_class: isNew };
  return perform({
    words: `${count(samples, "sample")} ${said}.`,
    path: `/v1/${verb}`,
    body: () => ({ ...about(), ...named }),
    apply() {
      if (isNew) expectName(label);
      apply();
    },
    revert() {
      if (isNew) forgetName(label);
      revert();
    },
    after,
    failed(error) {
      failed?.(error);
      if (error.status !== 409 || label === undefined) return false;
      const similar = error.body.known?.length ? ` Similar: ${error.body.known.join(", ")}.` : "";
      field.refill(label, `${error.message}${similar}`);
      return true;
    },
  });
}

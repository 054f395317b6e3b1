// What the page says: done things to the polite live region, with a way back; what went wrong to the alert.

import { button, make } from "./elements.js";

const place = (id) => document.getElementById(id);
let timer = 0;

/** Says what was done. `action` is `{ words, key, act }`. */
export function say(words, action) {
  clearTimeout(timer);
  place("complaint").replaceChildren();
  const back = action && button(action.words, action.act, { key: action.key });
  place("notice").replaceChildren(make("p", {}, words), ...(back ? [back] : []));
  timer = setTimeout(() => place("notice").replaceChildren(), 12_000);
}

/** What was said does not hold: it was refused. */
export function unsay() {
  clearTimeout(timer);
  place("notice").replaceChildren();
}

/** Says what went wrong; stays until it is closed or something is done. */
export function complain(error) {
  const close = button("Close", () => place("complaint").replaceChildren());
  place("complaint").replaceChildren(make("p", {}, error.message), close);
}

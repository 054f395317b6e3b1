// Asks before what concerns many samples, or a class.

import { button, make } from "./elements.js";

/** Resolves to whether the person wants it. `words` are paragraphs, `action` is what the button says. */
export function confirm(title, words, action) {
  const dialog = document.getElementById("confirmation");
  return new Promise((resolve) => {
    const end = (wanted) => () => {
      dialog.onclose = null;
      dialog.close();
      resolve(wanted);
    };
    dialog.onclose = () => resolve(false);
    dialog.replaceChildren(
      make("h2", { id: "confirmation-title" }, title),
      ...words.map((sentence) => make("p", {}, sentence)),
      make("div", { class: "dialog-buttons" }, button("Cancel", end(false), { autofocus: true }), button(action, end(true), { class: "main" })),
    );
    dialog.showModal();
  });
}

// Asks for a key where the server wants one. It is kept until the tab is closed.

import { onKeyNeeded, setKey } from "./api.js";
import { make } from "./elements.js";

let asked = null;

onKeyNeeded((problem) => {
  asked ??= ask(problem).finally(() => {
    asked = null;
  });
  return asked;
});

function ask(problem) {
  const dialog = document.getElementById("access");
  const input = make("input", { id: "access-key", type: "password", autocomplete: "current-password", required: true });
  return new Promise((resolve) => {
    const form = make(
      "form",
      {
        onsubmit: (event) => {
          event.preventDefault();
          setKey(input.value.trim());
          dialog.close();
          resolve();
        },
      },
      make("h2", { id: "access-title" }, "A key, please"),
      make("p", {}, problem.message),
      make("label", { for: "access-key" }, "Key"),
      input,
      make("button", { type: "submit", class: "main" }, "Go on"),
    );
    dialog.oncancel = (event) => event.preventDefault();
    dialog.replaceChildren(form);
    dialog.showModal();
    input.focus();
  });
}

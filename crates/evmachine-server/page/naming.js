// The field for a name: a combobox over the known classes.

import { completions, exact } from "./completion.js";
import { make } from "./elements.js";
import { knownNames } from "./pool.js";
import { count } from "./words.js";

let fields = 0;

/** `take(name, isNew)` is called when the person has chosen; `key` is the one that leads here. */
export function namingField(take, key) {
  const id = `naming-${(fields += 1)}`;
  let options = [];
  let active = -1;

  const list = make("ul", { id: `${id}-list`, role: "listbox", "aria-label": "Classes", hidden: true });
  const hint = make("p", { id: `${id}-hint`, class: "quiet", "aria-live": "polite" });
  const input = make("input", {
    id,
    type: "text",
    role: "combobox",
    maxlength: "256",
    placeholder: "name of the class",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    enterkeyhint: "done",
    "aria-autocomplete": "list",
    "aria-expanded": "false",
    "aria-controls": `${id}-list`,
    "aria-describedby": `${id}-hint`,
    oninput: () => show(),
    onfocus: () => show(),
    onblur: () => close(),
    onkeydown: press,
  });

  function show() {
    options = completions(input.value, knownNames());
    active = -1;
    hint.textContent = "";
    render();
  }

  function render() {
    list.replaceChildren(...options.map(optionOf));
    list.hidden = options.length === 0;
    input.setAttribute("aria-expanded", String(options.length > 0));
    if (active >= 0) input.setAttribute("aria-activedescendant", `${id}-${active}`);
    else input.removeAttribute("aria-activedescendant");
  }

  function optionOf(option, at) {
    const note = option.isNew ? "new class" : noteOf(option);
    return make(
      "li",
      {
        id: `${id}-${at}`,
        role: "option",
        class: option.isNew ? "new-class" : undefined,
        "aria-selected": String(at === active),
        // Before the field loses the focus and closes the list.
        onpointerdown: (event) => {
          event.preventDefault();
          choose(option);
        },
      },
      make("span", { class: "name" }, option.name),
      make("span", { class: "quiet" }, note),
    );
  }

  function highlight(at) {
    active = (at + options.length) % options.length;
    render();
  }

  function close() {
    options = [];
    active = -1;
    render();
  }

  function leave() {
    input.value = "";
    hint.textContent = "";
    close();
    input.blur();
  }

  function choose(option) {
    leave();
    take(option.name, option.isNew);
  }

  function press(event) {
    if (event.isComposing) return;
    if (event.key === "Escape") {
      if (!options.length) leave();
      else close();
    } else if (event.key === "ArrowDown" && options.length) highlight(active + 1);
    else if (event.key === "ArrowUp" && options.length) highlight(active < 0 ? -1 : active - 1);
    else if (event.key === "Enter") enter(event.ctrlKey || event.metaKey);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  function enter(asNew) {
    if (!options.length) show();
    const found = options.find((option) => option.isNew);
    if (asNew && found) choose(found);
    else if (active >= 0) choose(options[active]);
    else if (exact(options)) choose(exact(options));
    else if (options.length) {
      highlight(0);
      const [first] = options;
      hint.textContent = first.isNew
        ? `There is no class “${first.name}” yet. Enter again founds it.`
        : `There is no class “${input.value.trim()}”. Enter again takes ${first.name}; ↑ founds a new one.`;
    } else hint.textContent = "Type a name first.";
  }

  const label = make("label", { for: id }, "Name", key ? [" ", make("kbd", { "aria-hidden": "true" }, key)] : []);
  const node = make("div", { class: "naming" }, label, input, list, hint);
  return {
    node,
    focus: () => input.focus(),
    /** Puts a name back that could not be given, and says why. */
    refill(name, why) {
      input.value = name;
      input.focus();
      show();
      hint.textContent = why;
    },
  };
}

function noteOf({ vectors, samples }) {
  const parts = [];
  if (vectors) parts.push(count(vectors, "vector"));
  if (samples) parts.push(count(samples, "label"));
  return parts.join(", ") || "just founded";
}

// Elements from plain values. Text goes in as text, never as HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") node[name] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** An element of HTML: `make("button", { type: "button", onclick: act }, "Do")`. */
export function make(tag, properties, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** An element of SVG. */
export function draw(tag, properties, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

/** A button that shows its key. */
export function button(words, onclick, { key, ...properties } = {}) {
  const shown = key ? [" ", make("kbd", { "aria-hidden": "true" }, key)] : [];
  return make("button", { type: "button", onclick, "aria-keyshortcuts": key, ...properties }, words, shown);
}

/** A table whose head is `columns` and whose rows are arrays of cells. */
export function table(caption, columns, rows) {
  const head = columns.map((column) => make("th", { scope: "col" }, column));
  const body = rows.map((cells) => make("tr", {}, cells.map((cell) => make("td", {}, cell))));
  return make(
    "div",
    { class: "table", tabindex: "0", role: "group", "aria-label": caption },
    make("table", {}, make("caption", {}, caption), make("thead", {}, make("tr", {}, head)), make("tbody", {}, body)),
  );
}

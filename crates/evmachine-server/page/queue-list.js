// The queue, beside the group: a line for each group, with a box that marks it for merging.

import { make } from "./elements.js";
import { standing } from "./pool.js";
import { faceOf } from "./samples.js";
import { sitting } from "./sitting.js";
import { count, support } from "./words.js";

/** `on` has `select(group)` and `mark(group)`. */
export function queueList(list, foot, queue, on) {
  const lines = new Map();

  function lineOf(group) {
    const known = lines.get(group);
    if (known) return known;
    const words = make("span", { class: "line-words" });
    const face = group.members.find((member) => member.sample === group.exemplar) ?? group.members[0];
    const go = make("button", { type: "button", onclick: () => on.select(group) }, face && faceOf(face), words);
    const mark = make("input", { type: "checkbox", onchange: () => on.mark(group) });
    const line = { node: make("li", {}, go, mark), go, mark, words };
    lines.set(group, line);
    return line;
  }

  function fill(line, group) {
    const [nearest] = group.neighbors ?? [];
    const near = nearest && `near ${nearest.class} · ${support(nearest.support)}`;
    const other = group.held_by && group.held_by !== (standing()?.person ?? sitting()) ? group.held_by : null;
    const held = other?.startsWith("tab ") ? "another tab has it" : other && `${other} has it`;
    line.words.replaceChildren(make("strong", {}, count(group.size, "sample")), make("span", { class: "quiet" }, held ?? near ?? ""));
    line.node.classList.toggle("held", Boolean(held));
    line.mark.setAttribute("aria-label", `Mark group ${group.number} for merging`);
    line.mark.checked = queue.marked.has(group);
    const isCurrent = group === queue.current;
    line.go.toggleAttribute("aria-current", isCurrent);
    if (isCurrent) line.go.setAttribute("aria-current", "true");
  }

  return function render() {
    for (const group of lines.keys()) if (!queue.groups.includes(group)) lines.delete(group);
    const nodes = queue.groups.map((group) => {
      const line = lineOf(group);
      fill(line, group);
      return line.node;
    });
    // Lines that are there already stay the same nodes, so that focus and scrolling stay.
    let at = list.firstChild;
    for (const node of nodes) {
      if (node === at) at = at.nextSibling;
      else list.insertBefore(node, at);
    }
    while (at) {
      const after = at.nextSibling;
      at.remove();
      at = after;
    }
    const current = queue.current && lines.get(queue.current);
    current?.node.scrollIntoView({ block: "nearest", inline: "nearest" });
    foot.textContent = queue.groups.length ? "" : "Nothing waits.";
  };
}

// Begins: views by the address, keys, and the first question to the server.

import "./access.js";
import { address } from "./address.js";
import { undo } from "./changes.js";
import { classesView } from "./classes.js";
import { decisionsView } from "./decisions.js";
import { healthView } from "./health.js";
import { historyView } from "./history.js";
import { bind, listen, showHelp } from "./keys.js";
import * as labelling from "./labelling.js";
import { learn } from "./learning.js";
import { mapView } from "./map.js";
import { opinionsView } from "./opinions.js";
import { refresh } from "./pool.js";
import { recognisedView } from "./recognised.js";
import { searchView } from "./search.js";

const place = (name) => document.getElementById(`view-${name}`);
const views = {
  queue: { show: (asked) => (asked.has("group") ? labelling.open(Number(asked.get("group"))) : labelling.settleHere()) },
  recognised: recognisedView(place("recognised")),
  classes: classesView(place("classes")),
  search: searchView(place("search")),
  opinions: opinionsView(place("opinions")),
  map: mapView(place("map")),
  decisions: decisionsView(place("decisions")),
  history: historyView(place("history")),
  health: healthView(place("health")),
};

function current() {
  const { name } = address();
  return Object.hasOwn(views, name) ? name : "queue";
}

function route() {
  const name = current();
  for (const [other, view] of Object.entries(views)) {
    place(other).hidden = other !== name;
    if (other !== name) view.hide?.();
  }
  for (const link of document.querySelectorAll(".top nav a")) {
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.body.dataset.view = name;
  document.title = `${document.querySelector(".top nav a[aria-current]").textContent} · evmachine`;
  views[name].show(address().asked);
}

const queue = ["queue"];
const grids = ["recognised", "classes", "search"];
const grid = () => views[current()];
bind(
  { keys: ["n", "Enter"], words: "Name the group", act: labelling.focusName, views: queue },
  { keys: ["1", "2", "3", "4", "5", "6", "7", "8", "9"], words: "Name it as the suggestion", act: (event) => labelling.suggest(Number(event.key)), views: queue },
  { keys: ["i"], words: "Ignore: a stranger that stays one", act: labelling.ignore, views: queue },
  { keys: ["d"], words: "Discard: of no use", act: labelling.discard, views: queue },
  { keys: ["s"], words: "Skip: to the end of the queue", act: labelling.skip, views: queue },
  { keys: ["x", " "], words: "Tick a stray out, or in", act: labelling.tick, views: queue },
  { keys: ["ArrowRight"], words: "Next sample", act: () => labelling.walk(1), views: queue },
  { keys: ["ArrowLeft"], words: "Sample before", act: () => labelling.walk(-1), views: queue },
  { keys: ["v"], words: "Look closely at the sample", act: labelling.lookClosely, views: queue },
  { keys: ["r"], words: "Radius: arrows move it, Enter splits", act: labelling.focusRadius, views: queue },
  { keys: ["m"], words: "Mark for merging; on another group: merge", act: labelling.merge, views: queue },
  { keys: ["j", "ArrowDown"], words: "Next group", act: () => labelling.step(1), views: queue },
  { keys: ["k", "ArrowUp"], words: "Group before", act: () => labelling.step(-1), views: queue },
  { keys: ["Escape"], words: "Unmark all", act: labelling.clearMarks, views: queue },
  { keys: ["a"], words: "Accept what is recognised", act: () => views.recognised.accept(), views: ["recognised"] },
  { keys: ["x", " "], words: "Tick a sample", act: () => grid().tick(), views: grids },
  { keys: ["ArrowRight"], words: "Next sample", act: () => grid().walk(1), views: grids },
  { keys: ["ArrowLeft"], words: "Sample before", act: () => grid().walk(-1), views: grids },
  { keys: ["v"], words: "Look closely at the sample", act: () => grid().look(), views: grids },
  { keys: ["j", "ArrowDown"], words: "Next class", act: () => grid().step?.(1), views: ["recognised", "classes"] },
  { keys: ["k", "ArrowUp"], words: "Class before", act: () => grid().step?.(-1), views: ["recognised", "classes"] },
  { keys: ["n"], words: "Say what it is", act: () => views.opinions.name(), views: ["opinions"] },
  { keys: ["i"], words: "It is of no class", act: () => views.opinions.stranger(), views: ["opinions"] },
  { keys: ["s"], words: "Skip to the next opinion", act: () => views.opinions.skip(), views: ["opinions"] },
  { keys: ["/"], words: "Search", act: () => goToSearch() },
  { keys: ["u"], words: "Undo the last thing", act: undo },
  { keys: ["l"], words: "Learn", act: learn },
  { keys: ["?"], words: "These keys", act: showHelp },
);

function goToSearch() {
  if (current() !== "search") location.hash = "#search";
  views.search.focus();
}

document.getElementById("learn").addEventListener("click", learn);
document.getElementById("help-open").addEventListener("click", showHelp);
document.querySelector(".skip-link").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main").focus();
});
addEventListener("hashchange", route);
listen(current);
route();
refresh();

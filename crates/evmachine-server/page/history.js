// Versions with their evidence, and all events; each can be gone back on.

import { ask, change, download, get } from "./api.js";
import { nameOf, outcome } from "./decisions.js";
import { button, make, table } from "./elements.js";
import { complain, say } from "./notices.js";
import { can, refresh } from "./pool.js";
import { count, moment, support, version, whole } from "./words.js";

const EVENTS = 50;
const COMPARED = 1_000;
const MOST_DIFFERENCES = 20;
/** Kinds of events that say which version is live. */
const LIVE = new Set(["updated", "edited", "promoted"]);

export function historyView(place) {
  const comparison = make("div", { class: "comparison", "aria-live": "polite" });
  const versions = make("div");
  const events = make("div");
  const back = button("Roll back", () => act("/v1/versions/rollback", {}, "The previous version is live again."));
  const copies = [
    button("Download the model", () => keep("/v1/export?what=model")),
    button("Download what was named", () => keep("/v1/export?what=labelled")),
    button("Back up", backUp),
  ];
  place.append(
    make("div", { class: "view-head" }, make("h2", {}, "Versions"), back, copies),
    versions,
    comparison,
    make("div", { class: "view-head" }, make("h2", {}, "Events")),
    events,
  );

  async function act(path, body, words) {
    try {
      await change(path, body);
      say(words);
    } catch (error) {
      complain(error);
    }
    await refresh();
    await show();
  }

  async function keep(path) {
    try {
      say(`${await download(path)} is on its way to you.`);
    } catch (error) {
      complain(error);
    }
  }

  /** Into the folder that the server was started with; the name is the time. */
  async function backUp() {
    const name = `page-${new Date().toISOString().slice(0, 19).replace(/[:T]/g, "-")}`;
    try {
      await change("/v1/backup", { name });
      say(`The pool is copied, as ${name}.`);
    } catch (error) {
      complain(error);
    }
  }

  async function compare(old, fresh) {
    try {
      const [found, { decisions }] = await Promise.all([
        ask("/v1/versions/compare", { old, new: fresh, count: COMPARED }),
        get(`/v1/decisions?count=${COMPARED}`),
      ]);
      const names = new Map(decisions.map((decision) => [decision.decision, nameOf(decision)]));
      const known = `Of the last ${count(found.rows, "decision")}, ${version(old)} knows ${whole(found.known_old)} and ${version(fresh)} ${whole(found.known_new)}`;
      const rows = found.differ
        .slice(0, MOST_DIFFERENCES)
        .map((one) => [names.get(one.decision) ?? "an earlier row", outcome(one.old), support(one.old.support), outcome(one.new), support(one.new.support)]);
      comparison.replaceChildren(
        make("h3", {}, `${version(old)} and ${version(fresh)}`),
        make("p", {}, `${known}; ${count(found.differ.length, "decision")} would differ.`),
        rows.length ? table("Decisions that differ", ["Of", version(old), "Support", version(fresh), "Support"], rows) : "",
      );
    } catch (error) {
      complain(error);
    }
  }

  /** What the live version changed, once for each. */
  function compareNewest(list) {
    const live = list.find((one) => one.live);
    const previous = list.find((one) => one.previous);
    if (!previous || comparison.dataset.of === live.hash) return;
    comparison.dataset.of = live.hash;
    compare(previous.hash, live.hash);
  }

  function showVersions(list) {
    const live = list.find((one) => one.live);
    const rows = list.toSorted(byTime).reverse().map((one) => [
      make("code", {}, version(one.hash)),
      moment(one.made),
      whole(one.classes),
      whole(one.vectors),
      [one.live && make("span", { class: "tag" }, "live"), one.previous && make("span", { class: "tag" }, "previous")].filter(Boolean),
      one.live
        ? []
        : [
            button("Compare", () => compare(...[live, one].sort(byTime).map(({ hash }) => hash)), { "aria-label": `Compare ${version(one.hash)} with the live version` }),
            button("Make live", () => act("/v1/versions/promote", { version: one.hash }, `Version ${version(one.hash)} is live.`), {
              "aria-label": `Make ${version(one.hash)} live`,
              disabled: !can("admin"),
            }),
          ],
    ]);
    back.disabled = !can("admin") || !list.some((one) => one.previous);
    for (const copy of copies) copy.disabled = !can("admin");
    versions.replaceChildren(table("Versions of the model, the newest first", ["Version", "Made", "Classes", "Vectors", "Is", "Do"], rows));
  }

  function showEvents(list, isWhole) {
    const rows = list.map((event) => [
      String(event.number),
      moment(event.time),
      sentence(event),
      event.person ?? "",
      event.in_force
        ? button("Undo", () => act("/v1/undo", { event: event.number }, `Event ${event.number} is undone.`), {
            "aria-label": `Undo event ${event.number}`,
            disabled: !can(LIVE.has(event.kind) ? "admin" : "label"),
          })
        : make("span", { class: "quiet" }, "undone"),
    ]);
    const more = button("Earlier events", async () => {
      try {
        const { events: earlier } = await get(`/v1/events?count=${EVENTS}&before=${list.at(-1).number}`);
        showEvents([...list, ...earlier], earlier.length < EVENTS);
      } catch (error) {
        complain(error);
      }
    });
    events.replaceChildren(
      list.length ? table("What happened, the newest first", ["Event", "Time", "What", "Who", "Do"], rows) : make("p", {}, "Nothing happened yet."),
      isWhole ? "" : more,
    );
  }

  async function show() {
    try {
      const [{ versions: list }, { events: happened }] = await Promise.all([get("/v1/versions"), get(`/v1/events?count=${EVENTS}`)]);
      showVersions(list);
      compareNewest(list);
      showEvents(happened, happened.length < EVENTS);
    } catch (error) {
      complain(error);
    }
  }

  return { show };
}

function byTime(a, b) {
  return a.made - b.made;
}

/** What happened, in words. */
export function sentence({ kind, label, samples, target, model }) {
  const many = samples ? count(samples, "sample") : "";
  switch (kind) {
    case "labelled":
      return [many, `named ${label}`].filter(Boolean).join(" ");
    case "proposed":
      return [many, `proposed as ${label}`].filter(Boolean).join(" ");
    case "updated":
      return `learned into ${version(model)}`;
    case "promoted":
      return `${version(model)} made live`;
    case "edited":
      return `${label}, in ${version(model)}`;
    case "split":
      return [many, "split off a group"].filter(Boolean).join(" ");
    case "merged":
      return [many, "put to another group"].filter(Boolean).join(" ");
    case "skipped":
      return many ? `a group of ${many} put off` : "put off";
    case "asked":
      return many ? `a second opinion on ${many} asked for` : "a second opinion asked for";
    case "opinion":
      return [many, `seen as ${label ?? "of no class"}`].filter(Boolean).join(" ");
    case "undone":
      return `event ${target} undone`;
    default:
      return [many, kind].filter(Boolean).join(" ");
  }
}

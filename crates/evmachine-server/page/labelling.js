// The queue at work: groups are fetched, shown, and answered by name, ignore, discard and skip; split and merged.

import { answer } from "./answers.js";
import { get } from "./api.js";
import { answersGiven, perform } from "./changes.js";
import { button, make } from "./elements.js";
import { groupView } from "./group-view.js";
import { namingField } from "./naming.js";
import { complain, say } from "./notices.js";
import { can, onStanding, standing } from "./pool.js";
import { queueList } from "./queue-list.js";
import { beyond, Queue } from "./queue.js";
import { count, distance, support } from "./words.js";

const FETCHED = 20;
const FEW = 8;

const queue = new Queue();
const place = (id) => document.getElementById(id);
const list = queueList(place("queue-list"), place("queue-foot"), queue, { select, mark });
const view = groupView(place("group"), { split, changed: showTarget });
const field = namingField(name, "n");
const target = make("p", { class: "target", "aria-live": "polite" });
const suggestions = make("div", { class: "suggestions" });
const verbs = make(
  "div",
  { class: "verbs", role: "group", "aria-label": "Verbs" },
  button("Ignore", ignore, { key: "i", title: "A stranger that is to stay one" }),
  button("Discard", discard, { key: "d", title: "Of no use" }),
  button("Skip", skip, { key: "s", title: "Later" }),
  button("Merge", merge, { key: "m", title: "Mark this group; then merge it with another one" }),
);
place("answer").append(target, field.node, suggestions, verbs);
const moreButton = button("More groups", () => more());
place("queue-foot").after(moreButton);

let shown = null;
let fetching = null;

function render({ focus } = {}) {
  list();
  if (shown !== queue.current || !shown) {
    // What had the focus is gone: the next group is where one goes on.
    const held = shown && (document.activeElement === document.body || place("group").contains(document.activeElement));
    shown = queue.current;
    view.show(shown);
    showSuggestions();
    if (focus || held) view.focusTitle();
    place("group").scrollTop = 0;
  }
  showTarget();
  showProgress();
  if (queue.groups.length < FEW) more();
}

/** The current group has other members than were shown. */
function showAnew() {
  shown = null;
  render({ focus: true });
}

function showTarget() {
  const group = queue.current;
  place("answer").hidden = !group;
  if (!group) return;
  const answered = group.size - group.strays.size;
  const strays = group.strays.size ? `; ${count(group.strays.size, "stray")} will wait` : "";
  target.textContent = `Your answer goes for ${count(answered, "sample")}${strays}.`;
}

function showSuggestions() {
  const near = (queue.current?.neighbors ?? []).slice(0, 9);
  const buttons = near.map((neighbor, at) =>
    make(
      "button",
      { type: "button", onclick: () => name(neighbor.class, false), "aria-keyshortcuts": String(at + 1) },
      make("kbd", { "aria-hidden": "true" }, String(at + 1)),
      make("span", { class: "name" }, neighbor.class),
      make("span", { class: "quiet" }, `support ${support(neighbor.support)}, distance ${distance(neighbor.distance)}`),
    ),
  );
  suggestions.replaceChildren(near.length ? make("h3", {}, "Known classes that are near") : "", ...buttons);
}

function showProgress() {
  const given = answersGiven();
  const left = Math.max(0, queue.labelsLeft);
  const bar = place("progress");
  bar.max = Math.max(1, given + left);
  bar.value = given;
  const waiting = standing()?.waiting ?? 0;
  moreButton.hidden = left <= queue.groups.length;
  place("progress-words").textContent = `${count(left, "label")} left, ${count(waiting, "sample")} waiting`;
}

/** More groups, at the end of the queue. */
function more() {
  fetching ??= fetchGroups(FETCHED + queue.groups.length)
    .then((found) => {
      queue.labelsLeft = found.labels_left;
      if (queue.append(found.groups)) render();
      else showProgress();
    })
    .catch(complain)
    .finally(() => {
      fetching = null;
    });
  return fetching;
}

/** All groups anew: an update has made them. */
export async function reload() {
  try {
    const found = await fetchGroups(FETCHED);
    queue.labelsLeft = found.labels_left;
    queue.replace(found.groups);
    shown = null;
    render();
  } catch (error) {
    complain(error);
  }
}

// When groups were answered, for ever where the server has not said so yet.
const answeredAt = new Map();

/** The next groups, less those that were answered after the server was asked for them. */
async function fetchGroups(most) {
  const asked = performance.now();
  const found = await get(`/v1/groups?count=${most}`);
  return { ...found, groups: found.groups.filter(({ number }) => !(answeredAt.get(number) >= asked)) };
}

function select(group) {
  queue.select(group);
  render({ focus: true });
}

export function step(by) {
  queue.step(by);
  render();
}

/** Calls `act` with the current group, if there is one and the person may label. */
function withGroup(act) {
  if (!can("label")) say("Your key may look, not label.");
  else if (queue.current) act(queue.current);
}

/** An answer to the current group, less its strays. */
function answerGroup(verb, label, isNew) {
  withGroup((group) => {
    const strays = [...group.strays];
    const samples = group.size - strays.length;
    if (!samples) {
      say("All samples are ticked out: there is nothing to answer.");
      return;
    }
    let at = 0;
    answer({
      verb,
      label,
      isNew,
      samples,
      field,
      about: () => ({ group: group.number, except: strays }),
      apply() {
        at = queue.remove(group);
        answeredAt.set(group.number, Infinity);
        queue.labelsLeft -= 1;
        render();
      },
      revert() {
        answeredAt.delete(group.number);
        queue.restore(group, at);
        queue.labelsLeft += 1;
        render();
      },
      after() {
        answeredAt.set(group.number, performance.now());
        if (strays.length) more();
      },
      failed: () => dropIfGone(group),
    });
  });
}

/** Somebody else may have answered it. */
async function dropIfGone(group) {
  try {
    await get(`/v1/groups/${group.number}`);
  } catch (error) {
    if (error.status !== 404) return;
    queue.remove(group);
    render();
  }
}

function name(label, isNew) {
  answerGroup("labels", label, isNew);
}

export function ignore() {
  answerGroup("ignore");
}

export function discard() {
  answerGroup("discard");
}

/** Names the group as the n-th suggestion. */
export function suggest(nth) {
  const neighbor = queue.current?.neighbors?.[nth - 1];
  if (neighbor) name(neighbor.class, false);
}

export function skip() {
  withGroup((group) => {
    let at = 0;
    perform({
      words: `Group of ${count(group.size, "sample")} skipped.`,
      path: `/v1/groups/${group.number}/skip`,
      answers: 0,
      apply() {
        at = queue.skip(group);
        render();
      },
      revert() {
        queue.remove(group);
        queue.restore(group, at);
        render();
      },
    });
  });
}

function split(group) {
  const far = beyond(group);
  const { members, size, cut, radius } = group;
  if (!can("label") || !far.length) return;
  perform({
    words: `${count(far.length, "sample")} split off.`,
    path: `/v1/groups/${group.number}/split`,
    body: { radius: cut },
    answers: 0,
    apply() {
      const near = members.filter((member) => !far.includes(member));
      Object.assign(group, { members: near, size: size - far.length, radius: cut, cut: null });
      showAnew();
    },
    revert() {
      Object.assign(group, { members, size, radius, cut });
      for (const other of group.parts ?? []) queue.remove(queue.find(other));
      queue.restore(group, queue.position());
      showAnew();
    },
    wayBack: ({ groups }) => ({ path: "/v1/groups/merge", body: { groups } }),
    async after({ groups }) {
      group.parts = groups.filter((number) => number !== group.number);
      const parts = await Promise.all(group.parts.map((number) => get(`/v1/groups/${number}`)));
      queue.insertAfter(group, parts);
      queue.labelsLeft += parts.length;
      render();
    },
  });
}

function mark(group) {
  if (!queue.marked.delete(group)) queue.marked.add(group);
  render();
}

/** Marks the current group, or merges it with those that are marked. */
export function merge() {
  withGroup((group) => {
    const others = [...queue.marked].filter((other) => other !== group);
    if (!others.length) {
      mark(group);
      const words = "Marked. Go to another group and press m to merge the two.";
      say(queue.marked.has(group) ? words : "Not marked any more.");
      return;
    }
    let before = null;
    perform({
      words: `${count(others.length + 1, "group")} merged.`,
      path: "/v1/groups/merge",
      body: { groups: [group.number, ...others.map((other) => other.number)] },
      answers: 0,
      isFinal: true,
      apply() {
        before = queue.merge(group);
        showAnew();
      },
      revert() {
        queue.unmerge(before);
        showAnew();
      },
      async after(answer) {
        group.number = answer.group;
        queue.labelsLeft -= others.length;
        showProgress();
        await remeasure(group);
      },
    });
  });
}

/** Distances to the exemplar that a merged group has; its samples stay where they are on the screen. */
async function remeasure(group) {
  const { exemplar, radius, members } = await get(`/v1/groups/${group.number}`);
  const distances = new Map(members.map((member) => [member.sample, member.distance]));
  for (const member of group.members) member.distance = distances.get(member.sample) ?? member.distance;
  Object.assign(group, { exemplar, radius });
  if (queue.current === group) view.refresh();
}

export function focusName() {
  withGroup(() => field.focus());
}

export const tick = () => view.tick();
export const focusRadius = () => view.focusRadius();

export function clearMarks() {
  queue.marked.clear();
  render();
}

onStanding((status, before) => {
  showProgress();
  if (!before || queue.groups.length < FEW) more();
  for (const verb of verbs.querySelectorAll("button")) verb.disabled = !can("label");
});

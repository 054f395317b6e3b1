// The queue at work: groups are fetched, shown, and answered by name, ignore, discard and skip; split and merged.

import { settle } from "./address.js";
import { answer } from "./answers.js";
import { ask, get } from "./api.js";
import { perform } from "./changes.js";
import { button, make } from "./elements.js";
import { groupView } from "./group-view.js";
import { namingField } from "./naming.js";
import { complain, say } from "./notices.js";
import { lookingAt, peopleList } from "./people.js";
import { can, onStanding, standing } from "./pool.js";
import { queueList } from "./queue-list.js";
import { beyond, meant, Queue, withdraw } from "./queue.js";
import { sitting } from "./sitting.js";
import { suggestionList } from "./suggestions.js";
import { count } from "./words.js";

const FETCHED = 20;
const FEW = 8;
/** Groups that can be asked for by their numbers at once. */
const AT_ONCE = 200;

const queue = new Queue();
const place = (id) => document.getElementById(id);
const list = queueList(place("queue-list"), place("queue-foot"), queue, { select, mark });
const view = groupView(place("group"), { split, changed: showTarget });
const field = namingField(name, "n");
const target = make("p", { class: "target", "aria-live": "polite" });
const suggested = make("div", { class: "suggestions" });
const suggestions = suggestionList(suggested, (label) => name(label, false), () => (queue.current ? meant(queue.current).length : 0));
const verbs = make(
  "div",
  { class: "verbs", role: "group", "aria-label": "Verbs" },
  button("Ignore", ignore, { key: "i", title: "A stranger that is to stay one" }),
  button("Discard", discard, { key: "d", title: "Of no use" }),
  button("Skip", skip, { key: "s", title: "Later" }),
  button("Merge", merge, { key: "m", title: "Mark this group; then merge it with another one" }),
);
place("answer").append(target, field.node, suggested, verbs);
// Notices stand above it where it is at the foot of a narrow screen.
new ResizeObserver(([{ target: box }]) => {
  document.documentElement.style.setProperty("--answer-height", `${box.hidden ? 0 : box.offsetHeight}px`);
}).observe(place("answer"));
const moreButton = button("More groups", () => more());
place("queue-foot").after(moreButton);
peopleList(place("people"));

let shown = null;
let fetching = null;
/** Where the queue of the server goes on. */
let next = null;

function render({ focus } = {}) {
  list();
  if (shown !== queue.current || !shown) {
    // What had the focus is gone: the next group is where one goes on.
    const held = shown && (document.activeElement === document.body || place("group").contains(document.activeElement));
    shown = queue.current;
    view.show(shown);
    suggestions.show(shown);
    if (focus || held) view.focusTitle();
    place("group").scrollTop = 0;
    lookingAt(shown);
    settleHere();
  }
  showTarget();
  showProgress();
  if (queue.groups.length < FEW && queue.groupsLeft > queue.groups.length) more();
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
  const strays = group.strays.size ? `; ${count(group.strays.size, "stray")} will wait` : "";
  target.textContent = `Your answer goes for ${count(meant(group).length, "sample")}${strays}.`;
}

/** How much of the pool is answered: the same for all who look, and after a reload. */
function showProgress() {
  const left = Math.max(0, queue.groupsLeft);
  moreButton.hidden = left <= queue.groups.length;
  const status = standing();
  if (!status) return;
  const labelled = Object.values(status.labelled).reduce((sum, many) => sum + many, 0);
  const answered = labelled + status.ignored + status.discarded;
  const bar = place("progress");
  bar.max = Math.max(1, answered + status.waiting);
  bar.value = answered;
  bar.title = `${count(answered, "sample")} answered`;
  place("progress-words").textContent = `${count(left, "group")} left, ${count(status.waiting, "sample")} waiting`;
}

/** More groups, at the end of the queue. */
function more() {
  fetching ??= handOut(next)
    .then((found) => {
      queue.groupsLeft = found.groups_left;
      next = found.next;
      if (queue.append(found.groups)) render();
      else showProgress();
    })
    .catch(complain)
    .finally(() => {
      fetching = null;
    });
  return fetching;
}

// When groups were answered, for ever where the server has not said so yet.
const answeredAt = new Map();

/** Groups behind a place, less those that were answered after the server was asked for them. Who may not answer is shown them alone. */
async function handOut(after) {
  const asked = performance.now();
  const where = after === null ? "" : `&after=${after}`;
  const looked = () => get(`/v1/groups?count=${FETCHED}${where}`);
  const body = { count: FETCHED, sitting: sitting(), ...(after === null ? {} : { after }) };
  // A disk that is full keeps nothing for anybody, and is no reason to see nothing.
  const found = await (can("label") ? ask("/v1/groups/hand-out", body).catch((error) => ([503, 507].includes(error.status) ? looked() : Promise.reject(error))) : looked());
  return { ...found, groups: found.groups.filter(({ number }) => !(answeredAt.get(number) >= asked)) };
}

/** Brings the queue up to the server's, where others answered or learned; what is being worked on stays. */
export async function sync() {
  try {
    const asked = queue.groups.map((group) => group.number).slice(0, AT_ONCE);
    const begun = performance.now();
    const current = queue.current;
    if (asked.length) {
      const found = await get(`/v1/groups?numbers=${asked.join(",")}`);
      // What was done here meanwhile is newer than what was asked for.
      const old = asked.filter((number) => !(answeredAt.get(number) >= begun));
      const gone = queue.reconcile(new Set(old), found.groups);
      queue.groupsLeft = found.groups_left;
      if (gone.includes(current)) say("Somebody else has answered the group that you looked at; this is the next one.");
    }
    next = null;
    render();
    if (queue.current === current) suggestions.show(current);
    await more();
  } catch (error) {
    complain(error);
  }
}

/** Says which group is shown, where one has come back to the queue. */
export function settleHere() {
  settle("queue", { group: queue.current?.number });
}

/** Shows a group by its number: that of an address. */
export async function open(number) {
  if (queue.current?.number === number) return;
  try {
    if (!queue.find(number)) queue.insertAfter(queue.current, [await get(`/v1/groups/${number}`)]);
    select(queue.find(number));
  } catch (error) {
    if (error.status === 404) say(`Group ${number} waits no more: it was answered, split or merged.`);
    else complain(error);
    settleHere();
  }
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
    const samples = meant(group);
    if (!samples.length) {
      say("All samples are ticked out: there is nothing to answer.");
      return;
    }
    let at = 0;
    answer({
      verb,
      label,
      isNew,
      samples,
      group: group.number,
      field,
      apply() {
        at = queue.remove(group);
        answeredAt.set(group.number, Infinity);
        queue.groupsLeft -= 1;
        render();
      },
      revert() {
        answeredAt.delete(group.number);
        queue.restore(group, at);
        queue.groupsLeft += 1;
        render();
      },
      after() {
        answeredAt.set(group.number, performance.now());
        if (group.strays.size) sync();
      },
      undone: sync,
      failed() {
        dropIfGone(group);
      },
      taken: (answered) => {
        if (!withdraw(group, answered)) queue.remove(group);
        showAnew();
      },
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
  withGroup(() => suggestions.choose(nth));
}

export function skip() {
  withGroup((group) => {
    let at = 0;
    perform({
      words: `Group of ${count(group.size, "sample")} skipped.`,
      path: `/v1/groups/${group.number}/skip`,
      apply() {
        at = queue.skip(group);
        render();
      },
      revert() {
        queue.remove(group);
        queue.restore(group, at);
        render();
      },
      undone: sync,
      failed() {
        dropIfGone(group);
      },
    });
  });
}

function split(group) {
  const far = beyond(group);
  const { members, samples, size, cut, radius } = group;
  if (!can("label") || !far.length) return;
  perform({
    words: `${count(far.length, "sample")} split off.`,
    path: `/v1/groups/${group.number}/split`,
    body: { radius: cut },
    apply() {
      const left = new Set(far.map(({ sample }) => sample));
      const near = members.filter(({ sample }) => !left.has(sample));
      const own = samples.filter((sample) => !left.has(sample));
      Object.assign(group, { members: near, samples: own, size: size - far.length, radius: cut, cut: null });
      showAnew();
    },
    revert() {
      Object.assign(group, { members, samples, size, radius, cut });
      for (const other of group.parts ?? []) queue.remove(queue.find(other));
      queue.restore(group, queue.position());
      showAnew();
    },
    undone: sync,
    failed() {
      dropIfGone(group);
    },
    async after({ groups }) {
      group.parts = groups.filter((number) => number !== group.number);
      const parts = await Promise.all(group.parts.map((number) => get(`/v1/groups/${number}`)));
      queue.insertAfter(group, parts);
      queue.groupsLeft += parts.length;
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
      undone: sync,
      failed() {
        sync();
      },
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
        queue.groupsLeft -= others.length;
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
export const walk = (by) => view.walk(by);
export const lookClosely = () => view.look();
export const focusRadius = () => view.focusRadius();

export function clearMarks() {
  queue.marked.clear();
  render();
}

onStanding((status, before) => {
  showProgress();
  if (!before || (queue.groups.length < FEW && status.groups > queue.groups.length)) more();
  for (const verb of verbs.querySelectorAll("button")) verb.disabled = !can("label");
});

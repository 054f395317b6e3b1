// One sitting of labelling, by somebody who knows every digit: how many actions it takes until 95 % of the pictures that wait have their right
// name, beside naming them one by one. `EVMACHINE=target/release/evmachine node sitting.js`.
//
// An action is what a hand does: a name for a group (one, however long it is), a tick, a key that accepts or learns. Looking is none.

import { readFile } from "node:fs/promises";

import { startServer } from "./server.js";

const WANTED = 0.95;
/** Answers between two times that it learns. */
const ANSWERS = 10;
/** A group in which fewer than this share are of one kind is split, by an action. */
const PURE = 0.5;

const lines = (await readFile(new URL("../../../data/digits/optdigits.tes", import.meta.url), "utf8")).trim().split("\n");
const truth = (id) => lines[Number(id.replace("digit ", "")) - 1].split(",").at(-1);

const server = await startServer("", "pictures");
const kinds = new Map();
// Those that come at once are there with the first.
while (!(await server.call("GET", "/v1/status")).waiting) await new Promise((resolve) => setTimeout(resolve, 200));
for (let after = 0; ; ) {
  const { samples } = await server.call("GET", `/v1/samples?count=1000&after=${after}`);
  if (!samples.length) break;
  for (const { number, id } of samples) kinds.set(number, truth(id));
  after = samples.at(-1).number;
}
const all = new Set(kinds.keys());

const tally = { names: 0, ticks: 0, accepts: 0, learns: 0 };
const right = new Set();
let wrong = 0;
let machine = 0;

async function timed(act) {
  const begun = performance.now();
  const done = await act();
  machine += (performance.now() - begun) / 1000;
  return done;
}

function noted(samples, label) {
  for (const sample of samples) {
    if (!all.has(sample)) continue;
    if (kinds.get(sample) === label) right.add(sample);
    else wrong += 1;
  }
}

const share = () => right.size / all.size;

/** The kind that most of the samples are of. */
function most(samples) {
  const counts = new Map();
  for (const sample of samples) counts.set(kinds.get(sample), (counts.get(kinds.get(sample)) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1])[0];
}

async function nameGroups() {
  const { groups } = await timed(() => server.call("POST", "/v1/groups/hand-out", { count: ANSWERS, sitting: "one" }));
  for (const group of groups) {
    const samples = group.samples.filter((sample) => kinds.has(sample));
    if (!samples.length) continue;
    const [label, many] = most(samples);
    const meant = many / samples.length < PURE ? samples.slice(0, 1) : samples.filter((sample) => kinds.get(sample) === label);
    tally.ticks += many / samples.length < PURE ? 1 : samples.length - meant.length;
    tally.names += 1;
    const name = many / samples.length < PURE ? kinds.get(samples[0]) : label;
    await timed(() => server.call("POST", "/v1/labels", { samples: meant, group: group.number, label: name, new_class: true }));
    noted(meant, name);
    if (share() >= WANTED) return;
  }
}

async function learn() {
  tally.learns += 1;
  const { live } = await server.call("GET", "/v1/status");
  await timed(async () => {
    await server.call("POST", "/v1/update", {});
    for (;;) {
      const status = await server.call("GET", "/v1/status");
      if (status.live !== live && status.settled && !status.learning) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });
}

async function accept() {
  const { classes } = await timed(() => server.call("GET", "/v1/recognised"));
  for (const { class: name } of classes) {
    const { samples } = await timed(() => server.call("GET", `/v1/recognised/samples?class=${encodeURIComponent(name)}`));
    const own = samples.filter((sample) => kinds.has(sample));
    const meant = own.filter((sample) => kinds.get(sample) === name);
    if (!meant.length) continue;
    tally.ticks += own.length - meant.length;
    tally.accepts += 1;
    await timed(() => server.call("POST", "/v1/labels", { samples: meant, label: name }));
    noted(meant, name);
  }
}

let rounds = 0;
while (share() < WANTED && rounds < 50) {
  rounds += 1;
  await nameGroups();
  if (share() >= WANTED) break;
  await learn();
  await accept();
}
const actions = Object.values(tally).reduce((sum, many) => sum + many, 0);
console.log(`${all.size} pictures waited, of ${new Set(kinds.values()).size} kinds; ${(100 * share()).toFixed(1)} % have their right name, ${wrong} a wrong one.`);
console.log(`${actions} actions: ${tally.names} names, ${tally.ticks} ticks, ${tally.accepts} acceptances, ${tally.learns} times learned. One by one: ${Math.ceil(WANTED * all.size)} names.`);
console.log(`${machine.toFixed(1)} s that the machine took.`);
await server.stop();

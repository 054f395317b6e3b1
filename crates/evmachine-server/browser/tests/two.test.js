// Two browsers, two keys, 200 answers each by keyboard, with learning in between: every answer went to the samples that were on the
// screen, and nobody's was lost or taken by the other.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openPage } from "../browser.js";
import { setting } from "../setting.js";

const ANSWERS = 200;
const KINDS = 20;
const PEOPLE = { anna: "label-key-of-anna-0001", boris: "label-key-of-boris-0002" };
const here = setting(Object.entries(PEOPLE).map(([name, key]) => `label ${name} ${key}\n`).join(""));

/** 1,800 samples in clumps of three, far from all that is known, each with a name. */
async function fill() {
  const { dimensions } = await here.server.call("GET", "/v1/status", undefined, PEOPLE.anna);
  const rows = Array.from({ length: 1_800 }, (_, row) => [Math.floor(row / 3), row % 3]);
  const features = rows.map(([clump, at]) => Array.from({ length: dimensions }, (_, column) => (column === clump % dimensions ? 1_000 + 200 * Math.floor(clump / dimensions) : 0) + at * 1e-3));
  await here.server.call("POST", "/v1/predict", { features, ids: rows.map((row) => `clump ${row.join(" ")}`), keep: "all" }, PEOPLE.anna);
}

async function sit(name) {
  const opened = await openPage(here.browser, here.server.address, "health");
  await opened.page.getByLabel("Key", { exact: true }).fill(PEOPLE[name]);
  await opened.page.keyboard.press("Enter");
  await opened.page.getByRole("link", { name: "Queue" }).click();
  await opened.page.locator("#group .sample").first().waitFor();
  return opened;
}

/** Names of the samples on the screen that are ticked in. */
const meant = (page) => page.evaluate(() => [...document.querySelectorAll("#group [aria-checked=true] .sample-name")].map((one) => one.textContent));

/** Answers by keyboard; what was on the screen goes to `said`, as `state label`. */
async function work(name, page, said) {
  let conflicts = 0;
  for (let answer = 0; answer < ANSWERS; answer += 1) {
    await page.locator("#group .sample").first().waitFor();
    if (answer % 7 === 3 && (await page.locator("#group .tick").count()) > 1) await page.keyboard.press("x");
    const samples = await meant(page);
    const verb = answer % 10 === 9 ? "ignored" : answer % 10 === 8 ? "discarded" : "labelled";
    const label = verb === "labelled" ? `${name} ${answer % KINDS}` : null;
    if (verb === "ignored") await page.keyboard.press("i");
    else if (verb === "discarded") await page.keyboard.press("d");
    else {
      await page.keyboard.press("n");
      await page.keyboard.type(label);
      // Founds the class, or takes it where it is there.
      await page.keyboard.press("Control+Enter");
    }
    for (const sample of samples) said.set(sample, { state: verb, label, person: name });
    // Whatever comes next has to be another group: the one before has been answered.
    if (name === "anna" && answer % 80 === 60) await page.keyboard.press("l");
    if (await page.locator("#complaint p").count()) conflicts += 1;
  }
  return conflicts;
}

test("two people answer 200 groups each while the model learns", async (context) => {
  await fill();
  const [anna, boris] = [await sit("anna"), await sit("boris")];
  const said = [new Map(), new Map()];
  const begun = performance.now();
  const conflicts = await Promise.all([work("anna", anna.page, said[0]), work("boris", boris.page, said[1])]);
  context.diagnostic(`${2 * ANSWERS} answers in ${((performance.now() - begun) / 1000).toFixed(1)} s; ${conflicts} complaints`);
  await anna.page.waitForTimeout(2_000);
  const { versions } = await here.server.call("GET", "/v1/status", undefined, PEOPLE.anna);
  assert.ok(versions.length > 1, "it has learned meanwhile");
  const found = new Map();
  for (let after = 0; ; ) {
    const { samples } = await here.server.call("GET", `/v1/samples?count=1000&after=${after}`, undefined, PEOPLE.anna);
    if (!samples.length) break;
    for (const { id, state, label } of samples) if (state !== "waiting") found.set(id, { state, label });
    after = samples.at(-1).number;
  }
  const both = new Map([...said[0], ...said[1]]);
  assert.deepEqual([...said[0].keys()].filter((sample) => said[1].has(sample)), [], "nobody answered what the other had answered");
  for (const [sample, { state, label }] of both) assert.deepEqual(found.get(sample), { state, label }, sample);
  assert.deepEqual([...found.keys()].filter((sample) => !both.has(sample)), [], "nothing was answered that was not on a screen");
  const { events } = await here.server.call("GET", "/v1/events?count=1000", undefined, PEOPLE.anna);
  for (const name of Object.keys(PEOPLE)) {
    const own = events.filter(({ person, kind }) => person === name && ["labelled", "ignored", "discarded"].includes(kind));
    assert.equal(own.length, ANSWERS, name);
  }
  for (const { errors } of [anna, boris]) assert.deepEqual(errors.filter((words) => !words.includes("401")), []);
});

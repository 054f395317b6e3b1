// A sitting from beginning to end, in one browser and with one server, by keyboard where a key is there.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openPage, queueOf } from "../browser.js";
import { setting } from "../setting.js";

const here = setting();
let page;
let errors;

const status = () => here.server.call("GET", "/v1/status");
const title = () => page.locator("#group-title").textContent();
const size = async () => Number.parseInt((await title()).replaceAll(",", ""), 10);
const said = (words) => page.locator("#notice", { hasText: words }).waitFor();
/** The place of the current group in the queue. */
const place = () => page.locator("#queue-list button").evaluateAll((all) => all.findIndex((one) => one.hasAttribute("aria-current")));
const press = (...keys) => keys.reduce((last, key) => last.then(() => page.keyboard.press(key)), Promise.resolve());

/** Waits until the server's status is as `holds` says. */
async function until(holds) {
  for (let tries = 0; tries < 300; tries += 1) {
    const found = await status();
    if (holds(found)) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.fail(`the status never came to be as expected: ${holds}`);
}

test("groups are there, with drawings, suggestions and what is left", async () => {
  ({ page, errors } = await openPage(here.browser, here.server.address));
  await page.locator("#queue-list li").nth(6).waitFor();
  const sizes = (await queueOf(page)).map((words) => Number.parseInt(words, 10));
  assert.ok(sizes.length > 5);
  assert.equal(await size(), sizes[0]);
  await page.locator("#group .drawing").first().waitFor();
  assert.ok((await page.locator(".suggestions button").count()) > 0);
  assert.match(await page.locator("#progress-words").textContent(), /\d groups? left, [\d,]+ samples waiting/);
});

test("a new class needs its name and a second Enter", async () => {
  const queue = await queueOf(page);
  const members = await size();
  await press("n");
  await page.keyboard.type("Zeta");
  await press("Enter");
  await page.getByText("There is no class “Zeta” yet. Enter again founds it.").waitFor();
  assert.equal((await status()).events, 0);
  await press("Enter");
  await said(`${members} samples named Zeta.`);
  assert.deepEqual((await queueOf(page)).slice(0, 5), queue.slice(1, 6));
  const now = await until((found) => found.labelled.Zeta);
  assert.equal(now.labelled.Zeta, members);
});

test("a prefix of a class never founds one", async () => {
  const { events } = await status();
  await press("n");
  await page.keyboard.type("Zet");
  await press("Enter");
  await page.getByText("Enter again takes Zeta").waitFor();
  assert.equal(await page.locator("[role=option][aria-selected=true]").textContent().then((words) => words.startsWith("Zeta")), true);
  await press("Escape", "Escape");
  assert.equal((await status()).events, events);
});

test("a group can be named as a suggestion, by a number", async () => {
  const name = await page.locator(".suggestions .name").first().textContent();
  const members = await size();
  const { events } = await status();
  await press("1");
  // A class that is far is named by a second stroke alone.
  if (await page.locator(".suggestions button").first().evaluate((one) => one.classList.contains("far"))) {
    await said("Press 1 again to name");
    assert.equal((await status()).events, events);
    await press("1");
  }
  await said(`named ${name}.`);
  const now = await until((found) => found.events === events + 1);
  assert.equal(now.labelled[name], members);
});

test("undo brings the group back to its place", async () => {
  const queue = await queueOf(page);
  await press("j", "i");
  await said("ignored.");
  const ignored = await until((found) => found.to_ignore > 0);
  await press("u");
  await said("Undone:");
  assert.deepEqual((await queueOf(page)).slice(0, queue.length), queue);
  const now = await until((found) => found.to_ignore === 0);
  assert.equal(now.waiting >= ignored.waiting + Number.parseInt(queue[1], 10), true);
  await press("k");
});

test("the radius splits a group, and what leaves it is shown first", async () => {
  const members = await size();
  await press("r");
  for (let steps = 0; steps < 60 && (await page.locator(".beyond").count()) === 0; steps += 1) await press("PageDown");
  const far = Number.parseInt((await page.locator(".cutter button").textContent()).match(/\d+/)[0], 10);
  assert.ok(far > 0 && far < members);
  await press("Enter");
  await said(`${far} samples? split off.`.replace("samples?", far === 1 ? "sample" : "samples"));
  assert.equal(await size(), members - far);
  const at = await place();
  // What leaves may be several groups.
  await page.waitForFunction(
    ([next, count]) => {
      const sizes = [...document.querySelectorAll("#queue-list strong")].slice(next).map((line) => Number.parseInt(line.textContent, 10));
      return sizes.some((_, last) => sizes.slice(0, last + 1).reduce((sum, size) => sum + size) === count);
    },
    [at + 1, far],
  );
  await press("u");
  await said("Undone:");
  assert.equal(await size(), members);
});

test("strays are ticked out by key and wait on", async () => {
  const members = await size();
  const { labelled } = await status();
  await press("ArrowRight", "x");
  await page.getByText("1 stray ticked out.").waitFor();
  await press("n");
  await page.keyboard.type("Zeta");
  await press("Enter");
  await said(`${members - 1} sample`);
  await until((found) => found.labelled.Zeta === labelled.Zeta + members - 1);
  // As it was, the stray with it: the whole group can be answered again.
  await press("u");
  await said("Undone:");
  await until((found) => found.labelled.Zeta === labelled.Zeta);
  assert.equal(await size(), members);
  await page.getByText("1 stray ticked out.").waitFor();
  await press("ArrowRight", "x");
  await page.getByText("stray ticked out").waitFor({ state: "detached" });
  await press("n");
  await page.keyboard.type("Zeta");
  await press("Enter");
  await said(`${members} samples named Zeta.`);
  await until((found) => found.labelled.Zeta === labelled.Zeta + members);
});

test("groups are merged by marking one and pressing m on another", async () => {
  const queue = await queueOf(page);
  const at = await place();
  await press("m", "j", "m");
  await said("2 groups merged.");
  const both = Number.parseInt(queue[at], 10) + Number.parseInt(queue[at + 1], 10);
  assert.equal(await size(), both);
  const merged = queue.toSpliced(at, 2, `${both} samples`);
  assert.deepEqual((await queueOf(page)).slice(0, merged.length), merged);
  const asked = page.waitForResponse(/groups\?numbers=/);
  await press("u");
  await said("Undone: 2 groups merged.");
  assert.deepEqual((await queueOf(page)).slice(0, queue.length), queue);
  await asked;
  assert.deepEqual((await queueOf(page)).slice(0, queue.length), queue);
});

test("skip and discard", async () => {
  const skipped = (await queueOf(page))[await place()];
  await press("s");
  await said("skipped.");
  assert.equal((await queueOf(page)).at(-1), skipped);
  const asked = page.waitForResponse(/groups\?numbers=/);
  await press("u");
  await said("Undone: Group of");
  await asked;
  assert.equal((await queueOf(page))[await place()], skipped);
  await press("s");
  await said("skipped.");
  const { discarded } = await status();
  await press("d");
  await said("discarded.");
  await until((found) => found.discarded > discarded);
});

test("text of clients is text, and new samples move nothing", async () => {
  const queue = await queueOf(page);
  const text = '<img src="x" onerror="window.broken = true">';
  const { dimensions } = await status();
  const features = Array.from({ length: 230 }, (_, row) => Array.from({ length: dimensions }, () => 400 + row * 1e-3));
  await here.server.call("POST", "/v1/predict", { features, texts: features.map(() => text) });
  await page.waitForTimeout(2_500);
  assert.deepEqual((await queueOf(page)).slice(0, queue.length), queue);
  await page.reload();
  await page.locator("#group .sample").first().waitFor();
  await page.getByRole("button", { name: "More groups" }).click();
  await page.locator("#queue-list .face.text").first().click();
  assert.equal(await page.locator("#group .face.text").first().textContent(), text);
  assert.equal(await page.evaluate(() => window.broken), undefined);
});

test("a group of more samples than a list has is split and shown as a whole", async () => {
  assert.equal(await size(), 230);
  await Promise.all([page.waitForResponse(/groups\/\d+$/), press("r")]);
  await press("PageDown");
  await page.getByRole("button", { name: /^Split \d+ off/ }).waitFor();
  await page.getByRole("button", { name: "Show all 230" }).click();
  await page.locator("#group .sample").nth(229).waitFor();
});

test("learning makes a version, and the pool shrinks", async () => {
  const old = await status();
  assert.ok(old.to_learn > 0);
  await press("l");
  await page.getByText(/Version \w+ is live/).waitFor();
  const now = await status();
  assert.notEqual(now.live, old.live);
  assert.equal(now.to_learn, 0);
  assert.ok(now.classes.some(({ name }) => name === "Zeta"));
  const [, known] = (await page.locator("#learning p").textContent()).match(/([\d,]+) of the [\d,]+ samples? that waited/);
  assert.ok(Number.parseInt(known.replaceAll(",", ""), 10) > 0);
});

test("was wrong: which row carried a decision, and setting it aside", async () => {
  await page.goto(`${here.server.address}/#decisions`);
  const known = page.locator("tr", { has: page.locator(".outcome.known") }).first();
  await known.getByRole("button", { name: "Was wrong" }).click();
  const dialog = page.locator("#explanation");
  await dialog.getByText(/carried it, at distance/).waitFor();
  await dialog.getByText(/Without that row/).waitFor();
  const { live } = await status();
  await dialog.getByRole("button", { name: "Set this row aside" }).click();
  await said("is set aside");
  await until((found) => found.live !== live);
});

test("history: compare, undo an event, roll back", async () => {
  await page.goto(`${here.server.address}/#history`);
  await page.getByRole("button", { name: /^Compare/ }).first().click();
  await page.getByText(/Of the last [\d,]+ decisions/).waitFor();
  const old = await status();
  await page.getByRole("button", { name: "Roll back" }).click();
  await said("The previous version is live again.");
  const now = await until((found) => found.live === old.previous);
  assert.equal(now.previous, old.live);
  await page.getByRole("button", { name: /^Undo event/ }).first().click();
  await said("is undone.");
  await until((found) => found.live === old.live);
});

test("the map: a lasso chooses unknowns, which are named, and undone", async () => {
  await page.goto(`${here.server.address}/#map`);
  await page.getByText(/known samples of/).waitFor();
  const box = await page.locator("#view-map canvas").boundingBox();
  await page.mouse.move(box.x + 5, box.y + 5);
  await page.mouse.down();
  for (const [x, y] of [[box.width - 5, 5], [box.width - 5, box.height - 5], [5, box.height - 5]]) {
    await page.mouse.move(box.x + x, box.y + y, { steps: 4 });
  }
  await page.mouse.up();
  const chosen = page.getByRole("heading", { name: /samples chosen/ });
  await chosen.waitFor();
  const count = Number.parseInt((await chosen.textContent()).replaceAll(",", ""), 10);
  const { waiting, ignored } = await status();
  assert.ok(count > 0 && count <= waiting);
  await page.locator(".map-panel").getByRole("button", { name: "Ignore" }).click();
  await until((found) => found.ignored === ignored + count);
  await press("u");
  await until((found) => found.ignored === ignored);
});

test("does it work: facts and the rate over time", async () => {
  await page.goto(`${here.server.address}/#health`);
  await page.getByRole("heading", { name: "Closest stranger" }).waitFor();
  await page.getByRole("heading", { name: "Closest classes" }).waitFor();
  await page.getByRole("img", { name: "Unknown rate over time" }).waitFor();
});

test("nothing was complained of", () => {
  assert.deepEqual(errors, []);
});

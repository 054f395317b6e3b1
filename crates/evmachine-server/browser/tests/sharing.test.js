// Two people at one pool: what each works on stays, and every answer goes to the samples that were on the screen.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openPage } from "../browser.js";
import { setting } from "../setting.js";

const ANNA = "label-key-of-anna-0001";
const BORIS = "label-key-of-boris-0002";
const here = setting(`label anna ${ANNA}\nlabel boris ${BORIS}\n`);

const call = (method, path, body, key = BORIS) => here.server.call(method, path, body, key);
const size = async (page) => Number.parseInt((await page.locator("#group-title").textContent()).replaceAll(",", ""), 10);
const said = (page, words) => page.locator("#notice", { hasText: words }).waitFor();
/** Names of the samples on the screen, those that are ticked out apart. */
const onScreen = (page, ticked) => page.locator(`#group [aria-checked=${ticked}] .sample-name`).allTextContents();

async function sit(key) {
  const opened = await openPage(here.browser, here.server.address, "health");
  await opened.page.getByLabel("Key", { exact: true }).fill(key);
  await opened.page.keyboard.press("Enter");
  await opened.page.getByRole("link", { name: "Queue" }).click();
  await opened.page.locator("#group .sample").first().waitFor();
  return opened;
}

/** What the server has of the samples of an event, by their names. */
async function named(label) {
  const names = [];
  for (let after = 0; ; ) {
    const { samples } = await call("GET", `/v1/samples?state=labelled&count=1000&after=${after}`);
    if (!samples.length) return names.sort();
    names.push(...samples.filter((sample) => sample.label === label).map(({ id }) => id));
    after = samples.at(-1).number;
  }
}

async function until(holds) {
  for (let tries = 0; tries < 300; tries += 1) {
    const found = await call("GET", "/v1/status");
    if (holds(found)) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.fail(`the status never came to be as expected: ${holds}`);
}

test("two people have different groups before them, and see who has what", async () => {
  const { page: anna } = await sit(ANNA);
  const { page: boris } = await sit(BORIS);
  const hers = new Set(await onScreen(anna, true));
  assert.deepEqual((await onScreen(boris, true)).filter((name) => hers.has(name)), []);
  await anna.close();
  await boris.close();
});

test("while somebody else learns, ticks and group stay, and the answer goes to what is on the screen", async () => {
  const { page, errors } = await sit(ANNA);
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("x");
  await page.getByText("2 strays ticked out.").waitFor();
  const [meant, strays] = [await onScreen(page, true), await onScreen(page, false)];
  const { groups } = await call("POST", "/v1/groups/hand-out", { count: 2 });
  const { live } = await call("GET", "/v1/status");
  await call("POST", "/v1/labels", { samples: groups[0].samples, label: "Boris", new_class: true });
  await call("POST", "/v1/update", {});
  await until((found) => found.live !== live && found.settled && !found.learning);
  await page.waitForTimeout(3_000);
  assert.deepEqual([await onScreen(page, true), await onScreen(page, false)], [meant, strays]);
  await page.keyboard.press("n");
  await page.keyboard.type("Wave");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  await said(page, `${meant.length} samples named Wave.`);
  await until((found) => found.labelled.Wave === meant.length);
  assert.deepEqual(await named("Wave"), meant.sort());
  await page.keyboard.press("u");
  await until((found) => !found.labelled.Wave);
  assert.deepEqual(errors.filter((words) => !words.includes("401")), []);
  await page.close();
});

test("what others answered is told, taken out, and not overwritten", async () => {
  const { page } = await sit(ANNA);
  const members = await size(page);
  const id = (await onScreen(page, true))[0];
  const { samples } = await call("GET", "/v1/samples?state=waiting&count=1000");
  const { number } = samples.find((sample) => sample.id === id);
  await call("POST", "/v1/labels", { samples: [number], label: "Theirs", new_class: true });
  await page.keyboard.press("i");
  await page.locator("#complaint", { hasText: "Meanwhile: boris named 1 sample “Theirs”." }).waitFor();
  assert.equal(await page.locator("#notice p").count(), 0, "nothing is said to be done that was refused");
  assert.equal(await size(page), members - 1);
  assert.equal((await call("GET", `/v1/samples/${number}`)).label, "Theirs");
  assert.equal((await call("GET", "/v1/status")).ignored, 0);
  await page.keyboard.press("i");
  await said(page, "ignored.");
  await until((found) => found.ignored === members - 1);
  await page.keyboard.press("u");
  await until((found) => found.ignored === 0);
  await page.close();
});

test("a map that is stale overwrites nothing", async () => {
  const { page } = await sit(ANNA);
  await page.getByRole("link", { name: "Map" }).click();
  await page.getByText(/known samples of/).waitFor();
  await page.getByRole("button", { name: "Choose all in view" }).click();
  await page.getByRole("heading", { name: /samples chosen/ }).waitFor();
  const { samples } = await call("GET", "/v1/samples?state=waiting&count=1000");
  const { number } = samples.find((sample) => !sample.known);
  await call("POST", "/v1/labels", { samples: [number], label: "Theirs" });
  await page.locator(".map-panel").getByRole("button", { name: "Ignore" }).click();
  await page.locator("#complaint", { hasText: "Meanwhile: boris named 1 sample “Theirs”." }).waitFor();
  assert.equal((await call("GET", `/v1/samples/${number}`)).label, "Theirs");
  assert.equal((await call("GET", "/v1/status")).ignored, 0);
  await page.close();
});

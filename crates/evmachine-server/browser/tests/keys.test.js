// A server that wants keys: the page asks for one, and offers what it lets do.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openPage } from "../browser.js";
import { setting } from "../setting.js";

const READ = "read-key-of-rita-0001";
const LABEL = "label-key-of-lara-0002";
const DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const here = setting(`read rita ${READ}\nlabel lara ${LABEL}\n`);

async function enter(page, key) {
  await page.getByLabel("Key", { exact: true }).fill(key);
  await page.keyboard.press("Enter");
}

test("a wrong key is asked for again, a right one is kept for the tab alone", async () => {
  const { page } = await openPage(here.browser, here.server.address, "health");
  await page.getByRole("heading", { name: "A key, please" }).waitFor();
  await enter(page, "a-key-that-is-wrong-00");
  await page.getByRole("heading", { name: "A key, please" }).waitFor();
  await enter(page, LABEL);
  await page.locator("#progress-words", { hasText: "waiting" }).waitFor();
  await page.reload();
  await page.locator("#progress-words", { hasText: "waiting" }).waitFor();
  assert.equal(await page.evaluate(() => localStorage.length), 0);
  await page.close();
});

test("a key that reads alone answers nothing", async () => {
  const { page } = await openPage(here.browser, here.server.address, "health");
  await enter(page, READ);
  await page.locator("#progress-words", { hasText: "waiting" }).waitFor();
  await page.getByRole("link", { name: "Queue" }).click();
  await page.locator("#group .sample").first().waitFor();
  assert.equal(await page.getByRole("button", { name: "Ignore" }).isDisabled(), true);
  await page.keyboard.press("i");
  await page.locator("#notice", { hasText: "may look, not label" }).waitFor();
  await page.close();
});

test("pictures come with the key, and who answered is noted", async () => {
  const { dimensions } = await here.server.call("GET", "/v1/status", undefined, READ);
  const features = Array.from({ length: 40 }, (_, row) => Array.from({ length: dimensions }, () => 500 + row * 1e-3));
  const pictures = features.map(() => ({ media_type: "image/png", base64: DOT }));
  await here.server.call("POST", "/v1/predict", { features, pictures }, READ);
  const { page, errors } = await openPage(here.browser, here.server.address, "health");
  await enter(page, LABEL);
  await page.getByRole("link", { name: "Queue" }).click();
  await page.getByRole("button", { name: "More groups" }).click();
  await page.locator("#queue-list li", { has: page.locator("img") }).first().locator("button").click();
  await page.waitForFunction(() => document.querySelector("#group img.face")?.naturalWidth === 1);
  await page.keyboard.press("i");
  await page.locator("#notice", { hasText: "ignored." }).waitFor();
  await page.getByRole("link", { name: "History" }).click();
  await page.getByRole("cell", { name: "lara" }).first().waitFor();
  assert.deepEqual(errors.filter((words) => !words.includes("401")), []);
  await page.close();
});

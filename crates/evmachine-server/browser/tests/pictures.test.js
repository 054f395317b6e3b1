// The demo of pictures: digits are shown as pictures, in the queue and closely.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openPage } from "../browser.js";
import { setting } from "../setting.js";

const here = setting("", "pictures");

test("digits that the model does not know can be seen and named", async () => {
  const { page, errors } = await openPage(here.browser, here.server.address);
  const first = page.locator("#group img.face").first();
  await first.waitFor();
  await until(page, () => document.querySelector("#group img.face").naturalWidth === 48);
  await page.keyboard.press("v");
  await page.locator("#look[open] .look-face img").waitFor();
  await page.locator("#look[open] .near li").first().waitFor();
  await page.keyboard.press("Escape");
  const { waiting_unknown: unknown } = await here.server.call("GET", "/v1/status");
  assert.ok(unknown > 300, `${unknown} digits wait`);
  await page.keyboard.press("n");
  await page.keyboard.type("new digit");
  await page.keyboard.press("Control+Enter");
  await page.locator("#notice", { hasText: "named new digit." }).waitFor();
  assert.deepEqual(errors, []);
  await page.close();
});

function until(page, holds) {
  return page.waitForFunction(holds);
}

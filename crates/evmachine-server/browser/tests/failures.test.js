// What the server refuses, or does not hear: the page puts it back, and says so.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openPage, queueOf } from "../browser.js";
import { setting } from "../setting.js";

const here = setting();

test("an answer that does not get through comes back to its place", async () => {
  const { page } = await openPage(here.browser, here.server.address);
  let isDown = false;
  await page.route("**/v1/**", (route) => (isDown ? route.abort() : route.continue()));
  // From here on all requests of the page take that way.
  await page.reload();
  await page.locator("#queue-list li").nth(5).waitFor();
  const queue = await queueOf(page);
  await page.keyboard.press("j");
  isDown = true;
  await page.keyboard.press("i");
  await page.locator("#complaint", { hasText: "The server does not answer" }).waitFor();
  await page.waitForFunction((count) => document.querySelectorAll("#queue-list li").length >= count, queue.length);
  assert.deepEqual((await queueOf(page)).slice(0, queue.length), queue);
  assert.equal(await page.locator("#queue-list li").nth(1).locator("[aria-current]").count(), 1);
  isDown = false;
  await page.locator("#notice", { hasText: "The server answers again." }).waitFor();
  assert.equal((await here.server.call("GET", "/v1/status")).events, 0);
  await page.close();
});

test("a name that the server does not know comes back to the field", async () => {
  const { page } = await openPage(here.browser, here.server.address);
  const problem = { status: 409, title: "Conflict", detail: '"Qu" is no class yet; is Queue meant?', known: ["Queue"] };
  await page.route("**/v1/labels", (route) =>
    route.fulfill({ status: 409, contentType: "application/problem+json", body: JSON.stringify(problem) }),
  );
  await page.reload();
  await page.locator("#group .sample").first().waitFor();
  await page.keyboard.press("1");
  // Where it is far it takes a second stroke.
  if (await page.locator(".suggestions button").first().evaluate((one) => one.classList.contains("far"))) await page.keyboard.press("1");
  await page.getByText('"Qu" is no class yet; is Queue meant?').waitFor();
  const name = await page.locator(".suggestions .name").first().textContent();
  assert.equal(await page.locator(".answer [role=combobox]").inputValue(), name);
  await page.close();
});

test("a group that somebody else has answered leaves the queue", async () => {
  const { page, handed } = await openPage(here.browser, here.server.address);
  const [first] = (await handed).groups;
  const queue = await queueOf(page);
  await here.server.call("POST", "/v1/discard", { samples: first.samples });
  await page.keyboard.press("i");
  await page.locator("#complaint", { hasText: "Meanwhile: Somebody else discarded" }).waitFor();
  await page.waitForFunction(
    (lines) => document.querySelectorAll("#queue-list li")[0].textContent.startsWith(lines[1]),
    queue,
  );
  assert.equal((await here.server.call("GET", "/v1/status")).ignored, 0);
  await page.close();
});

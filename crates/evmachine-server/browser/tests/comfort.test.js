// What makes a day at the page bearable: looking is not ticking, names fit, nothing is covered.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openPage } from "../browser.js";
import { setting } from "../setting.js";

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const here = setting();
const status = () => here.server.call("GET", "/v1/status");

async function found(page, name) {
  await page.keyboard.press("n");
  await page.keyboard.type(name);
  await page.keyboard.press("Control+Enter");
}

test("a click on a sample looks at it, and its box ticks it", async () => {
  const { page } = await openPage(here.browser, here.server.address);
  await page.locator("#group .look").first().click();
  await page.locator("#look[open] h2").waitFor();
  assert.equal(await page.locator("#group .stray").count(), 0);
  await page.getByRole("button", { name: "Close" }).click();
  await page.locator("#group .tick").nth(1).click();
  assert.equal(await page.locator("#group .stray").count(), 1);
  await page.close();
});

test("keys work before anything has the focus", async () => {
  const { page } = await openPage(here.browser, here.server.address);
  assert.equal(await page.evaluate(() => document.activeElement === document.body), true);
  await page.keyboard.press("x");
  assert.equal(await page.locator("#group li").first().evaluate((card) => card.classList.contains("stray")), true);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.locator("#group li").nth(2).evaluate((card) => card.classList.contains("active")), true);
  await page.keyboard.press("v");
  await page.locator("#look[open]").waitFor();
  await page.close();
});

test("the whole of a long text can be read", async () => {
  const { dimensions } = await status();
  const text = Array.from({ length: 60 }, (_, at) => `sentence ${at}`).join(". ");
  const features = Array.from({ length: 400 }, (_, row) => Array.from({ length: dimensions }, () => 900 + row * 1e-4));
  await here.server.call("POST", "/v1/predict", { features, texts: features.map(() => text), ids: features.map((_, row) => `text ${row}`) });
  const { page } = await openPage(here.browser, here.server.address);
  const line = page.locator("#queue-list li", { has: page.locator(".face.text") }).first();
  for (let tries = 0; tries < 5 && !(await line.count()); tries += 1) {
    await page.getByRole("button", { name: "More groups" }).click();
    await page.waitForTimeout(500);
  }
  await line.locator("button").click();
  await page.keyboard.press("v");
  const box = page.locator("#look .face.text");
  assert.equal(await box.textContent(), text);
  assert.equal(await box.evaluate((shown) => shown.scrollHeight <= shown.clientHeight + 1), true, "nothing is cut");
  await page.close();
});

test("however long a name is, Undo stays on the screen, on a phone too", async () => {
  for (const options of [{}, PHONE]) {
    const { page } = await openPage(here.browser, here.server.address, "queue", options);
    await found(page, `${"long ".repeat(40)}${options.isMobile ? "b" : "a"}`);
    const undo = page.locator("#notice").getByRole("button", { name: "Undo" });
    await undo.waitFor();
    // The name comes to the suggestions, which the notice stands above.
    await page.waitForTimeout(500);
    const { x, y, width, height } = await undo.boundingBox();
    const seen = page.viewportSize();
    assert.ok(x >= 0 && y >= 0 && x + width <= seen.width && y + height <= seen.height, JSON.stringify({ x, y, width, height }));
    const covered = await page.evaluate(() => {
      const notice = document.getElementById("notice").getBoundingClientRect();
      return ["#group-title", "#answer", ".queue"].filter((one) => {
        const box = document.querySelector(one).getBoundingClientRect();
        return box.top < notice.bottom && notice.top < box.bottom && box.left < notice.right && notice.left < box.right;
      });
    });
    assert.deepEqual(covered, [], "it covers neither the group's name nor the answer nor the queue");
    await undo.click();
    await page.close();
  }
});

test("at 1,024 pixels the top is one line", async () => {
  const { page } = await openPage(here.browser, here.server.address, "queue", { viewport: { width: 1024, height: 768 } });
  await page.locator("#progress-words", { hasText: "waiting" }).waitFor();
  const height = await page.locator(".top").evaluate((top) => top.offsetHeight);
  assert.ok(height < 60, `${height}`);
  await page.close();
});

test("the list of names covers no suggestion, and a slip of the hand founds nothing", async () => {
  const { page } = await openPage(here.browser, here.server.address);
  await found(page, "leaf");
  await page.locator("#notice", { hasText: "named leaf" }).waitFor();
  // A name that is not learned yet is one key away.
  await page.locator(".suggestions .name", { hasText: /^leaf$/ }).waitFor();
  await page.keyboard.press("n");
  await page.keyboard.type("leef");
  const list = await page.locator(".answer [role=listbox]").boundingBox();
  const first = await page.locator(".suggestions button").first().boundingBox();
  assert.ok(first.y >= list.y + list.height, "below the list");
  await page.keyboard.press("Enter");
  await page.getByText("There is no class “leef”. Enter again takes leaf").waitFor();
  await page.keyboard.press("Enter");
  await page.locator("#notice", { hasText: "named leaf." }).waitFor();
  await page.waitForTimeout(300);
  assert.equal((await status()).labelled.leef, undefined);
  await page.close();
});

test("progress is that of the pool, and the same after a reload", async () => {
  const { page } = await openPage(here.browser, here.server.address);
  await page.keyboard.press("i");
  await page.locator("#notice", { hasText: "ignored." }).waitFor();
  await page.waitForFunction(() => document.getElementById("progress").value > 0);
  await page.waitForTimeout(2_500);
  const before = await page.evaluate(() => document.getElementById("progress").value);
  await page.reload();
  await page.waitForFunction((value) => document.getElementById("progress").value === value, before);
  assert.match(await page.locator("#progress-words").textContent(), /groups? left/);
  await page.close();
});

test("the map shows pictures and texts where samples have them", async () => {
  const { dimensions } = await status();
  const features = Array.from({ length: 5 }, (_, row) => Array.from({ length: dimensions }, () => -900 - row * 1e-4));
  const shown = { pictures: features.map((_, row) => (row ? { media_type: "image/png", base64: DOT } : null)), texts: features.map((_, row) => (row ? null : "a text")) };
  await here.server.call("POST", "/v1/predict", { features, ...shown });
  const { page, errors } = await openPage(here.browser, here.server.address, "map");
  await page.getByText(/known samples of/).waitFor();
  await page.getByRole("button", { name: "Choose all in view" }).click();
  await page.locator(".map-panel img.face").first().waitFor();
  await page.locator(".map-panel .face.text").first().waitFor();
  assert.deepEqual(errors, []);
  await page.close();
});

// How long each verb takes, from the key to the next frame and to the server's answer. Reported; no limit on time is a test.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { openPage, queueOf, startBrowser } from "../browser.js";
import { startServer } from "../server.js";

const TIMES = 8;
let server;
let browser;

before(async () => {
  server = await startServer();
  browser = await startBrowser();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Milliseconds from a key to the frame that shows what it did. */
function timeKey(page, key) {
  return page.evaluate(async (pressed) => {
    const begun = performance.now();
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: pressed, bubbles: true, cancelable: true }));
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    return performance.now() - begun;
  }, key);
}

function timesOfAnswers(page) {
  return page.evaluate(() =>
    performance
      .getEntriesByType("resource")
      .filter(({ name }) => /labels|ignore|discard|skip|undo|merge/.test(name))
      .map(({ duration }) => duration),
  );
}

const show = (times) => {
  const sorted = [...times].sort((a, b) => a - b);
  return `median ${sorted[sorted.length >> 1].toFixed(0)} ms, slowest ${sorted.at(-1).toFixed(0)} ms`;
};

test("each verb, from the key to the frame", async (context) => {
  const { page } = await openPage(browser, server.address);
  for (const [verb, keys] of Object.entries({ name: ["1"], ignore: ["i"], discard: ["d"], skip: ["s"], undo: ["u"], next: ["j"], tick: ["x"], merge: ["m"] })) {
    const times = [];
    const queue = await queueOf(page);
    for (let time = 0; time < TIMES; time += 1) for (const key of keys) times.push(await timeKey(page, key));
    context.diagnostic(`${verb}: ${show(times)}`);
    if (verb === "name") assert.notDeepEqual(await queueOf(page), queue);
  }
  await page.waitForTimeout(500);
  const answers = await timesOfAnswers(page);
  assert.ok(answers.length > 0);
  context.diagnostic(`the server's answers: ${show(answers)}`);
  await page.close();
});

test("a frame of the map", async (context) => {
  const { page } = await openPage(browser, server.address, "map");
  await page.getByText(/known samples of/).waitFor();
  const canvas = page.locator("#view-map canvas");
  await canvas.focus();
  const times = await page.evaluate(async () => {
    const map = document.querySelector("#view-map canvas");
    const frames = [];
    for (let frame = 0; frame < 20; frame += 1) {
      const begun = performance.now();
      map.dispatchEvent(new KeyboardEvent("keydown", { key: frame % 2 ? "+" : "-", cancelable: true }));
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      frames.push(performance.now() - begun);
    }
    return frames;
  });
  assert.equal(times.length, 20);
  context.diagnostic(`${await page.locator("#map-words").textContent()} ${show(times)}`);
  await page.close();
});

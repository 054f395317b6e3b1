// How long each verb takes, from the key to the next frame and to the server's answer. Reported; no limit on time is a test.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openPage, queueOf } from "../browser.js";
import { setting } from "../setting.js";

const TIMES = 8;
const here = setting();

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
  const { page } = await openPage(here.browser, here.server.address);
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

/** The bytes of a map of so many points in eleven clumps, a fifth of them unknown. */
function mapOf(total) {
  const known = Math.floor((4 * total) / 5);
  const bytes = Buffer.alloc(16 + total * 16);
  [0x4d565645, known, total - known, 10].forEach((value, at) => bytes.writeUInt32LE(value, at * 4));
  for (let point = 0; point < total; point += 1) {
    const clump = point < known ? point % 10 : 10;
    const [turn, reach] = [point * 2.399963, Math.sqrt((point % 997) / 997)];
    bytes.writeFloatLE(Math.cos(clump) * 3 + reach * Math.cos(turn), 16 + point * 16);
    bytes.writeFloatLE(Math.sin(clump) * 3 + reach * Math.sin(turn), 20 + point * 16);
    bytes.writeUInt32LE(point < known ? clump : 0xffffffff, 24 + point * 16);
    bytes.writeUInt32LE(point, 28 + point * 16);
  }
  return bytes;
}

test("a frame of a map of 100,000 points", async (context) => {
  const { page } = await openPage(here.browser, here.server.address, "decisions");
  await page.route("**/v1/map", (route) => route.fulfill({ contentType: "application/octet-stream", body: mapOf(100_000) }));
  await page.reload();
  await page.getByRole("link", { name: "Map" }).click();
  await page.getByText("80,000 known samples").waitFor();
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
  context.diagnostic(`moving or zooming: ${show(times)}`);
  await page.close();
});

// axe-core over every view, in both colour schemes and at the width of a phone.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { test } from "node:test";

import { openPage } from "../browser.js";
import { setting } from "../setting.js";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
const here = setting();

async function violations(page) {
  // What is still fading in has not its colours yet.
  await page.evaluate(() => Promise.allSettled(document.getAnimations().map((animation) => animation.finished)));
  // By the protocol, past the page's policy, which lets no script in.
  await page.evaluate(axe);
  const { violations: found } = await page.evaluate(() => globalThis.axe.run());
  return found.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`);
}

async function settle(page, view) {
  const shown = { recognised: "#view-recognised h2:has-text('recognised')", classes: "#view-classes .sample", search: "#view-search .sample", opinions: "#view-opinions h2", map: "#map-words:has-text('known samples')", history: "td code", health: ".fact", decisions: "table, #view-decisions p" };
  await page.locator(shown[view] ?? "#group .drawing").first().waitFor();
}

for (const view of ["queue", "recognised", "classes", "search", "opinions", "map", "decisions", "history", "health"]) {
  for (const [name, options] of Object.entries({
    light: { colorScheme: "light" },
    dark: { colorScheme: "dark" },
    phone: { ...PHONE, colorScheme: "light" },
    "dark phone": { ...PHONE, colorScheme: "dark" },
  })) {
    test(`${view}, ${name}`, async () => {
      const { page, errors } = await openPage(here.browser, here.server.address, view, options);
      await settle(page, view);
      assert.deepEqual(await violations(page), []);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(overflow <= 0, `the page is ${overflow} pixels wider than the screen`);
      assert.deepEqual(errors, []);
      await page.close();
    });
  }
}

test("the keys, the list of completions, a stray, a cut and a notice", async () => {
  for (const colorScheme of ["light", "dark"]) {
    const { page } = await openPage(here.browser, here.server.address, "queue", { colorScheme });
    await page.keyboard.press("?");
    assert.deepEqual(await violations(page), []);
    await page.keyboard.press("Escape");
    await page.keyboard.press("v");
    await page.locator("#look[open]").waitFor();
    assert.deepEqual(await violations(page), []);
    await page.keyboard.press("Escape");
    await page.keyboard.press("x");
    await page.keyboard.press("x");
    await page.keyboard.press("r");
    await page.keyboard.press("Home");
    await page.keyboard.press("u");
    await page.keyboard.press("n");
    await page.keyboard.type("A");
    await page.locator("[role=option]").first().waitFor();
    assert.deepEqual(await violations(page), []);
    await page.close();
  }
});

test("why a decision fell", async () => {
  for (const colorScheme of ["light", "dark"]) {
    const { page } = await openPage(here.browser, here.server.address, "decisions", { colorScheme });
    await page.getByRole("button", { name: /^Was wrong/ }).first().click();
    await page.locator("#explanation[open]").waitFor();
    assert.deepEqual(await violations(page), []);
    await page.close();
  }
});

test("single keys can be switched off", async () => {
  const { page } = await openPage(here.browser, here.server.address);
  await page.keyboard.press("?");
  await page.getByLabel("Single keys do these things").uncheck();
  await page.keyboard.press("Escape");
  await page.keyboard.press("n");
  assert.equal(await page.locator("[role=combobox]").first().evaluate((field) => field === document.activeElement), false);
  await page.close();
});

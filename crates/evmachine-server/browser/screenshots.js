// Writes the pictures of the page in docs/images: `EVMACHINE=target/release/evmachine node screenshots.js`.

import { fileURLToPath } from "node:url";

import { openPage, startBrowser } from "./browser.js";
import { startServer } from "./server.js";

const FOLDER = fileURLToPath(new URL("../../../docs/images/", import.meta.url));
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

const server = await startServer();
const browser = await startBrowser();

async function shoot(name, view, options, act = async () => {}) {
  const { page } = await openPage(browser, server.address, view, options);
  await page.waitForTimeout(1_500);
  await act(page);
  await page.waitForTimeout(500);
  await page.screenshot({ path: `${FOLDER}server-${name}.png` });
  await page.close();
}

async function type(page, name, ...keys) {
  await page.keyboard.press("n");
  await page.keyboard.type(name);
  for (const key of keys) await page.keyboard.press(key);
}

async function lasso(page) {
  await page.getByText(/known samples of/).waitFor();
  const { x, y, width, height } = await page.locator("#view-map canvas").boundingBox();
  const around = (turn) => [x + width * (0.66 + 0.12 * Math.cos(turn)), y + height * (0.4 + 0.2 * Math.sin(turn))];
  await page.mouse.move(...around(0));
  await page.mouse.down();
  for (let turn = 0; turn < 6.28; turn += 0.2) await page.mouse.move(...around(turn));
  await page.mouse.up();
}

await shoot("queue", "queue", {}, async (page) => {
  await page.keyboard.press("i");
  await page.keyboard.press("s");
  await type(page, "Q", "Enter", "Enter");
  for (const key of ["x", "ArrowRight", "ArrowRight", "x"]) await page.keyboard.press(key);
  await type(page, "Y");
});
await shoot("dark", "queue", { colorScheme: "dark" }, async (page) => {
  await page.keyboard.press("r");
  for (let steps = 0; steps < 9 && (await page.locator(".beyond").count()) < 4; steps += 1) await page.keyboard.press("PageDown");
});
await shoot("phone", "queue", PHONE);
await shoot("map", "map", {}, lasso);
await shoot("wrong", "decisions", {}, async (page) => {
  await page.locator("tr", { has: page.locator(".outcome.known") }).first().getByRole("button").click();
  await page.locator("#explanation[open]").waitFor();
});

await browser.close();
await server.stop();

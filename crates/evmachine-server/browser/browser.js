// Debian's Chromium, driven by Playwright; what the page complains of fails the test.

import { readFile } from "node:fs/promises";

import { chromium } from "playwright-core";

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export function startBrowser() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
}

const KINDS = { html: "text/html", js: "text/javascript", css: "text/css", svg: "image/svg+xml" };

/** With the variable PAGE, files of the page come from that folder, so that a change of them takes no build. */
async function fromFolder(page, folder) {
  await page.route(/\/assets\/[\w.-]+$|:\d+\/(#.*)?$/, async (route) => {
    const name = new URL(route.request().url()).pathname.split("/").pop() || "index.html";
    await route.fulfill({ body: await readFile(`${folder}/${name}`), contentType: KINDS[name.split(".").pop()] });
  });
}

/** A page that shows `view`. `errors` gathers what its console and its policy complained of. */
export async function openPage(browser, address, view = "queue", options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, ...options });
  page.setDefaultTimeout(10_000);
  if (process.env.PAGE) await fromFolder(page, process.env.PAGE);
  const errors = [];
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("pageerror", (error) => errors.push(error.message));
  // The groups that the page was handed first; null if there were none, or if the page was reloaded before they were read.
  const handed = page
    .waitForResponse(/hand-out$/)
    .then((response) => response.json())
    .catch(() => null);
  await page.goto(`${address}/#${view}`);
  if (view.startsWith("queue")) await page.locator("#group .sample").first().waitFor();
  return { page, errors, handed };
}

/** Numbers of samples of the groups in the queue, from top to bottom. */
export function queueOf(page) {
  return page.locator("#queue-list .line-words strong").allTextContents();
}

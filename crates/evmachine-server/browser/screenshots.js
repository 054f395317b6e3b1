// Writes the pictures of the page in docs/images: `EVMACHINE=target/release/evmachine node screenshots.js`.

import { fileURLToPath } from "node:url";

import { openPage, startBrowser } from "./browser.js";
import { startServer } from "./server.js";

const FOLDER = fileURLToPath(new URL("../../../docs/images/", import.meta.url));
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

const ANNA = "label-key-of-anna-0001";
const BORIS = "admin-key-of-boris-002";
const server = await startServer(`label anna ${ANNA}\nadmin boris ${BORIS}\n`, "sentences");
const browser = await startBrowser();
const call = (method, path, body, key = BORIS) => server.call(method, path, body, key);

async function shoot(name, view, options, act = async () => {}) {
  const { page } = await openPage(browser, server.address, "health", options);
  await page.getByLabel("Key", { exact: true }).fill(BORIS);
  await page.keyboard.press("Enter");
  await page.locator(".fact").first().waitFor();
  await page.evaluate((hash) => {
    location.hash = hash;
  }, `#${view}`);
  await page.waitForTimeout(2_500);
  await act(page);
  await page.waitForTimeout(700);
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

/** Names some sentences by a word in them, as anna. */
async function name(word, label) {
  const { samples } = await call("GET", `/v1/samples?text=${word}&state=waiting&count=1000`);
  const half = samples.filter((_, at) => at % 2 === 0).map(({ number }) => number);
  await call("POST", "/v1/labels", { samples: half, label, new_class: true }, ANNA);
  return half;
}

/** The class with most rows in doubt. */
async function mostDoubted() {
  const { classes } = await call("GET", "/v1/classes");
  const doubted = [];
  for (const one of classes) {
    const { rows } = await call("GET", `/v1/classes/rows?class=${one.name}`);
    doubted.push([rows.filter((row) => row.claimed_by || row.alone).length, one.name]);
  }
  return doubted.sort((a, b) => b[0] - a[0])[0][1];
}

async function learn() {
  const { live } = await call("GET", "/v1/status");
  await call("POST", "/v1/update", {});
  for (;;) {
    const status = await call("GET", "/v1/status");
    if (status.live !== live && status.settled && !status.learning) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

while ((await call("GET", "/v1/status")).waiting < 300) await new Promise((resolve) => setTimeout(resolve, 300));
await shoot("queue", "queue", {}, async (page) => {
  await page.keyboard.press("s");
  for (const key of ["x", "ArrowRight", "ArrowRight", "x"]) await page.keyboard.press(key);
  await type(page, "book_hotel");
});
await shoot("dark", "queue", { colorScheme: "dark" }, async (page) => {
  await page.keyboard.press("r");
  for (let steps = 0; steps < 9 && (await page.locator(".beyond").count()) < 4; steps += 1) await page.keyboard.press("PageDown");
});
await shoot("phone", "queue", PHONE);
await shoot("phone-dark", "queue", { ...PHONE, colorScheme: "dark" });
const luggage = await name("luggage", "lost_luggage");
await name("vaccin", "vaccines");
await name("visa", "international_visa");
// A slip, which shows among the rows of its class.
const { samples: others } = await call("GET", "/v1/samples?text=bill&state=waiting&count=1000");
await call("POST", "/v1/labels", { samples: [others[0].number], label: "lost_luggage" }, ANNA);
await learn();
await shoot("recognised", "recognised?class=lost_luggage", {}, (page) => page.keyboard.press("x"));
await shoot("classes", `classes?class=${await mostDoubted()}`, {});
await call("POST", "/v1/opinions/ask", { samples: luggage.slice(0, 4) }, ANNA);
for (const [at, label] of [[0, "lost_luggage"], [1, "flight_status"]]) await call("POST", "/v1/opinions", { samples: [luggage[at]], label }, BORIS);
await call("POST", `/v1/samples/${luggage[1]}/notes`, { text: "A lost bag, or where the flight is?" }, ANNA);
await shoot("look", `search?sample=${luggage[1]}`, {}, (page) => page.locator("#look .near li").first().waitFor());
await shoot("opinions", "opinions", {});
const { groups } = await call("POST", "/v1/groups/hand-out", { count: 3 }, ANNA);
await call("POST", `/v1/groups/${groups[0].number}/hold`, {}, ANNA);
await shoot("people", "queue", {});
await shoot("search", "search?text=card&state=waiting", {});
await shoot("map", "map", {}, lasso);
await shoot("wrong", "decisions", {}, async (page) => {
  await page.locator("tr", { has: page.locator(".outcome.known") }).first().getByRole("button").click();
  await page.locator("#explanation[open]").waitFor();
});
await browser.close();
await server.stop();

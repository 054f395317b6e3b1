// The cause of drift, in words.

import assert from "node:assert/strict";
import { test } from "node:test";

import { openPage } from "../browser.js";
import { setting } from "../setting.js";

const here = setting();

const panel = (page) => page.locator(".fact", { has: page.locator("h3", { hasText: "Drift" }) });

async function healthWith(report) {
  const { page, errors } = await openPage(here.browser, here.server.address);
  if (report) {
    await page.route("**/v1/drift", (route) => route.fulfill({ status: report.status ?? 200, contentType: "application/json", body: JSON.stringify(report) }));
    await page.reload();
  }
  await page.goto(`${here.server.address}/#health`);
  await page.locator(".fact").first().waitFor();
  return { page, errors };
}

test("a quiet stream has none, with the rate of false alarms", async () => {
  const { page, errors } = await healthWith({ model: "x", text: "", rows: 2000, rate: 0.01, alarm: null, cause: null, watches: [] });
  await panel(page).getByText("none", { exact: true }).waitFor();
  assert.match(await panel(page).textContent(), /At most 1\.0 % of streams|At most 1 % of streams/);
  assert.deepEqual(errors, []);
  await page.close();
});

test("the server's own report is shown", async () => {
  const { page, errors } = await healthWith();
  await panel(page).getByText(/of streams without drift ever raise an alarm/).waitFor();
  assert.deepEqual(errors, []);
  await page.close();
});

test("an alarm says what came, since when, and what to do", async () => {
  const alarm = { row: 1009, since: 1001, watch: "direction 1", class: null };
  const cause = { kind: "moved", text: "all vectors moved by 1.707 <b>" };
  const { page } = await healthWith({ model: "x", text: "", rows: 2000, rate: 0.01, alarm, cause, watches: [] });
  await panel(page).getByText("All vectors moved", { exact: true }).waitFor();
  const text = await panel(page).textContent();
  assert.match(text, /all vectors moved by 1\.707 <b>\./);
  assert.match(text, /Since about row 1,?001, found at row 1,?009/);
  assert.match(text, /Look at the sensor/);
  await page.close();
});

test("an alarm without a cause says so, and no report is no panel", async () => {
  const alarm = { row: 30, since: 20, watch: "norm", class: null };
  const unknown = await healthWith({ model: "x", text: "", rows: 40, rate: 0.01, alarm, cause: null, watches: [] });
  await panel(unknown.page).getByText("The last rows do not show the cause.").waitFor();
  await unknown.page.close();
  const without = await healthWith({ status: 503, title: "The server cannot do it now", detail: "try again" });
  assert.equal(await panel(without.page).count(), 0);
  await without.page.close();
});

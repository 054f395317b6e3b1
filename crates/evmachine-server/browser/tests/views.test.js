// The views beside the queue, with sentences that a person can name: looking closely, what is recognised, classes, search, opinions.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { test } from "node:test";

import { openPage } from "../browser.js";
import { setting } from "../setting.js";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const ADMIN = "admin-key-of-ada-00001";
const BORIS = "label-key-of-boris-0002";
const here = setting(`admin ada ${ADMIN}\nlabel boris ${BORIS}\n`, "sentences");
const call = (method, path, body, key = ADMIN) => here.server.call(method, path, body, key);
const said = (page, words) => page.locator("#notice", { hasText: words }).waitFor();

async function sit(view, key = ADMIN) {
  const opened = await openPage(here.browser, here.server.address, "health");
  await opened.page.getByLabel("Key", { exact: true }).fill(key);
  await opened.page.keyboard.press("Enter");
  await opened.page.locator(".fact").first().waitFor();
  await opened.page.evaluate((hash) => {
    location.hash = hash;
  }, `#${view}`);
  return opened;
}

async function isClean(page) {
  await page.evaluate(() => Promise.allSettled(document.getAnimations().map((animation) => animation.finished)));
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`), []);
}

/** Waits until something that is asked for again and again holds. */
async function until(asked, holds) {
  for (let tries = 0; tries < 300; tries += 1) {
    const found = await asked();
    if (holds(found)) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return assert.fail(`it never came to hold: ${holds}`);
}

async function learn() {
  const { live } = await call("GET", "/v1/status");
  await call("POST", "/v1/update", {});
  return until(() => call("GET", "/v1/status"), (found) => found.live !== live && found.settled && !found.learning);
}

/** Names half of the sentences about lost luggage, and learns them. */
async function teach() {
  const { samples } = await call("GET", "/v1/samples?text=luggage&state=waiting&count=1000");
  const half = samples.filter((_, at) => at % 2 === 0).map(({ number }) => number);
  await call("POST", "/v1/labels", { samples: half, label: "lost_luggage", new_class: true });
  await learn();
  return samples.map(({ number }) => number).filter((number) => !half.includes(number));
}

test("a sample is looked at closely: text, neighbours, history, and a note that others read", async () => {
  const { page, errors } = await sit("queue");
  await page.locator("#group .sample").first().waitFor();
  await page.keyboard.press("v");
  const dialog = page.locator("#look[open]");
  await dialog.locator(".near li").first().waitFor();
  assert.equal(await dialog.locator(".near li").count(), 6);
  assert.match(await dialog.locator(".near .face.text").first().textContent(), /\w+ \w+/, "a neighbour is a sentence");
  await dialog.getByText("Nothing was said of it yet.").waitFor();
  await dialog.getByLabel("A note beside this sample").fill("two meanings?");
  await dialog.getByRole("button", { name: "Leave note" }).click();
  await dialog.locator(".note", { hasText: "two meanings?" }).waitFor();
  await isClean(page);
  const number = await dialog.getAttribute("data-sample");
  assert.equal((await call("GET", `/v1/samples/${number}/history`, undefined, BORIS)).notes[0].person, "ada");
  // Its address shows it to somebody else.
  const { page: other } = await sit(`search?sample=${number}`, BORIS);
  await other.locator("#look[open] .note", { hasText: "two meanings?" }).waitFor();
  assert.deepEqual(errors.filter((words) => !words.includes("401")), []);
  await Promise.all([page.close(), other.close()]);
});

test("a group has an address", async () => {
  const { page } = await sit("queue");
  await page.locator("#group .sample").first().waitFor();
  await page.keyboard.press("j");
  const hash = await page.evaluate(() => location.hash);
  const shown = await page.locator("#group .sample-name").allTextContents();
  assert.match(hash, /^#queue\?group=\d+$/);
  const { page: other } = await sit(hash.slice(1), BORIS);
  await until(() => other.locator("#group .sample-name").allTextContents(), (found) => found.join() === shown.join());
  await Promise.all([page.close(), other.close()]);
});

test("what is recognised is gone through and accepted, and undone", async () => {
  const left = await teach();
  const { classes } = await call("GET", "/v1/recognised");
  assert.ok(classes.some((one) => one.class === "lost_luggage" && one.samples >= 4), JSON.stringify(classes));
  const { page, errors } = await sit("recognised?class=lost_luggage");
  await page.getByRole("heading", { name: /recognised as lost_luggage/ }).waitFor();
  await page.locator("#view-recognised .sample").first().waitFor();
  await isClean(page);
  const many = (await call("GET", "/v1/recognised/samples?class=lost_luggage")).samples.length;
  const before = (await call("GET", "/v1/status")).labelled.lost_luggage;
  const isNamed = (more) => until(() => call("GET", "/v1/status"), (found) => found.labelled.lost_luggage === before + more);
  await page.keyboard.press("x");
  await page.getByRole("button", { name: `Accept ${many - 1}` }).waitFor();
  const out = await page.locator("#view-recognised .stray .sample-name").textContent();
  await page.keyboard.press("a");
  await said(page, `${many - 1} samples named lost_luggage.`);
  await isNamed(many - 1);
  const { samples } = await call("GET", "/v1/recognised/samples?class=lost_luggage");
  assert.equal(samples.length, 1);
  assert.equal((await call("GET", `/v1/samples/${samples[0]}`)).id, out, "what was ticked out waits on");
  await page.keyboard.press("u");
  await isNamed(0);
  assert.ok(left.length > 0);
  assert.deepEqual(errors.filter((words) => !words.includes("401")), []);
  await page.close();
});

test("a class is renamed, a row is moved and split off, classes are merged and removed", async () => {
  const { page, errors } = await sit("classes?class=transfer");
  const names = async () => (await call("GET", "/v1/classes")).classes.map(({ name }) => name);
  const body = page.locator("#view-classes .class-body");
  await body.locator(".sample").first().waitFor();
  assert.equal(await body.locator("h2").textContent(), "transfer");
  await isClean(page);
  await body.getByText("Rename", { exact: true }).first().click();
  await body.getByLabel("New name").fill("send_money");
  await page.keyboard.press("Enter");
  await said(page, "transfer is called send_money now");
  assert.ok((await names()).includes("send_money") && !(await names()).includes("transfer"));
  await body.locator("h2", { hasText: "send_money" }).waitFor();
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("x");
  await body.getByText("1 row chosen.").waitFor();
  await body.locator(".others [role=combobox]").fill("one_of_a_kind");
  await page.keyboard.press("Control+Enter");
  await said(page, "1 row of send_money moved to one_of_a_kind");
  assert.ok((await names()).includes("one_of_a_kind"));
  await page.locator("#view-classes .class-side button", { hasText: "one_of_a_kind" }).click();
  await body.locator("h2", { hasText: "one_of_a_kind" }).waitFor();
  await body.getByText("Merge into another class").click();
  await body.locator("details [role=combobox]").fill("send_money");
  await page.keyboard.press("Enter");
  await page.locator("#confirmation[open]").getByRole("button", { name: "Merge" }).click();
  await said(page, "one_of_a_kind is merged into send_money");
  assert.ok(!(await names()).includes("one_of_a_kind"));
  await body.locator("h2", { hasText: "send_money" }).waitFor();
  await body.getByRole("button", { name: "Remove the class" }).click();
  await isClean(page);
  await page.locator("#confirmation[open]").getByRole("button", { name: "Remove" }).click();
  await said(page, "send_money is removed");
  assert.ok(!(await names()).includes("send_money"));
  await page.locator("#notice").getByRole("button", { name: "Undo" }).click();
  await said(page, "The version before is live again.");
  assert.ok((await names()).includes("send_money"));
  assert.deepEqual(errors.filter((words) => !words.includes("401")), []);
  await page.close();
});

test("samples are searched for, answered together after a question, and the address says what was looked for", async () => {
  const { page, errors } = await sit("search");
  await page.getByLabel("Text has").fill("vaccin");
  await page.getByLabel("Answer", { exact: true }).selectOption("waiting");
  await page.keyboard.press("Tab");
  await page.getByRole("button", { name: "Search", exact: true }).click();
  const { matching } = await call("GET", "/v1/samples/numbers?text=vaccin&state=waiting");
  assert.ok(matching >= 3);
  await page.getByRole("heading", { name: `${matching} samples found` }).waitFor();
  assert.equal(await page.evaluate(() => location.hash), "#search?text=vaccin&state=waiting");
  await isClean(page);
  await page.locator("#view-search [role=combobox]").fill("vaccines");
  await page.keyboard.press("Control+Enter");
  const question = page.locator("#confirmation[open]");
  await question.getByRole("heading", { name: `Name ${matching} samples “vaccines”?` }).waitFor();
  await question.getByRole("button", { name: "Cancel" }).click();
  assert.equal((await call("GET", "/v1/status")).labelled.vaccines, undefined, "who says no has answered nothing");
  await page.locator("#view-search [role=combobox]").fill("vaccines");
  await page.keyboard.press("Control+Enter");
  await question.getByRole("button", { name: "Do it" }).click();
  await said(page, `Done: name ${matching} samples “vaccines”.`);
  await page.getByRole("heading", { name: "0 samples found" }).waitFor();
  assert.equal((await call("GET", "/v1/status")).labelled.vaccines, matching);
  const { page: other } = await sit("search?label=vaccines", BORIS);
  await other.getByRole("heading", { name: `${matching} samples found` }).waitFor();
  await page.locator("#notice").getByRole("button", { name: "Undo" }).click();
  await until(() => call("GET", "/v1/status"), (found) => found.labelled.vaccines === undefined);
  assert.deepEqual(errors.filter((words) => !words.includes("401")), []);
  await Promise.all([page.close(), other.close()]);
});

test("a second opinion is asked for, given blind, and a disagreement settled", async () => {
  const { samples } = await call("GET", "/v1/samples?state=waiting&count=2");
  const numbers = samples.map(({ number }) => number);
  await call("POST", "/v1/labels", { samples: numbers, label: "timezone" });
  await call("POST", "/v1/opinions/ask", { samples: numbers });
  const { page, errors } = await sit("opinions", BORIS);
  await page.getByRole("heading", { name: "2 second opinions asked of you" }).waitFor();
  assert.equal(await page.locator(".opinion-face .face.text").textContent(), samples[0].text);
  assert.equal(await page.locator(".opinion").getByText("timezone").count(), 0, "it is blind");
  await isClean(page);
  await page.keyboard.press("n");
  await page.keyboard.type("timezone");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "1 second opinion asked of you" }).waitFor();
  await page.keyboard.press("i");
  await page.getByRole("heading", { name: "1 disagreement" }).waitFor();
  await isClean(page);
  const { page: ada } = await sit("opinions");
  await ada.getByRole("heading", { name: "No second opinion is asked of you" }).waitFor();
  await ada.getByRole("cell", { name: "50 %" }).waitFor();
  await ada.getByRole("button", { name: "Settle on: Of no class" }).click();
  await ada.getByRole("heading", { name: "Nobody disagrees" }).waitFor();
  assert.equal((await call("GET", `/v1/samples/${numbers[1]}`)).state, "ignored");
  assert.deepEqual(errors.filter((words) => !words.includes("401")), []);
  await Promise.all([page.close(), ada.close()]);
});

test("people see who is at work, and on what", async () => {
  const { page } = await sit("queue", BORIS);
  await page.locator("#group .sample").first().waitFor();
  const at = async () => (await call("GET", "/v1/people")).people.find(({ name }) => name === "boris");
  const { group } = await until(at, (boris) => boris?.group);
  // The address follows once the server has said whose the group is.
  await page.waitForFunction((wanted) => location.hash === wanted, `#queue?group=${group}`);
  const { page: ada } = await sit("queue");
  await ada.locator("#people li", { hasText: "boris" }).waitFor({ timeout: 15_000 });
  await isClean(ada);
  const held = await call("GET", `/v1/groups/${group}`);
  assert.equal(held.held_by, "boris");
  await Promise.all([page.close(), ada.close()]);
});

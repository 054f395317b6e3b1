// How the pool stands: the server's status, asked for again and again while the page is seen.

import { get } from "./api.js";
import { complain, say } from "./notices.js";

const PAUSE = 2_000;
const PAUSE_WHILE_LEARNING = 300;

let status = null;
let timer = 0;
let asking = null;
let silent = false;
const listeners = [];

export function standing() {
  return status;
}

/** `listener(status, before)` is called with every answer. */
export function onStanding(listener) {
  listeners.push(listener);
}

/** Names of classes and of labels that are not learned yet: what can be named without founding a class. */
export function knownNames() {
  const names = new Map();
  for (const { name, vectors } of status?.classes ?? []) names.set(name, { name, vectors });
  for (const [name, samples] of Object.entries(status?.labelled ?? {})) {
    names.set(name, { vectors: 0, ...names.get(name), name, samples });
  }
  for (const name of fresh) if (!names.has(name)) names.set(name, { name, vectors: 0 });
  return [...names.values()];
}

const fresh = new Set();

/** A class that is being founded, which the status will have in a moment. */
export function expectName(name) {
  fresh.add(name);
}

/** It was not founded after all. */
export function forgetName(name) {
  fresh.delete(name);
}

/** Names that were given and are not learned yet, the most given first: no version can suggest them. */
export function unlearnedNames() {
  const learned = new Set((status?.classes ?? []).map(({ name }) => name));
  const given = new Map(Object.entries(status?.labelled ?? {}));
  for (const name of fresh) if (!given.has(name)) given.set(name, 0);
  return [...given].filter(([name]) => !learned.has(name)).sort((a, b) => b[1] - a[1]).map(([name]) => name);
}

export function can(role) {
  const roles = ["ask", "read", "label", "admin"];
  return roles.indexOf(status?.role ?? "admin") >= roles.indexOf(role);
}

/** Asks at once; two who ask at a time get one answer. */
export function refresh() {
  asking ??= askOnce().finally(() => {
    asking = null;
  });
  return asking;
}

async function askOnce() {
  clearTimeout(timer);
  try {
    const before = status;
    status = await get("/v1/status");
    if (silent) say("The server answers again.");
    silent = false;
    for (const listener of listeners) listener(status, before);
  } catch (error) {
    if (!silent) complain(error);
    silent = true;
  }
  const pause = status?.learning ? PAUSE_WHILE_LEARNING : PAUSE;
  timer = setTimeout(() => document.visibilityState === "visible" && refresh(), pause);
}

document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && refresh());

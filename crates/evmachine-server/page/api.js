// Calls of the server. Changes go out one after the other, in the order in which they were asked for.

const KEY = "evmachine-key";

/** What the server said was wrong (RFC 9457), or that it did not answer. */
class Problem extends Error {
  constructor(status, body) {
    super(body.detail ?? body.title ?? `The server answered ${status}.`);
    this.status = status;
    this.body = body;
  }
}

let askForKey = null;

/** `ask` gets the problem and resolves once the person has typed a key. */
export function onKeyNeeded(ask) {
  askForKey = ask;
}

export function setKey(key) {
  if (key) sessionStorage.setItem(KEY, key);
  else sessionStorage.removeItem(KEY);
}

function hasKey() {
  return sessionStorage.getItem(KEY) !== null;
}

function headers(more) {
  const key = sessionStorage.getItem(KEY);
  return key ? { ...more, Authorization: `Bearer ${key}` } : more;
}

async function problemOf(response) {
  const body = await response.json().catch(() => ({}));
  return new Problem(response.status, body);
}

async function send(method, path, body) {
  for (;;) {
    const options = { method, headers: headers({}) };
    if (body !== undefined) {
      options.headers["Content-Type"] = "application/json";
      options.body = JSON.stringify(body);
    }
    let response;
    try {
      response = await fetch(path, options);
    } catch {
      throw new Problem(0, { detail: "The server does not answer. It may be stopped, or the connection may be down." });
    }
    if (response.ok) return response;
    const problem = await problemOf(response);
    if (problem.status !== 401 || !askForKey) throw problem;
    await askForKey(problem);
  }
}

export async function get(path) {
  return (await send("GET", path)).json();
}

export async function getBytes(path) {
  return (await send("GET", path)).arrayBuffer();
}

/** A question that changes nothing. */
export async function ask(path, body) {
  return (await send("POST", path, body)).json();
}

/** Has the browser keep what is at an address as a file: a link cannot send a key. */
export async function download(path) {
  const response = await send("GET", path);
  const name = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") ?? "")?.[1] ?? "download";
  const source = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  Object.assign(link, { href: source, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(source), 60_000);
  return name;
}

let last = Promise.resolve();

/** A change. `body` may be a function, which is called when all changes before it are through. */
export function change(path, body = {}, method = "POST") {
  const mine = last.then(async () => {
    const response = await send(method, path, typeof body === "function" ? body() : body);
    const text = await response.text();
    return text ? JSON.parse(text) : {};
  });
  last = mine.catch(() => {});
  return mine;
}

/** Where an image can have its picture from: an image cannot send a key, so with one the picture is fetched here. */
export async function pictureSource(path) {
  if (!hasKey()) return path;
  return URL.createObjectURL(await (await send("GET", path)).blob());
}

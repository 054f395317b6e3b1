// A server with the demo in it, in a folder of its own, for as long as a test runs.

import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const READY_WITHIN = 120_000;

/** Starts the program that the variable EVMACHINE names, with keys if there are any, and a demo. `{ address, call, stop }`. */
export async function startServer(keys = "", demo = "letters") {
  const program = process.env.EVMACHINE;
  if (!program) throw new Error("the variable EVMACHINE must name the program; `cargo xtask browser` does all that is needed");
  const folder = await mkdtemp(join(tmpdir(), "evmachine-browser-"));
  const flags = ["serve", join(folder, "pool"), "--demo", demo, "--listen", "127.0.0.1:0"];
  const environment = { ...process.env, EVMACHINE_KEYS: keys };
  const server = spawn(program, flags, { stdio: ["ignore", "pipe", "pipe"], env: environment });
  const ended = new Promise((resolve) => server.once("exit", resolve));
  const address = await addressOf(server, ended);
  return {
    address,
    async call(method, path, body, key) {
      const headers = body === undefined ? {} : { "Content-Type": "application/json" };
      if (key) headers.Authorization = `Bearer ${key}`;
      const response = await fetch(`${address}${path}`, { method, headers, body: body && JSON.stringify(body) });
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
      return response.json();
    },
    async stop() {
      server.kill("SIGTERM");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The address that the program prints once it listens. */
function addressOf(server, ended) {
  return new Promise((resolve, reject) => {
    const said = [];
    const late = setTimeout(() => reject(new Error(`no address within ${READY_WITHIN} ms:\n${said.join("\n")}`)), READY_WITHIN);
    ended.then((code) => reject(new Error(`the server ended with ${code}:\n${said.join("\n")}`)));
    for (const stream of [server.stdout, server.stderr]) {
      createInterface({ input: stream }).on("line", (line) => {
        said.push(line);
        const found = line.match(/http:\/\/[\w.:[\]]+/);
        if (!found) return;
        clearTimeout(late);
        resolve(found[0].replace(/\/$/, ""));
      });
    }
  });
}

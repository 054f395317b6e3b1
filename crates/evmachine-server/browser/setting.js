// One server and one browser for all tests of a file.

import { after, before } from "node:test";

import { startBrowser } from "./browser.js";
import { startServer } from "./server.js";

/** `{ server, browser }`, there once tests run; `keys` and `demo` are those of the server. */
export function setting(keys, demo) {
  const here = {};
  before(async () => {
    here.server = await startServer(keys, demo);
    here.browser = await startBrowser();
  });
  after(async () => {
    await here.browser?.close();
    await here.server?.stop();
  });
  return here;
}

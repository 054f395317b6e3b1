// What the person did in this sitting, each with its way back. The page shows it at once; the server is told in order.

import { change } from "./api.js";
import { complain, say, unsay } from "./notices.js";
import { refresh } from "./pool.js";

const done = [];

/**
 * Does something: `apply` shows it, `revert` shows it undone, `path` and `body` tell the server. `after(answer)` is called with what the
 * server said, `failed(error)` returns whether it dealt with the error itself, `undone()` is called once the server has undone the event.
 */
export async function perform({ words, path, body, apply, revert, after, failed, undone }) {
  const entry = { words, apply, revert, undone };
  apply();
  done.push(entry);
  say(words, { words: "Undo", key: "u", act: undo });
  entry.told = change(path, body);
  try {
    const answer = await entry.told;
    entry.event = answer.event;
    refresh();
    if (!entry.isUndone) await Promise.resolve(after?.(answer)).catch(complain);
  } catch (error) {
    takeBack(entry);
    if (!failed?.(error)) complain(error);
    refresh();
  }
}

/** The server refused: as if it had not been asked. */
function takeBack(entry) {
  if (entry.isUndone) return;
  if (done.includes(entry)) done.splice(done.indexOf(entry), 1);
  unsay();
  entry.revert();
}

/** Takes back the last thing that was done here. */
export async function undo() {
  const entry = done.pop();
  if (!entry) {
    say("Nothing was done here yet that could be undone. The history has all events.");
    return;
  }
  entry.isUndone = true;
  entry.revert();
  say(`Undone: ${entry.words}`);
  const took = await entry.told.then(() => true, () => false);
  if (!took) return;
  try {
    await change("/v1/undo", () => ({ event: entry.event }));
    await Promise.resolve(entry.undone?.()).catch(complain);
  } catch (error) {
    entry.isUndone = false;
    unsay();
    entry.apply();
    complain(error);
  }
  refresh();
}

/** What was done before cannot be taken back one by one any more: a version was made or another one is live. */
export function forgetChanges() {
  done.length = 0;
}

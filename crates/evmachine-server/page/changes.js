// What the person did in this sitting, each with its way back. The page shows it at once; the server is told in order.

import { change } from "./api.js";
import { complain, say } from "./notices.js";
import { refresh } from "./pool.js";

const done = [];
let answered = 0;

/** Answers given in this sitting that were not taken back. */
export function answersGiven() {
  return answered;
}

/**
 * Does something: `apply` shows it, `revert` shows it undone, `path` and `body` tell the server. `after(answer)` is called with
 * what the server said, `failed(error)` returns whether it dealt with the error itself. `answers` is how many answers it is worth.
 * Undoing undoes the event, or is the call that `wayBack(answer)` gives; what `isFinal` has no way back.
 */
export async function perform({ words, path, body, apply, revert, after, failed, wayBack, answers = 1, isFinal = false }) {
  const entry = { words, apply, revert, answers };
  apply();
  answered += answers;
  if (isFinal) say(words);
  else {
    done.push(entry);
    say(words, { words: "Undo", key: "u", act: undo });
  }
  entry.told = change(path, body);
  try {
    const answer = await entry.told;
    if (wayBack) entry.wayBack = wayBack(answer);
    else if (answer.event !== undefined) entry.wayBack = { path: "/v1/undo", body: { event: answer.event } };
    refresh();
    if (!entry.undone) await Promise.resolve(after?.(answer)).catch(complain);
  } catch (error) {
    takeBack(entry);
    if (!failed?.(error)) complain(error);
    refresh();
  }
}

/** The server refused: as if it had not been asked. */
function takeBack(entry) {
  if (entry.undone) return;
  if (done.includes(entry)) done.splice(done.indexOf(entry), 1);
  answered -= entry.answers;
  entry.revert();
}

/** Takes back the last thing that was done here. */
export async function undo() {
  const entry = done.pop();
  if (!entry) {
    say("Nothing was done here yet that could be undone. The history has all events.");
    return;
  }
  entry.undone = true;
  answered -= entry.answers;
  entry.revert();
  say(`Undone: ${entry.words}`);
  const took = await entry.told.then(() => true, () => false);
  if (!took) return;
  try {
    if (entry.wayBack) await change(entry.wayBack.path, entry.wayBack.body);
  } catch (error) {
    answered += entry.answers;
    entry.undone = false;
    entry.apply();
    complain(error);
  }
  refresh();
}

/** What was done before cannot be taken back one by one any more: a version was made or another one is live. */
export function forgetChanges() {
  done.length = 0;
}

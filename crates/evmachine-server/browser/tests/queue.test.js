// The order of the queue, without a browser.

import assert from "node:assert/strict";
import { test } from "node:test";

import { beyond, meant, Queue, withdraw } from "../../page/queue.js";

const group = (number, size = 1) => ({ number, size, members: [{ sample: number * 10, distance: 0 }], samples: [number * 10] });
const numbers = (queue) => queue.groups.map((one) => one.number);

function filled(...all) {
  const queue = new Queue();
  queue.append(all.map((number) => group(number)));
  return queue;
}

test("what comes later goes to the end, and what is there stays where it is", () => {
  const queue = filled(4, 2, 9);
  queue.select(queue.find(2));
  assert.equal(queue.append([group(7), group(2), group(4), group(1)]), 2);
  assert.deepEqual(numbers(queue), [4, 2, 9, 7, 1]);
  assert.equal(queue.current.number, 2);
});

test("an answered group gives way to the next one, and comes back where it was", () => {
  const queue = filled(1, 2, 3);
  const second = queue.find(2);
  queue.select(second);
  const at = queue.remove(second);
  assert.equal(queue.current.number, 3);
  queue.remove(queue.find(1));
  queue.restore(second, at);
  assert.deepEqual(numbers(queue), [3, 2]);
  assert.equal(queue.current, second);
});

test("the last group gives way to the one before it, the only one to none", () => {
  const queue = filled(1, 2);
  queue.select(queue.find(2));
  queue.remove(queue.current);
  assert.equal(queue.current.number, 1);
  queue.remove(queue.current);
  assert.equal(queue.current, null);
});

test("a skipped group goes to the end", () => {
  const queue = filled(1, 2, 3);
  queue.skip(queue.current);
  assert.deepEqual(numbers(queue), [2, 3, 1]);
  assert.equal(queue.current.number, 2);
  const alone = filled(5);
  alone.skip(alone.current);
  assert.equal(alone.current.number, 5);
});

test("merging joins members, and can be taken back", () => {
  const queue = filled(1, 2, 3);
  queue.marked.add(queue.find(3));
  const before = queue.merge(queue.current);
  assert.deepEqual(numbers(queue), [1, 2]);
  assert.deepEqual(queue.current.members.map((member) => member.sample), [10, 30]);
  assert.equal(queue.current.size, 2);
  queue.unmerge(before);
  assert.deepEqual(numbers(queue), [1, 2, 3]);
  assert.equal(queue.current.size, 1);
});

test("what others did is taken over, but for the group that is being worked on", () => {
  const queue = filled(1, 2, 3);
  queue.select(queue.find(2));
  queue.current.strays.add(20);
  queue.find(3).strays.add(30).add(31);
  const fresh = { ...group(3, 2), samples: [30, 32], members: [] };
  const gone = queue.reconcile(new Set([1, 2, 3]), [{ ...group(2), samples: [20, 99], neighbors: ["x"] }, fresh]);
  assert.deepEqual(gone.map(({ number }) => number), [1]);
  assert.deepEqual(numbers(queue), [2, 3]);
  assert.deepEqual([queue.current.samples, [...queue.current.strays], queue.current.neighbors], [[20], [20], ["x"]]);
  assert.deepEqual([queue.find(3).samples, [...queue.find(3).strays]], [[30, 32], [30]]);
  // What was not asked for says nothing.
  queue.reconcile(new Set([3]), [fresh]);
  assert.deepEqual(numbers(queue), [2, 3]);
});

test("an answer means what was there, less the strays and what others answered", () => {
  const [one] = filled(1).groups;
  Object.assign(one, { samples: [1, 2, 3, 4], size: 4, members: [{ sample: 1 }, { sample: 2 }] });
  one.strays.add(2);
  assert.deepEqual(meant(one), [1, 3, 4]);
  assert.equal(withdraw(one, [2, 3]), true);
  assert.deepEqual([meant(one), one.members, one.size, one.strays.size], [[1, 4], [{ sample: 1 }], 2, 0]);
  assert.equal(withdraw(one, [1, 4]), false);
});

test("beyond the radius is what is farther, not what is as far", () => {
  const members = [0, 1, 2].map((distance) => ({ sample: distance, distance }));
  assert.deepEqual(beyond({ members, cut: null }), []);
  assert.deepEqual(beyond({ members, cut: 1 }), [members[2]]);
});

test("what was split off comes after its group, or after what is looked at", () => {
  const queue = filled(1, 2, 3);
  queue.insertAfter(queue.find(1), [group(7)]);
  assert.deepEqual(numbers(queue), [1, 7, 2, 3]);
  const first = queue.find(1);
  queue.remove(first);
  queue.insertAfter(first, [group(8), group(2)]);
  assert.deepEqual([numbers(queue), queue.current.number], [[7, 8, 2, 3], 7]);
});

test("what was split off is fetched from the end of the queue, where it may have come already", () => {
  const queue = filled(1, 2, 3);
  queue.append([group(7), group(8)]);
  queue.insertAfter(queue.find(1), [group(7), group(8)]);
  assert.deepEqual([numbers(queue), queue.current.number], [[1, 7, 8, 2, 3], 1]);
});

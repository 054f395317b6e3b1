// What a typed name may mean.

import assert from "node:assert/strict";
import { test } from "node:test";

import { completions, exact } from "../../page/completion.js";

const names = ["cat", "Cat fish", "dog", "bobcat"].map((name) => ({ name }));
const shown = (typed) => completions(typed, names).map(({ name, isNew }) => (isNew ? `new ${name}` : name));

test("a prefix offers what it may mean, and the new class last", () => {
  assert.deepEqual(shown("ca"), ["cat", "Cat fish", "bobcat", "new ca"]);
});

test("Enter takes a class of exactly that name, never a prefix", () => {
  assert.equal(exact(completions("cat", names)).name, "cat");
  for (const typed of ["ca", "CAT", "cats", "  "]) assert.equal(exact(completions(typed, names)), null, typed);
});

test("there is no new class beside one of that very name, but beside one of other case", () => {
  assert.deepEqual(shown("dog"), ["dog"]);
  assert.deepEqual(shown("Dog"), ["dog", "new Dog"]);
});

test("spaces around a name are not part of it", () => {
  assert.deepEqual(shown("  emu "), ["new emu"]);
  assert.deepEqual(shown("   "), []);
});

test("many classes are cut, the new class is still there", () => {
  const many = Array.from({ length: 50 }, (_, at) => ({ name: `class ${at}` }));
  const options = completions("class", many);
  assert.equal(options.length, 9);
  assert.ok(options.at(-1).isNew);
});

test("a slip of the hand offers what was meant before it founds a class", () => {
  const plants = ["leaf", "tree", "wave"].map((name) => ({ name }));
  const offered = (typed) => completions(typed, plants).map(({ name, isNew }) => (isNew ? `new ${name}` : name));
  assert.deepEqual(offered("leef"), ["leaf", "new leef"]);
  assert.deepEqual(offered("Laef"), ["leaf", "new Laef"]);
  assert.deepEqual(offered("moss"), ["new moss"]);
  assert.deepEqual(offered("ab"), ["new ab"], "two letters of two are no slip");
});

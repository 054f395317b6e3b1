// The groups that wait, in the order in which the person has them. What comes later goes to the end: nothing moves under the hand.

export class Queue {
  groups = [];
  labelsLeft = 0;
  marked = new Set();
  #current = null;

  get current() {
    return this.#current;
  }

  position() {
    return this.groups.indexOf(this.#current);
  }

  select(group) {
    if (this.groups.includes(group)) this.#current = group;
  }

  /** Selects the group so many places further on; stays at the ends. */
  step(by) {
    const at = Math.min(Math.max(this.position() + by, 0), this.groups.length - 1);
    if (at >= 0) this.#current = this.groups[at];
  }

  find(number) {
    return this.groups.find((group) => group.number === number) ?? null;
  }

  /** Takes in what the server has: groups that are here stay as they are and where they are. Returns how many came. */
  append(groups) {
    const present = new Set(this.groups.map((group) => group.number));
    const fresh = groups.filter((group) => !present.has(group.number));
    this.groups.push(...fresh.map(prepared));
    this.#current ??= this.groups[0] ?? null;
    return fresh.length;
  }

  /** Begins anew, after an update has grouped anew; what was being looked at stays selected if it is still there. */
  replace(groups) {
    const number = this.#current?.number;
    this.groups = [];
    this.marked.clear();
    this.#current = null;
    this.append(groups);
    this.#current = this.find(number) ?? this.groups[0] ?? null;
  }

  /** Takes a group out; the next one is selected. Returns the place, for `restore`. */
  remove(group) {
    const at = this.groups.indexOf(group);
    if (at < 0) return at;
    this.groups.splice(at, 1);
    this.marked.delete(group);
    if (this.#current === group) this.#current = this.groups[Math.min(at, this.groups.length - 1)] ?? null;
    return at;
  }

  /** Puts a group back where it was, and selects it. */
  restore(group, at) {
    if (!this.groups.includes(group)) {
      this.groups = this.groups.filter((other) => other.number !== group.number);
      this.groups.splice(Math.min(Math.max(at, 0), this.groups.length), 0, group);
    }
    this.#current = group;
  }

  /** Moves a group to the end; the next one is selected. */
  skip(group) {
    const at = this.remove(group);
    if (at < 0) return at;
    this.groups.push(group);
    this.#current ??= group;
    return at;
  }

  /** Puts groups after the one that they came of; where that was answered meanwhile, after the one that is looked at. */
  insertAfter(group, groups) {
    const numbers = new Set(this.groups.map((other) => other.number));
    const fresh = groups.filter((other) => !numbers.has(other.number)).map(prepared);
    const at = this.groups.includes(group) ? this.groups.indexOf(group) : this.position();
    this.groups.splice(at + 1, 0, ...fresh);
    this.#current ??= this.groups[0] ?? null;
  }

  /** Members of the marked groups join `group`. Returns what `unmerge` needs. */
  merge(group) {
    const others = [...this.marked].filter((other) => other !== group);
    const before = { group, groups: [...this.groups], members: group.members, size: group.size, radius: group.radius };
    for (const other of others) {
      group.members = [...group.members, ...other.members];
      group.size += other.size;
      this.groups.splice(this.groups.indexOf(other), 1);
    }
    this.marked.clear();
    this.#current = group;
    return before;
  }

  unmerge({ group, groups, members, size, radius }) {
    Object.assign(group, { members, size, radius });
    this.groups = groups;
    this.#current = group;
  }
}

/** A group with what the person has done to it: strays ticked out, radius moved. */
function prepared(group) {
  return { ...group, strays: new Set(), cut: null };
}

/** Members beyond the radius that the slider shows. */
export function beyond(group) {
  if (group.cut === null) return [];
  return group.members.filter((member) => member.distance > group.cut);
}

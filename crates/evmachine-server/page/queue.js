// The groups that wait, in the order in which the person has them. What comes later goes to the end: nothing moves under the hand.

export class Queue {
  groups = [];
  groupsLeft = 0;
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

  /**
   * Brings groups up to what the server has of those that were `asked` for: what it does not have any more leaves, what it has otherwise
   * is taken over. The group that is being worked on keeps its samples, its ticks and its place; only what is near it is told anew.
   * Returns the groups that left.
   */
  reconcile(asked, found) {
    const there = new Map(found.map((group) => [group.number, group]));
    const gone = this.groups.filter((group) => asked.has(group.number) && !there.has(group.number));
    for (const group of gone) this.remove(group);
    for (const group of this.groups) {
      const fresh = there.get(group.number);
      if (!fresh) continue;
      if (group === this.#current) Object.assign(group, { neighbors: fresh.neighbors, held_by: fresh.held_by });
      else {
        const strays = new Set(fresh.samples.filter((sample) => group.strays.has(sample)));
        Object.assign(group, fresh, { strays });
      }
    }
    return gone;
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

  /**
   * Puts groups after the one that they came of; where that was answered meanwhile, after the one that is looked at. One of them that has
   * come to the end of the queue already is fetched from there, unless it is being looked at.
   */
  insertAfter(group, groups) {
    const fresh = groups.filter((other) => other.number !== this.#current?.number).map((other) => this.find(other.number) ?? prepared(other));
    this.groups = this.groups.filter((other) => !fresh.includes(other));
    const at = this.groups.includes(group) ? this.groups.indexOf(group) : this.position();
    this.groups.splice(at + 1, 0, ...fresh);
    this.#current ??= this.groups[0] ?? null;
  }

  /** Members of the marked groups join `group`. Returns what `unmerge` needs. */
  merge(group) {
    const others = [...this.marked].filter((other) => other !== group);
    const { members, samples, size, radius } = group;
    const before = { group, groups: [...this.groups], members, samples, size, radius };
    for (const other of others) {
      group.members = [...group.members, ...other.members];
      group.samples = [...group.samples, ...other.samples];
      group.size += other.size;
      this.groups.splice(this.groups.indexOf(other), 1);
    }
    this.marked.clear();
    this.#current = group;
    return before;
  }

  unmerge({ group, groups, members, samples, size, radius }) {
    Object.assign(group, { members, samples, size, radius });
    this.groups = groups;
    this.#current = group;
  }
}

/** A group with what the person has done to it: strays ticked out, radius moved. */
function prepared(group) {
  return { ...group, strays: new Set(), cut: null };
}

/** The samples that an answer to a group is for: those that were shown or counted, less the strays. */
export function meant(group) {
  return group.samples.filter((sample) => !group.strays.has(sample));
}

/** Takes samples out of a group that others have answered; whether any are left. */
export function withdraw(group, samples) {
  const gone = new Set(samples);
  group.samples = group.samples.filter((sample) => !gone.has(sample));
  group.members = group.members.filter(({ sample }) => !gone.has(sample));
  for (const sample of gone) group.strays.delete(sample);
  group.size = group.samples.length;
  return group.size > 0;
}

/** Members beyond the radius that the slider shows. */
export function beyond(group) {
  if (group.cut === null) return [];
  return group.members.filter((member) => member.distance > group.cut);
}

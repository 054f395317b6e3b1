// Which classes a typed name may mean. A class is founded only where a person chooses `isNew`, never because a name begins like one.

const MOST = 8;

/** Letters that have to be changed, added or left out to make one name of the other. */
export function slips(one, other) {
  let above = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let row = 1; row <= one.length; row += 1) {
    const line = [row];
    for (let at = 1; at <= other.length; at += 1) {
      line.push(Math.min(above[at] + 1, line[at - 1] + 1, above[at - 1] + (one[row - 1] === other[at - 1] ? 0 : 1)));
    }
    above = line;
  }
  return above[other.length];
}

/**
 * `names` are `{ name, ... }`. What is typed exactly comes first, then what differs in case, what begins with it, what contains it, and what
 * a slip or two of the hand makes of it; at the end the new class, unless there is one of that very name.
 */
export function completions(typed, names) {
  const text = typed.trim();
  if (!text) return [];
  const lower = text.toLocaleLowerCase();
  const rank = ({ name }) => {
    if (name === text) return 0;
    const other = name.toLocaleLowerCase();
    if (other === lower) return 1;
    if (other.startsWith(lower)) return 2;
    if (other.includes(lower)) return 3;
    const way = Math.abs(other.length - lower.length) > 2 ? Infinity : slips(lower, other);
    return way <= 2 && way < lower.length ? 3 + way : Infinity;
  };
  const found = names
    .map((known) => ({ ...known, rank: rank(known), isNew: false }))
    .filter((known) => known.rank < Infinity)
    .sort((a, b) => a.rank - b.rank || a.name.localeCompare(b.name))
    .slice(0, MOST);
  if (found[0]?.rank === 0) return found;
  return [...found, { name: text, isNew: true, rank: Infinity }];
}

/** What Enter takes when nothing is highlighted: the class of exactly that name, or nothing. */
export function exact(options) {
  return options[0]?.rank === 0 ? options[0] : null;
}

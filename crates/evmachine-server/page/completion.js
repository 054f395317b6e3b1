// Which classes a typed name may mean. A class is founded only where a person chooses `isNew`, never because a name begins like one.

const MOST = 8;

/**
 * `names` are `{ name, ... }`. What is typed exactly comes first, then what differs in case, what begins with it, what contains it; at
 * the end the new class, unless there is one of that very name.
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
    return other.includes(lower) ? 3 : Infinity;
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

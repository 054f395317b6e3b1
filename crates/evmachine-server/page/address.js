// Addresses of views: `#search?text=card&known=false`. What is shown can be sent to somebody as it is.

/** The name of the view and what it is asked to show. */
export function address() {
  const [name, query = ""] = location.hash.slice(1).split("?");
  return { name, asked: new URLSearchParams(query) };
}

/** The address of a view; what is empty is left out. */
export function addressOf(name, asked = {}) {
  const query = new URLSearchParams(Object.entries(asked).filter(([, value]) => value !== "" && value !== null && value !== undefined));
  return query.size ? `#${name}?${query}` : `#${name}`;
}

/** Says where one is, without a way back to where one was. */
export function settle(name, asked) {
  const place = addressOf(name, asked);
  if (address().name === name && location.hash !== place) history.replaceState(null, "", place);
}

// Who sits here, for a server that asks for no key: groups that this page has are kept from others for a while.

const NAME = "evmachine-sitting";

/** The same for as long as the tab is open. */
export function sitting() {
  let name = sessionStorage.getItem(NAME);
  if (!name) {
    name = `tab ${Math.random().toString(36).slice(2, 10)}`;
    sessionStorage.setItem(NAME, name);
  }
  return name;
}

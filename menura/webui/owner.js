// Whose browser this is now: what one person wrote and made is not shown to the next who signs in.

let owner = "";

/** Nothing; from now on the page is used with the key of this label, "" where there are none. */
export function setOwner(label) {
  owner = label;
}

/** The label of the key that the page is used with. */
export const ownerNow = () => owner;

/** The name under which the browser keeps something of this person's. */
export const mine = (name) => (owner ? `${name}@${owner}` : name);

// What the browser remembers for the page. One that keeps nothing (its person forbade it) is no
// error: then the page remembers until it is closed.

const here = new Map();

/** What was remembered under a name, or null. */
export function recall(name) {
  try {
    return here.get(name) ?? localStorage.getItem(name);
  } catch {
    return here.get(name) ?? null;
  }
}

/** Nothing; the text is remembered under the name, or nothing more for null. */
export function remember(name, text) {
  here.delete(name);
  try {
    if (text === null) localStorage.removeItem(name);
    else localStorage.setItem(name, text);
  } catch {
    if (text !== null) here.set(name, text); // forbidden, or full
  }
}

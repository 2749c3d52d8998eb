// A text file that is dropped on the text box is read into it. It stays in the browser until it is
// spoken.

const LARGEST = 2e6; // bytes; what is larger is hardly a text to be read aloud

/** Nothing; `read(text)` is called when a text came, `refuse(name)` where a file is no text. */
export function takeDrops(area, { read, refuse }) {
  area.addEventListener("dragover", (event) => {
    if (event.dataTransfer.types.includes("Files")) event.preventDefault();
  });
  area.addEventListener("drop", async (event) => {
    const file = event.dataTransfer.files[0];
    if (!file) return; // dragged words: the browser puts them in
    event.preventDefault();
    const text = file.size <= LARGEST ? await textOf(file) : null;
    if (text === null) return refuse(file.name);
    read(text);
  });
}

/** The text of a file, or null where it is none. */
async function textOf(file) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    return null;
  }
}

// The takes of this browser, in IndexedDB: nothing of them is on the server. The oldest leave when
// there are too many. A browser that keeps nothing (a private window) is no error: the list is
// empty then.

import { recall, remember } from "./memory.js";
import { ownerNow } from "./owner.js";
import { floatsOfShorts, shortsOf } from "./take.js";

export const MAX_TAKES = 100;
export const MAX_BYTES = 500e6;
const NAME = "menura";
const OFF = "menura.history.off";
let opened = null;
let isBroken = false;

/** Whether this browser refused to keep a take: it forbids that, or it is full. */
export const hasFailed = () => isBroken;

/** Whether new takes are kept. */
export const isOn = () => recall(OFF) === null;

/** Nothing; new takes are kept or not. What is there stays. */
export function setOn(on) {
  if (on) remember(OFF, null);
  else remember(OFF, "1");
}

/** Nothing; the take is kept, if takes are, and the oldest leave. A changed one replaces itself. */
export async function keep(take) {
  if (!isOn()) return;
  const { samples, ...facts } = take;
  const entry = { ...facts, owner: ownerNow(), n_samples: samples.length, n_bytes: samples.length * 2 };
  await attempt(async () => {
    await change((facts, audio) => {
      facts.put(entry);
      audio.put(shortsOf(samples).buffer, take.id);
    });
    await prune();
  });
  tell();
}

/** This person's takes without their sound, the newest first. */
export const list = async () => (await everyone()).filter((take) => (take.owner ?? "") === ownerNow());

// The takes of everyone who uses this browser.
async function everyone() {
  const all = (await attempt(() => read("facts", (store) => store.getAll()))) ?? [];
  return all.sort((a, b) => (a.made_on < b.made_on ? 1 : -1));
}

/** A kept take with its sound, or null. */
export async function load(id) {
  return (
    (await attempt(async () => {
      const facts = await read("facts", (store) => store.get(id));
      const bytes = await read("audio", (store) => store.get(id));
      return facts && bytes ? { ...facts, samples: floatsOfShorts(new Int16Array(bytes)) } : null;
    })) ?? null
  );
}

/** Nothing; these takes are gone. */
export async function forget(ids) {
  await attempt(() =>
    change((facts, audio) => {
      for (const id of ids) {
        facts.delete(id);
        audio.delete(id);
      }
    }),
  );
  tell();
}

/** Nothing; all takes of this person are gone. */
export const forgetAll = async () => forget((await list()).map(({ id }) => id));

/** The number of takes that went with a voice which was deleted. */
export async function forgetVoice(voiceId, label) {
  const ids = (await everyone())
    .filter((take) =>
      take.voice_id
        ? take.voice_id === voiceId
        : take.voice === label || take.asked.voice === label,
    )
    .map(({ id }) => id);
  if (ids.length) await forget(ids);
  return ids.length;
}

async function prune() {
  let room = MAX_BYTES;
  const leaving = (await everyone()).filter((take, index) => {
    room -= take.n_bytes;
    return index >= MAX_TAKES || (room < 0 && index > 0);
  });
  if (leaving.length) await forget(leaving.map(({ id }) => id));
}

const tabs = new BroadcastChannel("menura.takes"); // the page in other tabs
const tellHere = () => window.dispatchEvent(new CustomEvent("menura:takes"));
tabs.addEventListener("message", tellHere);

function tell() {
  tellHere();
  tabs.postMessage("changed");
}

/** What the deed gives, or undefined where this browser does not keep things. */
async function attempt(deed) {
  try {
    return await deed();
  } catch (error) {
    console.warn("The history of takes is not there:", error);
    if (!isBroken) {
      isBroken = true;
      tell();
    }
    return undefined;
  }
}

function database() {
  opened ??= new Promise((resolve, reject) => {
    const asking = indexedDB.open(NAME, 1);
    asking.onupgradeneeded = () => {
      asking.result.createObjectStore("facts", { keyPath: "id" });
      asking.result.createObjectStore("audio");
    };
    asking.onsuccess = () => resolve(asking.result);
    asking.onerror = () => reject(asking.error);
  });
  return opened;
}

async function change(deed) {
  const transaction = (await database()).transaction(["facts", "audio"], "readwrite");
  deed(transaction.objectStore("facts"), transaction.objectStore("audio"));
  await new Promise((resolve, reject) => {
    transaction.oncomplete = resolve;
    transaction.onabort = transaction.onerror = () => reject(transaction.error);
  });
}

async function read(name, deed) {
  const asking = deed((await database()).transaction(name).objectStore(name));
  return new Promise((resolve, reject) => {
    asking.onsuccess = () => resolve(asking.result);
    asking.onerror = () => reject(asking.error);
  });
}

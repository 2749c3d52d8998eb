// Makes elements. Text only ever becomes a text node: whatever a server, a file or a person wrote
// is shown and never read as HTML. Styles come from classes, for the page's policy has no inline
// style.

const SVG = "http://www.w3.org/2000/svg";

/**
 * A new element.
 *
 *     el("button", { class: "quiet", type: "button", on: { click: stop } }, icon("stop"), "Stop")
 *
 * `class`: a string; `on`: listeners by event name; `data`: data attributes. Properties of the
 * element (value, hidden, disabled, checked ...) are set as properties, the rest as attributes;
 * `false`, `null` and `undefined` leave an attribute out, `true` sets it empty.
 */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) set(node, name, value);
  return add(node, ...children);
}

/** The node, with children put at its end: nodes, texts, lists of them; nothing for null or false. */
export function add(node, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

/** The node, with these children in place of the ones it had. */
export function fill(node, ...children) {
  node.replaceChildren();
  return add(node, ...children);
}

const AS_PROPERTIES = new Set([
  "value",
  "hidden",
  "disabled",
  "checked",
  "open",
  "selected",
  "indeterminate",
  "htmlFor",
  "textContent",
  "readOnly",
  "required",
  "multiple",
]);

function set(node, name, value) {
  if (name === "on") {
    for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
  } else if (name === "data") {
    Object.assign(node.dataset, value);
  } else if (AS_PROPERTIES.has(name)) {
    node[name] = value;
  } else if (value === true) {
    node.setAttribute(name, "");
  } else if (value !== false && value !== null && value !== undefined) {
    node.setAttribute(name, value);
  }
}

// Outlines on a field of 24, drawn by strokes: one weight everywhere.
const ICONS = {
  speak: ["M4 10v4", "M8 6.5v11", "M12 3.5v17", "M16 7.5v9", "M20 10v4"],
  voices: ["M12 12.5a4 4 0 1 0 0-8 4 4 0 0 0 0 8z", "M4.5 20c1-3.6 4-5.2 7.5-5.2s6.5 1.6 7.5 5.2"],
  models: [
    "M12 3.500l8 4.300v8.400l-8 4.3-8-4.300V7.800z",
    "M4.3 8l7.7 4.200L19.7 8",
    "M12 12.200v8",
  ],
  history: ["M4 12a8 8 0 1 0 2.6-5.900L4 8.5", "M4 4v4.500h4.5", "M12 7.800V12l3 1.9"],
  status: ["M3.5 12.500h4L10 5l4 14 2.5-6.500h4"],
  play: ["M7.5 4.800v14.400L19 12z"],
  pause: ["M8.5 5v14", "M15.5 5v14"],
  stop: ["M6.5 6.500h11v11h-11z"],
  download: ["M12 4v11", "M7.5 11l4.5 4.5 4.5-4.5", "M5 19.500h14"],
  upload: ["M12 15.500V4.5", "M7.5 9L12 4.5 16.5 9", "M5 19.500h14"],
  code: ["M8.5 7.500L4 12l4.5 4.5", "M15.5 7.500L20 12l-4.5 4.5"],
  redo: ["M19.5 12a7.5 7.5 0 1 1-2.3-5.400l2.3 2.2", "M19.5 4.300v4.500H15"],
  undo: ["M9 5.500L4.5 10 9 14.5", "M5 10h9a5 5 0 0 1 0 10h-3"],
  close: ["M6 6l12 12", "M18 6L6 18"],
  check: ["M5 12.500l4.5 4.500L19 7.5"],
  trash: ["M5 7h14", "M9.5 7V4.500h5V7", "M7 7l.8 12.500h8.400L17 7"],
  edit: ["M5 19l.8-3.800L16.5 4.500l3 3L8.8 18.200z"],
  plus: ["M12 5v14", "M5 12h14"],
  search: ["M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13z", "M15.5 15.500L20 20"],
  microphone: [
    "M12 14.500a3 3 0 0 0 3-3v-5a3 3 0 0 0-6 0v5a3 3 0 0 0 3 3z",
    "M6 11.500a6 6 0 0 0 12 0",
    "M12 17.500V21",
  ],
  chevron: ["M7 10l5 5 5-5"],
  warning: ["M12 4.500l8.5 15h-17z", "M12 10.500v4", "M12 16.800v.2"],
  info: ["M12 20.500a8.5 8.5 0 1 0 0-17 8.5 8.5 0 0 0 0 17z", "M12 11v5", "M12 8v.2"],
  sun: [
    "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8z",
    "M12 2.500v2M12 19.500v2M2.5 12h2M19.5 12h2M5.3 5.300l1.4 1.400M17.3 17.300l1.4 1.400M5.3 18.700l1.4-1.400M17.3 6.700l1.4-1.4",
  ],
  moon: ["M19.5 14.300A8 8 0 0 1 9.7 4.500a8 8 0 1 0 9.8 9.800z"],
  contrast: ["M12 20.500a8.5 8.5 0 1 0 0-17 8.5 8.5 0 0 0 0 17z", "M12 3.500v17"],
  leave: ["M14 7.500V5H5.500v14H14v-2.5", "M10.5 12H20", "M17 9l3 3-3 3"],
  more: ["M6 12h.01M12 12h.01M18 12h.01"],
};

/** An icon of the page's own set; it is decoration, so the button around it needs a name. */
export function icon(name, size = 20) {
  const svg = document.createElementNS(SVG, "svg");
  const facts = {
    viewBox: "0 0 24 24",
    width: size,
    height: size,
    "aria-hidden": "true",
    class: `icon icon-${name}`,
  };
  for (const [key, value] of Object.entries(facts)) svg.setAttribute(key, value);
  for (const line of ICONS[name] ?? ICONS.info) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", line);
    svg.append(path);
  }
  return svg;
}

let idsGiven = 0;

/** An id that nothing on the page has yet, for labels and descriptions. */
export function freshId(stem = "id") {
  idsGiven += 1;
  return `${stem}-${idsGiven}`;
}

/** A label and its control, one under the other, and a line of help where there is one. */
export function field(label, control, help = "") {
  control.id ||= freshId("field");
  const helpId = `${control.id}-help`;
  if (help) control.setAttribute("aria-describedby", helpId);
  return el(
    "div",
    { class: "field" },
    el("label", { for: control.id }, label),
    control,
    help && el("p", { class: "help", id: helpId }, help),
  );
}

/** A button: `kind` is "primary", "plain", "quiet" or "danger"; without a text it needs a label. */
export function button(
  text,
  onClick,
  { kind = "plain", icon: name = "", label = "", ...props } = {},
) {
  const shape = text ? "" : " icon-only";
  return el(
    "button",
    {
      type: "button",
      class: `button ${kind}${shape}`,
      "aria-label": label || null,
      title: text ? null : label,
      on: { click: onClick },
      ...props,
    },
    name && icon(name),
    text && el("span", {}, text),
  );
}

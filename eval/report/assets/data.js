"use strict";
/* What the page holds: blocks of packed JSON, unpacked where they are asked for; and small helpers to build elements. */

const byId = (id) => document.getElementById(id);

/* An element; what comes from a run is only ever text, never markup. */
function make(tag, about, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(about || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") node.className = value;
    else if (name === "on") for (const [event, run] of Object.entries(value)) node.addEventListener(event, run);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(4)) {
    if (child !== null && child !== undefined && child !== "") node.append(child);
  }
  return node;
}

const SVG = "http://www.w3.org/2000/svg";
function draw(tag, about, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(about)) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
}

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

const unpacked = new Map();
function block(id) {
  if (!unpacked.has(id)) unpacked.set(id, unpack(byId(id).textContent));
  return unpacked.get(id);
}

/* A value of the pool, by its number. */
async function pooled(number) {
  const starts = index.pool;
  let at = starts.length - 1;
  while (at > 0 && starts[at] > number) at -= 1;
  return (await block(`p${at}`))[number - starts[at]];
}

let index = null; /* what is known of every sample: a column for each thing, a place in it for each sample */

const columnOf = (name) => index.dimensions.find((one) => one.name === name);
function valueOf(name, sample) {
  const column = columnOf(name);
  return column === undefined || column.codes[sample] < 0 ? null : column.values[column.codes[sample]];
}

const MARKS = [["wrong", "✗"], ["right", "✓"], ["open", "·"]];
function markOf(sample) {
  const [word, sign] = MARKS[index.mark[sample]];
  return make("span", { class: `sign ${word}`, role: "img", "aria-label": word === "open" ? "no reference" : word, title: word === "open" ? "no reference" : word }, sign);
}

/* Places in the index from ranges: "0-39,80". */
function fromRanges(text) {
  const found = [];
  for (const part of text.split(",")) {
    const [first, last] = part.split("-").map(Number);
    for (let at = first; at <= (last === undefined ? first : last); at += 1) found.push(at);
  }
  return found;
}

function clock(seconds) {
  const tenths = Math.round(seconds * 10);
  const hours = Math.floor(tenths / 36000);
  const minutes = Math.floor((tenths % 36000) / 600);
  const rest = ((tenths % 600) / 10).toFixed(1).padStart(4, "0");
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}

const amount = (number) => Number(number).toLocaleString("en-US");
const plural = (number, noun) => `${amount(number)} ${noun}${number === 1 ? "" : "s"}`;

"use strict";
/* The page of a world: a moment (picture or video with boxes), lists, and one timeline. Texts of the video are only ever text. */

const WORDS = {
  en: {
    search: "Search speech, sounds, texts, captions, things", theme: "Light / dark", other: "中文", boxes: "boxes", play: "Play", pause: "Pause",
    episode: "Calls", scenes: "Scenes", things: "Who and what", speech: "Speech", texts: "Texts", sounds: "Sounds", found: "Found", nothing: "Nothing here.",
    unfound: "No text of this page has these words. That is no proof that it is not in the video.",
    more: (n) => `${n} more; search for words to see fewer`, times: (n) => `${n} appearance${n === 1 ? "" : "s"}`,
    key: (t) => `key frame at ${t}`, put: (file) => `put ${file} beside this page to play it`,
    unplayable: (file) => `${file} is beside this page, but this browser cannot play it`, none: "no picture",
    scores: "Scores and confidences are numbers from 0 to 1 by which the program ranks what it found; they are not the probability that it is right.",
    lanes: { calls: "Evidence", scenes: "Scenes", people: "People", objects: "Things", done: "Actions", captions: "Captions", speech: "Speech", texts: "Texts", sounds: "Sounds", memories: "Memories" },
    help: "Click: go there · drag: move · wheel or + −: zoom · ← →: 1 s, with Shift 10 s · 0: all · /: search",
    hole: "could not be decoded", counts: { scenes: ["scene", "scenes"], shots: ["shot", "shots"], things: ["person or thing", "people and things"], speech: ["spoken line", "spoken lines"], texts: ["text on screen", "texts on screen"], sounds: ["sound", "sounds"] },
  },
  zh: {
    search: "搜索语音、声音、文字、描述、人和物", theme: "浅色 / 深色", other: "English", boxes: "方框", play: "播放", pause: "暂停",
    episode: "调用", scenes: "场景", things: "人和物", speech: "语音", texts: "画面文字", sounds: "声音", found: "结果", nothing: "这里没有内容。",
    unfound: "本页没有任何文字含有这些词。这并不证明视频中没有。",
    more: (n) => `还有 ${n} 项；请搜索以缩小范围`, times: (n) => `出现 ${n} 次`,
    key: (t) => `${t} 的关键帧`, put: (file) => `把 ${file} 放在本页旁边即可播放`,
    unplayable: (file) => `${file} 就在本页旁边，但此浏览器无法播放`, none: "没有画面",
    scores: "score 和 confidence 是 0 到 1 的数值，程序用它们给结果排序；它们不是结果正确的概率。",
    lanes: { calls: "证据", scenes: "场景", people: "人物", objects: "物体", done: "动作", captions: "描述", speech: "语音", texts: "画面文字", sounds: "声音", memories: "记忆" },
    help: "单击：跳转 · 拖动：移动 · 滚轮或 + −：缩放 · ← →：1 秒，按住 Shift 为 10 秒 · 0：全部 · /：搜索",
    hole: "无法解码", counts: { scenes: ["个场景"], shots: ["个镜头"], things: ["个人和物"], speech: ["句话"], texts: ["处画面文字"], sounds: ["处声音"] },
  },
};
const MOST_LISTED = 300; /* entries of a list */
const ROW = 15, GAP = 4, LABEL = 74, RULER = 20; /* pixels of the timeline */
const MOST_ROWS = { calls: 3, people: 4, objects: 3, texts: 2, done: 2, captions: 2, speech: 2, sounds: 3 };

const byId = (id) => document.getElementById(id);
function make(tag, about, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(about || {})) {
    if (name === "class") node.className = value;
    else if (name === "run") node.addEventListener("click", value);
    else node.setAttribute(name, value);
  }
  node.append(...children.flat());
  return node;
}
function clock(seconds) {
  const tenths = Math.round(seconds * 10), hours = Math.floor(tenths / 36000), minutes = Math.floor((tenths % 36000) / 600);
  const rest = ((tenths % 600) / 10).toFixed(1).padStart(4, "0");
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}
async function unpack(id) {
  const bytes = Uint8Array.from(atob(byId(id).textContent), (letter) => letter.charCodeAt(0));
  return JSON.parse(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text());
}

let whyNot = ""; /* why the video is not played, in WORDS; empty until that is known */
let world, words, lanes, now = 0, pictured = 0, from = 0, until = 1, chosen = null, tab = "things", canPlay = false, query = "";
const picturesOf = new Map();

/* The position of the last of sorted numbers that is at most a value; -1 if there is none. */
function lastAtMost(count, value, of) {
  let low = 0, high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (of(middle) <= value) low = middle + 1; else high = middle;
  }
  return low - 1;
}

/* Items [start, end, text, thing] in rows, in each of which none overlaps another; what has no room is in the last row. */
function inRows(items, most) {
  const rows = [], ends = [];
  for (const item of [...items].sort((one, other) => one[0] - other[0])) {
    let row = ends.findIndex((end) => end <= item[0]);
    if (row < 0) row = ends.length < most ? ends.length : most - 1;
    (rows[row] ||= []).push(item);
    ends[row] = Math.max(ends[row] || 0, item[1]);
  }
  return rows;
}

const named = (thing) => (document.documentElement.lang === "zh" ? thing.chinese : thing.hint);

function makeLanes() {
  const appearances = (wanted) => world.things.filter(wanted).flatMap((thing) => thing.spans.map(([start, end]) => [start, end, named(thing), thing]));
  const isPerson = (thing) => thing.category === "person";
  const said = world.speech.map(([start, end, text, speaker]) => [start, end, speaker ? `${speaker}: ${text}` : text]);
  const own = {
    calls: (world.episode ? world.episode.calls : []).flatMap(({ head, spans }) => spans.map(([start, end]) => [start, end, head])),
    scenes: world.scenes.map(([start, end, id, text]) => [start, end, `${id} ${text}`]),
    people: appearances(isPerson), objects: appearances((thing) => !isPerson(thing)),
    done: world.actions, captions: world.captions, speech: said, texts: world.texts, sounds: world.sounds, memories: world.memories,
  };
  lanes = Object.entries(own).filter(([, items]) => items.length).map(([name, items]) => ({ name, rows: inRows(items, MOST_ROWS[name] || 1) }));
  let top = RULER;
  for (const lane of lanes) { lane.top = top; top += lane.rows.length * ROW + GAP; }
  byId("lanes").style.height = `${top}px`;
  byId("lanes").dataset.lanes = lanes.map((lane) => lane.name).join(" ");
}

const COLOURS = { calls: "--memories", scenes: "--scenes", people: "--people", objects: "--things", done: "--done", captions: "--done", speech: "--speech", texts: "--texts", sounds: "--done", memories: "--memories" };
let isDue = false;
function drawSoon() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => { isDue = false; drawLanes(); });
}

function drawLanes() {
  const canvas = byId("lanes"), sharp = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * sharp) || canvas.height !== Math.round(height * sharp)) {
    canvas.width = Math.round(width * sharp);
    canvas.height = Math.round(height * sharp);
  }
  const pen = canvas.getContext("2d"), style = getComputedStyle(document.documentElement), body = getComputedStyle(document.body);
  const colours = new Map(); /* reading a style is slow */
  const colour = (name) => {
    if (!colours.has(name)) colours.set(name, resolved(style, name));
    pen.fillStyle = colours.get(name);
  };
  pen.setTransform(sharp, 0, 0, sharp, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = `12px ${body.fontFamily}`;
  pen.textBaseline = "middle";
  const scale = (width - LABEL) / (until - from), x = (time) => LABEL + (time - from) * scale;
  const step = tickStep(90 / scale);
  for (let tick = Math.ceil(from / step) * step; tick <= until; tick += step) {
    colour("--line");
    pen.fillRect(x(tick), 0, 1, height);
    colour("--soft");
    pen.fillText(step < 1 ? clock(tick) : clock(tick).replace(/\.\d$/, ""), x(tick) + 3, RULER / 2);
  }
  for (const lane of lanes) {
    colour("--soft");
    pen.fillText(words.lanes[lane.name], 0, lane.top + ROW / 2, LABEL - 6);
    lane.rows.forEach((row, place) => drawRow(pen, row, lane, lane.top + place * ROW, x, width, colour));
  }
  pen.globalAlpha = 0.25;
  colour("--cursor");
  for (const [start, end] of world.holes) pen.fillRect(x(start), RULER, Math.max(1, (end - start) * scale), height);
  pen.globalAlpha = 1;
  if (x(now) >= LABEL) pen.fillRect(x(now) - 1, 0, 2, height);
}

/* What is narrower than a pixel is drawn once for all that fall on that pixel. */
function drawRow(pen, row, lane, top, x, width, colour) {
  let first = Math.max(0, lastAtMost(row.length, from, (place) => row[place][0]));
  while (first > 0 && row[first - 1][1] > from) first -= 1;
  let drawn = LABEL;
  for (let place = first; place < row.length && row[place][0] <= until; place += 1) {
    const [start, end, text, thing] = row[place];
    const left = Math.max(LABEL, x(start)), right = Math.min(width, Math.max(x(end), left + 1));
    if (right <= drawn || right < LABEL) continue;
    colour(COLOURS[lane.name]);
    pen.globalAlpha = chosen && thing !== chosen ? 0.45 : 0.9;
    const visible = Math.max(left, drawn);
    pen.fillRect(visible, top + 1, Math.max(1, right - visible - (right - left > 3 ? 1 : 0)), ROW - 2);
    if (right - left > 40 && text) {
      pen.globalAlpha = 1;
      colour(lane.name === "scenes" ? "--ink" : "--page");
      pen.save();
      pen.beginPath();
      pen.rect(visible, top, right - visible - 3, ROW);
      pen.clip();
      pen.fillText(text.slice(0, Math.ceil((right - left) / 5)), left + 3, top + ROW / 2);
      pen.restore();
    }
    drawn = right;
  }
  pen.globalAlpha = 1;
}

/* A colour of the style sheet as one colour: canvas does not know light-dark(). */
const isDark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
function resolved(style, name) {
  const pair = /light-dark\((.*), (.*)\)/.exec(style.getPropertyValue(name));
  return pair ? pair[isDark() ? 2 : 1] : style.getPropertyValue(name);
}
function tickStep(least) {
  return [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200].find((step) => step >= least) || 14400;
}

function zoom(factor, around = now) {
  const length = Math.min(world.duration, Math.max(Math.min(1, world.duration), (until - from) * factor));
  const share = until > from ? (around - from) / (until - from) : 0.5;
  show(around - share * length, length);
}
function show(start, length) {
  from = Math.max(0, Math.min(start, world.duration - length));
  until = from + length;
  drawSoon();
}

/* Where a thing is at a moment: at, or between, its boxes of the same appearance and shot at most `near` seconds away; null without one. */
function boxAt(thing, time) {
  const all = thing.boxes, near = Math.max(1, 2 * world.step), shot = at(world.shots, time)[0];
  const isNear = (place) => Math.abs(all[place] - time) <= near && at(world.shots, all[place])[0] === shot
    && thing.spans.some(([start, end]) => start <= Math.min(time, all[place]) && Math.max(time, all[place]) <= end);
  const before = lastAtMost(all.length / 5, time, (place) => all[place * 5]) * 5;
  const [one, other = one] = [before, before + 5].filter((place) => place >= 0 && place < all.length && isNear(place));
  if (one === undefined) return null;
  const share = other > one ? (time - all[one]) / (all[other] - all[one]) : 0;
  return [1, 2, 3, 4].map((side) => all[one + side] + (all[other + side] - all[one + side]) * share);
}

function at(items, time) {
  return items.filter(([start, end]) => start <= time && time < end);
}

async function seek(time, { keep = false } = {}) {
  now = Math.max(0, Math.min(time, world.duration));
  if (now < from || now > until) show(now - (until - from) / 2, until - from);
  if (canPlay && !keep) byId("video").currentTime = now;
  byId("time").textContent = `${clock(now)} / ${clock(world.duration)}`;
  drawSoon();
  tell();
  pictured = now;
  if (!canPlay) await showPicture();
  drawBoxes();
}

function tell() {
  const scene = at(world.scenes, now)[0], shown = [];
  if (scene) shown.push(`${scene[2]}: ${scene[3]}`);
  for (const one of at(world.holes, now)) shown.push(`${clock(one[0])} – ${clock(one[1])}: ${words.hole}`);
  for (const [, , text] of [...at(world.captions, now), ...at(world.actions, now)]) shown.push(text);
  for (const [, , text, speaker] of at(world.speech, now)) shown.push(`${speaker ? `${speaker}: ` : ""}“${text}”`);
  for (const [, , text] of at(world.texts, now)) shown.push(`[${text}]`);
  const inScene = scene ? `, ${scene[3].replaceAll("; ", ", ")}, ` : ""; /* its line names some of the sounds already */
  for (const [, , text] of at(world.sounds, now)) if (!inScene.includes(`, ${text}, `)) shown.push(`(${text})`);
  byId("now").textContent = [...new Set(shown)].join("\n");
}

function drawBoxes() {
  const svg = byId("boxes"), nodes = [];
  for (const thing of byId("with-boxes").checked ? world.things : []) {
    const box = thing.boxes.length ? boxAt(thing, pictured) : null;
    if (!box) continue;
    const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    const values = { x: box[0], y: box[1], width: box[2] - box[0], height: box[3] - box[1], class: `${thing.category === "person" ? "person" : "thing"}${thing === chosen ? " chosen" : ""}`, "data-id": thing.id };
    for (const [name, value] of Object.entries(values)) rect.setAttribute(name, value);
    const title = document.createElementNS("http://www.w3.org/2000/svg", "title");
    title.textContent = named(thing);
    rect.append(title);
    nodes.push(rect);
  }
  svg.replaceChildren(...nodes);
}

async function showPicture() {
  const image = byId("picture"), times = world.pictures;
  const scene = at(world.shots, now)[0] || [0, world.duration];
  const inside = times.map((time, place) => place).filter((place) => scene[0] <= times[place] && times[place] < scene[1]);
  const places = inside.length ? inside : times.map((_, place) => place);
  const place = places.reduce((best, one) => (best < 0 || Math.abs(times[one] - now) < Math.abs(times[best] - now) ? one : best), -1);
  byId("source").textContent = place < 0 ? words.none : [words.key(clock(times[place])), whyNot && words[whyNot](world.file)].filter(Boolean).join("; ");
  if (place < 0) return;
  const asked = now, data = await pictureAt(place);
  if (asked !== now || canPlay) return; /* another moment was chosen meanwhile */
  pictured = times[place]; /* boxes are those of the picture that is shown */
  image.src = data;
}
async function pictureAt(place) {
  const number = Math.floor(place / world.at_once);
  if (!picturesOf.has(number)) picturesOf.set(number, unpack(`pictures-${number}`));
  return `data:image/jpeg;base64,${(await picturesOf.get(number))[place % world.at_once]}`;
}

/* Small pictures of list entries, drawn when they come into view: a key frame of the interval, of a thing the part in its box. */

const WIDTH = 72, HEIGHT = 42, TALL = 64, MARGIN = 0.12;
const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) if (isIntersecting) { seen.unobserve(target); target.draw(); }
}, { rootMargin: "200px" });
function thumb([start, end], thing) {
  const canvas = make("canvas", { class: thing ? "thumb tall" : "thumb", width: WIDTH * 2, height: (thing ? TALL : HEIGHT) * 2, "aria-hidden": "true" });
  canvas.draw = () => drawThumb(canvas, start, end, thing);
  seen.observe(canvas);
  return canvas;
}
async function drawThumb(canvas, start, end, thing) {
  const area = (box) => (box[2] - box[0]) * (box[3] - box[1]);
  let best = -1, box = null;
  for (let place = lastAtMost(world.pictures.length, start - 1e-6, (one) => world.pictures[one]) + 1; place < world.pictures.length && world.pictures[place] <= end; place += 1) {
    const own = thing ? boxAt(thing, world.pictures[place]) : null;
    if (thing && (!own || (box && area(own) <= area(box)))) continue;
    [best, box] = [place, own];
    if (!thing) break;
  }
  if (best < 0) return; /* no key frame of the page shows it */
  const image = new Image();
  image.src = await pictureAt(best);
  await image.decode();
  const scale = image.naturalWidth / world.size[0], pen = canvas.getContext("2d");
  const [x1, y1, x2, y2] = box || [0, 0, ...world.size], across = box ? MARGIN * (x2 - x1) : 0, down = box ? MARGIN * (y2 - y1) : 0;
  const left = Math.max(0, x1 - across) * scale, top = Math.max(0, y1 - down) * scale;
  const width = Math.min(image.naturalWidth, (x2 + across) * scale) - left, height = Math.min(image.naturalHeight, (y2 + down) * scale) - top;
  if (width < 1 || height < 1) return;
  const fit = Math.min(canvas.width / width, canvas.height / height);
  pen.imageSmoothingQuality = "high";
  pen.drawImage(image, left, top, width, height, (canvas.width - width * fit) / 2, (canvas.height - height * fit) / 2, width * fit, height * fit);
  canvas.dataset.time = world.pictures[best];
}

/* Lists. */

function entry(start, text, where, { run = () => seek(start), span = null, thing = null } = {}) {
  const words = [make("small", {}, `${clock(start)} ${where} `), marked(text), ...(thing ? [make("small", {}, thing.id)] : [])];
  const shown = span && world.pictures.length ? [thumb(span, thing), make("div", {}, words)] : words;
  return make("button", { type: "button", run, class: span && world.pictures.length ? "pictured" : "" }, shown);
}
function marked(text) {
  const terms = query.split(/\s+/).filter(Boolean).map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (!terms.length) return make("span", {}, text);
  const parts = text.split(new RegExp(`(${terms.join("|")})`, "gi"));
  return make("span", {}, parts.map((part, place) => (place % 2 ? make("mark", {}, part) : part)));
}
function ofThing(thing) {
  const choose = () => { chosen = chosen === thing ? null : thing; seek(thing.spans[0][0]); list(); };
  const whole = [thing.spans[0][0], thing.spans.at(-1)[1]];
  const head = entry(whole[0], `${named(thing)} `, words.times(thing.spans.length), { run: choose, span: whole, thing });
  if (thing === chosen) head.classList.add("chosen");
  const spans = thing === chosen ? thing.spans.map(([start, end]) => entry(start, "", `– ${clock(end)}`)) : [];
  return [head, make("div", { class: "spans" }, spans)];
}
function ofCall({ head, text, spans }) {
  const rest = spans.slice(1).map(([start, end]) => entry(start, "", `– ${clock(end)}`));
  const shown = `${head}\n${text}`;
  return [spans.length ? entry(spans[0][0], shown, `– ${clock(spans[0][1])}`, { span: spans[0] }) : make("p", {}, shown), make("div", { class: "spans" }, rest)];
}
function entries() {
  const plain = (items, name) => items.map(([start, end, text, speaker]) => [start, speaker ? `${speaker}: ${text}` : text, name]);
  if (tab === "episode") return world.episode.calls.map((call) => () => ofCall(call));
  if (tab === "things") return world.things.map((thing) => () => ofThing(thing));
  if (tab === "scenes") return world.scenes.map(([start, end, id, text]) => () => [entry(start, text, id, { span: [start, end] })]);
  if (tab === "speech" || tab === "texts") return plain(world[tab], "").map(([start, text, where]) => () => [entry(start, text, where)]);
  if (tab === "sounds") return world.sounds.map(([start, end, text]) => () => [entry(start, text.replace(/^sound: /, ""), `– ${clock(end)}`)]);
  const names = words.lanes, all = [
    ...world.things.map((thing) => [thing.spans[0][0], `${thing.hint} ${thing.chinese} ${thing.id}`, names[thing.category === "person" ? "people" : "objects"], thing]),
    ...world.scenes.map(([start, , id, text]) => [start, text, names.scenes]),
    ...plain(world.actions, names.done), ...plain(world.captions, names.captions), ...plain(world.speech, names.speech),
    ...plain(world.texts, names.texts), ...plain(world.sounds, names.sounds), ...plain(world.memories, names.memories),
  ];
  const terms = query.split(/\s+/);
  const fits = all.filter(([, text]) => { const own = text.toLowerCase(); return terms.every((term) => own.includes(term)); });
  return fits.sort((one, other) => one[0] - other[0]).map(([start, text, where, thing]) => () => (thing ? ofThing(thing) : [entry(start, text, where)]));
}
function list() {
  const counts = { episode: world.episode ? world.episode.calls.length : 0, things: world.things.length, scenes: world.scenes.length, speech: world.speech.length, texts: world.texts.length, sounds: world.sounds.length };
  const tabs = [...(query ? ["found"] : []), ...Object.keys(counts).filter((name) => counts[name])];
  if (!tabs.includes(tab)) tab = tabs[0] || "things";
  const found = entries();
  const pick = (name) => make("button", { type: "button", role: "tab", "aria-selected": name === tab, "data-tab": name, run: () => { tab = name; list(); } },
    `${words[name]} ${name === "found" ? (tab === name ? found.length : "") : counts[name]}`);
  byId("tabs").replaceChildren(...tabs.map(pick));
  const shown = found.slice(0, MOST_LISTED).flatMap((build) => build());
  if (tab === "episode" && world.episode.calls.some(({ text }) => /\b(?:score|confidence)\b/.test(text))) shown.push(make("p", {}, words.scores));
  if (found.length > MOST_LISTED) shown.push(make("p", {}, words.more(found.length - MOST_LISTED)));
  byId("list").replaceChildren(...(shown.length ? shown : [make("p", {}, tab === "found" ? words.unfound : words.nothing)]));
}

function say(language) {
  words = WORDS[language];
  document.documentElement.lang = language;
  byId("query").placeholder = words.search;
  byId("query").setAttribute("aria-label", words.search);
  byId("language").textContent = words.other;
  byId("theme").textContent = words.theme;
  byId("back").textContent = "−1 s";
  byId("ahead").textContent = "+1 s";
  byId("with-boxes").nextElementSibling.textContent = words.boxes;
  byId("play").textContent = byId("video").paused ? words.play : words.pause;
  byId("pointed").textContent = words.help;
  byId("lanes").setAttribute("aria-label", words.help);
  const counted = Object.entries(words.counts).filter(([name]) => world[name].length).map(([name, [one, more = one]]) => `${world[name].length} ${world[name].length === 1 ? one : more}`);
  const facts = [clock(world.duration), `${world.size[0]}×${world.size[1]}`, world.profile, ...counted, world.hash.slice(0, 12)];
  byId("facts").textContent = facts.join(" · ");
  makeLanes();
  list();
  seek(now);
}

/* Pointer and keys. */

function listen() {
  const canvas = byId("lanes");
  const timeOf = (event) => from + ((event.clientX - canvas.getBoundingClientRect().left - LABEL) / (canvas.clientWidth - LABEL)) * (until - from);
  const itemAt = (event) => {
    const y = event.clientY - canvas.getBoundingClientRect().top, time = timeOf(event), slack = (2 * (until - from)) / canvas.clientWidth;
    const lane = lanes.find((one) => one.top <= y && y < one.top + one.rows.length * ROW);
    const row = lane ? lane.rows[Math.floor((y - lane.top) / ROW)] : null;
    return row ? row.findLast(([start, end]) => start - slack <= time && time <= end + slack) : null;
  };
  let pressed = null;
  canvas.addEventListener("pointerdown", (event) => { pressed = { x: event.clientX, from, moved: false }; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    if (pressed) {
      pressed.moved ||= Math.abs(event.clientX - pressed.x) > 4;
      if (pressed.moved) show(pressed.from - ((event.clientX - pressed.x) / (canvas.clientWidth - LABEL)) * (until - from), until - from);
      return;
    }
    const item = itemAt(event);
    byId("pointed").textContent = item ? `${clock(item[0])} – ${clock(item[1])}  ${item[2]}` : words.help;
  });
  canvas.addEventListener("pointerup", (event) => {
    if (pressed && !pressed.moved) {
      const item = itemAt(event);
      if (item && item[3]) { chosen = item[3]; tab = "things"; list(); }
      seek(timeOf(event));
    }
    pressed = null;
  });
  canvas.addEventListener("pointercancel", () => { pressed = null; });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) show(from + (event.deltaX / canvas.clientWidth) * (until - from), until - from);
    else zoom(event.deltaY > 0 ? 1.25 : 0.8, timeOf(event));
  }, { passive: false });
  document.addEventListener("keydown", (event) => {
    if (event.target === byId("query")) { if (event.key === "Escape") event.target.blur(); return; }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const keys = {
      ArrowLeft: () => seek(now - (event.shiftKey ? 10 : 1)), ArrowRight: () => seek(now + (event.shiftKey ? 10 : 1)),
      Home: () => seek(0), End: () => seek(world.duration), "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2),
      0: () => show(0, world.duration), "/": () => byId("query").focus(), Escape: () => { chosen = null; list(); seek(now); },
    };
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });
  byId("back").addEventListener("click", () => seek(now - 1));
  byId("ahead").addEventListener("click", () => seek(now + 1));
  byId("with-boxes").addEventListener("change", drawBoxes);
  byId("query").addEventListener("input", (event) => { query = event.target.value.trim().toLowerCase(); tab = query ? "found" : "things"; list(); });
  byId("theme").addEventListener("click", () => { document.documentElement.dataset.theme = isDark() ? "light" : "dark"; drawSoon(); });
  byId("language").addEventListener("click", () => say(document.documentElement.lang === "zh" ? "en" : "zh"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawSoon);
  new ResizeObserver(drawSoon).observe(canvas);
}

/* The video, if its file is beside the page and the browser can play it. */
function tryVideo() {
  const video = byId("video");
  video.addEventListener("loadeddata", () => {
    canPlay = true;
    whyNot = "";
    video.hidden = byId("play").hidden = false;
    byId("picture").hidden = true;
    byId("source").textContent = world.file;
    seek(now);
  });
  video.addEventListener("timeupdate", () => { if (!video.paused) seek(video.currentTime, { keep: true }); });
  for (const event of ["play", "pause"]) video.addEventListener(event, () => { byId("play").textContent = video.paused ? words.play : words.pause; });
  byId("play").addEventListener("click", () => (video.paused ? video.play() : video.pause()));
  video.addEventListener("error", () => {
    if (canPlay) return;
    whyNot = world.is_beside || /DEMUX|DECOD|decode/.test(video.error?.message || "") ? "unplayable" : "put";
    showPicture();
  });
  if (world.file) video.src = encodeURIComponent(world.file);
}

(async () => {
  world = await unpack("world");
  until = world.duration || 1;
  byId("screen").style.setProperty("--ratio", world.size[0] / world.size[1] || 1.78);
  byId("boxes").setAttribute("viewBox", `0 0 ${world.size[0]} ${world.size[1]}`);
  listen();
  say(navigator.language.startsWith("zh") ? "zh" : "en");
  if (world.episode) {
    byId("asked").textContent = world.episode.lines.filter(Boolean).join("\n");
    tab = "episode";
    list();
    if (world.episode.spans.length) seek(world.episode.spans[0][0]);
  } else if (!world.things.length) { tab = "scenes"; list(); }
  tryVideo();
  document.body.dataset.ready = "yes";
})();

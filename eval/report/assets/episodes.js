/* One episode, as a trajectory that can be read. */

async function showEpisode(at) {
  const place = byId("episode");
  const item = index.items[index.item[at]];
  const stored = index.place[at];
  let record = null;
  if (stored !== null) {
    const [episodes, moments] = await Promise.all([block(`e${stored[0]}`), block(`m${stored[0]}`)]);
    record = { ...episodes[stored[1]], frames: moments[stored[1]] };
  }
  if (chosen.open !== String(at)) return; /* another one was opened meanwhile */
  place.dataset.at = at;
  place.replaceChildren(
    make("p", { class: "back" }, make("button", { type: "button", class: "quiet", id: "close-episode" }, "← Back to the list")),
    make("h2", null, markOf(at), " ", cutAt(item.question, HEAD)),
    siblingsOf(at),
    ...question(item),
    outcome(at, item, record),
    record === null ? make("p", { class: "note" }, absence(at)) : "",
    ...(record === null ? [] : [timeline(item, record), frames(item, record), setup(record, at), ...record.rounds.map((one) => round(one, record)), cost(record), source(at)]),
  );
  place.hidden = false;
}

const HEAD = 600; /* letters of a question in the heading */
const cutAt = (text, most) => (text.length > most ? `${text.slice(0, most)}…` : text);

function absence(at) {
  const reason = valueOf("outcome", at);
  return index.episode[at] === null ? `There is no episode: ${reason}.` : `Its episode cannot be read (${reason}).`;
}

function siblingsOf(at) {
  const same = index.item.map((item, place) => [item, place]).filter(([item]) => item === index.item[at]).map(([, place]) => place);
  if (same.length < 2) return "";
  const varying = ["arm", "world", "budget", "seed"].filter((name) => new Set(same.map((place) => valueOf(name, place))).size > 1);
  const links = same.map((place) =>
    make("button", { type: "button", class: "chip", "data-sample": place, "aria-current": place === at ? "true" : null },
      markOf(place), " ", varying.map((name) => (name === "seed" ? `seed ${valueOf(name, place)}` : valueOf(name, place) ?? "–")).join(" · ")));
  const shown = make("div", { class: "chips" }, links);
  return same.length <= 8 ? make("div", { class: "siblings" }, make("h3", null, "The same question"), shown)
    : make("details", { class: "siblings" }, make("summary", null, `The same question in ${same.length} samples`), shown);
}

function question(item) {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const about = [item.kind, `video ${item.video}`, item.as_of === null ? "" : `as of ${clock(item.as_of)}`].filter(Boolean).join(" · ");
  const parts = [make("p", { class: "where" }, about)];
  if (item.question.length > HEAD) parts.push(make("details", { class: "whole" }, make("summary", null, "The whole question"), make("pre", null, item.question)));
  if (item.options.length) parts.push(make("ol", { class: "options" }, item.options.map((text, place) => make("li", null, `${letters[place]}. ${text}`))));
  return parts;
}

function outcome(at, item, record) {
  const facts = [
    ["Answer", record?.answer ?? index.answer[at] ?? make("em", null, "none")],
    ["Reference", item.reference ?? make("em", null, "none given")],
    ["Score", index.mark[at] === 2 ? "not scored" : [`${index.score[at]} `, scorer(at)]],
    ["Ended", [valueOf("outcome", at), record?.fault ? ` — ${record.fault[1]}` : ""]],
    ["Work", `${plural(index.rounds[at], "round")}, ${plural(index.calls[at], "call")}, ${plural(index.inner[at], "operation")} inside tools, ${plural(index.tokens[at], "token")}`],
  ];
  if (record !== null && Object.keys(record.slips).length) facts.push(["Slips", Object.entries(record.slips).map(([name, number]) => `${name} ×${number}`).join(", ")]);
  if (record?.watermark) facts.push(["Note", make("strong", { class: "stamp" }, record.watermark)]);
  return list(facts);
}

function scorer(at) {
  const details = Object.entries(index.details[at]).map(([name, value]) => `${name} ${value}`);
  return details.length ? make("span", { class: "soft" }, `(${details.join(", ")})`) : "";
}

const list = (facts) => make("dl", { class: "facts" }, facts.map(([name, value]) => make("div", null, make("dt", null, name), make("dd", null, value))));

/* The whole video: what the answer rests on, below it what is known to show the answer, then what was looked at. A point in time is a diamond. */
function timeline(item, record) {
  const seen = record.frames.filter((one) => one.why === "seen").map((one) => [one.time, one.time]);
  const lanes = [["cited", "answer", record.spans], ["reference", "reference", item.spans], ["seen", "tools saw", seen]].filter(([, , spans]) => spans.length);
  if (!lanes.length) return "";
  const length = index.durations[item.video];
  const end = Math.max(length ?? 0, ...lanes.flatMap(([, , spans]) => spans.map((span) => span[1])), 1);
  const across = window.innerWidth < 700 ? 250 : 680; /* on a telephone the whole video is seen at once, too */
  const high = 22 * lanes.length + 22, x = (time) => 80 + (across * time) / end;
  const parts = lanes.flatMap(([look, name, spans], row) => {
    const middle = 22 * row + 11, named = spans.length <= MOST_NAMED && look !== "seen";
    const bars = spans.flatMap(([start, stop]) => {
      const title = draw("title", {}, `${name}: ${when(start, stop)}`);
      const isPoint = start === stop, at = x(start), width = Math.max(3, x(stop) - at);
      const mark = isPoint ? draw("path", { d: `M${at - 6} ${middle}l6 -7l6 7l-6 7z`, class: `lane ${look} point` }, title)
        : draw("rect", { x: at, y: middle - 6, width, height: 12, rx: 2, class: `lane ${look}` }, title);
      const right = isPoint ? at + 9 : at + width + 4, isLeft = right > across - 40;
      const label = draw("text", { x: isLeft ? at - (isPoint ? 9 : 4) : right, y: middle + 4, class: "tick", "text-anchor": isLeft ? "end" : "start" }, isPoint ? clock(start) : `${clock(start)}–${clock(stop)}`);
      return named ? [mark, label] : [mark];
    });
    return [draw("line", { x1: 80, x2: 80 + across, y1: middle, y2: middle, class: "grid" }), draw("text", { x: 0, y: middle + 4, class: "label" }, name), ...bars];
  });
  const scale = (across < 300 ? [0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1]).map((share) => draw("text", { x: 80 + across * share, y: high - 5, class: "tick", "text-anchor": share === 0 ? "start" : share === 1 ? "end" : "middle" }, clock(end * share)));
  const about = length === undefined ? "The length of the video is not known: the line ends with the last interval." : "";
  return make("div", { class: "wide strip" }, draw("svg", { viewBox: `0 0 ${84 + across} ${high}`, width: 84 + across, height: high, role: "img", "aria-label": "Intervals of the answer and of the reference in the video" }, ...parts, ...scale), about ? make("p", { class: "soft" }, about) : "");
}
const MOST_NAMED = 3; /* intervals of a row that have their times beside them */
const when = (start, stop) => (start === stop ? `${clock(start)}, a point in time` : `${clock(start)}–${clock(stop)}`);

function frames(item, record) {
  const heading = make("h3", null, "Evidence");
  const spans = record.spans.map(([start, stop, tools]) =>
    make("li", null, `${when(start, stop)} `, tools.length ? make("span", { class: "soft" }, `from ${tools.join(", ")}`) : make("strong", { class: "stamp" }, "returned by no tool")));
  const shown = together(record.frames.filter((one) => one.frame !== null));
  const pictures = shown.map((one) => picture(one));
  const missing = record.frames.filter((one) => one.frame === null).length;
  const why = index.absent[item.video] ?? (index.crowded ? "the page holds only so many" : "none was kept");
  return make("div", { class: "evidence" }, heading, spans.length ? make("ul", null, spans) : make("p", { class: "soft" }, "The answer cites no span."),
    pictures.length ? make("div", { class: "frames" }, pictures) : "",
    missing ? make("p", { class: "soft" }, `${plural(missing, "moment")} without a picture: ${why}.`) : "");
}

/* One picture for all moments that it shows. */
function together(moments) {
  const found = new Map();
  for (const one of moments) {
    const known = found.get(one.frame);
    if (known === undefined) found.set(one.frame, { ...one, why: [one.why] });
    else {
      if (!known.why.includes(one.why)) known.why.push(one.why);
      if (!known.boxes.length) known.boxes = one.boxes;
    }
  }
  return [...found.values()];
}

const WHY = { cited: "cited", reference: "in the reference", seen: "seen by a tool" };
function picture(one) {
  const [video, time, width, height, from] = index.frames[one.frame];
  const image = make("img", { alt: `${video} at ${clock(time)}`, loading: "lazy" });
  image.src = `data:image/jpeg;base64,${byId(`f${index.pictures[one.frame]}`).textContent}`;
  const boxes = one.boxes.map(([x1, y1, x2, y2, label]) => {
    const title = draw("title", {}, label);
    return draw("rect", { x: x1, y: y1, width: Math.max(1, x2 - x1), height: Math.max(1, y2 - y1), class: "box" }, title);
  });
  const over = boxes.length ? draw("svg", { viewBox: `0 0 ${width} ${height}`, class: "over", "aria-hidden": "true" }, ...boxes) : "";
  const labels = [...new Set(one.boxes.map((box) => box[4]).filter(Boolean))].join(", ");
  const words = [clock(time), one.why.map((why) => WHY[why]).join(", "), from === "key frame" ? "nearest key frame" : "", labels].filter(Boolean).join(" · ");
  return make("figure", { class: "frame" }, make("button", { type: "button", class: "picture", title: "Enlarge" }, image, over), make("figcaption", null, words));
}

function setup(record, at) {
  const arm = valueOf("arm", at);
  const facts = [
    ["Arm", index.arms[arm] ? `${arm}: ${index.arms[arm]}` : arm],
    ["System", `${record.system} (${record.offered})`],
    record.library ? ["Library", [record.library[0], " ", make("code", null, record.library[1].slice(0, 12))]] : null,
    record.settings.length ? ["Settings", record.settings.map(([name, value]) => `${name} ${value}`).join(", ")] : null,
    ["Model", [record.model, `, prompts in ${record.prompts[0]} `, make("code", null, record.prompts[1].slice(0, 12))]],
    ["World", [valueOf("world", at), " ", make("code", null, record.world.slice(0, 12))]],
    ["Budget", Object.entries(record.budget).map(([name, value]) => `${amount(value)} ${name}`).join(", ")],
  ].filter(Boolean);
  return make("details", { class: "setup" }, make("summary", null, "Set-up, prompts and tools"), list(facts),
    later("What the model was given", record.given, conversation), later("Tools on offer", record.tools, declared));
}

/* What is unpacked when it is opened. */
function later(words, number, show) {
  if (number === null || number === undefined) return make("p", { class: "soft" }, `${words}: left out, since the page is large.`);
  const place = make("div", null);
  const node = make("details", { class: "later" }, make("summary", null, words), place);
  node.addEventListener("toggle", async () => {
    if (node.open && !place.hasChildNodes()) place.replaceChildren(show(await pooled(number)));
  });
  return node;
}

/* A JSON value as lists of names and values; what names an interval is shown as clock times. */
function readable(value) {
  if (value === null || value === "") return make("em", null, "none");
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "object") return make("span", { class: "value" }, typeof value === "number" ? amount4(value) : value);
  if (Array.isArray(value)) {
    if (!value.length) return make("em", null, "none");
    if (value.every((one) => one === null || typeof one !== "object")) return make("span", { class: "value" }, value.map((one) => (typeof one === "number" ? amount4(one) : String(one))).join(", "));
    return make("ol", { class: "values" }, value.map((one) => make("li", null, readable(one))));
  }
  const { start_time: start, end_time: end, ...rest } = value, isSpan = typeof start === "number" && typeof end === "number";
  const facts = Object.entries(isSpan ? rest : value).map(([name, inner]) => [name.replaceAll("_", " "), readable(inner)]);
  if (isSpan) facts.unshift(["time", when(start, end)]);
  return facts.length ? list(facts) : make("em", null, "none");
}
const amount4 = (number) => String(Math.round(number * 1e4) / 1e4);

/* What a model was given: lines that are JSON are shown as what they say. */
function passage(text) {
  const parts = [[]];
  for (const line of text.split("\n")) {
    let value;
    try { value = /^\s*[[{]/.test(line) ? JSON.parse(line) : undefined; } catch { value = undefined; }
    if (value === undefined) parts.at(-1).push(line);
    else parts.push(value, []);
  }
  return parts.map((part, place) => (place % 2 ? make("div", { class: "data" }, readable(part)) : part.join("\n").trim() ? make("pre", null, part.join("\n")) : ""));
}
const content = (given) => (typeof given === "string" ? passage(given) : (given ?? []).map((part) => (typeof part.text === "string" ? passage(part.text) : make("p", { class: "soft" }, "[a picture]"))));
const conversation = (messages) => make("div", null, messages.map((one) => make("div", null, make("h4", null, one.role), content(one.content))));
const declared = (tools) => make("dl", { class: "facts" }, tools.map(([name, about]) => make("div", null, make("dt", null, make("code", null, name)), make("dd", null, about))));

function round(one, record) {
  const [sent = 0, written = 0, cached = 0, estimated = 0] = one.tokens || [];
  const about = one.number === 0 ? ["before the model was asked"] : [
    `${estimated ? "~" : ""}${amount(sent)} tokens in${cached ? ` (${amount(cached)} cached)` : ""}, ${amount(written)} out`,
    one.bare ? "no tools offered" : "", one.kept ? "kept from an earlier request" : "", one.folded ? plural(one.folded, "result") + " folded" : "",
  ];
  const calls = one.calls || [];
  return make("section", { class: "round" },
    make("h3", null, one.number === 0 ? "Given" : `Round ${one.number}`, make("span", { class: "where" }, about.filter(Boolean).join(" · "))),
    one.thought ? make("blockquote", { class: "thought" }, one.thought) : "",
    one.says ? make("blockquote", null, passage(one.says)) : "",
    (one.problems || []).map((problem) => make("p", { class: "slip" }, `slip: ${problem}`)),
    calls.length ? make("ul", { class: "calls" }, calls.map((call) => make("li", null, callOf(call, record)))) : "");
}

function callOf(call, record) {
  const inside = call.inside || [];
  return [
    make("p", { class: "call" }, make("code", { class: "name" }, call.tool), make("code", { class: "given" }, `(${call.given || ""})`)),
    (call.slips || []).map((slip) => make("p", { class: "slip" }, `slip: ${slip}`)),
    inside.length ? make("details", { class: "inside", open: inside.length <= 12 }, make("summary", null, plural(inside.length + (call.more || 0), "operation") + " inside"), tree(inside), call.more ? make("p", { class: "soft" }, `and ${amount(call.more)} more`) : "") : "",
    call.short ? make("p", { class: call.failed ? "came failed" : "came" }, `→ ${call.short}`) : call.tool === "submit_answer" ? make("p", { class: "came" }, "→ the answer above") : "",
    call.made_of ? make("p", { class: "soft" }, `made of: ${call.made_of}`) : "",
    call.spent ? make("p", { class: "soft" }, `spent: ${call.spent}`) : "",
    call.arguments !== undefined ? later("Arguments", call.arguments, readable) : "",
    call.whole !== undefined ? later("Whole result", call.whole, readable) : call.short ? make("p", { class: "soft" }, "The whole result was left out, since the page is large.") : "",
  ];
}

/* Operations inside a tool: one hangs below the last of those whose results it was made from. */
function tree(inside) {
  const root = make("ul", { class: "tree" });
  const nodes = new Map();
  for (const [number, name, ended, size, given, from] of inside) {
    const found = size === null ? "" : `${size} found`;
    const came = ended === "ok" ? found || "done" : `${found} ${ended}`.trim();
    const node = make("li", null, make("span", { class: "number" }, number ?? "–"), " ", make("code", { class: "name" }, name), " ", make("span", { class: ended === "ok" || ended === "cached" ? "came" : "came failed" }, came), given ? make("code", { class: "given" }, ` (${given})`) : "");
    const parent = from.length ? nodes.get(Math.max(...from)) : undefined;
    const depth = parent ? parent.depth + 1 : 0;
    if (parent && depth < 6) {
      if (!parent.list) { parent.list = make("ul", null); parent.node.append(parent.list); }
      parent.list.append(node);
    } else root.append(node);
    if (number !== null) nodes.set(number, { node, list: null, depth });
  }
  return root;
}

function cost(record) {
  const rows = [];
  for (const way of ["logical", "physical"]) {
    for (const [part, account] of Object.entries(record.cost[way])) {
      if (!account.requests && part !== "total") continue;
      const money = account.money === null ? "–" : `${account.money_is_least ? "at least " : ""}$${account.money.toFixed(4)}`;
      rows.push(make("tr", null, [way, part, amount(account.requests), `${account.estimated ? "~" : ""}${amount(account.prompt)}`, amount(account.completion), money].map((cell, place) => make("td", { class: place > 1 ? "figure" : "" }, cell))));
    }
  }
  const heads = ["", "", "requests", "tokens in", "tokens out", "money"].map((head, place) => make("th", { scope: "col", class: place > 1 ? "figure" : "" }, head));
  return make("div", { class: "cost" }, make("h3", null, "Cost"), make("div", { class: "wide" }, make("table", null, make("thead", null, make("tr", null, heads)), make("tbody", null, rows))));
}

function source(at) {
  const cell = index.cell.values[index.cell.codes[at]];
  return make("p", { class: "soft" }, "In the run: ", make("code", null, `videoworld show RUN/episodes/${cell}/recordings/${index.episode[at]}.jsonl --full`));
}

/* Filters, the list of episodes, and the table of questions. The address after # holds what is chosen, so that it can be kept. */

const PAGE = 150;
const chosen = { words: "", mark: "", tool: "", item: "", set: "", open: "", dims: {} };
let shownEpisodes = PAGE;
let shownQuestions = PAGE;
let found = [];
let haystacks = null;

function fillFilters() {
  const place = byId("dimensions");
  for (const one of index.dimensions) {
    if (one.values.length < 2 && !(one.values.length === 1 && one.codes.includes(-1))) continue;
    const order = one.values.map((value, code) => [value, code]);
    order.sort((a, b) => a[0].localeCompare(b[0], "en", { numeric: true }));
    const choices = order.map(([value, code]) => make("option", { value: code, title: one.name === "arm" ? index.arms[value] : null }, value));
    if (one.codes.includes(-1)) choices.push(make("option", { value: -1 }, "(none)"));
    const select = make("select", { id: `by-${one.name}`, "data-dimension": one.name }, make("option", { value: "" }, "all"), choices);
    place.append(make("label", { class: "field" }, make("span", null, one.title), select));
  }
  const tools = index.tools.values.map((name, code) => [name, code]).sort((a, b) => a[0].localeCompare(b[0], "en"));
  byId("tool").append(...tools.map(([name, code]) => make("option", { value: code }, name)));
}

function readFilters() {
  chosen.words = byId("words").value;
  chosen.mark = byId("mark").value;
  chosen.tool = byId("tool").value;
  chosen.dims = {};
  for (const select of document.querySelectorAll("[data-dimension]")) {
    if (select.value !== "") chosen.dims[select.dataset.dimension] = select.value;
  }
}

function showFilters() {
  byId("words").value = chosen.words;
  byId("mark").value = chosen.mark;
  byId("tool").value = chosen.tool;
  for (const select of document.querySelectorAll("[data-dimension]")) {
    select.value = chosen.dims[select.dataset.dimension] ?? "";
  }
  const place = byId("chosen");
  place.replaceChildren();
  const chip = (words, clear) =>
    place.append(make("button", { type: "button", class: "chip", title: "Remove this filter", on: { click: clear } }, `${words} ×`));
  if (chosen.set !== "") {
    chip(setWords(chosen.set), () => go("episodes", { ...chosen, set: "", open: "" }));
  }
  if (chosen.item !== "" && index.items[Number(chosen.item)]) {
    chip(`question ${index.items[Number(chosen.item)].id}`, () => go("episodes", { ...chosen, item: "", open: "" }));
  }
}

function setWords(number) {
  const from = document.querySelector(`.pressed[data-set="${Number(number)}"]`) || document.querySelector(`[data-set="${Number(number)}"]`);
  const words = from === null ? "a figure" : from.dataset.words || from.getAttribute("aria-label") || "a figure";
  return `behind ${words.replace(/: list the episodes$/, "")}`;
}

function search() {
  const wanted = chosen.words.toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length && haystacks === null) {
    haystacks = index.item.map((item, sample) => {
      const about = index.items[item];
      return [about.question, about.id, about.reference || "", index.answer[sample] || "", valueOf("video", sample) || ""].join("\n").toLowerCase();
    });
  }
  const dims = Object.entries(chosen.dims).map(([name, code]) => [columnOf(name)?.codes, Number(code)]).filter(([codes]) => codes);
  const of = index.sets[Number(chosen.set)];
  const places = chosen.set !== "" && of !== undefined ? fromRanges(of) : index.item.map((_, place) => place);
  found = places.filter(
    (at) =>
      (chosen.mark === "" || index.mark[at] === Number(chosen.mark)) &&
      (chosen.item === "" || index.item[at] === Number(chosen.item)) &&
      (chosen.tool === "" || index.tools.used[at].includes(Number(chosen.tool))) &&
      dims.every(([codes, code]) => codes[at] === code) &&
      wanted.every((word) => haystacks[at].includes(word)),
  );
}

function listEpisodes() {
  const right = found.filter((at) => index.mark[at] === 1).length;
  const scored = found.filter((at) => index.mark[at] !== 2).length;
  const share = scored ? `, ${amount(right)} of ${amount(scored)} right (${((100 * right) / scored).toFixed(1)} %)` : "";
  byId("episode-count").textContent = `${amount(found.length)} of ${plural(index.item.length, "episode")}${share}`;
  byId("episode-list").replaceChildren(...found.slice(0, shownEpisodes).map(episodeLine));
  byId("more-episodes").hidden = found.length <= shownEpisodes;
}

function episodeLine(at) {
  const item = index.items[index.item[at]];
  const where = ["arm", "world", "budget", "video"].map((name) => valueOf(name, at)).filter(Boolean);
  const answer = index.answer[at];
  const line = make(
    "button",
    { type: "button", class: "line", "data-sample": at, "aria-current": String(at) === chosen.open ? "true" : null },
    markOf(at),
    make("span", { class: "asked" }, item.question),
    make("span", { class: "said clamped" }, "Answer: ", answer === null ? make("em", null, "none") : answer),
    item.reference === null ? null : make("span", { class: "said clamped reference" }, `Reference: ${item.reference}`),
    make("span", { class: "where" }, `${[...new Set(where)].join(" · ")} · seed ${valueOf("seed", at)}`),
  );
  return make("li", null, line);
}

function listQuestions() {
  const arms = columnOf("arm");
  const used = [...new Set(found.map((at) => arms.codes[at]))].sort((a, b) => a - b);
  const byItem = new Map();
  for (const at of found) {
    const item = index.item[at];
    if (!byItem.has(item)) byItem.set(item, new Map(used.map((arm) => [arm, []])));
    byItem.get(item).get(arms.codes[at]).push(at);
  }
  const rows = [...byItem].filter(([, by]) => !byId("differing").checked || armsDiffer(by));
  byId("question-count").textContent = plural(rows.length, "question");
  const heads = ["Question", "Reference", ...used.map((arm) => arms.values[arm])];
  const titles = heads.map((head, place) => (place > 1 ? index.arms[head] : null));
  const table = byId("question-table");
  table.tHead.replaceChildren(make("tr", null, heads.map((head, place) => make("th", { scope: "col", title: titles[place] }, head))));
  table.tBodies[0].replaceChildren(...rows.slice(0, shownQuestions).map(([item, by]) => questionLine(item, by)));
  byId("more-questions").hidden = rows.length <= shownQuestions;
}

function armsDiffer(by) {
  const said = [...by.values()].filter((own) => own.length).map((own) => {
    if (own.every((at) => index.mark[at] === 2)) return own.map((at) => index.answer[at]).join("\n");
    return own.filter((at) => index.mark[at] === 1).length / own.length;
  });
  return new Set(said).size > 1;
}

function questionLine(item, by) {
  const about = index.items[item];
  const cells = [...by].map(([arm, own]) => {
    if (!own.length) return make("td", { class: "soft" }, "–");
    const right = own.filter((at) => index.mark[at] === 1).length;
    const one = own.length === 1 ? own[0] : null;
    const words = one !== null ? make("span", { class: "clamped" }, markOf(one), " ", index.answer[one] ?? make("em", null, "no answer"))
      : own.every((at) => index.mark[at] === 2) ? plural(own.length, "answer") : `${right}\u00a0/\u00a0${own.length}`;
    const look = own.every((at) => index.mark[at] === 2) ? "" : right === own.length ? " all" : right === 0 ? " none" : " some";
    return make("td", null, make("button", {
      type: "button", class: `cell${look}`, "data-item": item, "data-arm": arm, "data-sample": one,
    }, words));
  });
  return make("tr", null,
    make("th", { scope: "row" }, make("span", { class: "clamped" }, about.question), make("span", { class: "where" }, `${about.id} · ${about.video} · ${about.kind}`)),
    make("td", null, make("span", { class: "clamped" }, about.reference ?? "–")), cells);
}

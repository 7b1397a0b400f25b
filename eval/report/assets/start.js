/* Which view is shown follows from the address; clicks change the address. */

function readAddress() {
  const [view, query = ""] = location.hash.replace(/^#/, "").split("?");
  const given = new URLSearchParams(query);
  Object.assign(chosen, { words: given.get("words") ?? "", mark: given.get("mark") ?? "", tool: given.get("tool") ?? "",
    item: given.get("item") ?? "", set: given.get("set") ?? "", open: given.get("open") ?? "", dims: {} });
  for (const { name, values } of index.dimensions) {
    const value = given.get(name);
    if (value === null) continue;
    const code = value === "" ? -1 : values.indexOf(value);
    if (value === "" || code >= 0) chosen.dims[name] = String(code);
  }
  return view;
}

function address(view, wanted) {
  const query = new URLSearchParams();
  for (const name of ["words", "mark", "tool", "item", "set", "open"]) if (wanted[name] !== "") query.set(name, wanted[name]);
  for (const [name, code] of Object.entries(wanted.dims)) query.set(name, Number(code) < 0 ? "" : columnOf(name).values[Number(code)]);
  const text = query.toString();
  return `#${view}${text ? `?${text}` : ""}`;
}

function go(view, wanted) {
  const next = address(view, wanted);
  if (location.hash === next) show();
  else location.hash = next;
}

const cleared = () => ({ words: "", mark: "", tool: "", item: "", set: "", open: "", dims: {} });
let view = "overview";

function show() {
  const asked = readAddress() || index.first;
  const target = asked ? byId(asked) : null;
  view = ["questions", "episodes"].includes(asked) ? asked : target && byId("results").contains(target) ? "results" : "overview";
  document.body.dataset.view = view;
  const browsing = view === "questions" || view === "episodes";
  for (const [id, on] of [["overview", view === "overview"], ["results", view === "results"], ["browse", browsing], ["questions", view === "questions"], ["episodes", view === "episodes"]]) byId(id).hidden = !on;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${view}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (!browsing) {
    byId("episode").hidden = true;
    if (view === "results") {
      const folded = target.querySelector(":scope > .folded");
      if (folded) folded.open = true;
      target.scrollIntoView();
    }
    else window.scrollTo(0, 0);
    return;
  }
  showFilters();
  search();
  if (view === "questions") listQuestions();
  else listEpisodes();
  const at = Number(chosen.open);
  const open = view === "episodes" && chosen.open !== "" && Number.isInteger(at) && index.item[at] !== undefined;
  byId("browse").classList.toggle("reading", open);
  byId("episode").hidden = !open;
  if (open) showEpisode(at).then(() => byId("episode").scrollIntoView());
}

function press(target) {
  const figure = target.closest("[data-set]");
  if (figure) {
    document.querySelector(".pressed")?.classList.remove("pressed");
    figure.classList.add("pressed");
    shownEpisodes = PAGE;
    go("episodes", { ...cleared(), set: figure.dataset.set });
    return;
  }
  const one = target.closest("button[data-sample], button[data-item]");
  if (one?.dataset.sample) go("episodes", { ...chosen, open: one.dataset.sample });
  else if (one) go("episodes", { ...chosen, item: one.dataset.item, dims: { ...chosen.dims, arm: one.dataset.arm }, open: "" });
  else if (target.closest("#close-episode")) go("episodes", { ...chosen, open: "" });
  else if (target.closest(".picture")) target.closest(".frame").classList.toggle("large");
}

function refilter() {
  readFilters();
  shownEpisodes = PAGE;
  shownQuestions = PAGE;
  history.replaceState(null, "", address(view, { ...chosen, open: "" }));
  show();
}

function unfold() {
  for (const one of document.querySelectorAll(".folded")) one.open = true;
}

/* How high the part of the page is that stays in view. */
function measure() {
  const fixed = [...document.querySelectorAll(".top, .watermark")].filter((one) => getComputedStyle(one).position === "sticky");
  const high = Math.max(0, ...fixed.map((one) => one.offsetHeight));
  document.documentElement.style.setProperty("--top", `${high}px`);
}

async function start() {
  measure();
  window.addEventListener("resize", measure);
  index = await block("index");
  fillFilters();
  document.addEventListener("click", (event) => press(event.target));
  byId("filter-form").addEventListener("submit", (event) => event.preventDefault());
  byId("filter-form").addEventListener("input", refilter);
  byId("filter-form").addEventListener("reset", (event) => {
    event.preventDefault();
    go(view, cleared());
  });
  byId("differing").addEventListener("change", show);
  byId("more-episodes").addEventListener("click", () => { shownEpisodes += PAGE; listEpisodes(); });
  byId("more-questions").addEventListener("click", () => { shownQuestions += PAGE; listQuestions(); });
  byId("unfold")?.addEventListener("click", unfold);
  window.addEventListener("beforeprint", unfold);
  byId("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  window.addEventListener("hashchange", show);
  show();
  document.body.dataset.ready = "yes";
}

start();

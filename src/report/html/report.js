"use strict";
// Shows what stands in #data (docs/violation-format.md). Every text becomes a text node: nothing
// of a trace is ever parsed as markup.

const data = JSON.parse(document.getElementById("data").textContent);
const STORIES = 25, FOLLOWERS = 25, ROWS = 100, LANES = 64;

function el(tag, attributes, ...children) {
  const node = tag.startsWith("svg:")
    ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4))
    : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

const number = (n) => n.toLocaleString("en");
const plural = (n, word) => `${number(n)} ${word}${n === 1 ? "" : "s"}`;

// "torch.optim.Adam.step" is "Adam.step", "root.forward" the root forward.
function shortCall(name) {
  if (name.startsWith("root.forward")) return "root forward" + name.slice("root.forward".length);
  const parts = name.split(".");
  const last = parts.slice(-2);
  return /^[A-Z]/.test(last[0] || "") ? last.join(".") : parts[parts.length - 1];
}

// Append items in portions: `make` is called only for what is shown.
function portions(parent, items, size, make) {
  let shown = 0;
  const button = el("button", { class: "more", type: "button", onclick: show });
  function show() {
    const until = Math.min(shown + size, items.length);
    const nodes = [];
    for (; shown < until; shown++) nodes.push(make(items[shown], shown));
    if (button.parentNode) button.remove();
    parent.append(...nodes);
    if (shown < items.length) {
      button.textContent = `Show more (${number(items.length - shown)} left)`;
      parent.append(button);
    }
  }
  show();
}

// Filled when it is opened for the first time.
const fills = new WeakMap();

function unfold(node) {
  const fill = fills.get(node);
  fills.delete(node);
  if (fill) fill(node);
  node.open = true;
}

function fold(title, fill, open) {
  const node = el("details", {}, typeof title === "string" ? el("summary", {}, title) : title);
  fills.set(node, fill);
  node.addEventListener("toggle", () => node.open && unfold(node));
  if (open) unfold(node);
  return node;
}

// ---- the head of the page -------------------------------------------------------------------

const counts = data.summary.counts;
const groups = [];
for (const v of data.violations) (groups[v.finding - 1] ||= []).push(v);
for (const group of groups) group.sort((a, b) => b.head - a.head);
// Groups in which only settings of the script changed stand after all others.
const nLaws = groups.filter((group) => !group.every((v) => v.setting)).length;
const nSettings = groups.length - nLaws;

function headline() {
  if (counts.failed === 0) {
    return counts.passed ? ["passed", "No violation"] : ["", "Nothing was judged"];
  }
  if (!nLaws) return ["", `${plural(nSettings, "setting")} of the script changed, no law was broken`];
  const nBroken = counts.failed - new Set(groups.slice(nLaws).flat().map((v) => v.id)).size;
  return ["failed", nLaws === 1
    ? `One cause broke ${plural(nBroken, "invariant")}`
    : `${number(nLaws)} causes broke ${number(nBroken)} invariants`];
}

function subline() {
  if (counts.failed === 0) {
    return counts.passed
      ? `${plural(counts.passed, "invariant")} held wherever they applied.`
      : "No invariant applied to this run: was it traced for them?";
  }
  const first = groups[0][0];
  const settings = nLaws && nSettings ? ` Besides, ${plural(nSettings, "setting")} of the script changed.` : "";
  return [`First at ${place(first)}`, first.stage ? `in ${first.stage}` : "", first.at || ""].filter(Boolean).join(", ") + "." + settings;
}

function place(v) {
  const parts = [];
  if (v.step !== undefined) parts.push(`step ${v.step}`);
  if (namesRuns) parts.push(`run ${runName(v.trace)}`);
  if (v.rank !== undefined) parts.push(`rank ${v.rank}`);
  return parts.join(", ") || v.file;
}

// Several runs in one report: each thing says of which it is, by the folder's name if that is enough.
const runs = data.summary.runs;
const baseName = (trace) => trace.replace(/[/\\]+$/, "").replace(/^.*[/\\]/, "");
const namesRuns = runs.length > 1;
const hasTwins = new Set(runs.map((r) => baseName(r.trace))).size < runs.length;
const runName = (trace) => (hasTwins ? trace : baseName(trace));

const VERDICTS = ["failed", "passed", "not_triggered", "unchecked", "suppressed"];
const spoken = (verdict) => verdict.replace("_", " ");

function drawHead() {
  const [kind, words] = headline();
  document.title = `${words} \u2013 TrainCheck`;
  const list = el("ul", { class: "counts" });
  for (const verdict of VERDICTS) {
    if (verdict === "suppressed" && !counts.suppressed) continue;
    list.append(el("li", {}, el("button", { type: "button", class: counts[verdict] ? verdict : "", onclick: () => choose(verdict) },
      el("b", {}, number(counts[verdict])), spoken(verdict))));
  }
  const top = document.getElementById("top");
  top.append(el("h1", { class: kind }, words), el("p", { class: "faint" }, subline()));
  if (data.refresh_s)
    top.append(el("p", { class: "note" }, `The run goes on; this page looks again every ${plural(data.refresh_s, "second")}.`));
  if (namesRuns)
    top.append(el("p", { class: "faint" }, `${number(runs.length)} runs were judged together: the counts are of all of them.`));
  for (const run of runs.filter((r) => r.exit))
    top.append(el("p", { class: "note" }, `${namesRuns ? `The run ${runName(run.trace)}` : "The run itself"} failed: exit status ${run.exit}. It was judged up to its end.`));
  if (data.summary.damaged)
    top.append(el("p", { class: "note" }, "A part of the trace could not be read: what is said here may not be all."));
  top.append(list);
}

// ---- stories --------------------------------------------------------------------------------

function where(v) {
  const repeats = v.count > 1
    ? `${number(v.count)} times` + (v.steps && v.steps.length > 1 ? ` until step ${v.last_step}` : "")
      + (v.runs ? ` in ${plural(v.runs.length, "run")}: ${v.runs.map(runName).join(", ")}` : "") : null;
  return el("p", { class: "where" },
    v.at ? el("code", {}, v.at) : el("code", {}, v.file),
    v.step !== undefined ? el("span", {}, `step ${v.step}`) : null,
    namesRuns ? el("span", { title: v.trace }, `run ${runName(v.trace)}`) : null,
    v.ranks ? el("span", {}, v.ranks.length > 1 ? `ranks ${v.ranks.join(", ")}` : `rank ${v.ranks[0]}`) : null,
    repeats ? el("span", {}, repeats) : null,
    el("span", {}, v.relation), el("a", { class: "mono", href: `#i-${v.id}`, onclick: () => find(v.id) }, v.id));
}

function path(v) {
  const calls = v.call ? [...v.inside, v.call] : v.inside;
  return calls.length ? el("span", { class: "path mono" }, ...calls.map((c) => el("span", { title: c }, shortCall(c)))) : null;
}

function before(v) {
  if (!v.before.length) return null;
  return el("span", { class: "list mono" },
    ...v.before.map((b) => el("span", { title: b.at ? `${b.call} at ${b.at}` : b.call }, shortCall(b.call))));
}

const plain = (value) => (typeof value === "string" ? value : JSON.stringify(value));

function variables(v) {
  if (!v.variables.length) return null;
  const columns = ["name", "requires_grad", "grad", "dtype", "shape", "owner", "training", "attrs"]
    .filter((c) => v.variables.some((x) => x[c] !== undefined));
  const title = plural(v.variables.length + (v.more_variables || 0), "variable") + " concerned";
  return fold(title, (node) => {
    const rows = v.variables.map((x) => el("tr", {}, ...columns.map((c) =>
      el("td", { class: "mono", "data-name": c }, x[c] === undefined ? "" : plain(x[c])))));
    node.append(el("div", { class: "scroll" }, el("table", { class: "variables" },
      el("thead", {}, el("tr", {}, ...columns.map((c) => el("th", { scope: "col" }, c)))), el("tbody", {}, ...rows))));
    if (v.more_variables) node.append(el("p", { class: "faint" }, `and ${number(v.more_variables)} more`));
  }, v.head && v.variables.length <= 4);
}

function situation(v) {
  const fields = Object.entries(v.situation);
  if (!fields.length) return null;
  const node = fold("The situation in which it was judged", () => node.append(
    el("div", { class: "scroll" }, el("table", {}, el("tbody", {}, ...fields.map(([key, value]) =>
      el("tr", {}, el("th", { scope: "row", class: "mono" }, key), el("td", { class: "mono" }, plain(value)))))))));
  node.className = "aside";
  return node;
}

function facts(v) {
  const list = el("dl");
  const row = (name, value, kind) => value && list.append(el("dt", {}, name), el("dd", { class: kind }, value));
  row("Expected", v.expected);
  row("Look at", v.hint, "hint");
  row("Call", path(v));
  row("After", before(v));
  row("Learned", `held ${plural(v.learned.held, "time")} in ${plural(v.learned.pipelines, "pipeline")}`);
  return list;
}

function follower(v) {
  const title = el("summary", {}, v.seen, " ", el("span", { class: "faint", title: v.at },
    [v.at ? v.at.replace(/^.*[/\\]/, "") : "", v.step === undefined ? "" : `step ${v.step}`, namesRuns ? `run ${runName(v.trace)}` : ""].filter(Boolean).join(", ")));
  return el("li", {}, fold(title, (node) => node.append(where(v), facts(v), ...[variables(v), situation(v)].filter(Boolean))));
}

function story(group, i) {
  const [head, ...rest] = group;
  const node = el("article", { class: "story", id: `g${i + 1}` }, where(head),
    el("h3", {}, el("span", { class: "number" }, `${i + 1}`), data.findings[i].sentence), facts(head), variables(head), situation(head));
  if (rest.length) {
    node.append(fold(`With it broke ${plural(rest.length, "other")}`, (details) => {
      const list = el("ul", { class: "followers" });
      portions(list, rest, FOLLOWERS, follower);
      details.append(list);
    }, rest.length <= 8));
  }
  return node;
}

function drawStories() {
  if (!groups.length) return;
  const section = document.getElementById("stories");
  const part = (title, from, until) => {
    const node = el("div", {}, el("h2", from ? {} : { id: "stories-title" }, title));
    portions(node, groups.slice(from, until), STORIES, (group, i) => story(group, from + i));
    section.append(node);
  };
  if (nLaws) part("What broke", 0, nLaws);
  if (nSettings) part("Changed settings of the script", nLaws, groups.length);
}

// ---- timeline -------------------------------------------------------------------------------

const RIGHT = 16, LANE = 26, LETTER = 7, MOST_LETTERS = 24;

function laneOf(v, lanes) {
  const own = lanes.findIndex((t) => t.trace === v.trace && t.file === v.file);
  const found = new Set(own >= 0 ? [own] : []);
  for (const rank of v.ranks || [])
    lanes.forEach((t, i) => t.trace === v.trace && t.rank === rank && found.add(i));
  return [...found];
}

function ticks(first, last, width) {
  const raw = Math.max(1, (last - first) * 70 / width), power = 10 ** Math.floor(Math.log10(raw));
  const size = [1, 2, 5, 10].map((x) => x * power).find((x) => x >= raw);
  const list = [];
  for (let x = Math.ceil(first / size) * size; x <= last; x += size) list.push(x);
  return list;
}

function laneName(t) {
  if (!namesRuns) return t.rank === undefined ? "process" : `rank ${t.rank}`;
  return t.rank === undefined ? runName(t.trace) : `${runName(t.trace)} rank ${t.rank}`;
}

const shortened = (name) => (name.length > MOST_LETTERS ? "\u2026" + name.slice(1 - MOST_LETTERS) : name);

function chart(lanes, width) {
  const steps = lanes.flatMap((t) => t.stretches.flatMap((s) => [s.first_step, s.last_step]));
  const first = Math.min(...steps), last = Math.max(...steps);
  const names = lanes.map((t) => shortened(laneName(t)));
  const left = Math.max(64, 12 + LETTER * Math.max(...names.map((name) => name.length)));
  const x = (step) => left + (width - left - RIGHT) * (step - first + 0.5) / (last - first + 1);
  const half = (x(first) - left), height = lanes.length * LANE + 34;
  const svg = el("svg:svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Steps of each rank with the first step of each story" });
  for (const step of ticks(first, last, width)) {
    svg.append(el("svg:line", { class: "tick", x1: x(step), x2: x(step), y1: 4, y2: height - 24 }),
      el("svg:text", { x: x(step), y: height - 8, "text-anchor": "middle" }, number(step)));
  }
  svg.append(el("svg:text", { x: 0, y: height - 8 }, "step"));
  lanes.forEach((t, i) => {
    svg.append(el("svg:text", { class: "lane-name", x: 0, y: i * LANE + 20 }, names[i]));
    for (const s of t.stretches) {
      const isEvaluation = s.stage === "evaluation";
      svg.append(el("svg:rect", { class: `lane ${s.stage || ""}`, x: x(s.first_step) - half, rx: 1,
        y: i * LANE + (isEvaluation ? 19 : 7), height: isEvaluation ? 5 : 12,
        width: Math.max(1.5, x(s.last_step) - x(s.first_step) + 2 * half) }));
    }
  });
  drawMarks(svg, lanes, x);
  return svg;
}

// Violations that fall together are one mark: that of the story with the lowest number.
function marksOf(lanes) {
  const marks = new Map();
  groups.forEach((group, g) => group.forEach((v, i) => {
    if (v.step === undefined) return;
    for (const lane of laneOf(v, lanes)) {
      const key = `${lane}/${v.step}`, until = v.last_step ?? v.step;
      const mark = marks.get(key);
      if (!mark) marks.set(key, { lane, step: v.step, until, g, isHead: i === 0, seen: v.seen, more: 0 });
      else { mark.more++; mark.until = Math.max(mark.until, until); }
    }
  }));
  return [...marks.values()];
}

function drawMarks(svg, lanes, x) {
  const marks = marksOf(lanes), y = (m) => m.lane * LANE + 13;
  const ends = new Map();
  for (const m of marks) {
    const line = ends.get(m.lane) || { from: m.step, until: m.until };
    ends.set(m.lane, { from: Math.min(line.from, m.step), until: Math.max(line.until, m.until), lane: m.lane });
  }
  for (const line of ends.values())
    svg.append(el("svg:line", { class: "again", x1: x(line.from), x2: x(line.until), y1: y(line), y2: y(line) }));
  // As many as can be told from each other, small ones first.
  const taken = new Set();
  marks.sort((a, b) => b.isHead - a.isHead || a.g - b.g);
  const shown = marks.filter((m) => {
    const place = `${m.lane}/${Math.round(x(m.step) / 6)}`;
    return !taken.has(place) && taken.add(place);
  });
  for (const m of shown.reverse()) {
    const title = `${m.seen} (step ${m.step})` + (m.more ? ` and ${number(m.more)} more` : "");
    const link = el("svg:a", { href: `#g${m.g + 1}` }, el("svg:title", {}, title),
      el("svg:circle", { class: "head", cx: x(m.step), cy: y(m), r: m.isHead ? 9 : 4 }));
    if (m.isHead)
      link.append(el("svg:text", { class: "head-number", x: x(m.step), y: y(m) + 4 }, m.g < 99 ? `${m.g + 1}` : "+"));
    svg.append(link);
  }
}

function drawTimeline() {
  const lanes = data.timeline.filter((t) => t.stretches.length).slice(0, LANES);
  if (!lanes.length) return;
  const box = el("div", { class: "chart" });
  const key = (name, colour) => el("span", {}, el("i", { style: `background: var(${colour})` }), name);
  document.getElementById("timeline").append(
    el("h2", { id: "timeline-title" }, "Steps"), box,
    el("p", { class: "legend" }, ...[["training", "--train"], ["evaluation", "--eval"]]
      .filter(([stage]) => lanes.some((t) => t.stretches.some((s) => s.stage === stage))).map((k) => key(...k)),
      groups.length ? key("the first step of a story, of what broke with it, and how long it went on", "--bad") : null));
  if (data.timeline.length > lanes.length)
    box.after(el("p", { class: "faint" }, `and ${plural(data.timeline.length - lanes.length, "more process").replace(/ss$/, "sses")}`));
  let drawn = 0;
  const draw = () => {
    const width = box.clientWidth - 20;
    if (width > 0 && width !== drawn) box.replaceChildren(chart(lanes, width));
    drawn = width;
  };
  draw();
  window.addEventListener("resize", draw);
}

// ---- invariants -----------------------------------------------------------------------------

const query = el("input", { type: "search", placeholder: "Search invariants: words, a call, an id", "aria-label": "Search invariants" });
const verdicts = el("select", { "aria-label": "Verdict" }, el("option", { value: "" }, "all verdicts"),
  ...VERDICTS.map((v) => el("option", { value: v }, spoken(v))));
const found = el("div", {});
const howMany = el("p", { class: "faint", role: "status" });
// What failed first, also where it was suppressed.
const urgency = (i) => (i.verdict === "failed" ? 0 : i.verdict === "suppressed" ? 1 : 2);
data.invariants.sort((a, b) => urgency(a) - urgency(b));
const texts = data.invariants.map((i) => `${i.id} ${i.relation} ${i.text}`.toLowerCase());

function row(i) {
  return el("div", { class: `invariant is-${i.verdict}`, id: `i-${i.id}` }, el("div", {}, i.text || i.relation),
    el("div", { class: "where" }, el("span", { class: `verdict ${i.verdict}` }, spoken(i.verdict)),
      i.why ? el("span", {}, i.why) : null,
      i.held || i.broken ? el("span", {}, i.broken
        ? `broke ${number(i.broken)} of ${plural(i.held + i.broken, "time")}` : `held ${plural(i.held, "time")}`) : null,
      el("span", {}, `learned: ${plural(i.learned.held, "time")} in ${plural(i.learned.pipelines, "pipeline")}`),
      el("span", {}, i.relation), el("code", {}, i.id)));
}

function search() {
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = data.invariants.filter((i, n) =>
    (!verdicts.value || i.verdict === verdicts.value) && words.every((w) => texts[n].includes(w)));
  howMany.textContent = hits.length === data.invariants.length
    ? plural(hits.length, "invariant") : `${number(hits.length)} of ${plural(data.invariants.length, "invariant")}`;
  found.replaceChildren();
  portions(found, hits, ROWS, row);
}

function choose(verdict) {
  verdicts.value = verdict;
  query.value = "";
  search();
  document.getElementById("invariants").scrollIntoView();
}

function find(id) {
  verdicts.value = "";
  query.value = id;
  search();
}

function drawInvariants() {
  query.addEventListener("input", search);
  verdicts.addEventListener("change", search);
  document.getElementById("invariants").append(el("h2", { id: "invariants-title" }, "Invariants"),
    el("div", { class: "search" }, query, verdicts), howMany,
    el("p", { class: "faint paper" }, "Those that passed or were not triggered are not printed."), found);
  search();
}

// ---- the run --------------------------------------------------------------------------------

function drawRun() {
  const s = data.summary, list = el("dl");
  const add = (name, value) => value && list.append(el("dt", {}, name), el("dd", {}, value));
  const lines = (texts) => el("span", {}, ...texts.flatMap((t, i) => (i ? [el("br"), el("code", {}, t)] : [el("code", {}, t)])));
  add("Trace", lines(s.traces));
  add("Invariants", lines(s.invariant_files));
  add("Command", s.command && el("code", {}, s.command));
  const amount = (r) => `${plural(r.records, "record")}, ${plural(r.calls, "call")}, ${plural(r.windows, "training step")}`;
  add("Read", amount(s) + (namesRuns ? ` of ${plural(s.runs.length, "run")} together` : ""));
  if (namesRuns) for (const r of s.runs) add(runName(r.trace), amount(r) + (r.exit ? `, exit status ${r.exit}` : ""));
  else if (s.runs[0].exit) add("Exit status", String(s.runs[0].exit));
  const section = document.getElementById("run");
  section.append(el("h2", { id: "run-title" }, "The run"), list);
  if (s.suppressed.length)
    section.append(fold(`${plural(s.suppressed.length, "suppressed violation")}`, (node) => node.append(
      el("table", {}, el("tbody", {}, ...s.suppressed.map((x) => el("tr", {}, el("td", { class: "mono" }, x.id), el("td", {}, x.reason),
        el("td", {}, plural(x.count, "time"))))))), true));
  if (s.notes.length)
    section.append(fold(`${plural(s.notes.length, "note")} about the trace`, (node) => node.append(
      el("div", { class: "scroll" }, el("table", {}, el("tbody", {}, ...s.notes.map((n) => el("tr", {}, el("td", { class: "mono" }, n.file),
        el("td", {}, n.text), el("td", {}, plural(n.count, "time")))))))), true));
  document.querySelector("main").append(el("footer", {}, `${s.made_by}, report schema ${s.schema}`));
}

drawHead();
drawStories();
drawTimeline();
drawInvariants();
drawRun();

// On paper nothing can be opened; what is opened may hold more.
window.addEventListener("beforeprint", () => {
  let closed;
  while ((closed = document.querySelector(".story details:not([open]):not(.aside)"))) unfold(closed);
});
document.documentElement.dataset.ready = "true";

"use strict";
// Findings by step: a lane for each, drawn anew when another part of the steps is shown.

const CELLS = 240, LEAST = 10;
let whole = [0, 0], view = [0, 0]; // first and last step
const lanes = []; // what is drawn anew when another part of the steps is shown

const span = (range) => range[1] - range[0] + 1;
const at = (step) => (step - view[0]) / span(view); // from 0 to 1

// In so many steps a cell is drawn.
const cellSize = () => Math.max(1, Math.ceil(span(view) / CELLS));

// Bars of one shade become one path. Where a cell is much smaller than what steps are counted by,
// it is not known in which of them it was: that is hatched.
function drawHeat(f) {
  const size = cellSize(), cells = new Map(), paths = ["", "", "", "", ""];
  const peak = Math.max(...f.stretches.map((s) => s.n / span(s.range)));
  const bar = (level, from, until) => {
    const x0 = 1000 * Math.max(0, at(from)), x1 = 1000 * Math.min(1, at(until));
    paths[level] += `M${x0.toFixed(1)} 0H${Math.max(x1, x0 + 3).toFixed(1)}V10H${x0.toFixed(1)}Z`;
  };
  const shade = (n, steps) => Math.min(3, Math.floor(4 * n / steps / peak));
  for (const s of f.stretches) {
    const length = span(s.range), cell = Math.floor((s.range[0] - view[0]) / size);
    if (s.range[1] < view[0] || s.range[0] > view[1]) continue;
    if (length > size) bar(length > 8 * size ? 4 : shade(s.n, length), s.range[0], s.range[1] + 1);
    else cells.set(cell, (cells.get(cell) || 0) + s.n);
  }
  for (const [cell, n] of cells) {
    const from = view[0] + cell * size;
    bar(shade(n, Math.min(size, view[1] + 1 - from)), from, from + size);
  }
  f.svg.replaceChildren(...paths.map((d, level) => d && el("svg:path", { class: `heat${level}`, d })).filter(Boolean));
}

function drawStages(lane) {
  const rect = (x0, x1, stage) => el("svg:rect", { class: `stage ${stage || "both"}`, x: (1000 * x0).toFixed(1), width: Math.max(1.5, 1000 * (x1 - x0)).toFixed(1),
    y: stage === "evaluation" ? 7 : 1, height: stage === "evaluation" ? 3 : 6 });
  const bars = new Map(); // of each stage; those that are nearer to each other than can be seen are one
  for (let i = 0; i < lane.stretches.length; i += 3) {
    const [stage, first, last] = lane.stretches.slice(i, i + 3), list = bars.get(stage) || [], before = list[list.length - 1];
    if (last < view[0] || first > view[1]) continue;
    if (before && first <= before[1] + 2 * cellSize()) before[1] = last;
    else list.push([first, last]);
    bars.set(stage, list);
  }
  lane.svg.replaceChildren(...[...bars].flatMap(([stage, list]) => list.map(([first, last]) => rect(Math.max(0, at(first)), Math.min(1, at(last + 1)), stage))));
  const taken = new Set();
  lane.box.replaceChildren(lane.svg, ...lane.marks.filter(({ step }) => step >= view[0] && step <= view[1]).map(({ f, step }) => {
    const x = at(step) + 0.5 / span(view), slot = Math.round(x * 40);
    return !taken.has(slot) && taken.add(slot) && el("a", { class: "dot", href: `#f${f.number}`, style: `left: ${100 * x}%`, "aria-label": `finding ${f.number} begins in step ${number(step)}` }, `${f.number}`);
  }).filter(Boolean));
}

function ticks(first, last, most) {
  const raw = Math.max(1, (last - first) / most), power = 10 ** Math.floor(Math.log10(raw));
  const size = [1, 2, 5, 10].map((x) => x * power).find((x) => x >= raw);
  const list = [];
  for (let x = Math.ceil(first / size) * size; x <= last; x += size) list.push(x);
  return list;
}

let axis, status;

function show(first, last) {
  const least = Math.min(LEAST, span(whole)), length = Math.max(least, Math.min(span(whole), Math.round(last - first + 1)));
  const from = Math.max(whole[0], Math.min(whole[1] - length + 1, Math.round(first)));
  view = [from, from + length - 1];
  for (const lane of lanes) if (lane.spread) drawHeat(lane); else drawStages(lane);
  axis.replaceChildren(...ticks(view[0], view[1], axis.clientWidth / 80).map((step) =>
    el("span", { style: `left: ${100 * (at(step) + 0.5 / span(view))}%` }, number(step))));
  const size = cellSize();
  status.textContent = `Steps ${number(view[0])} to ${number(view[1])}` + (size > 1 ? `; a cell is ${number(size)} steps.` : "; a cell is one step.");
}

const zoom = (by, around = 0.5) => {
  const length = span(view) * by, centre = view[0] + span(view) * around;
  show(centre - length * around, centre + length * (1 - around) - 1);
};
const move = (by) => show(view[0] + span(view) * by, view[1] + span(view) * by);
const KEYS = { "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), ArrowLeft: () => move(-0.25), ArrowRight: () => move(0.25), Home: () => show(...whole) };

// What a row tells of the cell under the pointer.
function tell(f, x) {
  const step = view[0] + x * span(view), size = cellSize(), from = view[0] + Math.floor((step - view[0]) / size) * size;
  const met = f.stretches.filter((s) => s.range[1] >= from && s.range[0] < from + size);
  const n = met.reduce((sum, s) => sum + s.n, 0), first = met.length && Math.min(from, ...met.map((s) => s.range[0])), last = met.length && Math.max(...met.map((s) => s.range[1]));
  const place = first === last ? `in step ${number(first)}` : `in steps ${number(first)} to ${number(last)}`;
  return met.length ? `Finding ${f.number}: broken ${times(n)} ${place}` : `Finding ${f.number}: not broken ${size > 1 ? `in steps ${number(from)} to ${number(from + size - 1)}` : `in step ${number(from)}`}`;
}

// Drag over a part to see it alone.
function dragging(box, boxes) {
  let begin = null;
  const share = (event) => { const r = axis.getBoundingClientRect(); return Math.max(0, Math.min(1, (event.clientX - r.left) / r.width)); };
  box.addEventListener("pointerdown", (event) => { begin = event.target.closest("a") || event.pointerType === "touch" ? null : share(event); });
  window.addEventListener("pointerup", (event) => {
    if (begin !== null && Math.abs(share(event) - begin) > 0.01) {
      const [a, b] = [begin, share(event)].sort((x, y) => x - y);
      show(view[0] + span(view) * a, view[0] + span(view) * b - 1);
    }
    begin = null;
  });
  box.addEventListener("dblclick", () => show(...whole));
  box.addEventListener("pointermove", (event) => {
    const f = boxes.get(event.target.closest(".lane"));
    if (f) status.textContent = tell(f, share(event));
  });
}

// Ranks of a run that went the same way are one row.
function rankRows() {
  const rows = new Map();
  for (const t of tracks.filter((x) => x.stretches.length)) {
    const marks = findings.filter((f) => f.step !== undefined && f.violations.some((v) => v.trace === t.trace
      && (v.ranks ? v.ranks.includes(t.rank) : v.file === t.file)) || (f.of && f.trace === t.trace && f.rank === t.rank));
    const key = [t.trace, data.pool.indexOf(t.stretches), ...marks.map((f) => f.number)].join("/");
    if (!rows.has(key)) rows.set(key, { trace: t.trace, stretches: t.stretches, ranks: [], marks: marks.map((f) => ({ f, step: f.step })) });
    rows.get(key).ranks.push(t.rank);
  }
  return [...rows.values()];
}

function laneName(row) {
  const ranks = row.ranks.filter((r) => r !== undefined);
  const whose = ranks.length ? `${ranks.length > 1 ? "ranks" : "rank"} ${ranges(ranks)}` : row.ranks.length > 1 ? plural(row.ranks.length, "process") : "process";
  return namesRuns ? joined([runName(row.trace), ranks.length && whose], " ") : whose;
}

function exactness(f) {
  const widest = Math.max(...f.stretches.map((s) => span(s.range)));
  return f.exact ? "each step" : `stretches of at most ${number(widest)} steps`;
}

function numbersTable(list) {
  return fold("The same in numbers", (node) => node.append(scroll("Numbers of the findings", el("table", {}, el("thead", {}, el("tr", {},
    ...["finding", "first step", "last step", "times", "what is known"].map((t) => el("th", { scope: "col" }, t)))),
  el("tbody", {}, ...list.map((f) => el("tr", {}, el("th", { scope: "row" }, `${f.number}`), el("td", {}, number(f.stretches[0].range[0])),
    el("td", {}, number(f.stretches[f.stretches.length - 1].range[1])), el("td", {}, number(f.stretches.reduce((sum, s) => sum + s.n, 0))), el("td", {}, exactness(f)))))))));
}

function drawSteps() {
  const rows = rankRows(), ends = rows.flatMap((r) => r.stretches.filter((x, i) => i % 3));
  const heat = findings.filter((f) => f.spread && f.spread.length).slice(0, FINDINGS);
  for (const f of heat) {
    f.stretches = [];
    for (let i = 0; i < f.spread.length; i += 3) f.stretches.push({ range: f.spread.slice(i, i + 2), n: f.spread[i + 2] });
    ends.push(f.stretches[0].range[0], f.stretches[f.stretches.length - 1].range[1]);
  }
  if (!ends.length) return;
  whole = [Math.min(...ends), Math.max(...ends)];
  const svg = (label) => el("svg:svg", { viewBox: "0 0 1000 10", preserveAspectRatio: "none", role: "img", "aria-label": label });
  const hatch = el("svg:svg", { width: 0, height: 0, "aria-hidden": "true" }, el("svg:pattern", { id: "hatch", width: 5, height: 10, patternUnits: "userSpaceOnUse" },
    el("svg:rect", { class: "heat3", width: 2.5, height: 10 })));
  const grid = el("div", { class: "lanes" }), boxes = new Map();
  const add = (name, lane, label) => {
    lane.svg = svg(label);
    lane.box = el("div", { class: "lane" }, lane.svg);
    lanes.push(lane);
    grid.append(name, lane.box);
  };
  for (const f of heat) {
    add(el("a", { class: "lane-name", href: `#f${f.number}`, title: f.sentence }, el("span", { class: "number" }, `${f.number}`), " ", f.sentence), f, `finding ${f.number} by step`);
    boxes.set(f.box, f);
  }
  for (const row of rows.slice(0, LANES))
    add(el("span", { class: "lane-name", title: laneName(row) }, laneName(row)), row, `steps of ${laneName(row)}`);
  axis = el("div", { class: "steps", "aria-hidden": "true" });
  grid.append(el("span", { class: "lane-name faint" }, "step"), axis);
  status = el("p", { class: "faint status", role: "status" });
  const button = (text, label, act) => el("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
  const tools = el("div", { class: "tools" }, button("+", "Fewer steps", KEYS["+"]), button("\u2212", "More steps", KEYS["-"]),
    button("\u2039", "Earlier steps", KEYS.ArrowLeft), button("\u203a", "Later steps", KEYS.ArrowRight), button("All", "All steps", KEYS.Home), status);
  const box = el("div", { class: "heatmap", tabindex: 0, role: "group", "aria-label": "Findings by step. Plus and minus show fewer and more steps, arrows move, Home shows all.",
    onkeydown: (event) => { if (event.target === box && KEYS[event.key]) { KEYS[event.key](); event.preventDefault(); } } }, hatch, grid);
  const key = (name, kind) => el("span", {}, el("i", { class: kind }), name);
  const has = (stage) => rows.some((r) => r.stretches.includes(stage));
  document.getElementById("steps").append(el("h2", { id: "steps-title" }, heat.length ? "Findings by step" : "Steps"), tools, box,
    el("p", { class: "legend" }, heat.length ? key("broken seldom", "heat0") : null, heat.length ? key("broken most often", "heat3") : null,
      heat.some((f) => !f.exact) ? key("broken in these steps; in which of them was not kept", "heat4") : null,
      has("") ? key("training and evaluation", "both") : null, has("training") ? key("training", "training") : null, has("evaluation") ? key("evaluation", "evaluation") : null),
    ...[heat.length && numbersTable(heat), findings.length > heat.length && el("p", { class: "faint" }, `and ${plural(findings.length - heat.length, "more finding")}`),
      rows.length > LANES && el("p", { class: "faint" }, `and ${plural(rows.length - LANES, "more rank")}`)].filter(Boolean));
  dragging(box, boxes);
  show(...whole);
  window.addEventListener("resize", () => show(...view));
}

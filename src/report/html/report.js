// Shows what stands in #data (src/report/page_data.c). Every text becomes a text node: nothing of a
// trace is ever parsed as markup. The charts in templates are made of numbers alone. It follows
// steps.js in the page.

const data = JSON.parse(document.getElementById("data").textContent);
const FINDINGS = 25, FOLLOWERS = 25, ROWS = 100, LANES = 64, COLUMNS = 6;

function el(tag, attributes, ...children) {
  const node = tag.startsWith("svg:")
    ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4))
    : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

// A table of src/report/page_table.h as objects.
function unpack({ keys, rows }) {
  const names = keys.map((key) => key.replace("@", "")), isPooled = keys.map((key) => key.startsWith("@"));
  return rows.map((row) => {
    const object = {};
    row.forEach((cell, i) => { if (cell !== null) object[names[i]] = isPooled[i] ? data.pool[cell] : cell; });
    return object;
  });
}

const invariants = unpack(data.invariants), violations = unpack(data.violations);
const findings = unpack(data.findings), tracks = unpack(data.timeline);
const summary = data.summary, counts = summary.counts, runs = data.runs;

for (const f of findings) Object.assign(f, { violations: [], first: 1 });
for (const v of violations) findings[v.finding - 1].violations.push(v);
findings.forEach((f, i) => { f.number = i + 1; });

const number = (n) => n.toLocaleString("en");
const plural = (n, word) => `${number(n)} ${word}${n === 1 ? "" : word.endsWith("s") ? "es" : "s"}`;
const times = (n) => (n === 1 ? "once" : n === 2 ? "twice" : `${number(n)} times`);
const baseName = (path) => path.replace(/[/\\]+$/, "").replace(/^.*[/\\]/, "");
const plain = (value) => (typeof value === "string" ? value : JSON.stringify(value));
const joined = (parts, by = ", ") => parts.filter(Boolean).join(by);

// "torch.optim.Adam.step" is "Adam.step", "root.forward" the root forward.
function shortCall(name) {
  if (name.startsWith("root.forward")) return "root forward" + name.slice("root.forward".length);
  const parts = name.split(".");
  const last = parts.slice(-2);
  return /^[A-Z]/.test(last[0] || "") ? last.join(".") : parts[parts.length - 1];
}

// 0, 1, 2, 5 are "0-2, 5", with a longer dash.
function ranges(numbers) {
  const list = [];
  for (const n of [...new Set(numbers)].sort((a, b) => a - b)) {
    const last = list[list.length - 1];
    if (last && last[1] === n - 1) last[1] = n;
    else list.push([n, n]);
  }
  return list.map(([a, b]) => (a === b ? `${a}` : b === a + 1 ? `${a}, ${b}` : `${a}\u2013${b}`)).join(", ");
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

const scroll = (name, ...children) => el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": name }, ...children);

// ---- the head of the page -------------------------------------------------------------------

const nSettings = findings.filter((f) => f.kind === "setting").length, nLaws = findings.length - nSettings;
const nLeft = counts.findings - findings.length; // found no room
// Several runs in one report: each thing says of which it is, by the folder's name if that is enough.
const namesRuns = runs.length > 1;
const hasTwins = new Set(runs.map((r) => baseName(r.trace))).size < runs.length;
const runName = (trace) => (hasTwins ? trace : baseName(trace));

function headline() {
  if (!findings.length) return counts.passed ? ["passed", "Nothing was found"] : ["", "Nothing was judged"];
  if (!nLaws) return ["", `${plural(nSettings, "setting")} of the script changed, no law was broken`];
  return ["failed", nLaws + nLeft === 1 ? "One finding" : plural(nLaws + nLeft, "finding")];
}

const spokenPlace = (f) => joined([f.at && baseName(f.at), f.when, namesRuns && `run ${runName(f.trace)}`]);

function subline() {
  if (!findings.length) {
    return counts.passed
      ? `${plural(counts.passed, "invariant")} held wherever they applied.`
      : "No invariant applied to this run: was it traced for them?";
  }
  if (!nLaws) return "";
  const broken = `${plural(counts.failed, "invariant")} broke.`;
  return [el("a", { href: "#f1" }, findings[0].sentence), `: ${spokenPlace(findings[0])}. ${broken}`,
    nSettings ? ` Besides, ${plural(nSettings, "setting")} of the script changed.` : ""];
}

const VERDICTS = ["failed", "passed", "not_triggered", "unchecked", "suppressed"];
const spoken = (verdict) => verdict.replace("_", " ");

for (const r of runs) {
  const own = tracks.filter((t) => t.trace === r.trace);
  r.ranks = own.length;
  r.findings = findings.filter((f) => f.trace === r.trace || f.violations.some((v) => v.runs && v.runs.includes(r.trace)));
}

const hasNoEnd = summary.notes.some((n) => n.code === "no-end");
const ABOUT = { // what is said of a run
  verdict: (r) => r.findings && verdictOf(r),
  script: (r) => r.argv && el("code", { title: r.argv.map(plain)[0] }, baseName(plain(r.argv[0] || ""))),
  arguments: (r) => r.argv && (r.argv.length > 1 ? el("code", {}, r.argv.slice(1).map(plain).join(" ")) : "none"),
  "last step": (r) => r.last_step !== undefined && number(r.last_step),
  "exit status": (r) => r.exit !== undefined && (data.refresh_s && !r.exit ? "none yet" : r.exit || !hasNoEnd ? String(r.exit) : "not known, as the end was not written"),
  ranks: (r) => (r.world_size || r.ranks > 1) && number(r.world_size || r.ranks),
  Python: (r) => r.python,
  packages: (r) => r.packages && Object.entries(r.packages).map(([k, v]) => `${k} ${plain(v)}`).join(", "),
  host: (r) => r.host,
  began: (r) => r.unix_ns && new Date(r.unix_ns / 1e6).toISOString().slice(0, 16).replace("T", " ") + " UTC",
  trace: (r) => el("code", {}, r.trace),
  read: (r) => r.records && `${plural(r.records, "record")}, ${plural(r.calls, "call")}, ${plural(r.windows, "training step")}`,
};

function verdictOf(r) {
  const settings = r.findings.filter((f) => f.kind === "setting"), laws = r.findings.filter((f) => f.kind !== "setting");
  const part = (list, word, kind) => list.length ? [el("span", { class: `verdict ${kind}` }, plural(list.length, word)), ": ",
    ...list.slice(0, 10).flatMap((f, i) => [i ? ", " : "", el("a", { href: `#f${f.number}` }, `${f.number}`)])] : [];
  if (!r.findings.length) return el("span", { class: "verdict passed" }, "nothing found");
  return [...part(laws, "finding", "failed"), laws.length && settings.length ? "; " : "", ...part(settings, "changed setting", "suppressed")];
}

// Runs that are checked, then the healthy ones; what differs between them is marked.
function aboutRuns() {
  const all = [...runs.slice(0, COLUMNS), ...data.healthy.slice(0, 3)];
  const isHealthy = (i) => i >= Math.min(runs.length, COLUMNS);
  const titles = all.map((r, i) => (isHealthy(i) ? `healthy run ${baseName(r.trace)}` : namesRuns ? `run ${runName(r.trace)}` : "this run"));
  const rows = Object.entries(ABOUT).map(([name, show]) => {
    const cells = all.map((r) => show(r) || null);
    const texts = cells.map((c) => c && (c.textContent ?? c)), healthy = new Set(texts.filter((t, i) => t && isHealthy(i)));
    const isSetting = ["script", "arguments", "ranks", "Python", "packages"].includes(name);
    return cells.some(Boolean) && el("tr", {}, el("th", { scope: "row" }, name), ...cells.map((c, i) => el("td",
      { class: isSetting && c && !isHealthy(i) && healthy.size && !healthy.has(texts[i]) ? "differs" : null }, c || "\u2013")));
  }).filter(Boolean);
  const left = runs.length - COLUMNS;
  return [scroll("The runs", el("table", { class: "about" }, el("thead", {}, el("tr", {}, el("td"), ...titles.map((t) => el("th", { scope: "col" }, t)))),
    el("tbody", {}, ...rows))),
  data.healthy.length ? null : el("p", { class: "faint" }, "The invariant file says nothing of the runs it was learned from: traincheck-infer --specific writes that."),
  left > 0 || data.healthy.length > 3 ? el("p", { class: "faint" }, joined([left > 0 && `and ${plural(left, "more run")} that were checked`,
    data.healthy.length > 3 && `and ${plural(data.healthy.length - 3, "more healthy run")}`])) : null].filter(Boolean);
}

function identity(r) {
  const torch = r.packages && r.packages.torch;
  return el("p", { class: "identity" }, r.argv ? el("code", {}, [baseName(plain(r.argv[0] || "")), ...r.argv.slice(1).map(plain)].join(" ")) : el("code", {}, baseName(r.trace)),
    ...[r.last_step !== undefined && `reached step ${number(r.last_step)}`, `exit status ${plain(ABOUT["exit status"](r))}`, r.ranks > 1 && plural(r.ranks, "rank"),
      r.python && `Python ${r.python}`, torch && `torch ${torch}`, r.host && `on ${r.host}`, ABOUT.began(r)].filter(Boolean).map((t) => el("span", {}, t)));
}

function drawHead() {
  const [kind, words] = headline();
  document.title = `${words} \u2013 TrainCheck`;
  const list = el("ul", { class: "counts", "aria-label": "Invariants by verdict" });
  for (const verdict of VERDICTS) {
    if (verdict === "suppressed" && !counts.suppressed) continue;
    list.append(el("li", {}, el("button", { type: "button", class: counts[verdict] ? verdict : "", onclick: () => choose(verdict) },
      el("b", {}, number(counts[verdict])), spoken(verdict))));
  }
  const top = document.getElementById("top"), note = (text) => top.append(el("p", { class: "note" }, text));
  top.append(el("h1", { class: kind }, words), el("p", { class: "lead" }, subline()));
  if (!namesRuns && runs.length) top.append(identity(runs[0]));
  if (data.refresh_s) note(`The run goes on; this page looks again every ${plural(data.refresh_s, "second")}.`);
  if (namesRuns) {
    top.append(el("p", { class: "faint" }, `${number(runs.length)} runs were judged together: the counts are of all of them.`));
    top.append(el("ul", { class: "runs" }, ...runs.slice(0, 50).map((r) => el("li", {}, el("b", { title: r.trace }, runName(r.trace)), " ", verdictOf(r),
      el("span", { class: "faint" }, joined([r.last_step !== undefined && ` reached step ${number(r.last_step)}`, r.exit && `exit status ${r.exit}`]))))));
  }
  for (const run of runs.filter((r) => r.exit))
    note(`${namesRuns ? `The run ${runName(run.trace)}` : "The run itself"} failed: exit status ${run.exit}. It was judged up to its end.`);
  if (summary.damaged) note("A part of the trace could not be read: what is said here may not be all.");
  top.append(fold(joined([namesRuns ? "The runs" : "This run", data.healthy.length && `beside the ${data.healthy.length === 1 ? "healthy run" : "healthy runs"} it was learned from`], " "),
    (node) => node.append(...aboutRuns())), list);
}

// ---- violations -----------------------------------------------------------------------------

const invariantOf = (v) => invariants[v.invariant] || { id: v.id, text: "" };

function where(v) {
  const repeats = v.count > 1
    ? times(v.count) + (v.steps && v.steps.length > 1 ? ` until step ${number(v.last_step)}` : "")
      + (v.runs ? ` in ${plural(v.runs.length, "run")}: ${v.runs.map(runName).join(", ")}` : "") : null;
  return el("p", { class: "where" },
    el("code", {}, v.at || v.file), v.step !== undefined ? el("span", {}, `step ${number(v.step)}`) : null,
    namesRuns ? el("span", { title: v.trace }, `run ${runName(v.trace)}`) : null,
    v.ranks ? el("span", {}, (v.ranks.length > 1 ? "ranks " : "rank ") + ranges(v.ranks)) : null,
    repeats ? el("span", {}, repeats) : null);
}

function path(v) {
  const calls = [...(v.inside || []), v.call].filter(Boolean);
  return calls.length ? el("span", { class: "path mono" }, ...calls.map((c) => el("span", { title: c }, shortCall(c)))) : null;
}

function before(v) {
  return v.before && el("span", { class: "list mono" },
    ...v.before.map((b) => el("span", { title: b.at ? `${b.call} at ${b.at}` : b.call }, shortCall(b.call))));
}

function variables(v) {
  if (!v.variables) return null;
  const columns = ["name", "requires_grad", "grad", "dtype", "shape", "owner", "training", "attrs"]
    .filter((c) => v.variables.some((x) => x[c] !== undefined));
  const title = plural(v.variables.length + (v.more_variables || 0), "variable") + " concerned";
  return fold(title, (node) => {
    const rows = v.variables.map((x) => el("tr", {}, ...columns.map((c) =>
      el("td", { class: "mono", "data-name": c }, x[c] === undefined ? "" : plain(x[c])))));
    node.append(scroll(title, el("table", { class: "variables" },
      el("thead", {}, el("tr", {}, ...columns.map((c) => el("th", { scope: "col" }, c)))), el("tbody", {}, ...rows))));
    if (v.more_variables) node.append(el("p", { class: "faint" }, `and ${number(v.more_variables)} more`));
  });
}

function situation(v) {
  const fields = Object.entries(v.situation || {});
  if (!fields.length) return null;
  const node = fold("The situation in which it was judged", () => node.append(
    scroll("The situation", el("table", {}, el("tbody", {}, ...fields.map(([key, value]) =>
      el("tr", {}, el("th", { scope: "row", class: "mono" }, key), el("td", { class: "mono" }, plain(value)))))))));
  node.className = "aside";
  return node;
}

function facts(v) {
  const list = el("dl"), i = invariantOf(v);
  const row = (name, value, kind) => value && list.append(el("dt", {}, name), el("dd", { class: kind }, value));
  row("Expected", i.text);
  row("Look at", v.hint, "hint");
  row("Call", path(v));
  row("After", before(v));
  row("Invariant", el("span", {}, el("a", { class: "mono", href: "#invariants", onclick: () => find(i.id) }, i.id), ` ${i.relation || ""}`));
  row("Learned", i.pipelines && `held ${times(i.learned_held)} in ${plural(i.pipelines, "pipeline")}`);
  return list;
}

const details = (v) => [facts(v), variables(v), situation(v)].filter(Boolean);

function follower(v) {
  const title = el("summary", {}, v.seen, " ", el("span", { class: "faint", title: v.at },
    joined([v.at && baseName(v.at), v.step !== undefined && `step ${number(v.step)}`, namesRuns && `run ${runName(v.trace)}`])));
  return el("li", {}, fold(title, (node) => node.append(where(v), ...details(v))));
}

// ---- lines and loss -------------------------------------------------------------------------

const placed = (at) => (at ? [at.replace(/:\d+$/, ""), Number((/:(\d+)$/.exec(at) || [])[1])] : ["", 0]);

// The healthy lines left, those of this run right. The cells stand in the order of a unified diff,
// for narrow windows; each side has as many of them.
function sides(f) {
  if (!f.lines || !f.lines.length) return null;
  const grid = el("div", { class: "sides" }), lines = [];
  for (let i = 0; i < f.lines.length; i += 3) lines.push({ was: f.lines[i], is: f.lines[i + 1], text: f.lines[i + 2] });
  const indent = Math.min(...lines.filter((l) => l.text.trim()).map((l) => /^ */.exec(l.text)[0].length));
  const here = [f.at, f.used_at].map((x) => placed(x)), [healthyFile, was] = placed(f.healthy_at), file = here[0][0];
  const isHere = (n) => here.some((place) => place[0] === file && place[1] === n);
  const add = (tag, side, n, l, isMarked) => grid.append(el(tag, { class: side + (isMarked ? " here" : ""), "aria-current": isMarked && "true",
    "aria-hidden": tag === "span" && side === "o" && "true" }, el("i", {}, `${n || ""}`), el("code", {}, l.text.slice(indent) || " ")));
  const fill = (side, n) => { for (; n > 0; n--) grid.append(el("b", { class: side })); };
  let gone = 0, added = 0;
  const even = () => { fill("o", added - gone); fill("n", gone - added); gone = added = 0; };
  grid.append(el("div", { class: "o" }, `Healthy run: ${baseName(healthyFile || file)}`), el("div", { class: "n" }, `This run: ${baseName(file)}`));
  const isChanged = lines.some((l) => l.is && !l.was && isHere(l.is));
  for (const l of lines) {
    if (!l.is) { add("del", "o", l.was, l, l.was === was); gone++; continue; }
    if (!l.was) { add("ins", "n", l.is, l, isHere(l.is)); added++; continue; }
    even();
    add("span", "o", l.was, l, false);
    add("span", "n", l.is, l, !isChanged && f.what !== "missing" && isHere(l.is));
  }
  even();
  return grid;
}

// The chart of its rank, with the step in which it begins.
function course(f, what, title) {
  const template = document.getElementById(`${what}-${f[what]}`);
  if (!template) return null;
  const node = el("div", { class: "loss" }, el("h4", {}, title), template.content.cloneNode(true)), plot = node.querySelector(".plot");
  const first = plot && Number(plot.dataset.first), last = plot && Number(plot.dataset.last);
  if (plot && f.step !== undefined && f.step >= first && f.step <= last) {
    const x = last > first ? (f.step - first) / (last - first) : 0.5;
    plot.firstElementChild.append(el("svg:path", { class: "mark", d: `M${1000 * x} 0V300` }));
    plot.append(el("span", { class: "mark" + (x > 0.5 ? " before" : ""), style: `left: ${100 * x}%`, "aria-hidden": "true" }, `finding ${f.number}, step ${number(f.step)}`));
  }
  return node;
}

const loss = (f) => course(f, "loss", "Loss"), rate = (f) => course(f, "lr", "Learning rate");

// ---- findings -------------------------------------------------------------------------------

function ranksOf(f) {
  const all = f.violations.flatMap((v) => v.ranks || []);
  if (!all.length || tracks.length < 2) return "";
  const set = new Set(all), many = f.violations.some((v) => v.ranks && v.ranks.length === 16);
  return `${set.size > 1 ? "ranks" : "rank"} ${ranges(all)}` + (many ? " and maybe more" : "");
}

function runsOf(f) {
  const names = [...new Set([f.trace, ...f.violations.flatMap((v) => v.runs || [v.trace])])].map(runName);
  return `${names.length > 1 ? "runs" : "run"} ${names.slice(0, 16).join(", ")}`;
}

function follows(f) {
  const rest = f.violations.filter((v) => invariantOf(v).id !== f.sentence_of);
  if (!rest.length) return [];
  const told = (f.told || []).map((i) => f.violations[i]).filter(Boolean), left = f.n_violations - f.violations.length;
  const list = told.length ? el("ul", { class: "told" }, ...told.map((v) => el("li", {}, v.seen, " ",
    el("span", { class: "faint" }, joined([v.step !== undefined && `step ${number(v.step)}`, v.count > 1 && times(v.count)]))))) : null;
  return [el("h4", {}, f.of ? "What follows from it" : "With it broke"), list,
    fold(rest.length === 1 ? "The broken invariant" : `All ${number(rest.length)} broken invariants`, (node) => {
      const all = el("ul", { class: "followers" });
      portions(all, rest, FOLLOWERS, follower);
      node.append(all);
      if (left > 0) node.append(el("p", { class: "faint" }, `and ${number(left)} more, which violations.jsonl has`));
    })].filter(Boolean);
}

function body(f) {
  const head = f.violations[0];
  if (f.of) return [sides(f), rate(f), loss(f), ...follows(f)];
  return [...(head ? details(head) : []), rate(f), loss(f), ...follows(f)];
}

function finding(f, i) {
  const meta = joined([f.when, ranksOf(f), namesRuns && runsOf(f), { setting: "a setting, no law", remark: "a remark: how often, or in which order" }[f.kind]], " \u00b7 ");
  const title = el("summary", {}, el("span", { class: "number", "aria-hidden": "true" }, `${f.number}`), el("h3", {}, f.sentence),
    el("span", { class: "where" }, f.at ? el("code", { title: f.at }, baseName(f.at)) : "", el("span", {}, meta),
      el("span", {}, plural(f.n_violations, "broken invariant"))));
  return el("article", { class: `finding ${f.kind}`, id: `f${f.number}` },
    fold(title, (node) => node.append(...body(f).filter(Boolean)), i === 0));
}

function openFinding() {
  const match = /^#f(\d+)$/.exec(location.hash), node = match && document.getElementById(`f${match[1]}`);
  if (node) unfold(node.firstElementChild);
}

function drawFindings() {
  const section = document.getElementById("findings");
  const part = (title, list) => {
    const node = el("div", {}, el("h2", section.firstChild ? {} : { id: "findings-title" }, title));
    portions(node, list, FINDINGS, (f, i) => finding(f, i + (section.firstChild ? 1 : 0)));
    section.append(node);
  };
  if (nLaws) part("Findings", findings.slice(0, nLaws));
  if (nSettings) part("Changed settings of the script", findings.slice(nLaws));
  if (nLeft) section.append(el("p", { class: "faint" }, `${plural(nLeft, "finding")} more found no room in this page; findings.jsonl beside it has all.`));
  if (!findings.length) {
    const drawn = runs.map((r) => loss({ loss: r.loss })).filter(Boolean);
    section.append(el("h2", { id: "findings-title", class: drawn.length ? null : "hidden" }, "The course of training"), ...drawn);
  }
  window.addEventListener("hashchange", openFinding);
  openFinding();
}

// ---- invariants -----------------------------------------------------------------------------

const query = el("input", { type: "search", placeholder: "Search invariants: words, a call, an id", "aria-label": "Search invariants" });
const verdicts = el("select", { "aria-label": "Verdict" }, el("option", { value: "" }, "all verdicts"),
  ...VERDICTS.map((v) => el("option", { value: v }, spoken(v))));
const found = el("div", {});
const howMany = el("p", { class: "faint", role: "status" });
let texts, invariantFold;

function row(i) {
  return el("div", { class: `invariant is-${i.verdict}`, id: `i-${i.id}` }, el("div", {}, i.text || i.relation),
    el("div", { class: "where" }, el("span", { class: `verdict ${i.verdict}` }, spoken(i.verdict)),
      i.why ? el("span", {}, i.why) : null,
      i.held || i.broken ? el("span", {}, i.broken
        ? `broke ${number(i.broken)} of ${plural(i.held + i.broken, "time")}` : `held ${times(i.held)}`) : null,
      el("span", {}, `learned: ${times(i.learned_held)} in ${plural(i.pipelines, "pipeline")}`),
      el("span", {}, i.relation), el("code", {}, i.id)));
}

function search() {
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  texts ||= invariants.map((i) => `${i.id} ${i.relation} ${i.text}`.toLowerCase());
  const hits = invariants.filter((i, n) =>
    (!verdicts.value || i.verdict === verdicts.value) && words.every((w) => texts[n].includes(w)));
  howMany.textContent = hits.length === invariants.length
    ? plural(hits.length, "invariant") : `${number(hits.length)} of ${plural(invariants.length, "invariant")}`;
  found.replaceChildren();
  portions(found, hits, ROWS, row);
}

function look(verdict, words) {
  unfold(invariantFold);
  verdicts.value = verdict;
  query.value = words;
  search();
  document.getElementById("invariants").scrollIntoView();
}

const choose = (verdict) => look(verdict, ""), find = (id) => look("", id);

function drawInvariants() {
  query.addEventListener("input", search);
  verdicts.addEventListener("change", search);
  invariantFold = fold(`All ${number(counts.invariants)}, with what became of them`, (node) => {
    node.append(el("div", { class: "search" }, query, verdicts), howMany,
      el("p", { class: "faint paper" }, "Those that passed or were not triggered are not printed."), found);
    if (data.invariants_left_out) node.append(el("p", { class: "faint" }, `${number(data.invariants_left_out)} are not in this page; the logs beside it have them.`));
    search();
  });
  document.getElementById("invariants").append(el("h2", { id: "invariants-title" }, "Invariants"), invariantFold);
}

// ---- the check ------------------------------------------------------------------------------

function drawCheck() {
  const list = el("dl"), s = summary;
  const add = (name, value) => value && list.append(el("dt", {}, name), el("dd", {}, value));
  const lines = (all) => el("span", {}, ...all.flatMap((t, i) => (i ? [el("br"), el("code", {}, t)] : [el("code", {}, t)])));
  add("Trace", lines(s.traces));
  add("Invariants", lines(s.invariant_files));
  add("Command", s.command && el("code", {}, s.command));
  add("Read", `${plural(s.records, "record")}, ${plural(s.calls, "call")}, ${plural(s.windows, "training step")}` + (namesRuns ? ` of ${plural(runs.length, "run")} together` : ""));
  const section = document.getElementById("run");
  section.append(el("h2", { id: "run-title" }, "The check"), list);
  const table = (name, rows) => scroll(name, el("table", {}, el("tbody", {}, ...rows.map((cells) => el("tr", {}, ...cells.map((c, i) => el("td", { class: i ? null : "mono" }, c)))))));
  if (s.suppressed.length)
    section.append(fold(plural(s.suppressed.length, "suppressed violation"), (node) =>
      node.append(table("Suppressed", s.suppressed.map((x) => [x.id, x.reason, times(x.count)]))), true));
  if (s.notes.length)
    section.append(fold(`${plural(s.notes.length, "note")} about the trace`, (node) =>
      node.append(table("Notes", s.notes.map((n) => [n.file, n.text, times(n.count)]))), true));
  if (data.violations_left_out)
    section.append(el("p", { class: "faint" }, `${plural(data.violations_left_out, "violation")} found no room in this page; violations.jsonl beside it has them.`));
  document.querySelector("main").append(el("footer", {}, `${s.made_by}, report schema ${s.schema}`));
}

drawHead();
drawInvariants();
drawFindings();
drawSteps();
drawCheck();

// On paper nothing can be opened; what is opened may hold more.
window.addEventListener("beforeprint", () => {
  let closed;
  while ((closed = document.querySelector(".finding details:not([open]):not(.aside):not(.loss details), #top details:not([open])"))) unfold(closed);
  unfold(invariantFold);
});

document.documentElement.dataset.ready = "true";

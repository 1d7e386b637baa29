"use strict";
// The page asks the proxy as any client would, and shows what the engine says. It computes no bound of its own.

const byId = (id) => document.getElementById(id);
const SAMPLES = [
  "How do I reset my password?",
  "how do i reset  my password",
  "How can I change the password?",
  "How do I cancel my plan?",
  "What is DNS?",
];
/** What the ledger said, each time that it was asked: { hits, bound, allowed }. */
const ledgers = [];
let model = "canned";
let verdict = null;

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

async function json(path, body) {
  const options = body && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(path, options);
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.detail || answer.statusText);
  return said;
}

/** The pieces of a chat completion as they come. */
async function* pieces(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const events = text.split("\n\n");
    text = events.pop();
    for (const event of events) {
      const data = event.split("\n").filter((line) => line.startsWith("data: ")).map((line) => line.slice(6)).join("\n");
      if (data === "[DONE]" || data === "") continue;
      const delta = JSON.parse(data).choices[0]?.delta;
      if (delta?.content) yield delta.content;
    }
  }
}

const WHY = {
  absent: "nothing near is stored",
  vetoed: "the nearest question differs in what its answer turns on",
  risky: "answers that look like this one are wrong too often for the budget",
  unproven: "so few answers were judged that one more could break the promise; say whether earlier ones were right",
  shadow: "the cache only watches",
  stale: "a source of the answer has changed",
  error: "the cache could not be asked; the log says why",
};

function fateOf(headers, elapsed) {
  const tier = headers.get("x-nuthatch-cache-tier");
  const reason = headers.get("x-nuthatch-cache-reason");
  const ms = `${elapsed} ms to the first byte`;
  if (tier) {
    const usd = headers.get("x-nuthatch-cache-saved-usd");
    const risk = headers.get("x-nuthatch-cache-risk");
    return [`From the cache (${tier})`, risk && `estimated risk ${risk}`, usd && `${usd} USD saved`, ms].filter(Boolean).join(", ");
  }
  const how = headers.get("x-nuthatch-cache") === "BYPASS" ? "No cache answers this" : "Asked the model";
  return `${how}: ${WHY[reason] || reason}, ${ms}`;
}

async function ask(question) {
  const messages = [{ role: "user", content: question }];
  // Without usage, nobody knows what an answer saves.
  const request = { model, messages, stream: true, stream_options: { include_usage: true } };
  verdict = null;
  byId("verdict").hidden = true;
  // Before it is asked: afterwards, the question itself is stored.
  const explained = await json("/nuthatch/demo/explain", request);
  const turn = element("li");
  const [said, fate] = [element("span"), element("small")];
  turn.append(element("b", question), said, element("br"), fate);
  byId("turns").append(turn);
  const began = performance.now();
  const answer = await fetch("/v1/chat/completions", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(request),
  });
  fate.textContent = fateOf(answer.headers, Math.round(performance.now() - began));
  byId("fate").textContent = fate.textContent;
  const isHit = answer.headers.get("x-nuthatch-cache") === "HIT";
  turn.className = isHit ? "hit" : "miss";
  if (!answer.ok) {
    const told = await answer.json();
    said.textContent = told.error?.message || answer.statusText;
    return;
  }
  for await (const piece of pieces(answer)) {
    said.textContent += piece;
    turn.scrollIntoView({ block: "nearest" });
  }
  showCandidates(explained.candidates || []);
  const hit = answer.headers.get("x-nuthatch-cache-hit-id");
  if (hit !== null) {
    verdict = { hit: Number(hit), entry: Number(answer.headers.get("x-nuthatch-cache-entry")) };
    byId("verdict").hidden = false;
  }
}

function showCandidates(candidates) {
  const rows = candidates.map((near) => {
    const why = near.veto ? `ruled out: ${near.veto}` : near.stale ? "out of date" : near.worth ? "possible" : "too risky for the budget";
    const row = element("tr");
    row.append(element("td", near.prompt), element("td", near.similarity.toFixed(3)), element("td", near.risk.toFixed(4)), element("td", why));
    return row;
  });
  byId("candidates").tBodies[0].replaceChildren(...rows);
  byId("candidates").hidden = rows.length === 0;
}

async function refresh() {
  const { cache, upstream, saved, demo } = await json("/nuthatch/demo/state");
  model = demo.model;
  byId("upstream").textContent = upstream === "canned"
    ? "Answers come from a canned stand-in with a few fixed texts, and from no model. Start with --upstream for a real one."
    : `Answers come from ${model} at ${upstream}.`;
  byId("tokens").textContent = saved.tokens;
  byId("usd").textContent = demo.has_prices ? saved.usd.toFixed(6) : "no price given";
  byId("entries").textContent = cache.entries;
  const rows = ["exact", "canonical", "alias", "semantic", "misses"].map((name) => {
    const row = element("tr");
    row.append(element("th", name), element("td", cache.counts[name]));
    return row;
  });
  byId("counts").tBodies[0].replaceChildren(...rows);
  const { ledger, settings } = cache;
  byId("promise").textContent = settings.budget > 0
    ? `Of ${ledger.hits} answers by meaning, at most ${ledger.bound.toFixed(2)} are wrong with probability ${1 - settings.failure}; `
      + `${ledger.allowed.toFixed(2)} may be. ${ledger.known_wrong} known to be wrong, ${ledger.pending} waiting for a verdict.`
    : `No answers by meaning: ${demo.by_meaning}.`;
  ledgers.push({ hits: ledger.hits, bound: ledger.bound, allowed: ledger.allowed });
  draw();
}

function svg(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function draw() {
  const highest = Math.max(1, ...ledgers.flatMap(({ bound, allowed }) => [bound, allowed]));
  const x = (at) => 30 + (at / Math.max(1, ledgers.length - 1)) * 360;
  const y = (value) => 140 - (value / highest) * 125;
  const line = (name) => svg("path", {
    class: name,
    d: ledgers.map((one, at) => `${at === 0 ? "M" : "L"}${x(at).toFixed(1)} ${y(one[name]).toFixed(1)}`).join(" "),
  });
  byId("graph").replaceChildren(
    svg("line", { x1: 30, y1: 140, x2: 390, y2: 140 }),
    svg("line", { x1: 30, y1: 15, x2: 30, y2: 140 }),
    svg("text", { x: 4, y: 19 }, highest.toFixed(1)),
    svg("text", { x: 4, y: 144 }, "0"),
    svg("text", { x: 30, y: 156 }, "questions and verdicts, one after the other"),
    line("allowed"),
    line("bound"),
  );
}

async function judge(wrong) {
  const told = verdict;
  byId("verdict").hidden = true;
  verdict = null;
  await json("/nuthatch/demo/report", { ...told, wrong });
  await refresh();
}

/** Runs one thing at a time, and says what went wrong. */
async function run(work) {
  const buttons = [...document.querySelectorAll("button")];
  buttons.forEach((button) => { button.disabled = true; });
  try {
    await work();
  } catch (error) {
    byId("fate").textContent = `That failed: ${error.message}`;
  } finally {
    buttons.forEach((button) => { button.disabled = false; });
  }
}

const asked = (question) => run(async () => {
  await ask(question);
  await refresh();
});
byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const question = byId("question").value;
  byId("question").value = "";
  asked(question);
});
byId("right").addEventListener("click", () => run(() => judge(false)));
byId("wrong").addEventListener("click", () => run(() => judge(true)));
for (const sample of SAMPLES) {
  const button = element("button", sample);
  button.type = "button";
  button.addEventListener("click", () => asked(sample));
  byId("samples").append(button);
}
run(refresh);

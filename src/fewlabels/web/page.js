"use strict";
// Shows one item at a time and records its answer. Failed requests are sent again; the server counts an answer once.

const SEARCH_FROM = 12; // more classes than this get a search box
const byId = (id) => document.getElementById(id);
const state = { me: { role: "owner", name: "" }, identity: "1", item: null, classes: [], busy: false, board: null, grades: false, keys: new Map(), shown: new Map(), commands: new Map(), deciding: false, votes: [], postponed: new Set(), asked: false, nAnswered: 0 };

// -- requests -------------------------------------------------------------------------------------------------

async function send(what, body) {
  const headers = { "x-fewlabels": state.identity }; // tabs share cookies, so the server compares this with the cookie
  const answer = await fetch(`api/${what}`, body === undefined ? { headers } : {
    method: "POST", headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(body),
  });
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw Object.assign(new Error(found.error || `the server answered ${answer.status}`), { status: answer.status });
  return found;
}

const RETRIES = { // retried status codes and their messages; 0 is no response
  0: "The server does not answer. Your answer is kept here and sent as soon as it does.",
  429: "Rate limit exceeded: trying again in a moment.",
  503: (message) => `${message[0].toUpperCase()}${message.slice(1)}. Your answer is kept here and sent again.`,
};

async function sendWithRetry(what, body) { // until it succeeds: networks come back and servers restart
  state.unsent = body !== undefined;
  try {
    for (let wait = 500; ; wait = Math.min(2 * wait, 5000)) {
      try {
        const found = await send(what, body);
        showError("");
        return found;
      } catch (error) {
        const said = RETRIES[error.status || 0];
        if (!said) throw error;
        showError(typeof said === "string" ? said : said(error.message));
        await new Promise((done) => setTimeout(done, wait));
      }
    }
  } finally {
    state.unsent = false;
  }
}

window.addEventListener("beforeunload", (event) => { if (state.unsent && !byId("trouble").hidden) event.preventDefault(); }); // an answer would be lost

// -- showing --------------------------------------------------------------------------------------------------

const plural = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;

function showError(text) { byId("trouble").textContent = text; byId("trouble").hidden = !text; }

function element(tag, options = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) name in made ? (made[name] = value) : made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function showItem(card) {
  const list = byId("item");
  list.replaceChildren();
  if (!card.fields.length) list.append(element("dt", { textContent: "id" }), element("dd", { textContent: String(card.id), dir: "auto" }));
  for (const field of card.fields) {
    const value = element("dd", { dir: "auto" });
    if (field.kind === "image") value.append(element("a", { href: field.source, target: "_blank", rel: "noreferrer", title: "open in full size" }, element("img", { src: field.source, alt: `${field.name}: ${field.text}` })));
    else if (field.kind === "audio") value.append(element("audio", { src: field.source, controls: true, preload: "metadata", "aria-label": `${field.name}: ${field.text}` }));
    else value.textContent = field.text;
    if (field.n_more) value.append(element("span", { className: "more", textContent: ` … ${field.n_more.toLocaleString("en")} more characters` }));
    list.append(element("dt", { textContent: field.name }), value);
  }
}

function showClasses() {
  const many = state.classes.length > SEARCH_FROM, sought = byId("search").value.trim().toLowerCase();
  for (const id of ["search", "search-label"]) byId(id).hidden = !many;
  for (const id of ["grade", "grade-label"]) byId(id).hidden = !state.grades;
  const found = state.classes.filter((name) => !many || name.toLowerCase().includes(sought));
  byId("classes").replaceChildren(...(state.grades ? ["0", "0.5", "1"] : found).map((name) => {
    const key = state.shown.get(name); // grades are typed and have no key
    const button = element("button", { type: "button", onclick: () => answer(name) }, element("bdi", { textContent: name }));
    if (state.votes.some((vote) => vote.label === name)) button.className = "voted";
    if (key) { button.append(element("kbd", { textContent: key })); button.setAttribute("aria-keyshortcuts", key); }
    return button;
  }));
  const none = many && !found.length && !state.grades;
  byId("no-match").hidden = !none;
  byId("no-match").textContent = none ? `No class matches “${byId("search").value.trim()}”. Esc, then / to search again.` : "";
}

function setShortcuts(shortcuts) { // the server assigns keys to classes, as in the terminal
  state.keys = new Map(Object.entries(shortcuts.typed));
  state.shown = new Map(Object.entries(shortcuts.shown));
  state.commands = new Map(Object.entries(shortcuts.commands).map(([command, key]) => [key, command]));
  for (const [command, key] of Object.entries(shortcuts.commands)) {
    for (const shown of document.querySelectorAll(`kbd[data-command=${command}]`)) {
      shown.textContent = key;
      shown.hidden = !key;
      const button = shown.closest("button");
      if (button) key ? button.setAttribute("aria-keyshortcuts", key) : button.removeAttribute("aria-keyshortcuts");
    }
  }
}

function showDispute(dispute) { // the votes on a disputed item; hidden when labelling
  byId("dispute").hidden = !dispute;
  state.votes = dispute ? dispute.votes : [];
  byId("votes").replaceChildren(...state.votes.map((vote) => element("li", {}, element("bdi", { textContent: vote.who }), " says ",
    element("bdi", { className: "said", textContent: vote.label === null ? "cannot tell" : vote.label }),
    ...(vote.note ? [": ", element("q", {}, element("bdi", { textContent: vote.note }))] : []))));
}

function showAnnotators(team) {
  byId("views").hidden = byId("team").hidden = !team;
  if (!team) return;
  byId("n-disputed").textContent = team.n_disputed.toLocaleString("en");
  byId("agreement").textContent = team.agreement ? `${team.agreement}.` : `Every item gets ${team.wanted} votes.`;
  byId("errs").textContent = `${team.sentence[0].toUpperCase()}${team.sentence.slice(1)}.`;
  byId("errs").className = team.errs ? "warn" : "";
  byId("people").hidden = !team.people.length;
  byId("people").tBodies[0].replaceChildren(...team.people.map((one) => element("tr", {},
    element("th", { scope: "row" }, element("bdi", { textContent: one.who || "no name" })), element("td", { textContent: one.n_votes.toLocaleString("en") }),
    element("td", { textContent: `${Math.round(100 * one.mean)}%` }), element("td", { textContent: `${Math.round(100 * one.low)}% to ${Math.round(100 * one.high)}%` }))));
}

function showBoard(board) {
  state.board = board;
  showAnnotators(board.team);
  showFinish();
  showProgress();
  showRole();
  if (hidesResults()) return;
  byId("sentence").textContent = board.sentence;
  byId("obstacle").textContent = board.obstacle || "";
  byId("stale").hidden = !board.stale;
  byId("metric").textContent = board.shown_metric;
  byId("table").tBodies[0].replaceChildren(...board.groups.map((row) => element("tr", {},
    element("th", { scope: "row", textContent: row.group }), element("td", { textContent: row.mean.toFixed(3) }),
    element("td", { textContent: `${row.low.toFixed(3)} to ${row.high.toFixed(3)}` }), element("td", { textContent: row.n_labels }))));
  drawIntervals(board);
}

function showProgress() {
  const board = state.board, ahead = !board.settled && board.labels_left ? ` · ${board.labels_left}` : "";
  const mine = state.nAnswered ? ` · ${plural(state.nAnswered, "answer")} by you` : ""; // known at once; the estimates follow in the background
  byId("progress").textContent = `${plural(board.n_labels, "label")}${mine} · ${board.goal}, ${board.metric}${ahead}`;
}

function drawIntervals(board) { // one row per group: its whole name, and below it the interval on a common scale
  const SHOWN = 12, WIDTH = 300, HEIGHT = 14, rows = board.groups.slice(0, SHOWN), sought = board.n_groups > 1 && board.sought;
  const make = (tag, options) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(options)) made.setAttribute(name, value);
    return made;
  };
  const low = Math.min(0, ...rows.map((row) => row.low)), high = Math.max(1, ...rows.map((row) => row.high));
  const x = (value) => 5 + (WIDTH - 10) * (value - low) / (high - low);
  byId("picture").setAttribute("aria-label", `Credible intervals of ${board.shown_metric} for every group; the table below has the same numbers`);
  const scale = element("p", { className: "scale" }, ...[low, (low + high) / 2, high].map((tick) => element("span", { textContent: Number(tick.toFixed(2)) })));
  byId("picture").replaceChildren(...rows.map((row) => {
    const p = row.p_sought, svg = make("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none" });
    svg.append(make("line", { x1: x(low), x2: x(high), y1: HEIGHT / 2, y2: HEIGHT / 2, class: "axis" }),
      make("line", { x1: x(row.low), x2: x(row.high), y1: HEIGHT / 2, y2: HEIGHT / 2, class: "line" }), make("circle", { cx: x(row.mean), cy: HEIGHT / 2, r: 4, class: "dot" }));
    return element("div", { className: "row" }, element("bdi", { textContent: row.group }),
      element("span", { textContent: !sought || p < 0.01 ? "" : `P(${sought}) ${p > 0.99 ? ">0.99" : p.toFixed(2)}` }), svg);
  }), scale);
  const rest = board.n_groups - rows.length;
  const follows = board.metric === board.shown_metric ? "" : `, in the groups that items are chosen from; ${board.metric} follows from it`;
  const chance = sought ? `, and from 0.01 on P(${sought}), the probability of being the ${sought}` : "";
  byId("caption").textContent = `${board.shown_metric} with its interval${follows}${chance}${rest > 0 ? `; ${plural(rest, "more group")} ${rest === 1 ? "is" : "are"} not shown` : ""}.`;
}

// -- the finish -----------------------------------------------------------------------------------------------

function showFinish() { // once the goal is settled, or nothing is left to ask: what was learned, and files to take away
  const board = state.board, done = board.settled || (state.asked && !state.item && !state.deciding);
  byId("finish").hidden = !done;
  byId("settled").textContent = board.settled ? "Settled: you may stop, or continue for more certainty." : "Every item that could help has been asked.";
  byId("learned").textContent = board.sentence ? `${board.sentence[0].toUpperCase()}${board.sentence.slice(1)}.` : "";
  byId("downloads").hidden = isAnnotator();
}

const download = (what, kind, file, type) => runExclusive(async () => {
  const found = await sendWithRetry(what), link = element("a", { href: URL.createObjectURL(new Blob([found[kind]], { type })), download: file });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  byId("said").textContent = `Downloaded: ${file}`;
});

// -- the loop -------------------------------------------------------------------------------------------------

async function findNext() { // an item to label, or a disputed item to decide
  if (!state.deciding) {
    const found = await sendWithRetry("ask", { who: name(), n: 1 });
    return { ...found, item: found.items[0] || null, dispute: null };
  }
  const found = await sendWithRetry("disputes?n=100");
  const dispute = found.items.find((one) => !state.postponed.has(one.item.id)) || null;
  return { ...found, item: dispute && dispute.item, dispute };
}

async function next() {
  const found = await findNext();
  state.item = found.item;
  state.asked = true;
  state.classes = found.classes;
  state.grades = !found.classes.length;
  if (!state.deciding) state.nAnswered = found.n_answered;
  setShortcuts(found.shortcuts);
  showBoard(found.board);
  showDispute(found.dispute);
  byId("later").hidden = !state.deciding;
  byId("nothing").hidden = !!state.item;
  byId("item").hidden = byId("answering").hidden = !state.item;
  showFinish();
  if (!state.item) {
    byId("asked").textContent = state.deciding ? "No disagreements" : "Nothing to label";
    byId("nothing").textContent = state.deciding ? "No disagreement is left to decide." : "Nothing is left to ask: every useful item has been answered, or is reserved for another annotator.";
    setTimeout(() => { if (!state.item) runExclusive(async () => next()); }, 5000);
    return;
  }
  byId("search").value = byId("note").value = byId("grade").value = "";
  byId("asked").textContent = state.deciding ? "Annotators disagree: what is this?" : state.grades ? "How good is this?" : "Which class is this?";
  showItem(state.item);
  showClasses();
  byId("item").scrollTop = 0;
  if (byId("item").scrollHeight > byId("item").clientHeight) byId("item").tabIndex = 0; // so that the keyboard can scroll it
  else byId("item").removeAttribute("tabindex");
}

async function runExclusive(what) { // one action at a time: clicks during an action are ignored
  if (state.busy) return;
  state.busy = true;
  document.body.setAttribute("aria-busy", "true");
  try {
    await what();
  } catch (error) {
    showError(error.message);
  } finally {
    state.busy = false;
    document.body.removeAttribute("aria-busy");
  }
}

async function record(item, label) { // null if another annotator has answered the item in the meantime: show the next one
  try {
    return await sendWithRetry(state.deciding ? "decide" : "tell", { who: name(), answers: [{ id: item.id, label, note: byId("note").value }] });
  } catch (error) {
    if (error.status !== 409) throw error;
    await next();
    showError(error.message);
    return null;
  }
}

const answer = (label) => runExclusive(async () => {
  const item = state.item;
  if (!item) return;
  const found = await record(item, label);
  if (!found) return;
  const said = found.predicted[String(item.id)];
  byId("said").textContent = `${state.deciding ? "Decided: " : ""}${item.id}: ${label === null ? "cannot tell" : label}${said === undefined ? "" : ` (predicted: ${said})`}`;
  await next();
  byId("asked").focus({ preventScroll: true });
});

const undo = () => runExclusive(async () => { // the id makes the request idempotent: sent twice, it undoes one answer
  const last = await sendWithRetry(`last?who=${encodeURIComponent(name())}`);
  const found = last.id === null ? last : await sendWithRetry("undo", { who: name(), ...last });
  byId("said").textContent = found.id === null ? "You have no answer to undo." : `Undone: ${found.id}`;
  await next();
});

const switchView = (deciding) => runExclusive(async () => { // to labelling, or to deciding disputed items
  state.deciding = deciding;
  state.postponed.clear();
  byId("to-label").setAttribute("aria-pressed", String(!deciding));
  byId("to-settle").setAttribute("aria-pressed", String(deciding));
  byId("said").textContent = "";
  await next();
});

const later = () => runExclusive(async () => {
  if (state.item) state.postponed.add(state.item.id);
  await next();
});

// -- annotators -----------------------------------------------------------------------------------------------

const isAnnotator = () => state.me.role === "annotator"; // answers under the name of the link, and sees no estimates

const name = () => isAnnotator() ? state.me.name : localStorage.getItem("fewlabels-name") || "";

const needsName = () => !!(state.board && state.board.team) && !name();

const hidesResults = () => isAnnotator() || !!(state.board && state.board.blind); // estimates could influence answers

function showRole() {
  document.body.classList.toggle("annotator", hidesResults());
  byId("results").hidden = hidesResults();
  byId("person").disabled = isAnnotator();
  byId("person").title = isAnnotator() ? "This link belongs to this name" : "Change your name";
}

function askName() {
  const team = state.board && state.board.team;
  byId("name").value = name();
  byId("name").required = !!team;
  if (team) byId("who-why").textContent = `It is stored with your answers. Every item is answered by ${team.wanted} people, so use the same name every time.`;
  byId("who").showModal();
}

byId("who").addEventListener("close", () => {
  localStorage.setItem("fewlabels-name", byId("name").value.trim());
  byId("person").textContent = name() || "no name";
  if (needsName()) askName();
  else runExclusive(next);
});

// -- keys -----------------------------------------------------------------------------------------------------

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || byId("who").open || byId("help").open) return;
  const typing = event.target.matches("input");
  if (event.key === "Escape" && typing) return event.target.blur();
  if (event.key === "Enter" && event.target === byId("search")) return byId("classes").querySelector("button")?.click();
  if (event.key === "Enter" && event.target === byId("grade") && byId("grade").value !== "" && byId("grade").reportValidity()) return answer(byId("grade").value);
  if (typing) return;
  if (state.keys.has(event.key)) { event.preventDefault(); return answer(state.keys.get(event.key)); }
  if (state.grades && /^[0-9.,]$/.test(event.key)) return byId("grade").focus(); // the browser then types it there
  if (event.key === "?" && !state.commands.has("?")) { event.preventDefault(); return showHelp(); }
  const command = state.commands.get(event.key) || state.commands.get(event.key.toLowerCase());
  if (command === "skip") answer(null);
  else if (command === "undo") undo();
  else if (command === "note") { event.preventDefault(); byId("note").focus(); }
  else if (command === "later" && state.deciding) later();
  else if (command === "disputes" && state.board && state.board.team) switchView(!state.deciding);
  else if (command === "search" && !byId("search").hidden) { event.preventDefault(); byId("search").focus(); }
});

const COMMANDS = { skip: "cannot tell", undo: "undo your last answer", note: "write a note; Esc leaves it", search: "search classes; Enter takes the first match", disputes: "disagreements, and back", later: "postpone a disagreement" };

function showHelp() {
  const team = state.board && state.board.team, many = state.classes.length > SEARCH_FROM;
  const used = [...state.commands].filter(([, command]) => !(command === "search" && !many) && !(["disputes", "later"].includes(command) && (!team || isAnnotator())));
  const rows = [...state.shown].map(([name, key]) => [key, name]).concat(used.map(([key, command]) => [key, COMMANDS[command] || command]), state.commands.has("?") ? [] : [["?", "these shortcuts"]]);
  if (state.grades) rows.unshift(["0–1", "type a grade, then Enter"]);
  byId("help-keys").replaceChildren(...rows.filter(([key]) => key).flatMap(([key, text]) => [element("dt", {}, element("kbd", { textContent: key })), element("dd", { textContent: text })]));
  byId("help").showModal();
}

byId("help-button").addEventListener("click", showHelp);
byId("get-report").addEventListener("click", () => download("report", "html", "report.html", "text/html"));
byId("get-answers").addEventListener("click", () => download("answers", "csv", "answers.csv", "text/csv"));
byId("search").addEventListener("input", showClasses);
byId("skip").addEventListener("click", () => answer(null));
byId("undo").addEventListener("click", undo);
byId("person").addEventListener("click", askName);
byId("later").addEventListener("click", later);
byId("to-label").addEventListener("click", () => switchView(false));
byId("to-settle").addEventListener("click", () => switchView(true));

setInterval(async () => { // include the answers of other annotators
  if (document.hidden || state.busy) return;
  try { showBoard(await send("board")); } catch (error) { if (error.status === 401) showError(error.message); /* otherwise the next request shows the error */ }
}, 2000);

runExclusive(async () => {
  state.me = await sendWithRetry("me");
  byId("overview-link").hidden = isAnnotator();
  state.identity = encodeURIComponent(`${state.me.role}:${state.me.name}`);
  showRole();
  showBoard(await sendWithRetry("board"));
  if (!isAnnotator() && (localStorage.getItem("fewlabels-name") === null || needsName())) return askName();
  byId("person").textContent = name() || "no name";
  return next();
});

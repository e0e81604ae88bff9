"use strict";
// One item at a time: shown, answered, kept. What was not kept is sent again; the server counts an item once.

const MANY = 12; // classes from which on there is a search box
const at = (id) => document.getElementById(id);
const state = { me: { role: "owner", name: "" }, identity: "1", item: null, classes: [], busy: false, board: null, grades: false, keys: new Map(), shown: new Map(), commands: new Map(), settling: false, votes: [], passed: new Set() };

// -- talking to the server ------------------------------------------------------------------------------------

async function send(what, body) {
  const headers = { "x-fewlabels": state.identity }; // cookies are shared by all tabs: the server compares
  const answer = await fetch(`/api/${what}`, body === undefined ? { headers } : {
    method: "POST", headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(body),
  });
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw Object.assign(new Error(found.error || `the server says ${answer.status}`), { status: answer.status });
  return found;
}

const RETRIES = { // what may go better a moment later, and what to say meanwhile; 0 is no answer at all
  0: "The server does not answer. Your answer is kept here and sent as soon as it does.",
  429: "Too fast: trying again in a moment.",
  503: (message) => `${message[0].toUpperCase()}${message.slice(1)}. Your answer is kept here and sent again.`,
};

async function insist(what, body) { // until it is heard: a network that is gone comes back, and a server restarts
  state.unsent = body !== undefined;
  try {
    for (let wait = 500; ; wait = Math.min(2 * wait, 5000)) {
      try {
        const found = await send(what, body);
        trouble("");
        return found;
      } catch (error) {
        const said = RETRIES[error.status || 0];
        if (!said) throw error;
        trouble(typeof said === "string" ? said : said(error.message));
        await new Promise((done) => setTimeout(done, wait));
      }
    }
  } finally {
    state.unsent = false;
  }
}

window.addEventListener("beforeunload", (event) => { if (state.unsent && !at("trouble").hidden) event.preventDefault(); }); // an answer would be lost

// -- showing --------------------------------------------------------------------------------------------------

function trouble(text) { at("trouble").textContent = text; at("trouble").hidden = !text; }

function element(tag, options = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) name in made ? (made[name] = value) : made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function showItem(card) {
  const list = at("item");
  list.replaceChildren();
  if (!card.fields.length) list.append(element("dt", { textContent: "id" }), element("dd", { textContent: String(card.id), dir: "auto" }));
  for (const field of card.fields) {
    const value = element("dd", { dir: "auto" });
    if (field.kind === "image") value.append(element("img", { src: field.source, alt: `${field.name}: ${field.text}` }));
    else if (field.kind === "audio") value.append(element("audio", { src: field.source, controls: true, preload: "metadata", "aria-label": `${field.name}: ${field.text}` }));
    else value.textContent = field.text;
    if (field.n_more) value.append(element("span", { className: "more", textContent: ` … ${field.n_more.toLocaleString("en")} more characters` }));
    list.append(element("dt", { textContent: field.name }), value);
  }
}

function showClasses() {
  const many = state.classes.length > MANY, sought = at("search").value.trim().toLowerCase();
  for (const id of ["search", "search-label"]) at(id).hidden = !many;
  for (const id of ["grade", "grade-label"]) at(id).hidden = !state.grades;
  const found = state.classes.filter((name) => !many || name.toLowerCase().includes(sought));
  at("classes").replaceChildren(...(state.grades ? ["0", "0.5", "1"] : found).map((name) => {
    const key = state.shown.get(name); // grades have none: they are typed
    const button = element("button", { type: "button", onclick: () => answer(name) }, element("bdi", { textContent: name }));
    if (state.votes.some((vote) => vote.label === name)) button.className = "voted";
    if (key) { button.append(element("kbd", { textContent: key })); button.setAttribute("aria-keyshortcuts", key); }
    return button;
  }));
}

function takeShortcuts(shortcuts) { // which key records which class is the server's rule, the same as in the terminal
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

function showDispute(dispute) { // who says what; nothing where one simply labels
  at("dispute").hidden = !dispute;
  state.votes = dispute ? dispute.votes : [];
  at("votes").replaceChildren(...state.votes.map((vote) => element("li", {}, element("bdi", { textContent: vote.who }), " says ",
    element("bdi", { className: "said", textContent: vote.label === null ? "cannot tell" : vote.label }),
    ...(vote.note ? [": ", element("q", {}, element("bdi", { textContent: vote.note }))] : []))));
}

function showTeam(team) {
  at("views").hidden = at("team").hidden = !team;
  if (!team) return;
  at("n-disputed").textContent = team.n_disputed.toLocaleString("en");
  at("agreement").textContent = team.agreement ? `${team.agreement}.` : `Every item is answered by ${team.wanted} people.`;
  at("errs").textContent = `${team.sentence[0].toUpperCase()}${team.sentence.slice(1)}.`;
  at("errs").className = team.errs ? "warn" : "";
  at("people").hidden = !team.people.length;
  at("people").tBodies[0].replaceChildren(...team.people.map((one) => element("tr", {},
    element("th", { scope: "row" }, element("bdi", { textContent: one.who || "no name" })), element("td", { textContent: one.n_votes.toLocaleString("en") }),
    element("td", { textContent: `${Math.round(100 * one.mean)}%` }), element("td", { textContent: `${Math.round(100 * one.low)}% to ${Math.round(100 * one.high)}%` }))));
}

function showBoard(board) {
  state.board = board;
  showTeam(board.team);
  at("settled").hidden = !board.settled;
  at("progress").textContent = `${board.n_labels.toLocaleString("en")} labels · ${board.goal}, ${board.metric}`;
  if (isAnnotator()) return; // results are the owner's
  at("sentence").textContent = board.sentence;
  at("obstacle").textContent = board.obstacle || "";
  at("stale").hidden = !board.stale;
  at("metric").textContent = board.metric;
  at("table").tBodies[0].replaceChildren(...board.groups.map((row) => element("tr", {},
    element("th", { scope: "row", textContent: row.group }), element("td", { textContent: row.mean.toFixed(3) }),
    element("td", { textContent: `${row.low.toFixed(3)} to ${row.high.toFixed(3)}` }), element("td", { textContent: row.n_labels }))));
  draw(board);
}

function draw(board) {
  const SHOWN = 12, HEIGHT = 26, LEFT = 110, WIDTH = 330, rows = board.groups.slice(0, SHOWN), picture = at("picture");
  const make = (tag, options, text) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(options)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const low = Math.min(0, ...rows.map((row) => row.low)), high = Math.max(1, ...rows.map((row) => row.high));
  const x = (value) => LEFT + (WIDTH - LEFT - 8) * (value - low) / (high - low);
  picture.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT * rows.length + 22}`);
  const parts = [make("title", { id: "picture-title" }, `Intervals of ${board.metric} for every group; the table below says the same`)];
  for (const tick of [low, (low + high) / 2, high]) {
    parts.push(make("line", { x1: x(tick), x2: x(tick), y1: 0, y2: HEIGHT * rows.length, class: "axis" }));
    parts.push(make("text", { x: x(tick), y: HEIGHT * rows.length + 16, "text-anchor": "middle", class: "faint" }, Number(tick.toFixed(2))));
  }
  rows.forEach((row, i) => {
    const y = HEIGHT * i + HEIGHT / 2, name = [...row.group], share = Math.round(100 * row.p_sought);
    parts.push(make("text", { x: LEFT - 40, y: y + 4, "text-anchor": "end" }, name.length > 11 ? `${name.slice(0, 10).join("")}…` : row.group));
    parts.push(make("text", { x: LEFT - 4, y: y + 4, "text-anchor": "end", class: "faint" }, share ? `${share}%` : ""));
    parts.push(make("line", { x1: x(row.low), x2: x(row.high), y1: y, y2: y, class: "line" }));
    parts.push(make("circle", { cx: x(row.mean), cy: y, r: 4, class: "dot" }));
  });
  picture.replaceChildren(...parts);
  const rest = board.n_groups - rows.length, which = board.goal === "find-best" ? "the best" : "the worst";
  at("caption").textContent = `${board.metric} with its interval; % is the chance of being ${which}${rest > 0 ? `; ${rest} more groups are not drawn` : ""}.`;
}

// -- the loop -------------------------------------------------------------------------------------------------

async function findNext() { // something to label, or a disagreement to settle
  if (!state.settling) {
    const found = await insist("ask", { who: name(), n: 1 });
    return { ...found, item: found.items[0] || null, dispute: null };
  }
  const found = await insist("disputes?n=100");
  const dispute = found.items.find((one) => !state.passed.has(one.item.id)) || null;
  return { ...found, item: dispute && dispute.item, dispute };
}

async function next() {
  const found = await findNext();
  state.item = found.item;
  state.classes = found.classes;
  state.grades = !found.classes.length;
  takeShortcuts(found.shortcuts);
  showBoard(found.board);
  showDispute(found.dispute);
  at("later").hidden = !state.settling;
  at("nothing").hidden = !!state.item;
  at("item").hidden = at("answering").hidden = !state.item;
  if (!state.item) {
    at("asked").textContent = state.settling ? "Nobody disagrees" : "Nothing to label";
    at("nothing").textContent = state.settling ? "No disagreement is left to settle." : "Nothing is left to ask: every item that could help has been answered, or somebody else is at it.";
    setTimeout(() => { if (!state.item) work(async () => next()); }, 5000);
    return;
  }
  at("search").value = at("note").value = at("grade").value = "";
  at("asked").textContent = state.settling ? "People disagree: what is this?" : state.grades ? "How good is this?" : "Which class is this?";
  showItem(state.item);
  showClasses();
  at("item").scrollTop = 0;
  if (at("item").scrollHeight > at("item").clientHeight) at("item").tabIndex = 0; // or keys alone could not scroll it
  else at("item").removeAttribute("tabindex");
}

async function work(what) { // one thing at a time: a second click while one is under way does nothing
  if (state.busy) return;
  state.busy = true;
  document.body.setAttribute("aria-busy", "true");
  try {
    await what();
  } catch (error) {
    trouble(error.message);
  } finally {
    state.busy = false;
    document.body.removeAttribute("aria-busy");
  }
}

async function record(item, label) { // nothing where somebody else has answered the item meanwhile: then go on to another
  try {
    return await insist(state.settling ? "decide" : "tell", { who: name(), answers: [{ id: item.id, label, note: at("note").value }] });
  } catch (error) {
    if (error.status !== 409) throw error;
    await next();
    trouble(error.message);
    return null;
  }
}

const answer = (label) => work(async () => {
  const item = state.item;
  if (!item) return;
  const found = await record(item, label);
  if (!found) return;
  const said = found.predicted[String(item.id)];
  at("said").textContent = `${state.settling ? "Decided: " : ""}${item.id}: ${label === null ? "nobody can tell" : label}${said === undefined ? "" : ` (the model says ${said})`}`;
  await next();
  at("asked").focus({ preventScroll: true });
});

const undo = () => work(async () => { // the answer is named: a request that is sent twice takes back one
  const last = await insist(`last?who=${encodeURIComponent(name())}`);
  const found = last.id === null ? last : await insist("undo", { who: name(), ...last });
  at("said").textContent = found.id === null ? "There is no answer of yours to take back." : `Taken back: ${found.id}`;
  await next();
});

const look = (settling) => work(async () => { // at what is to be labelled, or at what is to be settled
  state.settling = settling;
  state.passed.clear();
  at("to-label").setAttribute("aria-pressed", String(!settling));
  at("to-settle").setAttribute("aria-pressed", String(settling));
  at("said").textContent = "";
  await next();
});

const later = () => work(async () => {
  if (state.item) state.passed.add(state.item.id);
  await next();
});

// -- who ------------------------------------------------------------------------------------------------------

const isAnnotator = () => state.me.role === "annotator"; // answers under the name of the link, and sees no results

const name = () => isAnnotator() ? state.me.name : localStorage.getItem("fewlabels-name") || "";

const needsName = () => !!(state.board && state.board.team) && !name();

function showRole() {
  document.body.classList.toggle("annotator", isAnnotator());
  at("results").hidden = at("person").disabled = isAnnotator();
  at("person").title = isAnnotator() ? "Your link is tied to this name" : "Change your name";
}

function askName() {
  const team = state.board && state.board.team;
  at("name").value = name();
  at("name").required = !!team;
  if (team) at("who-why").textContent = `It is kept with your answers. Every item is answered by ${team.wanted} people, so use the same name every time.`;
  at("who").showModal();
}

at("who").addEventListener("close", () => {
  localStorage.setItem("fewlabels-name", at("name").value.trim());
  at("person").textContent = name() || "no name";
  if (needsName()) askName();
  else work(next);
});

// -- keys -----------------------------------------------------------------------------------------------------

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || at("who").open) return;
  const typing = event.target.matches("input");
  if (event.key === "Escape" && typing) return event.target.blur();
  if (event.key === "Enter" && event.target === at("search")) return at("classes").querySelector("button")?.click();
  if (event.key === "Enter" && event.target === at("grade") && at("grade").value !== "" && at("grade").reportValidity()) return answer(at("grade").value);
  if (typing) return;
  if (state.keys.has(event.key)) { event.preventDefault(); return answer(state.keys.get(event.key)); }
  if (state.grades && /^[0-9.,]$/.test(event.key)) return at("grade").focus(); // where the browser then types it
  const command = state.commands.get(event.key) || state.commands.get(event.key.toLowerCase());
  if (command === "skip") answer(null);
  else if (command === "undo") undo();
  else if (command === "note") { event.preventDefault(); at("note").focus(); }
  else if (command === "later" && state.settling) later();
  else if (command === "disputes" && state.board && state.board.team) look(!state.settling);
  else if (command === "search" && !at("search").hidden) { event.preventDefault(); at("search").focus(); }
});

at("search").addEventListener("input", showClasses);
at("skip").addEventListener("click", () => answer(null));
at("undo").addEventListener("click", undo);
at("person").addEventListener("click", askName);
at("later").addEventListener("click", later);
at("to-label").addEventListener("click", () => look(false));
at("to-settle").addEventListener("click", () => look(true));

setInterval(async () => { // what others answered moves the picture too
  if (document.hidden || state.busy) return;
  try { showBoard(await send("board")); } catch (error) { if (error.status === 401) trouble(error.message); /* else the next request will tell */ }
}, 2000);

work(async () => {
  state.me = await insist("me");
  state.identity = encodeURIComponent(`${state.me.role}:${state.me.name}`);
  showRole();
  showBoard(await insist("board"));
  if (!isAnnotator() && (localStorage.getItem("fewlabels-name") === null || needsName())) return askName();
  at("person").textContent = name() || "no name";
  return next();
});

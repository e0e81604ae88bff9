"use strict";
// The owner's overview: reads /api/overview every few seconds while the page is in view.
const byId = (id) => document.getElementById(id);
const SECONDS = 10;
const cell = (value, heading) => {
  const made = document.createElement("td"), text = document.createElement("bdi");
  made.dataset.heading = heading; // narrow screens show it beside the value
  text.textContent = value;
  made.append(text);
  return made;
};
const fill = (table, rows) => table.tBodies[0].replaceChildren(...rows.map((row) => {
  const made = document.createElement("tr"), headings = table.tHead.rows[0].cells;
  made.append(...row.map((value, i) => cell(value, headings[i].textContent)));
  return made;
}));
const count = (n, what) => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;
const when = (at) => new Date(at).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });

function show(found) {
  byId("progress").textContent = `${count(found.n_labels, "label")} from ${count(found.annotators.length, "annotator")}${found.settled ? "; settled" : ""}`;
  fill(byId("people"), found.annotators.map((one) => [one.who, one.n_answers, one.n_skipped, one.seconds === null ? "–" : one.seconds.toFixed(one.seconds < 10 ? 1 : 0), when(one.first), when(one.last)]));
  byId("people").hidden = !found.annotators.length;
  byId("no-answers").hidden = found.annotators.length > 0;
  const team = found.team;
  byId("agreement").textContent = team ? `${team.agreement ? `${team.agreement}. ` : ""}${count(team.n_disputed, "item")} in dispute.` : "";
  byId("settings").replaceChildren(...Object.entries(found.settings).flatMap(([name, value]) => {
    const term = document.createElement("dt"), said = document.createElement("dd");
    term.textContent = name;
    said.textContent = value;
    return [term, said];
  }));
  fill(byId("latest"), found.latest.map((one) => [one.id, one.label === null ? "cannot tell" : one.label, one.decided ? `${one.who} (decision)` : one.who, when(one.at), one.note]));
}

async function refresh() {
  try {
    const answer = await fetch("api/overview", { headers: { "x-fewlabels": "1" } });
    const found = await answer.json();
    if (!answer.ok) throw new Error(found.error);
    byId("trouble").hidden = true;
    show(found);
  } catch (error) {
    byId("trouble").textContent = error.message;
    byId("trouble").hidden = false;
  }
}

refresh();
setInterval(() => { if (!document.hidden) refresh(); }, SECONDS * 1000);

// An agent's output: follows as it grows, wraps on wish, and keeps no more lines than one can hold.
(function () {
  "use strict";
  const GAP_MS = 400;
  const MOST_LINES = 3000;
  const AT_END_PX = 40;
  let timer = 0;
  let busy = false;
  let again = false;

  function log() { return document.getElementById("log"); }
  function box(id) { return document.getElementById(id); }

  function begin() {
    if (box("window")) box("window").dataset.begun = "";
    document.querySelectorAll(".toggle[hidden]").forEach(function (one) { one.hidden = false; });
    const wrap = box("wrap");
    if (wrap) {
      wrap.checked = localStorage.getItem("codeframe-wrap") !== "off";
      wrap.addEventListener("change", function () {
        localStorage.setItem("codeframe-wrap", wrap.checked ? "on" : "off");
        drawWrap();
      });
    }
    drawWrap();
    const shown = log();
    if (!shown) return;
    const follow = box("follow");
    if (follow) follow.addEventListener("change", toEnd);
    if (shown.dataset.line) showLine(shown.dataset.line);
    else toEnd();
    shown.addEventListener("scroll", function () {
      const atEnd = shown.scrollHeight - shown.scrollTop - shown.clientHeight < AT_END_PX;
      if (follow && follow.checked !== atEnd) follow.checked = atEnd;
    });
  }

  function drawWrap() {
    const wrap = box("wrap");
    if (log() && wrap) log().classList.toggle("nowrap", !wrap.checked);
  }

  function showLine(number) {
    const line = document.getElementById("L" + number);
    if (!line) return;
    line.classList.add("linked");
    line.scrollIntoView({ block: "center" });
  }

  function toEnd() {
    const follow = box("follow");
    if (log() && (!follow || follow.checked)) log().scrollTop = log().scrollHeight;
  }

  // -- what came since -----------------------------------------------------------------------------

  function want() {
    if (!log() || !("follows" in log().dataset)) return;
    if (busy) again = true;
    else if (!timer) timer = window.setTimeout(fetchSince, GAP_MS);
  }

  function fetchSince() {
    timer = 0;
    const shown = log();
    if (!shown || document.hidden) return;
    busy = true;
    fetch(shown.dataset.since + shown.dataset.next, { headers: { "HX-Request": "true" }, credentials: "same-origin", redirect: "manual" })
      .then(function (response) { return response.ok ? response.text() : ""; })
      .then(function (text) { if (text && log() === shown) append(shown, text); })
      .catch(function () { /* the server is away; what comes next asks again */ })
      .finally(function () {
        busy = false;
        if (again) { again = false; want(); }
      });
  }

  function append(shown, text) {
    const part = document.createElement("template");
    part.innerHTML = text; // made by our server, which escapes what agents write
    const end = part.content.querySelector("[data-next]");
    if (!end) return;
    if ("skipped" in end.dataset) shown.replaceChildren();
    shown.dataset.next = end.dataset.next;
    end.remove();
    const open = shown.querySelector("[data-open]");
    if (open && part.content.firstElementChild) open.remove();
    shown.append(part.content);
    trim(shown);
    toEnd();
  }

  function trim(shown) {
    const excess = shown.querySelectorAll(".l").length - MOST_LINES;
    for (let left = excess; left > 0 && shown.firstElementChild; ) {
      if (shown.firstElementChild.classList.contains("l")) left -= 1;
      shown.firstElementChild.remove();
    }
    const first = shown.querySelector(".l");
    const above = box("above");
    if (!first || !above) return;
    const count = Number(first.id.slice(1)) - 1;
    above.hidden = count < 1;
    const link = above.querySelector("a");
    if (excess > 0) {
      const place = new URL(link.href);
      place.searchParams.delete("before");
      place.searchParams.set("line", String(Math.max(1, count - 900)));
      link.href = place.href;
      link.removeAttribute("hx-get");
    }
    link.textContent = "↑ " + count + " lines above, load";
  }

  document.addEventListener("codeframe:events", function (event) {
    const shown = log();
    if (!shown) return;
    if (event.detail.some(function (one) { return (one.run_id || one.run) === shown.dataset.run; })) want();
  });
  ["codeframe:resync", "codeframe:end"].forEach(function (name) { document.addEventListener(name, want); });
  document.addEventListener("visibilitychange", function () { if (!document.hidden) want(); });
  document.addEventListener("htmx:afterSettle", function () {
    if (box("window") && !("begun" in box("window").dataset)) begin();
  });
  begin();
})();

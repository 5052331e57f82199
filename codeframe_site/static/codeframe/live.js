// One stream for the page, as docs/streams.md has it: follows from the page's cursor, comes back
// after a loss, and has what changed fetched again.
(function () {
  "use strict";
  const FETCH_GAP_MS = 500;
  const FETCH_RETRY_MS = 1000; // doubled with each failure
  const MOST_IN_FLIGHT = 4;
  const SILENCE_MS = 40000; // more than two heartbeats
  const FIRST_DELAY_MS = 500;
  const LONGEST_DELAY_MS = 30000;
  const MOST_KEPT = 5000; // events of a hidden tab
  const FINAL = {
    4401: "You are signed out. Sign in again to see updates.",
    4403: "This address may not follow the stream.",
    4404: "What this page shows is no longer there.",
  };

  const path = document.body.dataset.stream;
  const banner = document.getElementById("live");
  let cursor = Number(document.body.dataset.cursor || 0);
  let socket = null;
  let failures = 0;
  let ended = false;
  let watchdog = 0;
  let retry = 0;
  let kept = [];
  let resyncKept = false;

  // -- what the page is told ----------------------------------------------------------------------

  function tell(name, detail) {
    document.dispatchEvent(new CustomEvent("codeframe:" + name, { detail: detail }));
  }

  function say(state, text) {
    if (banner.dataset.state === state && banner.textContent === text) return;
    banner.dataset.state = state;
    banner.textContent = text;
    tell("state", { state: state });
  }

  // -- the socket ---------------------------------------------------------------------------------

  function connect() {
    window.clearTimeout(retry);
    if (ended || (socket && socket.readyState <= WebSocket.OPEN)) return;
    const scheme = location.protocol === "https:" ? "wss://" : "ws://";
    const opened = new WebSocket(scheme + location.host + path + "?after=" + cursor);
    socket = opened;
    listen();
    opened.onmessage = function (message) {
      if (opened === socket) receive(JSON.parse(message.data));
    };
    opened.onclose = function (event) {
      if (opened === socket) lost(event.code);
    };
  }

  function listen() {
    window.clearTimeout(watchdog);
    const watched = socket;
    watchdog = window.setTimeout(function () {
      if (watched !== socket) return;
      socket = null; // a close that is never answered must not keep us waiting
      watched.close();
      lost(1006);
    }, SILENCE_MS);
  }

  function receive(frame) {
    listen();
    failures = 0;
    if (frame.type === "hello") say(frame.replaying ? "replaying" : "connected", frame.replaying ? "Catching up…" : "Live");
    if (frame.type === "hello") fetchMissed();
    if (frame.type === "live") say("connected", "Live");
    if (frame.type === "events") take(frame.events);
    if (frame.type === "resync") resync();
    if (typeof frame.cursor === "number") cursor = Math.max(cursor, frame.cursor);
    if (frame.type === "events" && socket.readyState === WebSocket.OPEN) {
      socket.send(JSON.stringify({ type: "ack", seq: cursor }));
    }
    if (frame.type === "end") end(frame);
  }

  function take(events) {
    const fresh = events.filter(function (event) { return event.seq > cursor; });
    if (!fresh.length) return;
    cursor = fresh[fresh.length - 1].seq;
    if (document.hidden) keep(fresh);
    else show(fresh);
  }

  function keep(events) {
    if (!resyncKept) kept = kept.concat(events);
    if (kept.length > MOST_KEPT) {
      kept = [];
      resyncKept = true;
    }
  }

  function show(events) {
    tell("events", events);
    markMatching(events);
  }

  function resync() {
    if (document.hidden) {
      kept = [];
      resyncKept = true;
      return;
    }
    tell("resync", {});
    document.querySelectorAll("[data-live-src]").forEach(want);
  }

  function end(frame) {
    ended = true;
    window.clearTimeout(watchdog);
    say("ended", "Ended");
    // Whatever its events named is fetched; the rest of the page may show the end too.
    document.querySelectorAll("[data-live-src]").forEach(want);
    tell("end", { status: frame.status });
  }

  function lost(code) {
    window.clearTimeout(watchdog);
    socket = null;
    if (ended) return;
    if (FINAL[code]) {
      ended = true;
      say("off", FINAL[code]);
      return;
    }
    if (code === 4408) resync();
    failures += 1;
    say("reconnecting", failures < 3 ? "Reconnecting…" : "Not connected; trying again. What you see may be old.");
    const slow = code === 4429 ? 10000 : 0;
    const most = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** failures);
    retry = window.setTimeout(connect, slow + Math.random() * most);
  }

  // -- what changed is fetched again ----------------------------------------------------------------

  const wanted = new Map(); // key -> element's latest form is looked up when its turn comes
  const due = new Map(); // key -> when it may be fetched again
  const misses = new Map(); // key -> fetches that failed since the last good one
  const shown = new Map(); // key -> the text it was last given
  const busy = new Set();
  let timer = 0;

  function keyOf(element) {
    return element.id || element.dataset.liveSrc;
  }

  function elementOf(key) {
    return document.getElementById(key) || document.querySelector('[data-live-src="' + CSS.escape(key) + '"]');
  }

  function matches(element, events) {
    const globs = (element.dataset.liveOn || "").split(/\s+/).filter(Boolean);
    return events.some(function (event) {
      if (element.dataset.liveTask && element.dataset.liveTask !== (event.task_id || event.task)) return false;
      if (element.dataset.liveRun && element.dataset.liveRun !== (event.run_id || event.run)) return false;
      return globs.some(function (glob) {
        return glob.endsWith("*") ? event.type.startsWith(glob.slice(0, -1)) : event.type === glob;
      });
    });
  }

  function markMatching(events) {
    document.querySelectorAll("[data-live-on]").forEach(function (element) {
      if (matches(element, events)) want(element);
    });
  }

  function want(element) {
    wanted.set(keyOf(element), true);
    if (!timer) timer = window.setTimeout(fetchWanted, 0);
  }

  function fetchWanted() {
    timer = 0;
    if (document.hidden) return;
    const now = performance.now();
    let soonest = Infinity;
    for (const key of Array.from(wanted.keys())) {
      const wait = (due.get(key) || 0) - now;
      const element = elementOf(key);
      if (!element || !element.dataset.liveSrc) wanted.delete(key);
      else if (wait > 0) soonest = Math.min(soonest, wait);
      else if (isBeingFilled(element)) soonest = Math.min(soonest, 1000);
      else if (!busy.has(key) && busy.size < MOST_IN_FLIGHT) fetchOne(key, element);
    }
    if (soonest < Infinity && !timer) timer = window.setTimeout(fetchWanted, soonest);
  }

  function fetchOne(key, element) {
    wanted.delete(key);
    busy.add(key);
    due.set(key, performance.now() + FETCH_GAP_MS);
    const source = element.dataset.liveSrc;
    fetch(source, { headers: { "HX-Request": "true" }, credentials: "same-origin", redirect: "manual" })
      .then(function (response) {
        if (response.status === 404 || response.status === 410) return null;
        if (response.ok) return response.text();
        // Signed out, or no longer allowed: asking again would change nothing.
        if (response.type === "opaqueredirect" || response.status === 403) return undefined;
        throw new Error("fragment: " + response.status);
      })
      .then(function (text) {
        misses.delete(key);
        if (text !== undefined) paint(key, source, text);
      }, function () { fetchLater(key); })
      .finally(function () {
        busy.delete(key);
        if (wanted.size && !timer) timer = window.setTimeout(fetchWanted, 0);
      });
  }

  // The server is away or busy; also after the stream's end, when no event asks again.
  function fetchLater(key) {
    const before = misses.get(key) || 0;
    misses.set(key, before + 1);
    const most = Math.min(LONGEST_DELAY_MS, FETCH_RETRY_MS * 2 ** before);
    due.set(key, performance.now() + most * (0.5 + Math.random() / 2));
    wanted.set(key, true);
  }

  function fetchMissed() {
    misses.forEach(function (_, key) { due.delete(key); });
    if (wanted.size) fetchWanted();
  }

  // An element that meanwhile has no source, or another one, shows what is newer than this answer.
  function paint(key, source, text) {
    const element = elementOf(key);
    if (!element || element.dataset.liveSrc !== source) return;
    if (text === null) {
      element.remove();
      return;
    }
    if (shown.get(key) === text) return;
    if (isBeingFilled(element)) {
      want(element);
      return;
    }
    shown.set(key, text);
    const restore = remember(element);
    htmx.swap(element, text, { swapStyle: "outerHTML", settleDelay: 0 });
    restore(elementOf(key));
    tell("painted", { key: key });
  }

  // What a person has begun to write or choose is not taken away from under the hands.
  function isBeingFilled(element) {
    return Array.from(element.querySelectorAll("textarea, input:not([type=checkbox]):not([type=hidden])")).some(
      function (field) { return field.value !== field.defaultValue; }
    );
  }

  function remember(element) {
    const focused = element.contains(document.activeElement) ? document.activeElement : null;
    const place = focused && placeOf(focused, element);
    const open = Array.from(element.querySelectorAll("details[id][open]"), function (one) { return one.id; });
    const ticked = Array.from(element.querySelectorAll("input[type=checkbox]:checked"), function (one) { return one.name + "=" + one.value; });
    const scrolled = Array.from(element.querySelectorAll("[id]"))
      .filter(function (one) { return one.scrollTop || one.scrollLeft; })
      .map(function (one) { return [one.id, one.scrollTop, one.scrollLeft]; });
    return function (fresh) {
      if (!fresh) return;
      open.forEach(function (id) { const one = document.getElementById(id); if (one) one.open = true; });
      fresh.querySelectorAll("input[type=checkbox]").forEach(function (one) {
        if (ticked.includes(one.name + "=" + one.value)) one.checked = true;
      });
      scrolled.forEach(function (row) {
        const one = document.getElementById(row[0]);
        if (one) { one.scrollTop = row[1]; one.scrollLeft = row[2]; }
      });
      const again = place && place(fresh);
      if (again) again.focus({ preventScroll: true });
    };
  }

  function placeOf(focused, element) {
    if (focused.id) return function () { return document.getElementById(focused.id); };
    const href = focused.getAttribute("href");
    if (href) return function (fresh) { return fresh.querySelector('a[href="' + CSS.escape(href) + '"]'); };
    const selector = "a, button, input, select, textarea, summary, [tabindex]";
    const index = Array.from(element.querySelectorAll(selector)).indexOf(focused);
    return function (fresh) { return fresh.querySelectorAll(selector)[index]; };
  }

  // -- the tab ----------------------------------------------------------------------------------------

  document.addEventListener("visibilitychange", function () {
    if (document.hidden) return;
    const events = kept;
    kept = [];
    if (resyncKept) {
      resyncKept = false;
      resync();
    } else if (events.length) show(events);
    if (wanted.size && !timer) fetchWanted();
    if (path && !socket) connect();
  });
  window.addEventListener("online", function () { if (path && !socket) connect(); });
  window.addEventListener("pageshow", function (event) { if (path && event.persisted) location.reload(); });

  if (path) {
    say("connecting", "Connecting…");
    connect();
  }
})();

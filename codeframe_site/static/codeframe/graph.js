// The dependency graph: moved by scrolling or dragging, zoomed, searched, and coloured as it happens.
(function () {
  "use strict";
  const graph = document.getElementById("graph");
  if (!graph) return;
  const svg = graph.querySelector("svg");
  const width = svg.viewBox.baseVal.width;
  const height = svg.viewBox.baseVal.height;
  const SMALLEST = 0.02;
  const LARGEST = 3;
  const READABLE = 0.8; // below this a title cannot be read
  let scale = 1;

  // -- zoom and move --------------------------------------------------------------------------------

  function zoom(to, x, y) {
    const next = Math.min(LARGEST, Math.max(SMALLEST, to));
    const left = (graph.scrollLeft + x) / scale;
    const top = (graph.scrollTop + y) / scale;
    scale = next;
    svg.setAttribute("width", String(Math.ceil(width * scale)));
    svg.setAttribute("height", String(Math.ceil(height * scale)));
    graph.scrollLeft = left * scale - x;
    graph.scrollTop = top * scale - y;
  }

  function whole() {
    return Math.min(graph.clientWidth / width, graph.clientHeight / height);
  }

  const ZOOMS = {
    in: function () { zoom(scale * 1.25, graph.clientWidth / 2, graph.clientHeight / 2); },
    out: function () { zoom(scale / 1.25, graph.clientWidth / 2, graph.clientHeight / 2); },
    fit: function () { zoom(whole(), 0, 0); },
    one: function () { zoom(1, graph.clientWidth / 2, graph.clientHeight / 2); },
  };
  document.querySelectorAll("[data-zoom]").forEach(function (button) {
    button.addEventListener("click", ZOOMS[button.dataset.zoom]);
  });
  document.querySelector(".graph-tools").hidden = false;
  graph.addEventListener("wheel", function (event) {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const box = graph.getBoundingClientRect();
    zoom(scale * (event.deltaY < 0 ? 1.15 : 1 / 1.15), event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  graph.addEventListener("keydown", function (event) {
    if (event.target !== graph || event.ctrlKey || event.metaKey) return;
    if (event.key === "+" || event.key === "=") ZOOMS.in();
    else if (event.key === "-") ZOOMS.out();
    else if (event.key === "0") ZOOMS.fit();
  });

  let grip = null;
  graph.addEventListener("pointerdown", function (event) {
    if (event.button !== 0 || event.pointerType === "touch" || event.target.closest(".node")) return;
    grip = { x: event.clientX + graph.scrollLeft, y: event.clientY + graph.scrollTop };
    graph.setPointerCapture(event.pointerId);
    graph.classList.add("grabbed");
  });
  graph.addEventListener("pointermove", function (event) {
    if (!grip) return;
    graph.scrollLeft = grip.x - event.clientX;
    graph.scrollTop = grip.y - event.clientY;
  });
  ["pointerup", "pointercancel"].forEach(function (name) {
    graph.addEventListener(name, function () {
      grip = null;
      graph.classList.remove("grabbed");
    });
  });

  // -- search -----------------------------------------------------------------------------------------

  const field = document.getElementById("q");
  const found = document.getElementById("graph-found");
  function search() {
    const words = field.value.trim().toLowerCase();
    let first = null;
    let count = 0;
    graph.querySelectorAll(".node").forEach(function (node) {
      const hit = words !== "" && node.querySelector("title").textContent.toLowerCase().includes(words);
      node.classList.toggle("match", hit);
      if (hit) count += 1;
      if (hit && !first) first = node;
    });
    found.textContent = words ? count + (count === 1 ? " task" : " tasks") : "";
    if (first) center(first);
  }
  function center(node) {
    if (scale < READABLE) zoom(1, 0, 0);
    const place = node.transform.baseVal.consolidate().matrix;
    graph.scrollLeft = place.e * scale - graph.clientWidth / 2;
    graph.scrollTop = place.f * scale - graph.clientHeight / 2;
  }
  let typed = 0;
  field.addEventListener("input", function () {
    window.clearTimeout(typed);
    typed = window.setTimeout(search, 150);
  });

  // -- states, as they change ---------------------------------------------------------------------------

  const marks = {};
  document.getElementById("marks").content.querySelectorAll("[data-status]").forEach(function (mark) {
    marks[mark.dataset.status] = mark.dataset;
  });
  const tones = Object.values(marks).map(function (mark) { return mark.tone; });

  function paint(id, status) {
    const node = document.getElementById("n-" + id);
    if (!node || !marks[status] || node.dataset.status === status) return;
    node.dataset.status = status;
    node.classList.remove.apply(node.classList, tones);
    node.classList.add(marks[status].tone);
    node.querySelector(".sign").textContent = marks[status].sign;
    node.setAttribute("aria-label", node.querySelector("title").textContent + ", " + marks[status].word);
  }

  document.addEventListener("codeframe:events", function (event) {
    event.detail.forEach(function (one) {
      if (one.type === "TASK_STATUS") paint(one.task_id || one.task, one.payload.status);
      const depends = one.type === "TASK_UPDATED" && (!one.payload || "depends_on" in one.payload);
      if (depends || one.type === "TASK_CREATED" || one.type === "TASK_DELETED") {
        document.getElementById("graph-stale").hidden = false;
      }
    });
  });
  document.addEventListener("codeframe:resync", function () {
    fetch(graph.dataset.states, { credentials: "same-origin" })
      .then(function (response) { return response.ok ? response.json() : {}; })
      .then(function (states) {
        Object.keys(states).forEach(function (id) { paint(id, states[id]); });
      })
      .catch(function () { /* the next resync asks again */ });
  });

  // As much as can still be read, beginning where work begins.
  zoom(Math.min(1, Math.max(READABLE, whole())), 0, 0);
  let begin = null;
  graph.querySelectorAll(".node").forEach(function (node) {
    const place = node.transform.baseVal.consolidate().matrix;
    const sooner = !begin || place.e < begin.x || (place.e === begin.x && place.f < begin.y);
    if (sooner) begin = { x: place.e, y: place.f, node: node };
  });
  if (begin && scale * height > graph.clientHeight) center(begin.node);
  if (field.value.trim()) search();
})();

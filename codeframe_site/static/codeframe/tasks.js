// Ticked tasks: counted, all at once, and a range with the shift key.
(function () {
  "use strict";
  const count = document.getElementById("bulk-count");
  const bulk = document.getElementById("bulk");
  if (!bulk) return;
  let last = null;

  const all = document.createElement("input");
  all.type = "checkbox";
  all.id = "tick-all";
  const label = document.createElement("label");
  label.append(all, " All shown");
  bulk.insertBefore(label, count);

  function ticks() {
    return Array.from(document.querySelectorAll('input[type=checkbox][name=task][form="bulk"]'));
  }

  function tell() {
    const boxes = ticks();
    const ticked = boxes.filter(function (box) { return box.checked; }).length;
    count.textContent = ticked ? ticked + " ticked:" : "Ticked tasks:";
    bulk.querySelectorAll("button").forEach(function (button) { button.disabled = !ticked; });
    all.checked = ticked > 0 && ticked === boxes.length;
    all.indeterminate = ticked > 0 && ticked < boxes.length;
  }

  all.addEventListener("change", function () {
    ticks().forEach(function (box) { box.checked = all.checked; });
    tell();
  });
  document.addEventListener("click", function (event) {
    const box = event.target;
    if (!(box instanceof HTMLInputElement) || box.name !== "task") return;
    const boxes = ticks();
    if (event.shiftKey && last && boxes.includes(last)) {
      const ends = [boxes.indexOf(last), boxes.indexOf(box)].sort(function (a, b) { return a - b; });
      boxes.slice(ends[0], ends[1] + 1).forEach(function (one) { one.checked = box.checked; });
    }
    last = box;
    tell();
  });
  document.addEventListener("codeframe:painted", tell);
  tell();
})();

// Keys of every page: / search, j k move among [data-row], r runs, ? shows them all.
(function () {
  "use strict";
  const help = document.getElementById("keys-help");

  function isTyping(target) {
    return target.closest("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]");
  }

  function move(step) {
    const rows = Array.from(document.querySelectorAll("[data-row]")).filter(function (row) {
      return row.getClientRects().length;
    });
    if (!rows.length) return;
    const now = rows.findIndex(function (row) { return row.contains(document.activeElement); });
    const next = now < 0 ? (step > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, now + step));
    const target = rows[next].matches("a, button") ? rows[next] : rows[next].querySelector("a[href]");
    if (target) {
      target.focus();
      target.scrollIntoView({ block: "nearest" });
    }
  }

  const KEYS = {
    "/": function () {
      const field = document.querySelector("input[type=search]");
      if (field) { field.focus(); field.select(); }
    },
    j: function () { move(1); },
    k: function () { move(-1); },
    r: function () {
      const button = document.querySelector('[data-key="r"]');
      if (button) button.click();
    },
    "?": function () { if (!help.open) help.showModal(); },
  };

  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
    const act = KEYS[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  document.querySelectorAll('[data-key="?"]').forEach(function (button) {
    button.hidden = false;
    button.addEventListener("click", KEYS["?"]);
  });
})();

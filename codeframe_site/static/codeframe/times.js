// Times as a clock on this desk shows them. <time datetime data-age> counts up ("5 s ago"),
// data-elapsed counts without "ago", data-clock and data-date show the moment itself.
(function () {
  "use strict";
  const started = Date.parse(document.body.dataset.now || "") || Date.now();
  const ahead = started - Date.now(); // the server's clock counts, not this one's
  const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "long" });
  const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
  const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

  function span(seconds) {
    const s = Math.max(0, Math.floor(seconds));
    if (s < 60) return s + " s";
    if (s < 3600) return Math.floor(s / 60) + " min " + String(s % 60).padStart(2, "0") + " s";
    return Math.floor(s / 3600) + " h " + String(Math.floor((s % 3600) / 60)).padStart(2, "0") + " min";
  }

  function age(seconds) {
    const s = Math.max(0, Math.floor(seconds));
    if (s < 60) return s + " s ago";
    if (s < 3600) return Math.floor(s / 60) + " min ago";
    if (s < 86400) return Math.floor(s / 3600) + " h ago";
    const days = Math.floor(s / 86400);
    return days + (days === 1 ? " day ago" : " days ago");
  }

  function draw(element) {
    const at = Date.parse(element.dateTime);
    if (Number.isNaN(at)) return;
    const seconds = (Date.now() + ahead - at) / 1000;
    let text = element.textContent;
    if ("age" in element.dataset) text = age(seconds);
    else if ("elapsed" in element.dataset) text = span(seconds);
    else if ("clock" in element.dataset) text = clock.format(at);
    else if ("date" in element.dataset) text = day.format(at);
    if (text !== element.textContent) element.textContent = text;
    const hover = exact.format(at);
    if (element.title !== hover) element.title = hover;
  }

  function drawAll() {
    if (!document.hidden) document.querySelectorAll("time[datetime]").forEach(draw);
  }

  drawAll();
  window.setInterval(function () {
    if (!document.hidden) document.querySelectorAll("time[data-age], time[data-elapsed]").forEach(draw);
  }, 1000);
  document.addEventListener("visibilitychange", drawAll);
  document.addEventListener("codeframe:painted", drawAll);
  document.addEventListener("htmx:afterSettle", drawAll);
})();

// Filtering, for pages with many sites; without it everything is there all the same.
(() => {
  "use strict";
  const form = document.querySelector("form");
  if (!form) return;
  const sites = [...document.querySelectorAll(".site")];
  const words = form.elements.namedItem("words");
  const what = form.elements.namedItem("what");
  const target = form.elements.namedItem("target");
  const status = form.querySelector("[role=status]");
  const details = site => site.querySelector("details");

  const filter = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const site of sites) {
      const names = site.querySelector(".names");
      const text = `${site.querySelector("summary").textContent} ${names ? names.textContent : ""}`.toLowerCase();
      const rejected = site.dataset.rejected.split(" ");
      const fits = wanted.every(word => text.includes(word))
        && (!what.value || site.dataset.kind === what.value)
        && (!target.value || rejected.includes(target.value));
      site.hidden = !fits;
      shown += fits;
    }
    status.textContent = shown === sites.length ? "" : `${shown} of ${sites.length} shown`;
  };

  const reveal = () => {
    const named = location.hash && document.getElementById(location.hash.slice(1));
    const site = named && named.closest(".site");
    if (!site) return;
    site.hidden = false;
    details(site).open = true;
    if (named !== site) named.closest("details").open = true;
    named.scrollIntoView();
  };

  form.hidden = false;
  form.addEventListener("submit", event => event.preventDefault());
  form.addEventListener("input", filter);
  form.querySelectorAll("button").forEach(button => button.addEventListener("click", () => {
    for (const site of sites) if (!site.hidden) details(site).open = button.value === "open";
  }));
  addEventListener("hashchange", reveal);
  addEventListener("beforeprint", () => sites.forEach(site => { details(site).open = true; }));
  filter();
  reveal();
})();

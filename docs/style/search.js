// Ranks what a search finds: guides before reference, reference before lists of everything.
(() => {
  const GUIDES = /^(index$|installation$|tutorial\/|howto\/)/;
  const LISTS = /^(architecture|changelog|contributing|measured|reference\/.*)$/;
  const query = new URLSearchParams(location.search).get("q") ?? "";
  const words = query.toLowerCase().split(/\s+/).filter((word) => word.length > 2);
  const isName = /[a-z][A-Z]|[._]/.test(query); // such as JointCommand or hrp_sim.run

  Scorer.score = ([page, title, , , score, , kind]) => {
    if (kind === "object") return isName ? score : score - 15;
    if (kind === "index") return score < 100 ? score / 10 : score; // 100: the whole entry
    if (kind === "text" && words.every((word) => title.toLowerCase().includes(word))) score += 10;
    if (GUIDES.test(page)) return score + 8;
    return LISTS.test(page) ? score - 12 : score;
  };
  if (location.protocol !== "file:") return;

  // Browsers do not let a page read others from disk, which excerpts need.
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  document.addEventListener("DOMContentLoaded", () => {
    const note = document.createElement("p");
    note.textContent = "Without excerpts, as the site was opened from disk; scripts/site.sh --serve shows them.";
    document.querySelector(".search-summary")?.after(note);
  });
})();

// Sets the theme before the first paint. A module would come too late.
(function () {
  var chosen = null;
  try { chosen = localStorage.getItem('probehost-theme'); } catch (_) { /* storage may be off */ }
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
})();

// One expression, asked of the page from outside. Colours as in WCAG 2.2: contrast of text to what is really behind it.
(() => {
  const numbers = (color) => (color.match(/[\d.]+/g) || []).map(Number);
  const channel = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const contrast = (a, b) => {
    const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const isClear = (c) => c.length === 4 && c[3] === 0;
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const color = numbers(getComputedStyle(e).backgroundColor);
      if (!isClear(color)) return color;
    }
    return [255, 255, 255];
  };
  const name = (e) => `${e.tagName}.${e.getAttribute('class') || ''} ${e.textContent.trim().slice(0, 40)}`;
  const isShown = (e) => e.checkVisibility({ contentVisibilityAuto: true }) && e.getClientRects().length > 0;
  const ownText = (e) => [...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim());
  const texts = [...document.body.querySelectorAll('*')].filter(
    (e) => !['TITLE', 'STYLE'].includes(e.tagName.toUpperCase()) && ownText(e) && isShown(e));
  const width = document.documentElement.scrollWidth;
  const scrolls = (e) => e.closest('.scroll');
  const charts = [...document.querySelectorAll('.chart')];
  return {
    width,
    ground: behind(document.body).slice(0, 3),
    texts: texts.length,
    charts: charts.length,
    small: texts.filter((e) => parseFloat(getComputedStyle(e).fontSize) < 11).map(name),
    faint: texts
      .map((e) => [contrast(numbers(getComputedStyle(e).color), behind(e)), e])
      .filter(([c]) => c < 4.5)
      .map(([c, e]) => `${c.toFixed(2)} ${name(e)}`),
    cut: texts
      .filter((e) => !scrolls(e))
      .filter((e) => { const box = e.getBoundingClientRect(); return box.left < -0.5 || box.right > innerWidth + 0.5; })
      .map(name),
    empty: charts
      .filter((c) => ![...c.querySelectorAll('svg.bars rect')].some((r) => {
        const box = r.getBoundingClientRect();
        return box.width > 0 && box.height > 0;
      }))
      .map(name),
    dead: [...document.querySelectorAll('a')].filter((a) => !document.querySelector(a.getAttribute('href'))).map(name),
  };
})()

// Draws the figures: ours as lines with whiskers, what is printed as diamonds of the same colour.
const figures = JSON.parse(document.getElementById('data').textContent);
const drawn = new Map();
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
const colours = () => ['c0', 'o0', 'c1', 'o1', 'o2', 'c2', 'c3'].map(css);
const short = (x) => String(+x.toPrecision(4));

function whiskers(line, colour) {
  const ends = line.points.filter((p) => p.ci95).flatMap((p) => [[p.x, p.y - p.ci95], [p.x, p.y + p.ci95], [null, null]]);
  return { name: line.name, type: 'line', silent: true, showSymbol: false, connectNulls: false, tooltip: { show: false },
    lineStyle: { color: colour, width: 1.5, opacity: .7 }, itemStyle: { color: colour }, data: ends };
}

function series(figure, palette) {
  const names = [...new Set(figure.lines.map((line) => line.name))];
  return figure.lines.flatMap((line) => {
    const colour = palette[names.indexOf(line.name) % palette.length];
    const data = line.points.map((p) => ({ value: [p.x, p.y], half: p.ci95, printed: line.printed }));
    const common = { name: line.name, data, itemStyle: { color: colour } };
    if (line.printed) return [Object.assign(common, { type: 'scatter', symbol: 'diamond', symbolSize: 11, z: 3,
      itemStyle: { color: 'transparent', borderColor: colour, borderWidth: 2 } })];
    const few = line.points.length <= 60;
    if (figure.apart) return [Object.assign(common, { type: 'scatter', symbolSize: 6 }), whiskers(line, colour)];
    return [Object.assign(common, { type: 'line', showSymbol: few, symbolSize: 5, lineStyle: { color: colour, width: few ? 2 : 1.2 } }),
      whiskers(line, colour)];
  });
}

function option(figure) {
  const soft = css('soft'), ink = css('ink'), grid = css('grid'), palette = colours();
  const whole = (of) => figure.lines.every((line) => line.points.every((p) => Number.isInteger(p[of])));
  const axis = (name, gap, of) => ({ type: 'value', name, minInterval: whole(of) ? 1 : 0, nameLocation: 'middle', nameGap: gap, scale: true,
    nameTextStyle: { color: soft }, axisLabel: { color: soft, hideOverlap: true }, splitLine: { lineStyle: { color: grid } } });
  const least = Math.min(...figure.lines.flatMap((line) => line.points.map((p) => p.y)));
  return {
    animation: false, textStyle: { color: ink }, aria: { enabled: true },
    grid: { left: 66, right: 20, top: 44, bottom: 52 },
    legend: { top: 4, type: 'scroll', textStyle: { color: ink }, data: [...new Set(figure.lines.map((line) => line.name))] },
    tooltip: { confine: true, trigger: 'item', backgroundColor: css('card'), borderColor: css('line'), textStyle: { color: ink },
      formatter: (at) => at.seriesName.replace(/[&<>]/g, '') + (at.data.printed ? ', printed' : '') + '<br>' + short(at.value[0]) + ': ' +
        short(at.value[1]) + (at.data.half ? ' ± ' + short(at.data.half) : '') },
    xAxis: axis(figure.x, 28, 'x'), yAxis: Object.assign(axis(figure.y, 46, 'y'), least >= 0 ? { min: 0 } : {}),
    series: series(figure, palette),
  };
}

function drawAll() {
  for (const figure of figures) {
    const box = document.querySelector('[data-figure="' + figure.id + '"]');
    const chart = drawn.get(box) || echarts.init(box, null, { renderer: 'svg' });
    drawn.set(box, chart);
    chart.resize();
    chart.setOption(option(figure), { notMerge: true });
  }
  document.documentElement.dataset.ready = drawn.size;
}

new ResizeObserver(drawAll).observe(document.querySelector('main'));
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
drawAll();

// Every flow, a bar each, against its fair share.
/** The top of the axis: near the fair share all charts reach three times the greatest share, so they compare. */
function flowScale() {
  const flows = runs.flatMap((run) => run.flows);
  const got = flows.map((f) => f.throughput ? f.throughput.mean : 0);
  const most = greatest(got, 1);
  const fair = greatest(flows.map((f) => f.fair || 0), 0);
  return chosen.scale === 'full' || fair === 0 ? most * 1.05 : Math.min(most * 1.05, fair * 3);
}

/** A tick per bar at its fair share, as one broken line; among hundreds of hairs, equal neighbours share a tick. */
function fairTicks(list, many, factor) {
  const data = [], half = many ? 0.5 : 0.44;
  for (let i = 0, from = 0; i < list.length; i++) {
    const fair = list[i].fair, next = list[i + 1];
    if (many && next && next.fair === fair) continue;
    if (fair !== null) data.push([from - half, fair / factor], [i + half, fair / factor], [null, null]);
    from = i + 1;
  }
  return data;
}

function flows(run, box, c) {
  const got = (f) => f.throughput ? f.throughput.mean : 0;
  const list = run.flows.slice();
  // Where there are a few fair shares, flows of one stand together: their ticks make a line each.
  const level = (f) => +(f.fair || 0).toPrecision(4);
  const levels = new Set(list.map(level)).size;
  const apart = levels > 1 && levels < 5;
  if (chosen.order === 'sorted') list.sort((a, b) => (apart ? level(b) - level(a) : 0) || got(b) - got(a) || a.index - b.index);
  const top = flowScale();
  const [factor, unit] = unitFor(top);
  const beyond = list.map((f, i) => [f, i]).filter(([f]) => got(f) > top);
  const marks = beyond.length > 3
    ? [{ name: beyond.length + ' ' + run.members + ' above', coord: [beyond[0][1], top / factor] }]
    : beyond.map(([f, i]) => ({ name: '▲ ' + rate(got(f)), coord: [i, top / factor], group: f.group }));
  const many = list.length > 120;
  // Among hundreds, a bar is a hair: the few that do not heed congestion are drawn again, broad enough to be seen.
  const offends = new Set(groups.filter((g) => g.conduct === 'unresponsive').map((g) => g.name));
  const few = many && list.filter((f) => offends.has(f.group)).length <= 20 ? list.map((f) => offends.has(f.group) ? got(f) / factor : null) : [];
  const last = list.length - 1;
  box.classList.toggle('crisp', many);
  const position = (i) => i > last * 0.7 ? 'left' : i < last * 0.3 ? 'right' : 'bottom';
  return Object.assign(base(c), {
    height: 212,
    grid: { left: 58, right: 16, top: 14, bottom: 26 },
    xAxis: [{
      type: 'category', data: list.map((f) => f.label), axisTick: { show: false }, axisLine: { lineStyle: { color: c.quiet } },
      axisLabel: { show: false }, name: list.length + ' ' + run.members + ', ' + (chosen.order !== 'sorted' ? 'in order' : apart ? 'by fair share, then the greatest first' : 'the greatest first'),
      nameLocation: 'middle', nameGap: 12, nameTextStyle: { color: c.soft, fontSize: 12 },
    }, { type: 'value', show: false, min: -0.5, max: list.length - 0.5, axisPointer: { show: false } }],
    yAxis: valueAxis(c, unit, { max: top / factor, min: 0, nameGap: 40, axisLabel: { color: c.soft, fontSize: 12, showMaxLabel: false, formatter: (v) => String(+v.toPrecision(3)) } }),
    tooltip: Object.assign(base(c).tooltip, {
      trigger: 'axis', axisPointer: { type: 'shadow' },
      formatter: (items) => {
        const f = list[items[0].dataIndex];
        return escape(f.label) + (f.group ? ' (' + escape(f.group) + ')' : '') +
          '<br><b>' + (f.throughput ? plusMinus(f.throughput, RATE) : '–') + '</b>' +
          (f.fair ? '<br>fair share ' + rate(f.fair) + ', got ' + percent(got(f) / f.fair) : '') +
          (f.loss ? '<br>loss ' + percent(f.loss.mean) : '');
      },
    }),
    series: [
      { type: 'bar', barGap: '-100%', barWidth: many ? '100%' : '78%', barMaxWidth: 46,
        data: list.map((f) => ({ value: got(f) / factor, itemStyle: { color: c.of[f.group] || c.bar } })),
        markPoint: {
          silent: true, symbol: 'circle', symbolSize: 0.01,
          data: marks.map((m) => ({ name: m.name, coord: m.coord, label: {
            show: true, formatter: m.name, position: position(m.coord[0]), distance: 12, color: c.ink, fontSize: 12, fontWeight: 600,
            backgroundColor: c.card, padding: [2, 4], offset: [0, 8], borderRadius: 3 } })),
        } },
      ...(few.length === 0 ? [] : [{ type: 'bar', silent: true, barWidth: 4, z: 3, data: few.map((v, i) => ({ value: v, itemStyle: { color: c.of[list[i].group] } })) }]),
      // A halo keeps the ticks apart from the bars.
      ...[{ color: c.card, width: 4, opacity: 0.75 }, { color: c.ink, width: 2 }].map((lineStyle) => ({
        type: 'line', xAxisIndex: 1, silent: true, showSymbol: false, symbol: 'none', z: 4, connectNulls: false,
        lineStyle: Object.assign({ cap: 'butt' }, lineStyle), tooltip: { show: false }, data: fairTicks(list, many, factor),
      })),
    ],
  });
}

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Result, Spread } from '../../bench/blackbox/result.ts';
import { chartSvg } from '../../bench/page/chart.ts';
import type { Recorded } from '../../bench/page/lines.ts';
import { pageOf } from '../../bench/page/page.ts';
import { expectAccessible, findChromium, openChromium, openPage } from '../pages/browser/chromium.ts';

const spread = (p50: number): Spread => ({
  p50,
  p90: p50 * 2,
  p99: p50 * 4,
  p999: p50 * 5,
  max: p50 * 6,
  samples: 100,
});
const point = (rate: number) => ({
  ...{ rate, changes: 100, seconds: 2, failed: 0, unseen: 0, writesPerChange: 1 },
  ...spread(rate / 10),
  eventToCopy: spread(1),
  answer: spread(2),
});
const run: Result = {
  ...point(200),
  ...{
    question: 'blackbox',
    date: '2026-11-26T12:00:00.000Z',
    commit: '<b>x</b>',
    missing: 0,
    wrong: 2,
    extra: 0,
    left: 0,
  },
  machine: { cores: 2, model: 'a processor', platform: 'linux', node: 'v26' },
  load: { atStart: 1, atEnd: 2 },
  wanted: {
    objects: 1000,
    rates: [50, 200],
    seconds: 2,
    isBurst: false,
    kind: 'endpoints',
    addresses: 3,
    vclusterName: 'vc',
  },
  firstSync: { seconds: 3, perSecond: 333, rawSeconds: 2.5, firstCopyMs: 12 },
  points: [point(50), point(200)],
  memory: [
    [1, 90],
    [2, 110],
  ],
};
const recorded = JSON.parse(readFileSync('bench/history/vcluster-2026-11-21.json', 'utf8')) as Recorded[];
const answers = [
  {
    ...{ question: 'growth', date: '2026-11-26T10:00:00.000Z', commit: 'abc', figures: [] },
    details: {
      costs: [0, 1000, 10_000].map((size) => ({
        ...{ size, firstSyncMs: 200 + size, serverMs: size * 0.7, restartMs: 200 + size / 10, changeMs: 0.5 },
      })),
    },
  },
  {
    ...{ question: 'leak', date: '2026-11-26T11:00:00.000Z', commit: 'abc', figures: [] },
    details: { held: [1, 2, 3].map((nth) => ({ x: nth * 10_000, y: 30 * 1024 ** 2 })) },
  },
  {
    question: 'sync',
    date: '2026-11-23',
    commit: 'abc',
    figures: [{ name: 'drain', value: 0.5, unit: '', wanted: { atLeast: 0.9 } }],
  },
];
const page = pageOf({ runs: [run], recorded, answers, made: run.date });

describe('the page of the benchmarks', () => {
  it('shows ours beside the raw API server and beside others with their date and conditions', () => {
    for (const words of [
      'p99 of the syncer, 1000 endpoints',
      'p99 of the raw API server',
      'the raw API server: until the virtual side has taken the same objects',
      'the raw API server of the host, for the same writes, 2026-11-26',
      'restart with all in step, 2026-11-26',
      '1,000 Endpoints that change again and again, 2026-11-26',
      'its default limits, 2026-11-21',
      '10,000 Endpoints of 3 addresses in sync',
      'missed',
    ])
      expect(page).toContain(words);
    expect(page.match(/<svg role="img"/g)).toHaveLength(5);
  });

  it('loads nothing, and makes no markup of what is in a file', () => {
    expect(page).not.toMatch(/<(script|link|img|iframe)|url\(|https?:/);
    expect(page).toContain('&lt;b&gt;x&lt;/b&gt;');
  });

  it('is a page without any run too', () => {
    expect(pageOf({ runs: [], recorded: [], answers: [], made: run.date })).toContain('None yet');
  });

  it('draws every point within its chart, on even axes and on those by powers of ten', () => {
    for (const isLog of [false, true]) {
      const points = [0.4, 3, 77, 12_000].map((x) => ({ x, y: x * 2 }));
      const svg = chartSvg({ id: 'a', title: 'A', xLabel: 'x', yLabel: 'y', isLog, lines: [{ name: 'one', points }] });
      const [, text = ''] = /polyline points="([^"]+)"/.exec(svg) ?? [];
      const places = text.split(' ').map((place) => place.split(',').map(Number));
      expect(places).toHaveLength(4);
      for (const [x = -1, y = -1] of places) expect([x >= 100 && x <= 680, y >= 14 && y <= 328]).toEqual([true, true]);
      expect(places.map(([x]) => x)).toEqual(places.map(([x]) => x).toSorted((a = 0, b = 0) => a - b));
    }
  });
});

describe('npm run bench:page', () => {
  it('shows runs of ours beside those of others in a fresh checkout, which has no results', () => {
    const kept = readdirSync('bench/history').map((name) => JSON.parse(readFileSync(`bench/history/${name}`, 'utf8')));
    const ours = kept.filter((one): one is Result => one.question === 'blackbox');
    expect(ours.filter(({ missing, wrong, conditions }) => missing + wrong > 0 || conditions === undefined)).toEqual(
      [],
    );
    const shown = pageOf({ runs: ours, recorded, answers: [], made: run.date });
    expect(shown).toContain('p99 of the syncer');
    expect(shown).toContain('; between two ');
    expect(shown).not.toContain('None yet');
  });

  it('writes one file from the runs and figures that are kept, and nothing beside it', () => {
    const folder = mkdtempSync(join(tmpdir(), 'hostward-bench-made-'));
    try {
      const path = join(folder, 'page.html');
      const main = join(import.meta.dirname, '../../bench/page/main.ts');
      const { status, stdout } = spawnSync(process.execPath, [main, path], { encoding: 'utf8', timeout: 300_000 });
      expect({ status, stdout }).toMatchObject({ status: 0, stdout: expect.stringContaining(`${path}: `) });
      expect(readdirSync(folder)).toEqual(['page.html']);
      const made = readFileSync(path, 'utf8');
      for (const words of ['<svg role="img"', 'vCluster v0.36.0', 'growth']) expect(made).toContain(words);
      expect(made).not.toMatch(/<(script|link|img|iframe)|url\(|https?:/);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }, 300_000);

  it('says at once that it cannot write there, where it once tried for ever', () => {
    const main = join(import.meta.dirname, '../../bench/page/main.ts');
    const { status, stderr } = spawnSync(process.execPath, [main, '/proc/nope/x'], {
      encoding: 'utf8',
      timeout: 30_000,
    });
    expect({ status, stderr }).toEqual({ status: 2, stderr: 'bench:page: "/proc/nope/x": there is no such folder\n' });
  });
});

const found = findChromium();

describe.skipIf(found.program === undefined)(
  `the page of the benchmarks in Chromium${found.program === undefined ? ` (skipped: ${found.reason})` : ''}`,
  () => {
    let folder: string;
    let url: string;
    let browser: Browser;
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'hostward-bench-page-'));
      url = pathToFileURL(join(folder, 'page.html')).href;
      writeFileSync(join(folder, 'page.html'), page);
      browser = await openChromium(found.program as string);
    });
    afterAll(async () => {
      await browser?.close();
      rmSync(folder, { recursive: true, force: true });
    });

    it.each(['light', 'dark'] as const)('is readable in %s, without a fault or a request', async (colorScheme) => {
      const { page: tab, troubles } = await openPage(browser, 'file://', {
        colorScheme,
        viewport: { width: 900, height: 800 },
      });
      await tab.goto(url);
      await expectAccessible(tab);
      const background = await tab.evaluate('getComputedStyle(document.body).backgroundColor');
      expect(background).toBe(colorScheme === 'dark' ? 'rgb(15, 20, 25)' : 'rgb(255, 255, 255)');
      expect(troubles).toEqual([]);
      await tab.close();
    });

    it('fits a narrow screen and paper', async () => {
      const { page: tab } = await openPage(browser, 'file://', {
        colorScheme: 'dark',
        viewport: { width: 360, height: 700 },
      });
      await tab.goto(url);
      expect(await tab.evaluate('document.documentElement.scrollWidth <= 360')).toBe(true);
      await tab.emulateMedia({ media: 'print' });
      expect(await tab.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(255, 255, 255)');
      expect((await tab.pdf({ format: 'A4' })).length).toBeGreaterThan(10_000);
      await tab.close();
    });
  },
);

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readArguments, UsageFault } from '../../../bench/blackbox/arguments.ts';
import { Arrivals } from '../../../bench/blackbox/arrivals.ts';
import type { KubeObject, WatchEvent } from '../../../bench/blackbox/cluster.ts';
import { Copies } from '../../../bench/blackbox/copies.ts';
import { Histogram } from '../../../bench/blackbox/histogram.ts';
import { Load, placesOf, readMark, trafficOf } from '../../../bench/blackbox/load.ts';
import { whyNoFile, whyNoFolder } from '../../../bench/blackbox/output-place.ts';

describe('Histogram', () => {
  it('keeps every percentile to a thousandth of what a sorted list says', () => {
    const times = fc.array(fc.double({ min: 0, max: 4_000_000, noNaN: true }), { minLength: 1, maxLength: 400 });
    fc.assert(
      fc.property(times, fc.constantFrom(0.5, 0.9, 0.99, 0.999, 1), (values, share) => {
        const histogram = new Histogram();
        for (const value of values) histogram.record(value);
        const sorted = values.toSorted((one, other) => one - other);
        const exact = sorted[Math.max(1, Math.ceil(share * sorted.length)) - 1] as number;
        expect(Math.abs(histogram.percentile(share) - exact)).toBeLessThanOrEqual(exact / 1000 + 0.001);
      }),
    );
  });

  it('knows the largest and the number, and nothing when it is empty', () => {
    const histogram = new Histogram();
    expect([histogram.max, histogram.percentile(0.5)]).toEqual([Number.NaN, Number.NaN]);
    for (const ms of [3, -1, 900_000.5]) histogram.record(ms);
    expect([histogram.count, histogram.max, histogram.percentile(0)]).toEqual([3, 900_000.5, 0]);
  });
});

describe('Arrivals', () => {
  it('come at the wanted rate, unevenly as from many people, and the same each time', () => {
    const arrivals = () => {
      const one = new Arrivals({ startMs: 1000, perSecond: 200 });
      return Array.from({ length: 20_000 }, () => one.next());
    };
    const [times, again] = [arrivals(), arrivals()];
    expect(again).toEqual(times);
    const gaps = times.map((time, nth) => time - (nth === 0 ? 1000 : (times[nth - 1] as number)));
    const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
    expect(mean).toBeGreaterThan(4.8);
    expect(mean).toBeLessThan(5.2);
    // Of exponential gaps 63 % are shorter than the mean.
    expect(gaps.filter((gap) => gap < mean).length / gaps.length).toBeCloseTo(1 - 1 / Math.E, 1);
  });
});

describe('readArguments()', () => {
  const needed = '--virtual-kubeconfig a --host-kubeconfig b --vcluster-name vc --host-namespace ns'.split(' ');
  it('takes several rates, and has a value for all that is left out', () => {
    const { rates, objects, seconds, kind, waitMs, output } = readArguments([...needed, '--rate', '50,200']);
    expect({ rates, objects, seconds, kind, waitMs, output }).toEqual({
      ...{ rates: [50, 200], objects: 1000, seconds: 30, kind: 'endpoints', waitMs: 30_000, output: 'text' },
    });
  });
  it.each([
    [[], '--virtual-kubeconfig is missing'],
    [['--virtual-kubeconfig', 'a'], '--host-kubeconfig is missing'],
    [[...needed, '--objects', 'many'], '--objects is a whole number from 1 to 1000000, found "many"'],
    [[...needed, '--rate', '0'], '--rate is a number from 0.1 to 100000, found "0"'],
    [[...needed, '--rate', '5,'], '--rate is a number from 0.1 to 100000, found ""'],
    [[...needed, '--kind', 'pods'], '--kind is endpoints or endpointslices, found "pods"'],
    [[...needed, '-o', 'xml'], '--output is json or text, found "xml"'],
    [[...needed, '--rate', '50,0.1', '--seconds', '2'], '--rate 0.1 makes no change within --seconds 2'],
    [[...needed, '--out', 'bench'], '--out "bench" is a folder: name a file in it'],
    [[...needed, '--out', 'no-such/result.json'], '--out "no-such/result.json": there is no such folder'],
    // Node makes parents there for ever, and root may write there and cannot.
    [[...needed, '--out', '/proc/nope/x'], '--out "/proc/nope/x": there is no such folder'],
  ])('refuses %j', (words, sentence) => {
    expect(() => readArguments(words)).toThrow(new UsageFault(sentence));
  });
});

describe('a place for a result', () => {
  it('is looked at without leaving anything, and never waits', () => {
    const folder = mkdtempSync(join(tmpdir(), 'hostward-place-'));
    try {
      writeFileSync(join(folder, 'kept'), 'text');
      expect(whyNoFile(join(folder, 'kept'))).toBe(undefined);
      expect(whyNoFile(join(folder, 'new'))).toBe(undefined);
      expect(whyNoFile(join(folder, 'kept', 'x'))).toMatch(/^: (there is no such folder|cannot be written: ENOTDIR)/);
      expect([readFileSync(join(folder, 'kept'), 'utf8'), readdirSync(folder)]).toEqual(['text', ['kept']]);
      expect(whyNoFolder(join(folder, 'profile'))).toBe(undefined);
      expect(whyNoFolder(join(folder, 'no', 'such'))).toMatch(/^: cannot be made: ENOENT/);
      expect(whyNoFolder('/proc/nope/x')).toMatch(/^: cannot be made: ENOENT/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe.each(['endpoints', 'endpointslices'] as const)('Load of %s', (kind) => {
  const load = new Load({ kind, runNumber: 54_321, addresses: 5 });
  const places = placesOf('r', 70_000);
  it('knows its objects again by their addresses, whatever their order, and nobody else’s', () => {
    for (const [index, version] of [
      [0, 0],
      [69_999, 1],
      [256, 70_000],
    ] as const) {
      const object = load.object(places[index] as (typeof places)[0], version) as KubeObject;
      expect(load.markOf(object)).toMatchObject({ index, version });
    }
    const other = new Load({ kind, runNumber: 1, addresses: 5 });
    expect(load.markOf(other.object(places[0] as (typeof places)[0], 0) as KubeObject)).toBeUndefined();
    expect(readMark(['10.0.0.1', '10.0.0.2'])).toBeUndefined();
  });
  it('tells objects with other addresses, ports or readiness from each other, and not those in another order', () => {
    const place = places[3] as (typeof places)[0];
    const one = load.object(place, 1) as KubeObject;
    const turned = JSON.parse(JSON.stringify(one)) as {
      endpoints?: object[];
      ports?: object[];
      subsets?: { addresses: object[] }[];
    };
    turned.endpoints?.reverse();
    turned.ports?.reverse();
    turned.subsets?.[0]?.addresses.reverse();
    expect(trafficOf(turned as unknown as KubeObject)).toBe(trafficOf(one));
    expect(trafficOf(load.object(place, 2) as KubeObject)).not.toBe(trafficOf(one));
    const text = JSON.stringify(one);
    for (const [from, to] of [
      ['8080', '8081'],
      kind === 'endpoints' ? ['"addresses"', '"notReadyAddresses"'] : ['true', 'false'],
    ])
      expect(trafficOf(JSON.parse(text.replace(from as string, to as string)) as KubeObject)).not.toBe(trafficOf(one));
  });
});

describe('Copies', () => {
  const load = new Load({ kind: 'endpoints', runNumber: 7, addresses: 3 });
  const [place] = placesOf('r', 1);
  const event = (
    version: number,
    resourceVersion: string,
    atMs: number,
    type: WatchEvent['type'] = 'MODIFIED',
  ): WatchEvent => {
    const object = load.object(place as NonNullable<typeof place>, version) as KubeObject;
    return { type, atMs, object: { ...object, metadata: { ...object.metadata, resourceVersion } } };
  };
  it('measures from the moment when a change was due, and counts a copy that skips versions for all of them', () => {
    const copies = new Copies(load);
    copies.due(0, 1, 100);
    copies.due(0, 2, 110);
    copies.due(0, 3, 120);
    copies.virtualEvent(event(1, '5', 105));
    copies.hostEvent(event(2, '1', 130));
    expect(copies.pendingCount).toBe(1);
    expect([copies.times.sinceDue.count, copies.times.sinceDue.max, copies.times.sinceEvent.max]).toEqual([2, 30, 25]);
    // Told again after a list, it is no second write.
    copies.hostEvent(event(2, '1', 140));
    expect(copies.writes).toBe(1);
    expect(copies.forgetPending()).toBe(1);
  });
  it('sees a copy come and go', () => {
    const copies = new Copies(load);
    copies.hostEvent(event(0, '1', 10, 'ADDED'));
    expect([copies.shows(0), copies.shownCount, copies.firstCopyMs]).toEqual([true, 1, 10]);
    copies.hostEvent(event(0, '2', 20, 'DELETED'));
    expect(copies.shownCount).toBe(0);
  });
});

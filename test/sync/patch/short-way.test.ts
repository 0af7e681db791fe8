import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { PatchEntry } from '../../../src/config/settings.ts';
import { type Draft, draftHost } from '../../../src/sync/draft.ts';
import { endpointsKind } from '../../../src/sync/endpoints/endpoints-kind.ts';
import { projectHostEndpoints, projectVirtualEndpoints } from '../../../src/sync/endpoints/items.ts';
import type { OpenedPatcher } from '../../../src/sync/patch/open-patcher.ts';
import type { ForwardInput } from '../../../src/sync/patch/pass.ts';
import type { Patched } from '../../../src/sync/patch/patcher.ts';
import { objectKeys } from '../../../src/sync/reserved-keys.ts';
import { createRules } from '../../../src/sync/rules.ts';
import { defaultSettings } from '../paper-sync.ts';
import { entry, openTestPatcher } from './paper-patch.ts';

let opened: OpenedPatcher[] = [];
afterEach(async () => {
  for (const one of opened) await one.stop();
  opened = [];
});

async function open(entries: readonly PatchEntry[], sandbox: 'needed' | 'always'): Promise<OpenedPatcher> {
  const one = openTestPatcher(entries, undefined, { sandbox });
  opened.push(one);
  await one.start();
  return one;
}

const place = { namespace: 'vcluster-vc', name: 'web-x-default-x-vc' };

function inputOf(object: object, { patcher }: OpenedPatcher, hostLabels?: Record<string, string>): ForwardInput {
  const virtual = projectVirtualEndpoints(object as Parameters<typeof projectVirtualEndpoints>[0]);
  const { translation } = createRules(defaultSettings, undefined, patcher);
  const host =
    hostLabels &&
    projectHostEndpoints({
      metadata: { ...place, uid: 'h-1', labels: hostLabels, annotations: { [objectKeys.uid]: 'u-1' } },
      subsets: [{ addresses: [{ ip: '10.9.9.9' }] }],
    });
  return { virtual, host, draft: draftHost(virtual, place, translation), translation };
}

const keys = ['team', 'release', 'own', 'made', 'app.kubernetes.io/name'];

/** All that can be told of a result. */
function told(patched: Patched) {
  if (patched.kind === 'failed') return patched;
  const { labels, annotations, payload, isPatched, ownerOf } = patched.draft;
  const of = (map: 'labels' | 'annotations') =>
    keys.map((key) => [key, isPatched?.(map, key), ownerOf?.(map, key)].join(' '));
  return {
    labels: Object.fromEntries(labels),
    annotations: Object.fromEntries(annotations),
    payload,
    lapse: patched.lapse,
    keys: [of('labels'), of('annotations')],
    references: patched.references,
  };
}

const textOrNot = fc.option(fc.constantFrom('a', 'b', 'Web', '10.0.0.1', 'a b', ''), { nil: undefined });
const map = fc.dictionary(fc.constantFrom(...keys), fc.constantFrom('a', 'b', 'Web', '10.0.0.1', ''), { maxKeys: 4 });
const address = fc.record(
  {
    ip: fc.constantFrom('10.0.0.1', '10.0.0.2', '172.16.0.9', '127.0.0.1'),
    hostname: fc.constantFrom('web-0', 'web-1'),
    nodeName: fc.constant('node-1'),
    targetRef: fc.record({ kind: fc.constantFrom('Pod', 'Node'), name: fc.constantFrom('web-0', 'a') }),
  },
  { requiredKeys: ['ip'] },
);
const port = fc.record(
  { name: fc.constantFrom('http', 'admin'), port: fc.constantFrom(80, 8080), protocol: fc.constantFrom('TCP', 'UDP') },
  { requiredKeys: ['name', 'port', 'protocol'] },
);
const subset = fc.record(
  {
    addresses: fc.oneof(
      { weight: 9, arbitrary: fc.array(address, { minLength: 1, maxLength: 3 }) },
      // More values than the short way takes.
      { weight: 1, arbitrary: fc.array(address, { minLength: 33, maxLength: 34 }) },
    ),
    notReadyAddresses: fc.array(address, { minLength: 1, maxLength: 2 }),
    ports: fc.array(port, { minLength: 1, maxLength: 2 }),
  },
  { requiredKeys: ['addresses'] },
);
const object = fc
  .record({ labels: map, annotations: map, subsets: fc.array(subset, { maxLength: 2 }), note: textOrNot })
  .map(({ labels, annotations, subsets, note }) => ({
    metadata: {
      name: 'web',
      namespace: 'default',
      uid: 'u-1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels,
      annotations: { ...annotations, ...(note !== undefined && { note }) },
    },
    subsets,
  }));

const paths = [
  'metadata.labels["team"]',
  'metadata.labels["release"]',
  'metadata.labels["made"]',
  'metadata.annotations["note"]',
  'metadata.annotations["app.kubernetes.io/name"]',
  'subsets[*].addresses[*].ip',
  'subsets[*].addresses[*].hostname',
  'subsets[*].addresses[*].targetRef.name',
  'subsets[*].notReadyAddresses[*].ip',
  'subsets[0].ports[*].port',
  'subsets[*].ports[*].name',
  'subsets[*].addresses[*]',
  'metadata.labels[*]',
];
const expressions = [
  'value',
  'null',
  'value + "-x"',
  'value ?? "none"',
  'valueExists ? value : "made"',
  'value === "a" ? null : value',
  'value.startsWith("10.") ? "100.64.0.1" : value',
  'value.toLowerCase()',
  'value === 8080 ? 80 : value',
  'context.virtualObject.metadata.name',
  'context.hostObject?.metadata.labels.team ?? value',
  'context.path + value',
  'value.length',
  'value.missing.deep',
  '[value].concat("b").join("-")',
];
const patch = fc
  .record({
    path: fc.oneof({ weight: 12, arbitrary: fc.constantFrom(...paths.slice(0, 11)) }, fc.constantFrom(...paths)),
    expression: fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom(...expressions.slice(0, 11)) },
      fc.constantFrom(...expressions),
    ),
    onMissing: fc.constantFrom('skip' as const, 'create' as const),
    onError: fc.constantFrom('fail' as const, 'skip' as const, 'keepLast' as const),
  })
  .map(entry);

describe('the short way of a pass', () => {
  it('makes of every object what the long way makes of it, and counts the same', async () => {
    const lists = fc.array(patch, { minLength: 1, maxLength: 4 });
    const objects = fc.array(fc.tuple(object, fc.option(map, { nil: undefined })), { minLength: 6, maxLength: 6 });
    let [atOnce, all] = [0, 0];
    await fc.assert(
      fc.asyncProperty(lists, objects, async (entries, inputs) => {
        const [short, long] = await Promise.all([open(entries, 'needed'), open(entries, 'always')]);
        for (const [each, hostLabels] of inputs) {
          const found = short.patcher.forward(inputOf(each, short, hostLabels));
          if (!(found instanceof Promise)) atOnce++;
          all++;
          const wanted = await long.patcher.forward(inputOf(each, long, hostLabels));
          expect(told(await found)).toEqual(told(wanted));
          expect(short.counts.totals()).toEqual(long.counts.totals());
        }
        await Promise.all([short.stop(), long.stop()]);
        opened = [];
      }),
      { numRuns: 60 },
    );
    expect(atOnce).toBeGreaterThan(all / 4);
  }, 60_000);

  const simple = entry({ path: 'subsets[*].addresses[*].ip', expression: '"172.20.0." + value.slice(7)' });

  /** Only the long way has to look for its matches. */
  async function lookedFor(entries: readonly PatchEntry[], each: object): Promise<number> {
    const one = await open(entries, 'needed');
    let count = 0;
    for (const { path } of one.patcher.set.patches) {
      const { match } = path;
      path.match = (...args) => {
        count++;
        return match(...args);
      };
    }
    await one.patcher.forward(inputOf(each, one));
    return count;
  }

  const virtual = (addresses: number | readonly number[]) => ({
    metadata: { name: 'web', namespace: 'default', uid: 'u-1', labels: { team: 'a' } },
    subsets: [addresses].flat().map((count) => ({
      addresses: Array.from({ length: count }, (_, at) => ({ ip: `10.0.0.${at}` })),
    })),
  });

  it.each([
    ['simple expressions', [simple, entry({ path: 'metadata.labels.team', expression: 'value + "1"' })], 3, 0],
    ['as many values as it takes', [simple], 32, 0],
    ['more of them', [simple], 33, 1],
    ['more of them in many lists', [simple], [17, 16], 1],
    ['as many as that in many lists', [simple], [16, 16], 0],
    ['more patches than a turn of the loop has room for', Array.from({ length: 40 }, () => simple), 32, 40],
    [
      'an expression that only the sandbox knows',
      [entry({ path: 'metadata.labels.team', expression: '[value][0]' })],
      3,
      1,
    ],
    ['a path of a whole map', [entry({ path: 'metadata.labels[*]', expression: 'value' })], 3, 1],
    ['all subsets', [entry({ path: 'subsets', expression: 'null' })], 3, 1],
    ['elements of a list', [entry({ path: 'subsets[*].addresses[*]', expression: 'value' })], 3, 1],
    ['a place by its number', [entry({ path: 'subsets[0].addresses[0].ip', expression: 'value' })], 3, 1],
    ['its own path', [entry({ path: 'metadata.labels.team', expression: 'context.path' })], 3, 1],
    ['a label that is a number', [entry({ path: 'metadata.labels.team', expression: 'value.length' })], 3, 1],
    ['an address that is none', [entry({ path: 'subsets[*].addresses[*].ip', expression: '"x"' })], 3, 1],
    [
      'one of them beside simple ones',
      [simple, entry({ path: 'metadata.labels.team', expression: '[value][0]' })],
      3,
      2,
    ],
  ])('%s', async (_, entries, addresses, count) => {
    expect(await lookedFor(entries, virtual(addresses))).toBe(count);
  });

  it.each([
    ['used', '"172.20.0.1"', 2],
    ['refused', '"x"', 2],
    ['left to the sandbox', '[value][0]', 0],
  ])('counts values once that are answered at once, and %s', async (_, expression, count) => {
    let answered = 0;
    const one = openTestPatcher([entry({ path: 'subsets[*].addresses[*].ip', expression })], undefined, {
      expressionMetrics: { shortcut: (values) => (answered += values), remembered() {}, evaluated() {}, started() {} },
    });
    opened.push(one);
    await one.start();
    await one.patcher.forward(inputOf(virtual(2), one));
    expect(answered).toBe(count);
  });

  it('leaves the draft as it was, for whoever looks at the same object again', async () => {
    const one = await open([simple, entry({ path: 'metadata.labels.team', expression: 'value + "1"' })], 'needed');
    const input = inputOf(virtual(3), one);
    const before = structuredClone(input.draft.payload);
    const patched = (await one.patcher.forward(input)) as { draft: Draft };
    expect([input.draft.payload, input.draft.labels.get('team')]).toEqual([before, 'a']);
    expect(patched.draft.labels.get('team')).toBe('a1');
    expect(endpointsKind.addressesOf(patched.draft.payload)).toEqual(['172.20.0.0', '172.20.0.1', '172.20.0.2']);
  });
});

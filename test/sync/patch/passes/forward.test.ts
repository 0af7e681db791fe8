import { describe, expect, it } from 'vitest';
import { draftHost } from '../../../../src/sync/plan/draft.ts';
import {
  controlledByKey,
  markerLabel,
  namespaceLabel,
  objectKeys,
} from '../../../../src/sync/plan/keys/reserved-keys.ts';
import {
  before,
  begin,
  type Fields,
  host,
  type Made,
  opened,
  place,
  release,
  setUp,
  thrown,
  virtual,
} from './stage.ts';

setUp();

async function forward(entries: readonly Fields[], found: typeof host | null = host, given: typeof virtual = virtual) {
  const { patcher, translation, restored } = await begin(entries);
  const draft = draftHost(given, place, translation);
  const made = await patcher.forward({ virtual: given, host: found ?? undefined, draft, translation });
  if (made.kind === 'failed') return made.failure.message;
  const { labels, annotations, payload } = made.draft;
  const subsets = payload['subsets'] as { addresses: { ip: string }[] }[];
  return {
    labels: Object.fromEntries(labels),
    annotations: Object.fromEntries(annotations),
    ips: subsets.flatMap(({ addresses }) => addresses.map(({ ip }) => ip)),
    restored: restored(),
    lapse: made.lapse?.message,
  };
}

describe('a patch of a whole map', () => {
  it.each<[path: string, expression: string, made: Partial<Made>]>([
    ['metadata.labels', 'null', { labels: {} }],
    ['metadata.annotations', 'undefined', { annotations: {} }],
    ['metadata', '({ labels: null, annotations: value.annotations })', { labels: {} }],
    ['metadata', '({ annotations: value.annotations })', { labels: {} }],
    ['metadata.labels', '({ team: null, n: "1" })', { labels: { n: '1' } }],
    ['subsets', 'null', { ips: [] }],
    ['metadata', 'null', { labels: {}, annotations: {} }],
    ['[*]', 'null', { labels: {}, annotations: {}, ips: [] }],
    ['metadata.labels', '({ ...value, "hostward.dev/pause": "true" })', { restored: 1 }],
    [
      'metadata.annotations',
      `({ ...value, "hostward.dev/base": "", "${objectKeys.name}": "x", "${namespaceLabel}": "x" })`,
      { restored: 3 },
    ],
  ])('%s: %s', async (path, expression, made) => {
    expect(await forward([{ path, expression }])).toEqual({ ...before, ...made });
  });

  it.each([
    ['metadata', '"x"', 'metadata must be an object, found a string'],
    ['metadata.labels', '"x"', 'metadata.labels must be an object, found a string'],
    ['metadata.labels', '["x"]', 'metadata.labels must be an object, found an array'],
    ['metadata.annotations', '7', 'metadata.annotations must be an object, found a number'],
    ['metadata.annotations', '({ k: true })', 'metadata.annotations["k"] must be a string, found a boolean'],
    ['metadata.annotations.k', '({})', 'metadata.annotations["k"] must be a string, found an object'],
    ['metadata.labels.team', '[]', 'metadata.labels["team"] must be a string, found an array'],
  ])('fails the object: %s: %s', async (path, expression, message) => {
    expect(await forward([{ path, expression }])).toBe(`patch 0 makes the object no valid Endpoints: ${message}`);
  });

  describe('before a patch of the whole object', () => {
    const made = ['({ metadata: { labels: { n: "1" } } })', 'value', '({ subsets: value.subsets })', 'null'];
    it.each(made)('leaves two empty maps when it removed metadata: %s', async (next) => {
      const labels = next === made[0] ? { n: '1' } : {};
      const patches = [
        { path: 'metadata', expression: 'null' },
        { path: '', expression: next },
      ];
      expect(await forward(patches)).toMatchObject({ labels, annotations: {}, ips: before.ips });
    });

    it.each(['"x"', '7', '[]'])('fails when it made metadata %s, whatever the later patch returns', async (first) => {
      for (const next of made) {
        const patches = [
          { path: 'metadata', expression: first },
          { path: '', expression: next },
        ];
        expect(await forward(patches)).toContain(
          'patch 0 makes the object no valid Endpoints: metadata must be an object',
        );
        await opened?.stop();
      }
    });
  });
});

describe('keys that a patch of a whole map changed', () => {
  it.each([
    [undefined, 'virtual'],
    ['value', 'shared'],
  ])('belong, with the reverse expression %s, to: %s', async (reverseExpression, owner) => {
    const expression = '({ team: value.team, added: "1" })';
    const { patcher, translation } = await begin([
      { path: 'metadata.labels', expression, ...(reverseExpression && { reverseExpression }) },
    ]);
    const draft = draftHost(virtual, place, translation);
    const made = await patcher.forward({ virtual, host, draft, translation });
    if (made.kind === 'failed') throw new Error(made.failure.message);
    const touched = ['added', release, 'team', 'x'].filter((key) => made.draft.patchesOf?.('labels', key));
    expect(touched).toEqual(['added', release]);
    expect(['added', release, 'team'].map((key) => made.draft.ownerOf?.('labels', key))).toEqual([
      owner,
      owner,
      'shared',
    ]);
  });
});

describe('a patch that throws', () => {
  it('is counted and traced', async () => {
    const path = 'metadata.labels.team';
    const { patcher, translation, counts, trace } = await begin([{ path, expression: thrown }]);
    const draft = draftHost(virtual, place, translation);
    const made = await patcher.forward({ virtual, host, draft, translation });
    expect(made.kind === 'failed' && made.failure).toMatchObject({ patch: 0, path, at: path, class: 'threw' });
    expect(counts.totals()[0]).toMatchObject({ values: 1, changes: 0, failures: 1 });
    expect(trace).toMatchObject([{ patch: 0, at: path, before: 'a', after: 'a' }]);
  });
});

describe('the empty path', () => {
  it.each<[expression: string, made: Partial<Made>]>([
    ['null', {}],
    ['undefined', {}],
    ['({})', {}],
    ['value', {}],
    ['({ subsets: null })', { ips: [] }],
    ['({ subsets: value.subsets.map((s) => ({ ...s, addresses: s.addresses.slice(1) })) })', { ips: ['10.0.0.2'] }],
    ['({ apiVersion: "v2", kind: "Other" })', { restored: 2 }],
    ['(value.metadata.name = "x", value)', { restored: 1 }],
    ['(value.metadata.namespace = "x", value)', { restored: 1 }],
    ['(value.metadata.uid = "x", value)', { restored: 1 }],
    [`(value.metadata.labels["${markerLabel}"] = "x", value)`, { restored: 1 }],
    [`(delete value.metadata.labels["${namespaceLabel}"], value)`, { restored: 1 }],
    [`(delete value.metadata.annotations["${objectKeys.hostName}"], value)`, { restored: 1 }],
    [`(value.metadata.labels["${objectKeys.name}"] = "x", value)`, { restored: 1 }],
    [`(value.metadata.annotations["${controlledByKey}"] = "x", value)`, { restored: 1 }],
    ['(delete value.metadata.labels, value)', { labels: {}, restored: 2 }],
    // Name, namespace, two labels and the six.
    ['({ metadata: null })', { labels: {}, annotations: {}, restored: 10 }],
  ])('%s', async (expression, made) => {
    expect(await forward([{ path: '', expression }])).toEqual({ ...before, ...made });
  });

  it.each([
    ['"x"', 'with the empty path the result must be the object, found a string'],
    ['({ spec: {} })', 'the result has a field "spec", which this kind does not know'],
    ['({ metadata: "x" })', 'metadata of the result must be an object, found a string'],
  ])('fails the object: %s', async (expression, message) => {
    expect(await forward([{ path: '', expression }])).toContain(`: ${message} (`);
  });

  it('names the map that has become something else', async () => {
    expect(await forward([{ path: '', expression: '(value.metadata.labels = "x", value)' }])).toBe(
      'patch 0 makes the object no valid Endpoints: metadata.labels must be an object, found a string',
    );
  });
});

describe('onError: keepLast', () => {
  const ofHost = { labels: { team: 'h', own: 'x' }, annotations: { k: 'hk' }, ips: ['10.9.9.9'] };
  it.each<[path: string, kept: (keyof typeof ofHost)[]]>([
    ['metadata.labels', ['labels']],
    ['metadata.annotations', ['annotations']],
    ['metadata', ['labels', 'annotations']],
    ['metadata[*]', ['labels', 'annotations']],
    ['subsets', ['ips']],
    ['subsets[*].addresses[0].ip', ['ips']],
    ['[*]', ['labels', 'annotations', 'ips']],
    ['', ['labels', 'annotations', 'ips']],
  ])('at "%s" keeps what the host has of %j, and nothing else', async (path, kept) => {
    const made = await forward([{ path, expression: thrown, onError: 'keepLast' }]);
    const wanted = Object.fromEntries(kept.map((part) => [part, ofHost[part]]));
    expect(made).toEqual({ ...before, ...wanted, lapse: expect.stringContaining('the host keeps its value') });
    await opened?.stop();
    expect(await forward([{ path, expression: thrown, onError: 'keepLast' }], null)).toContain('patch 0 failed');
  });

  it('removes a key that the host does not have', async () => {
    const made = await forward([{ path: `metadata.labels["${release}"]`, expression: thrown, onError: 'keepLast' }]);
    expect(made).toMatchObject({ labels: { team: 'a' }, annotations: before.annotations });
  });
});

describe('onError of a patch with several labels or annotations', () => {
  const many = { ...virtual, annotations: { a: 'good', b: 'bad', c: 'fine', d: 'bad' } };
  const onHost = { ...host, annotations: { ...host.annotations, b: 'of the host', c: 'of before' } };
  const expressions: [what: string, expression: string][] = [
    ['throws', 'value === "bad" ? value.x.y : value + "!"'],
    ['returns a number', 'value === "bad" ? 7 : value + "!"'],
  ];
  it.each(expressions)('goes by key where the expression %s', async (_what, expression) => {
    const entries = (onError: 'skip' | 'keepLast'): Fields[] => [
      { path: 'metadata.annotations[*]', expression, onError },
    ];
    const { d: _, ...skipped } = { a: 'good!', b: 'bad', c: 'fine!', d: 'bad' };
    expect(await forward(entries('skip'), onHost, many)).toMatchObject({
      annotations: { ...skipped, d: 'bad' },
      lapse: expect.stringMatching(/values? (of this patch )?(is|are) left as (it is|they are)$/),
    });
    await opened?.stop();
    expect(await forward(entries('keepLast'), onHost, many)).toMatchObject({
      annotations: { a: 'good!', b: 'of the host', c: 'fine!' },
      lapse: expect.stringMatching(/; the host keeps its values?$/),
    });
    await opened?.stop();
    expect(await forward([{ path: 'metadata.annotations[*]', expression }], onHost, many)).toContain('patch 0');
  });

  it('goes by key where single labels are no labels', async () => {
    const labelled = { ...virtual, labels: { a: 'x', b: 'y', c: 'z' } };
    const expression = 'value === "y" ? "two words" : value + "1"';
    const entry = { path: 'metadata.labels[*]', expression, onError: 'skip' as const };
    expect(await forward([entry], host, labelled)).toMatchObject({
      labels: { a: 'x1', b: 'y', c: 'z1' },
      lapse: expect.stringContaining('the value is left as it is'),
    });
  });

  it('gives up the whole patch where very many values are wrong', async () => {
    const labels = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`k${n}`, n < 40 ? 'bad' : 'good']));
    const expression = 'value === "bad" ? "two words" : value + "1"';
    const entry = { path: 'metadata.labels[*]', expression, onError: 'skip' as const };
    expect(await forward([entry], host, { ...virtual, labels })).toMatchObject({
      labels,
      lapse: expect.stringContaining('all values of this patch are left as they are'),
    });
  });
});

describe('a result that is no valid object', () => {
  const bad = '"two words"';
  const ip = (index: number | '*') => `subsets[*].addresses[${index}].ip`;
  it.each<[name: string, blamed: number, ...[path: string, expression: string][]]>([
    ['the last to write there', 1, ['metadata.labels.team', '"ok"'], ['metadata.labels.team', bad]],
    ['the one that wrote there, not its neighbour', 0, ['metadata.labels.team', bad], ['metadata.annotations.k', bad]],
    ['the one that made the map', 0, ['metadata.labels', `({ team: ${bad} })`], ['metadata.annotations', 'value']],
    ['not the map that let it through', 0, ['metadata.labels.team', bad], ['metadata.labels', '({ ...value })']],
    ['nor the metadata', 0, ['metadata.labels.team', bad], ['metadata', '({ ...value })']],
    ['nor the object', 0, ['metadata.labels.team', bad], ['', '(value.metadata.annotations.k = "y", value)']],
    ['a wildcard that wrote it', 0, ['metadata[*].team', bad], ['metadata.labels', '({ ...value })']],
    [
      'the object that wrote it',
      0,
      ['', `(value.metadata.labels.team = ${bad}, value)`],
      ['metadata.annotations.k', '"x"'],
    ],
    ['what made an address none', 0, ['subsets[*].addresses[0]', '"x"'], ['metadata.annotations.k', '"x"']],
    ['what took an address away', 0, [ip(0), 'null'], ['metadata.annotations.k', '"x"']],
    ['not the same text of another key', 0, ['metadata.labels.team', bad], [`metadata.labels["${release}"]`, bad]],
    ['the one address', 1, [ip('*'), 'value'], [ip(1), '"bad"']],
    ['the one address, not the other', 0, [ip(1), '"bad"'], [ip(0), '"10.0.0.9"']],
    ['not what passed it on as it was', 0, [ip(1), '"bad"'], ['', '(value.metadata.annotations.k = "y", value)']],
    ['what made a map a text', 0, ['metadata.labels', '"x"'], ['', '(value.metadata.annotations.k = "y", value)']],
    [
      'one that has moved since',
      0,
      ['subsets[*].addresses[1]', '({ ip: "bad" })'],
      ['subsets[*].addresses[0]', 'null'],
    ],
  ])('blames %s', async (_name, blamed, ...patches) => {
    const entries = patches.map(([path, expression]) => ({ path, expression }));
    expect(await forward(entries)).toContain(`patch ${blamed} makes the object no valid Endpoints: `);
  });

  it('blames the patch that wrote a number into a map, and not the labels patch that spelled its keys', async () => {
    const path = 'metadata.labels';
    expect(
      await forward([
        { path, expression: '({ team: 7 })' },
        { path, labels: {} },
      ]),
    ).toContain('patch 0 makes the object no valid Endpoints: ');
  });

  it('blames no single patch when several made the map too large', async () => {
    const expression = '"x".repeat(150000)';
    const paths = ['metadata.annotations.k', 'metadata.annotations.n'];
    const entries = paths.map((path) => ({ path, expression, onMissing: 'create' as const }));
    expect(await forward(entries)).toContain('after all patches the object is no valid Endpoints: ');
  });

  it('applies the onError of the blamed patch, and runs the others', async () => {
    const other: Fields = { path: 'metadata.annotations.k', expression: '"x"' };
    const wrong = (onError: 'skip' | 'keepLast'): Fields => ({
      path: 'metadata.labels.team',
      expression: bad,
      onError,
    });
    const made = { ...before, annotations: { k: 'x' } };
    expect(await forward([wrong('skip'), other])).toEqual({
      ...made,
      lapse: expect.stringContaining('the value is left as it is'),
    });
    await opened?.stop();
    expect(await forward([other, wrong('keepLast')])).toEqual({
      ...made,
      labels: { ...before.labels, team: 'h' },
      lapse: expect.stringContaining('the host keeps its value'),
    });
    await opened?.stop();
    const address: Fields = { path: ip(0), expression: '"bad"', onError: 'skip' };
    expect(await forward([wrong('skip'), address, other])).toEqual({ ...made, lapse: expect.any(String) });
    await opened?.stop();
    expect(await forward([wrong('skip'), { ...address, onError: 'fail' }])).toContain('patch 1 makes the object');
  });
});

describe('context', () => {
  it.each<[object: string, seen: object]>([
    [
      'hostObject',
      {
        name: place.name,
        namespace: place.namespace,
        uid: 'h-1',
        labels: host.labels,
        annotations: { k: 'hk', [objectKeys.uid]: 'u-1' },
        ownerReferences: host.ownerReferences,
      },
    ],
    [
      'virtualObject',
      {
        name: 'web',
        namespace: 'default',
        uid: 'u-1',
        creationTimestamp: '2026-01-01T00:00:00Z',
        labels: { team: 'a', release: 'r' },
        annotations: { k: 'v' },
      },
    ],
  ])('%s is the object without bookkeeping', async (object, seen) => {
    const made = await forward([
      { path: 'metadata.labels.team', expression: '"plain"' },
      { path: 'metadata.annotations.k', expression: `JSON.stringify(context.${object})` },
    ]);
    if (typeof made === 'string') throw new Error(made);
    const { subsets, ...rest } = JSON.parse(made.annotations['k'] ?? '');
    expect(rest).toEqual({ apiVersion: 'v1', kind: 'Endpoints', metadata: seen });
    expect(subsets).toHaveLength(1);
  });
});

// The model against objects that a running vCluster wrote: where DESIGN keeps vCluster's bytes, the model must give them exactly.

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { expectationOf } from './model/model.ts';
import { matchesOf, printedPath, segmentsOf } from './model/patches/patch-path.ts';
import { isRefused } from './model/words/addresses.ts';
import { areSame, type TextMap } from './model/words/json.ts';
import { BASE } from './model/words/marks.ts';
import { generatedName, longName, rewrittenKey } from './model/words/names.ts';
import type { CalmPoint, Deed, ExpectedObject, Json, PlainKind, PlainObject } from './model/words/types.ts';

const read = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../fixtures/rig/${name}`, import.meta.url), 'utf8'));

interface Recorded {
  readonly name: string;
  readonly ownerServiceUid: string;
  readonly virtual: { readonly [part: string]: PlainObject | null };
  readonly host: PlainObject | null;
}

const recorded = (file: string): readonly Recorded[] => (read(file) as { cases: readonly Recorded[] }).cases;

const pointOf = (found: Recorded, configuration: { readonly [key: string]: Json }): CalmPoint => {
  const owner = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'vc', namespace: 'vcluster-vc', uid: found.ownerServiceUid },
  } as PlainObject;
  const virtual = Object.values(found.virtual).filter((object) => object !== null);
  // A changed object has its copy already, and what was written at its creation stays there.
  const isChange = found.name.startsWith('upd-') && found.host !== null;
  const holding = { virtual, host: isChange ? [owner, found.host] : [owner] };
  return {
    virtualCluster: 'vc',
    hostNamespace: 'vcluster-vc',
    configurations: [{ configuration, sinceMs: 0 }],
    before: holding,
    deeds: [],
    now: holding,
  };
};

const copyFrom = (found: Recorded, configuration: { readonly [key: string]: Json }): unknown => {
  const { objects } = expectationOf(pointOf(found, configuration));
  return objects.find(({ side, object }) => side === 'host' && object.kind !== 'Service')?.object ?? null;
};

/** Where DESIGN decides otherwise than vCluster, with the rule that says so. */
const otherwise: { readonly [name: string]: string } = {
  'annotations-vcluster-others': '3.9: reserved keys cross in neither direction',
  'annotation-controlled-by-other': '3.9: reserved keys cross in neither direction',
  'label-raw-rewritten-key': '3.9: reserved keys cross in neither direction',
  'upd-reserved-labels': '3.9: reserved keys cross in neither direction',
  'service-with-selector': '3.2: what is there is the endpoints controller’s',
};

describe('the model gives what a running vCluster wrote for Endpoints', () => {
  for (const found of recorded('endpoints.json')) {
    if (otherwise[found.name] !== undefined) continue;
    test(found.name, () => {
      expect(areSame(copyFrom(found, {}), found.host) ? found.host : copyFrom(found, {})).toEqual(found.host);
    });
  }
});

describe('names', () => {
  const names = read('names.json') as {
    names: readonly { name: string; namespace: string; vcluster: string; host: string; generated: string }[];
    labelKeys: readonly { key: string; vcluster: string; host: string }[];
  };
  test('the model gives every recorded name and rewritten label key', () => {
    for (const { name, namespace, vcluster, host, generated } of names.names) {
      expect([longName(name, namespace, vcluster), generatedName(name, namespace, vcluster)]).toEqual([
        host,
        generated,
      ]);
    }
    for (const { key, vcluster, host } of names.labelKeys) {
      if (key === 'release' || key.startsWith('vcluster.loft.sh/')) expect(rewrittenKey(key, vcluster)).toBe(host);
    }
  });
});

describe('paths', () => {
  const object = {
    metadata: { annotations: { a: '1', 'b.c/d': '2' } },
    subsets: [{ ports: [{ port: 1 }, { port: 2 }] }],
  };
  const found = (path: string, creates = false): readonly string[] =>
    matchesOf(object, segmentsOf(path), creates).map((match) => printedPath(match.path));

  test('a path matches what the tables of the grammar say', () => {
    expect(found('metadata.annotations[*]')).toEqual(['metadata.annotations.a', 'metadata.annotations."b.c/d"']);
    expect(found('metadata.annotations.*')).toHaveLength(2);
    expect(found('subsets[*].ports[*].port')).toEqual(['subsets.0.ports.0.port', 'subsets.0.ports.1.port']);
    expect(found("metadata.annotations['b.c/d']")).toEqual(['metadata.annotations."b.c/d"']);
    expect(found('metadata.annotations[b.c/d]')).toEqual(['metadata.annotations."b.c/d"']);
    expect(found('metadata.annotations["none"]')).toEqual([]);
    expect(found('metadata.annotations["none"]', true)).toEqual(['metadata.annotations.none']);
    expect(found('subsets[5].ports')).toEqual([]);
    expect(found('metadata.labels["x"]', true)).toEqual([]);
  });
});

test('the address policy sees through every spelling of an address', () => {
  const lists = { allow: [], deny: ['10.1.0.0/16'] };
  for (const text of [
    '127.0.0.1',
    '::1',
    '::ffff:127.0.0.1',
    '0:0:0:0:0:ffff:7f00:1',
    '169.254.1.1',
    'fe80::1',
    '224.0.0.1',
    '::',
    '0.0.0.0',
    '10.1.2.3',
    '::ffff:a01:203',
    '64:ff9b::7f00:1',
  ]) {
    expect([text, isRefused(text, lists)]).toEqual([text, true]);
  }
  for (const text of ['10.0.0.1', 'fd00::1', '::ffff:10.0.0.1'])
    expect([text, isRefused(text, lists)]).toEqual([text, false]);
});

test('the mark of the base may be on a copy or missing', () => {
  const [first] = recorded('endpoints.json');
  const { objects } = expectationOf(pointOf(first as Recorded, {}));
  const copy = objects.find(({ side, object }) => side === 'host' && object.kind === 'Endpoints');
  expect(copy?.open).toContainEqual({ path: ['metadata', 'annotations', BASE], mayLack: true });
});

describe('what the daemon was blamed for, and the rules allow or demand', () => {
  const service = object('Service', { namespace: 't1', name: 'web' }, { spec: { ports: [{ port: 80 }] } });
  const owner = object('Service', { namespace: 'vcluster-vc', name: 'vc' });
  const slice = (uid: string, labels: { readonly [key: string]: string } = {}): PlainObject =>
    object(
      'EndpointSlice',
      { namespace: 't1', name: 'web', uid, labels: { 'kubernetes.io/service-name': 'web', ...labels } },
      { addressType: 'IPv4', endpoints: [{ addresses: ['10.0.0.1'] }] },
    );
  const both = { hostward: { endpoints: { enabled: false }, endpointSlices: { enabled: true } } };
  const point = (of: Partial<CalmPoint>, configuration: { readonly [key: string]: Json } = both): CalmPoint => ({
    virtualCluster: 'vc',
    hostNamespace: 'vcluster-vc',
    configurations: [{ configuration, sinceMs: 0 }],
    before: { virtual: [], host: [] },
    deeds: [],
    now: { virtual: [], host: [] },
    ...of,
  });
  const copyOf = (of: PlainObject): PlainObject => {
    const now = { virtual: [service, of], host: [owner] };
    const made = expectationOf(point({ before: now, now })).objects.find(
      ({ side, object: { kind } }) => side === 'host' && kind === 'EndpointSlice',
    )?.object;
    return { ...made, metadata: { ...made?.metadata, uid: 'copy' } } as unknown as PlainObject;
  };

  test('3.18: a slice that is made anew without a manager names none on the host (seed 356)', () => {
    const [old, now] = [slice('1', { 'endpointslice.kubernetes.io/managed-by': 'tenant.example.com' }), slice('2')];
    const deeds: Deed[] = [
      { side: 'virtual', verb: 'delete', before: old, atMs: 1 },
      { side: 'virtual', verb: 'create', after: now, atMs: 2 },
    ];
    const before = { virtual: [service, old], host: [owner, copyOf(old)] };
    const { objects } = expectationOf(
      point({ before, deeds, now: { virtual: [service, now], host: [owner, copyOf(old)] } }),
    );
    const manager = ({ object: { metadata } }: ExpectedObject): unknown =>
      (metadata['annotations'] as TextMap | undefined)?.['hostward.dev/managed-by'];
    expect(manager({ object: copyOf(old) } as unknown as ExpectedObject)).toBe('tenant.example.com');
    expect(objects.filter(({ object: { kind } }) => kind === 'EndpointSlice').map(manager)).toEqual([
      undefined,
      undefined,
    ]);
  });

  test.each([
    ['was made anew may', true, 'may'],
    ['nobody has touched must not', false, 'must'],
  ])('3.3: without an owner the copy of an object that %s be missing (seed 296)', (_, isNew, exists) => {
    const [old, now] = [slice('1'), slice(isNew ? '2' : '1')];
    const deeds: Deed[] = [
      { side: 'host', verb: 'delete', before: owner, atMs: 1 },
      ...(isNew ? ([{ side: 'virtual', verb: 'delete', before: old, atMs: 2 }] as const) : []),
      ...(isNew ? ([{ side: 'virtual', verb: 'create', after: now, atMs: 3 }] as const) : []),
    ];
    const before = { virtual: [service, old], host: [owner, copyOf(old)] };
    const { objects } = expectationOf(point({ before, deeds, now: { virtual: [service, now], host: [] } }));
    const copies = objects.filter(({ side, object: { kind } }) => side === 'host' && kind === 'EndpointSlice');
    expect(copies.map((one) => one.exists)).toEqual([exists]);
  });

  test.each([
    ['nothing counted refers to may keep its', false, 'b2xk'],
    ['an object refers to has the new', true, 'bmV3'],
  ])('4.12: an import that %s content (seeds 394 and 446)', (_, isOn, data) => {
    const secret = (text: string): object => ({ type: 'Opaque', data: { key: text } });
    const labels = { 'hostward.dev/importable': 'true' };
    const source = (text: string): PlainObject =>
      object('Secret', { namespace: 'vcluster-vc', name: 'own', uid: 'source', labels }, secret(text));
    const marks = { annotations: { 'hostward.dev/imported-from': 'source' } };
    const imported = (text: string): PlainObject =>
      object('Secret', { namespace: 't1', name: 'own', ...marks }, secret(text));
    const patches = [
      { path: 'metadata.annotations["secret"]', reference: { apiVersion: 'v1', kind: 'Secret' } },
    ] as unknown as Json;
    const names = slice('1');
    const named = { ...names, metadata: { ...names.metadata, annotations: { secret: 'own' } } };
    const configuration = {
      sync: { toHost: { endpoints: { patches }, endpointSlices: { patches } } },
      hostward: { endpoints: { enabled: false }, endpointSlices: { enabled: true } },
    };
    const virtual = [service, isOn ? named : names];
    const { objects } = expectationOf(
      point(
        {
          before: { virtual: [...virtual, imported('b2xk')], host: [owner, source('b2xk')] },
          deeds: [{ side: 'host', verb: 'change', before: source('b2xk'), after: source('bmV3'), atMs: 1 }],
          now: { virtual: [...virtual, imported('b2xk')], host: [owner, source('bmV3')] },
        },
        configuration,
      ),
    );
    const found = objects.find(({ side, object: { kind } }) => side === 'virtual' && kind === 'Secret');
    expect([found?.exists, found?.object['data']]).toEqual([isOn ? 'must' : 'may', { key: data }]);
  });
});

function object(kind: PlainKind, metadata: object, payload: object = {}): PlainObject {
  const apiVersion = kind === 'EndpointSlice' ? 'discovery.k8s.io/v1' : 'v1';
  const always = { uid: `${kind} ${JSON.stringify(metadata)}`, resourceVersion: '1', creationTimestamp: '2026-01-01' };
  return { apiVersion, kind, metadata: { ...always, ...metadata }, ...payload } as unknown as PlainObject;
}

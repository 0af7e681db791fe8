import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { scene } from '../scene.ts';

interface GoldenCase {
  name: string;
  ownerServiceUid: string;
  virtual: { service: KubeObject | null; endpoints: KubeObject };
  host: KubeObject | null;
}

const golden: { cases: GoldenCase[] } = JSON.parse(
  readFileSync(new URL('../../../fixtures/sync/golden.json', import.meta.url), 'utf8'),
);
const names = ['--vcluster-name', 'vc', '--host-namespace', 'vcluster-vc'];

const files = {
  '/home/v.yaml': 'hostward: {addressPolicy: {deny: [10.9.0.0/16]}}\n',
  '/home/mapped.yaml':
    'sync: {toHost: {namespaces: {enabled: true, mappingsOnly: true, mappings: {byName: {shop: host-shop}}}}}\n',
};

async function render(stdin: unknown, ...more: string[]) {
  const { context, out, err } = scene({
    stdin: typeof stdin === 'string' ? stdin : JSON.stringify(stdin),
    files,
  });
  const code = await runCommandLine(context, ['render', '-f', '-', ...names, ...more]);
  return { code, out: out(), err: err() };
}

const endpoints = (name: string, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Endpoints',
  metadata: { name, namespace: 'shop', labels: { app: 'db' } },
  subsets: [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 5432 }] }],
  ...more,
});

describe('hostward render', () => {
  it('prints one object, or a v1 List of several', async () => {
    const one = await render(endpoints('a'), '-o', 'json');
    expect(JSON.parse(one.out)).toMatchObject({
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: 'a-x-shop-x-vc' },
    });
    const two = await render({ kind: 'List', apiVersion: 'v1', items: [endpoints('a'), endpoints('b')] }, '-o', 'json');
    expect(JSON.parse(two.out)).toMatchObject({
      kind: 'List',
      items: [{ metadata: { name: 'a-x-shop-x-vc' } }, { metadata: { name: 'b-x-shop-x-vc' } }],
    });
  });

  it('hides bookkeeping unless asked, and the owner without its uid', async () => {
    const plain = await render(endpoints('a'));
    expect(plain.out).not.toContain('hostward.dev');
    expect(plain.out).not.toContain('ownerReferences');
    const full = await render(endpoints('a'), '--bookkeeping', '--owner-uid', 'u-1');
    expect(full.out).toContain('hostward.dev/base');
    expect(full.out).toContain('uid: u-1');
  });

  it('-o diff shows the changes from virtual to host', async () => {
    const { out } = await render(endpoints('a'), '-o', 'diff');
    expect(out).toContain('--- virtual shop/a\n+++ host vcluster-vc/a-x-shop-x-vc\n');
    expect(out).toContain('-  name: a\n');
    expect(out).toContain('+  name: a-x-shop-x-vc\n');
  });

  it.each<[string, unknown[], RegExp, number]>([
    [
      'a Service with a selector',
      [{ kind: 'Service', metadata: { name: 'a', namespace: 'shop' }, spec: { selector: { x: 'y' } } }],
      /"shop\/a" has no copy on the host: the virtual Service has a selector/,
      0,
    ],
    [
      'an object that is controlled by another',
      [
        endpoints('b', {
          metadata: { name: 'b', namespace: 'shop', labels: { 'vcluster.loft.sh/controlled-by': 'x' } },
        }),
      ],
      /controlled-by/,
      0,
    ],
    [
      'a refused address',
      [endpoints('b', { subsets: [{ addresses: [{ ip: '10.9.1.1' }] }] })],
      /the address policy refuses "10.9.1.1"/,
      1,
    ],
  ])(
    'prints nothing but a sentence for %s, and fails where a rule refuses the object',
    async (_, items, sentence, wanted) => {
      const list = { kind: 'List', items: [endpoints('a'), ...items] };
      const { code, err } = await render(list, '-c', 'v.yaml');
      expect([code, err]).toEqual([wanted, expect.stringMatching(sentence)]);
    },
  );

  it('gives a contested host name to the older object and explains it for the other', async () => {
    const named = (namespace: string, name: string, created: string) =>
      endpoints(name, { metadata: { namespace, name, creationTimestamp: created } });
    const items = [named('d', 'api-x-d', '2026-01-02T00:00:00Z'), named('d-x-d', 'api', '2026-01-01T00:00:00Z')];
    const { code, out, err } = await render({ kind: 'List', items }, '-o', 'json');
    expect(code).toBe(1);
    expect(JSON.parse(out).metadata.annotations['vcluster.loft.sh/object-namespace']).toBe('d-x-d');
    expect(err).toBe(
      'Endpoints "d/api-x-d" has no copy on the host: its host name "api-x-d-x-d-x-vc" belongs to "d-x-d/api", which is older, or comes first by its name\n',
    );
  });

  it('keeps names in mapped namespaces', async () => {
    const mapped = await render(endpoints('a'), '-c', 'mapped.yaml', '--bookkeeping');
    expect(mapped.out).toContain('  name: a\n  namespace: host-shop\n');
    expect(mapped.out).toContain('hostward.dev/instance: vcluster-vc/vc\n');
    const other = await render(
      endpoints('a', { metadata: { name: 'a', namespace: 'elsewhere' } }),
      '-c',
      'mapped.yaml',
    );
    expect(other).toMatchObject({ out: '', err: expect.stringContaining('not mapped') });
  });

  it('drops null and empty texts as the API server does', async () => {
    const nothing = { apiVersion: null, kind: 'Endpoints', metadata: { name: 'a', namespace: 'shop' } };
    const written = {
      ...nothing,
      metadata: { ...nothing.metadata, uid: null, labels: null, annotations: null, creationTimestamp: null },
      subsets: [
        {
          addresses: [{ ip: '10.0.0.1', hostname: '', nodeName: 'n', targetRef: null }],
          notReadyAddresses: null,
          ports: [{ port: 1, name: '', protocol: '', appProtocol: null }],
        },
        {
          addresses: [{ ip: '10.0.0.2', nodeName: null, targetRef: { kind: 'Node', name: 'n', uid: '' } }],
          ports: null,
        },
      ],
    };
    const { out, err, code } = await render(written, '-o', 'json', '--bookkeeping');
    expect([code, err]).toEqual([0, '']);
    expect(JSON.parse(out).metadata.annotations['vcluster.loft.sh/object-uid']).toBe('');
    expect(JSON.parse(out).subsets).toEqual([
      { addresses: [{ ip: '10.0.0.1', nodeName: 'n' }], ports: [{ port: 1, protocol: 'TCP' }] },
      { addresses: [{ ip: '10.0.0.2', targetRef: { kind: 'Node', name: 'n' } }] },
    ]);
  });

  it('uses the default namespace for an object without a namespace', async () => {
    const { out } = await render({ kind: 'Endpoints', apiVersion: 'v1', metadata: { name: 'a' } }, '-o', 'json');
    expect(JSON.parse(out).metadata).toMatchObject({
      name: 'a-x-default-x-vc',
      annotations: { 'vcluster.loft.sh/object-namespace': 'default' },
    });
  });

  it.each<[string, string | object, number, string]>([
    [
      'no Endpoints',
      { kind: 'Service', metadata: { name: 'a' } },
      1,
      'wanted Endpoints or EndpointSlices to render, found only Service in the input',
    ],
    [
      'an annotation that is a number',
      endpoints('a', { metadata: { name: 'a', annotations: { x: 1 } } }),
      1,
      'metadata.annotations["x"]: wanted a text, found 1; put it in quotes',
    ],
    ['subsets that are a map', endpoints('a', { subsets: {} }), 1, 'subsets: wanted a list, found {}'],
    [
      'an address without ip',
      endpoints('a', { subsets: [{ addresses: [{}] }] }),
      1,
      'subsets[0].addresses[0].ip: wanted an IP address, found nothing',
    ],
    [
      'a port that is a text',
      endpoints('a', { subsets: [{ ports: [{ port: 'http' }] }] }),
      1,
      'subsets[0].ports[0].port: wanted a number, found "http"',
    ],
    ['broken YAML', 'a: [', 1, 'standard input:'],
  ])('refuses %s', async (_, input, code, message) => {
    const result = await render(input);
    expect([result.code, result.out]).toEqual([code, '']);
    expect(result.err).toContain(message);
  });

  it.each([
    ['without patches', 'hostward: {endpointSlices: {enabled: true}}', true],
    [
      'with patches',
      'hostward: {endpointSlices: {enabled: true}}\nsync: {toHost: {endpoints: {patches: [{path: metadata.labels.app, labels: {}}]}}}',
      true,
    ],
    ['with slices switched off', 'hostward: {endpointSlices: {enabled: false}}', false],
  ])('names a slice that would be beside an Endpoints, and no mirrored one: %s', async (_, config, isNamed) => {
    const slice = (name: string, manager?: string) => ({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        name,
        namespace: 'shop',
        labels: {
          'kubernetes.io/service-name': 'a',
          ...(manager !== undefined && { 'endpointslice.kubernetes.io/managed-by': manager }),
        },
      },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.0.0.2'] }],
      ports: [{ port: 80 }],
    });
    const items = [endpoints('a'), slice('own'), slice('mirror', 'endpointslicemirroring-controller.k8s.io')];
    const { context, err } = scene({
      stdin: JSON.stringify({ kind: 'List', apiVersion: 'v1', items }),
      files: { '/home/c.yaml': `${config}\n` },
    });
    expect(await runCommandLine(context, ['render', '-f', '-', '-c', 'c.yaml', ...names])).toBe(0);
    const note =
      'EndpointSlice "shop/own" is published beside Endpoints "shop/a": consumers take the addresses of both\n';
    expect(err().includes(note)).toBe(isNamed);
    expect(err()).not.toContain('"shop/mirror" is published');
  });

  it('needs a file, and a name for the virtual cluster', async () => {
    const noFile = scene();
    expect(await runCommandLine(noFile.context, ['render', ...names])).toBe(2);
    const noName = scene({ stdin: JSON.stringify(endpoints('a')) });
    expect(await runCommandLine(noName.context, ['render', '-f', '-'])).toBe(1);
    expect(noName.err()).toContain('VCLUSTER_NAME');
  });
});

/** The differences between a recorded object and the object that our rules create, each with the rule behind it. */
const decided: Record<
  string,
  { rule: string; host(recorded: KubeObject | null): KubeObject | 'nothing' | 'anything' }
> = {
  'annotations-vcluster-others': {
    rule: 'reserved keys cross in neither direction (3.9)',
    host: (recorded) => withAnnotations(recorded!, (key) => key.includes('/object-')),
  },
  'service-with-selector': {
    rule: 'not eligible; the recorded object is the host controller’s own',
    host: () => 'nothing',
  },
  'dotted-name-no-service': {
    rule: 'taken as eligible, since no Service in the input says otherwise',
    host: () => 'anything',
  },
  'upd-annotation': {
    rule: 'managed-annotations tells of the create (3.6)',
    host: (recorded) => managed(recorded!, 'a\nnew'),
  },
  'upd-add-meta-to-bare': {
    rule: 'managed-annotations tells of the create (3.6)',
    host: (recorded) => managed(recorded!, 'a\nnew'),
  },
  'upd-reserved-labels': {
    rule: 'a raw rewritten key is reserved and stays where it is (3.9)',
    host: (recorded) => {
      const { 'vcluster.loft.sh/label-vc-x-a4d451ec23': _, ...labels } = recorded!.metadata.labels!;
      return { ...recorded!, metadata: { ...recorded!.metadata, labels } };
    },
  },
};

function withAnnotations(object: KubeObject, keep: (key: string) => boolean): KubeObject {
  const kept = Object.entries(object.metadata.annotations!).filter(([key]) => keep(key));
  return { ...object, metadata: { ...object.metadata, annotations: Object.fromEntries(kept) } };
}

function managed(object: KubeObject, keys: string): KubeObject {
  const annotations = { ...object.metadata.annotations, 'vcluster.loft.sh/managed-annotations': keys };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

const slice = (metadata: object, more: object = {}) => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: 's', namespace: 'shop', labels: { 'kubernetes.io/service-name': 'web' }, ...metadata },
  addressType: 'IPv4',
  endpoints: [{ addresses: ['10.0.0.1'] }],
  ports: [{ name: 'http', port: 80 }],
  ...more,
});
const many = (count: number) => Array.from({ length: count }, (_, at) => `10.0.${at >> 8}.${at & 255}`);

describe('hostward render of EndpointSlices', () => {
  it('names both Services that get one host name, and renders the slice of one', async () => {
    const of = (namespace: string, service: string, year: string) =>
      slice({
        name: namespace,
        namespace,
        labels: { 'kubernetes.io/service-name': service },
        creationTimestamp: `${year}-01-01T00:00:00Z`,
      });
    const items = [of('default-x-default', 'col', '2026'), of('default', 'col-x-default', '2025')];
    const { code, out, err } = await render({ kind: 'List', items }, '-o', 'json');
    expect(code).toBe(1);
    expect(JSON.parse(out).metadata.name).toBe('default-x-default-x-vc');
    expect(err).toBe(
      'EndpointSlice "default-x-default/default-x-default" has no copy on the host: its Service "default-x-default/col" and the ' +
        'Service "default/col-x-default" have one host name, "col-x-default-x-default-x-vc", which belongs to "default/col-x-default"\n',
    );
  });

  it.each<[string, object, string]>([
    ['mixed families', slice({}, { endpoints: [{ addresses: ['10.0.0.1', 'fd00::1'] }] }), 'must be an IPv4 address'],
    ['a port name', slice({}, { ports: [{ name: 'NOT_valid', port: 80 }] }), 'ports[0].name must be a DNS label'],
    ['1,001 endpoints', slice({}, { endpoints: many(1_001).map((one) => ({ addresses: [one] })) }), 'found 1001'],
    ['101 addresses', slice({}, { endpoints: [{ addresses: many(101) }] }), 'at most 100 addresses'],
    [
      '1.4 MiB of annotations',
      slice({ annotations: { a: 'x'.repeat(1_468_006) } }),
      'metadata.annotations: must have at most',
    ],
    ['a label', slice({ labels: { a: 'b c' } }), 'metadata.labels["a"]: "b c": a valid label must be'],
    ['a name', slice({ name: 'A' }), 'metadata.name: '],
    ['names', slice({}, { addressType: 'FQDN', endpoints: [{ addresses: ['a.example.com'] }] }), 'addressPolicy.fqdn'],
    ['no names yet', slice({}, { addressType: 'FQDN', endpoints: [] }), 'addressPolicy.fqdn: allow'],
  ])('refuses %s', async (_, object, sentence) => {
    const { code, out, err } = await render(object);
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain(sentence);
  });
});

describe('hostward render, compared with recorded objects of a running vCluster', () => {
  it.each(golden.cases.map((one) => [one.name, one] as const))(
    '%s',
    async (name, { virtual, host, ownerServiceUid }) => {
      const items = [virtual.endpoints, ...(virtual.service ? [virtual.service] : [])];
      const { out, err } = await render({ kind: 'List', items }, '--owner-uid', ownerServiceUid, '-o', 'json');
      const wanted = decided[name] === undefined ? host : decided[name].host(host);
      if (wanted === 'nothing' || wanted === null)
        expect([out, err]).toEqual(['', expect.stringContaining('has no copy')]);
      else if (wanted === 'anything') expect(JSON.parse(out)).toMatchObject({ kind: 'Endpoints' });
      else expect(JSON.parse(out)).toEqual(wanted);
    },
  );
});

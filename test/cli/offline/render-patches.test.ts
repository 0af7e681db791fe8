import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from '../../../src/cli/command-line.ts';
import { toYaml } from '../../../src/cli/offline/yaml-text.ts';
import { scene } from '../scene.ts';
import { sharedSandbox } from './shared-sandbox.ts';

const { open: openSandbox } = sharedSandbox();

const names = ['--vcluster-name', 'vc', '--host-namespace', 'vcluster-vc'];

const configuration = `sync:
  toHost:
    endpoints:
      patches:
        - path: subsets[*].addresses[*].ip
          expression: value.replace("10.0.", "10.9.")
        - path: metadata.annotations["two-way"]
          expression: '"host-" + value'
          reverseExpression: value.slice(5)
        - path: metadata.annotations.parsed
          expression: JSON.parse(value).name
        - path: metadata.annotations.kept
          expression: JSON.parse(value).name
          onError: keepLast
        - path: metadata.annotations.lenient
          expression: JSON.parse(value).name
          onError: skip
hostward:
  addressPolicy: {deny: [10.9.7.0/24]}
`;

const endpoints = (annotations: Record<string, string>, ...ips: string[]) => ({
  apiVersion: 'v1',
  kind: 'Endpoints',
  metadata: { name: 'web', namespace: 'shop', annotations },
  subsets: [{ addresses: ips.map((ip) => ({ ip })), ports: [{ port: 80 }] }],
});

async function render(object: object, options: { host?: object | string; more?: string[]; config?: string } = {}) {
  const { host } = options;
  const files = {
    '/home/c.yaml': options.config ?? configuration,
    '/home/v.yaml': JSON.stringify(object),
    '/home/h.yaml': typeof host === 'string' ? host : JSON.stringify(host ?? null),
  };
  const { context, out, err } = scene({ files });
  const hostOption = host === undefined ? [] : ['--host-object', 'h.yaml'];
  const argv = ['render', '-c', 'c.yaml', '-f', 'v.yaml', ...names, ...hostOption, ...(options.more ?? [])];
  return { code: await runCommandLine({ ...context, openSandbox }, argv), out: out(), err: err() };
}

const json = async (...args: Parameters<typeof render>) => {
  const [object, options = {}] = args;
  const result = await render(object, { ...options, more: ['-o', 'json', ...(options.more ?? [])] });
  return { ...result, object: result.out === '' ? undefined : JSON.parse(result.out) };
};

describe('hostward render, with patches', () => {
  it('prints the object that the daemon would write', async () => {
    const { code, object, err } = await json(endpoints({ 'two-way': 'v', lenient: 'no JSON' }, '10.0.0.1'));
    expect([code, err]).toEqual([0, '']);
    expect(object).toMatchObject({
      metadata: { name: 'web-x-shop-x-vc', annotations: { 'two-way': 'host-v', lenient: 'no JSON' } },
      subsets: [{ addresses: [{ ip: '10.9.0.1' }] }],
    });
    expect(JSON.stringify(object)).not.toContain('hostward.dev');
  });

  it('names a failed patch and its position, prints no object and ends with 1', async () => {
    const { code, out, err } = await render(endpoints({ parsed: 'no JSON, but a secret' }, '10.0.0.1'));
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(
      /^c\.yaml:11:23: Endpoints "shop\/web": patch 2 failed at "metadata\.annotations\.parsed": .*the path of patch 2 is "metadata\.annotations\.parsed"\n$/,
    );
    expect(err).not.toContain('a secret');
  });

  it('judges the addresses that patches make', async () => {
    const { code, out, err } = await render(endpoints({}, '10.0.7.1'));
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain('has no copy on the host: the address policy refuses "10.9.7.1"');
  });

  it('normalizes a patched object as the API server does: no subset without an address, no empty name', async () => {
    const config = `sync:
  toHost:
    endpoints:
      patches:
        - path: subsets[*].addresses[*]
          expression: 'value.ip.startsWith("10.9.") ? null : value'
        - path: subsets[*].ports[*]
          expression: '({...value, name: "", protocol: undefined})'
          onMissing: create
        - path: subsets[0].addresses[0].targetRef
          expression: '({kind: "Thing", name: "", namespace: ""})'
          onMissing: create
`;
    const subset = (ip: string) => ({ addresses: [{ ip }], ports: [{ name: 'main', port: 80 }] });
    const virtual = { ...endpoints({}), subsets: [subset('10.0.0.1'), subset('10.9.0.1')] };
    const { object, err } = await json(virtual, { config });
    expect(err).toBe('');
    const addresses = [{ ip: '10.0.0.1', targetRef: { kind: 'Thing' } }];
    expect(object.subsets).toEqual([{ addresses, ports: [{ port: 80, protocol: 'TCP' }] }]);
  });

  it('updates a host copy as the daemon would: keepLast keeps, edits are reverted, other keys stay', async () => {
    const { object: host } = await json(endpoints({ kept: '{"name":"good"}', 'two-way': 'v' }, '10.0.0.1'));
    host.metadata.annotations['two-way'] = 'edited';
    host.metadata.annotations['hosts-own'] = 'stays';
    const { object } = await json(endpoints({ kept: 'broken', 'two-way': 'w' }, '10.0.0.2'), { host });
    expect(object).toMatchObject({
      metadata: { annotations: { kept: 'good', 'two-way': 'host-w', 'hosts-own': 'stays' } },
      subsets: [{ addresses: [{ ip: '10.9.0.2' }] }],
    });
  });

  it('shows an expression the host copy before the write, or null without a host copy', async () => {
    const config = `sync: {toHost: {endpoints: {patches: [
      {path: metadata.annotations.note, expression: 'context.hostObject === null ? "none" : "one"'}]}}}`;
    const object = endpoints({ note: 'x' }, '10.0.0.1');
    const noteOf = async (host?: object): Promise<unknown> =>
      (await json(object, { config, ...(host && { host }) })).object.metadata.annotations.note;
    expect(await noteOf()).toBe('none');
    const copy = (await json(object, { config })).object;
    expect(await noteOf(copy)).toBe('one');
  });

  it('--back prints the virtual object that an edit on the host makes', async () => {
    const virtual = endpoints({ 'two-way': 'v' }, '10.0.0.1');
    const { object: host } = await json(virtual);
    host.metadata.annotations['two-way'] = 'host-edited';
    host.metadata.annotations['plain'] = 'p';
    host.subsets[0].addresses[0].ip = '192.0.2.1';
    const { object } = await json(virtual, { host, more: ['--back'] });
    expect(object).toEqual({
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: 'web', namespace: 'shop', annotations: { 'two-way': 'edited', plain: 'p' } },
      subsets: virtual.subsets,
    });
    const diff = await render(virtual, { host: toYaml(host), more: ['--back', '-o', 'diff'] });
    expect(diff.out).toContain('-    two-way: v\n+    plain: p\n+    two-way: edited\n');
    expect((await json(virtual, { more: ['--back'] })).code).toBe(2);
  });

  it('--explain says which patches were not tried, because an earlier one failed', async () => {
    const patches = [
      { path: 'metadata.annotations.a', expression: 'value.no.way' },
      { path: 'metadata.labels.z', expression: '"z"', onMissing: 'create' },
    ];
    const config = toYaml({ sync: { toHost: { endpoints: { patches } } } });
    const object = endpoints({ a: 'v' }, '10.0.0.1');
    const { out } = await render(object, { config, more: ['--explain'] });
    expect(out).toContain('#   patch 1, path "metadata.labels.z": not tried, because patch 0 failed\n');
    expect(out).not.toContain('matched nothing');
    const { object: told } = await json(object, { config, more: ['--explain'] });
    expect(told.explain[1]).toMatchObject({ patch: 1, notTried: 'not tried, because patch 0 failed', matches: [] });
  });

  it('--explain lists the matches and the changes of every patch, as comments or as JSON', async () => {
    const { out } = await render(endpoints({ 'two-way': 'v', lenient: 'x' }, '10.0.0.1'), { more: ['--explain'] });
    const plain = out.replace(/[\d.]+ ms/g, '? ms');
    expect(plain.split('apiVersion')[0]?.split('\n')).toMatchInlineSnapshot(`
      [
        "# shop/web, forward:",
        "#   patch 0, path "subsets[*].addresses[*].ip": 1 place, 1 changed, ? ms",
        "#     subsets.0.addresses.0.ip: "10.0.0.1" -> "10.9.0.1"",
        "#   patch 1, path \`metadata.annotations["two-way"]\`: 1 place, 1 changed, ? ms",
        "#     metadata.annotations.two-way: "v" -> "host-v"",
        "#   patch 2, path "metadata.annotations.parsed": matched nothing: there is no metadata.annotations.parsed",
        "#   patch 3, path "metadata.annotations.kept": matched nothing: there is no metadata.annotations.kept",
        "#   patch 4, path "metadata.annotations.lenient": 1 place, 1 failed, ? ms",
        "#     metadata.annotations.lenient: "x" failed: text is not JSON",
        "",
      ]
    `);
    const { object } = await json(endpoints({ 'two-way': 'v' }, '10.0.0.1'), { more: ['--explain'] });
    expect(object.result.metadata.name).toBe('web-x-shop-x-vc');
    expect(object.explain).toMatchObject([
      { object: 'shop/web', direction: 'forward', patch: 0, matches: [{ before: '10.0.0.1', after: '10.9.0.1' }] },
      { patch: 1, matches: [{ at: 'metadata.annotations.two-way', before: 'v', after: 'host-v' }] },
      ...[2, 3, 4].map((patch) => ({ object: 'shop/web', direction: 'forward', patch, tookMs: 0, matches: [] })),
    ]);
  });

  it('--explain shows a whole object as its expression saw it: without a uid before the first apply', async () => {
    const expression = '(value.metadata.labels.had = Object.keys(context.virtualObject.metadata).join("."), value)';
    const entry = { path: '', expression };
    const config = JSON.stringify({ sync: { toHost: { endpoints: { enabled: true, patches: [entry] } } } });
    const { object } = await json(endpoints({}, '10.0.0.1'), { config, more: ['--explain'] });
    const [{ before, after }] = object.explain[0].matches;
    expect(before.metadata).toMatchObject({ name: 'web-x-shop-x-vc', namespace: 'vcluster-vc' });
    expect(after.metadata.labels).toEqual({ ...before.metadata.labels, had: 'name.namespace' });
    expect({ ...after, metadata: before.metadata }).toEqual(before);
  });

  it('refuses host objects that are not copies of the virtual objects', async () => {
    const host = { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'other', namespace: 'vcluster-vc' } };
    const { code, err } = await render(endpoints({}, '10.0.0.1'), { host });
    expect(code).toBe(1);
    expect(err).toContain('found Endpoints "vcluster-vc/other"\ntheir copies are vcluster-vc/web-x-shop-x-vc');
  });

  it('needs no sandbox for a host copy when there are no patches', async () => {
    const { object: host } = await json(endpoints({ a: '1' }, '10.0.0.1'), { config: 'hostward: {}' });
    const { object } = await json(endpoints({ a: '2' }, '10.0.0.9'), { config: 'hostward: {}', host });
    expect(object).toMatchObject({
      metadata: { annotations: { a: '2' } },
      subsets: [{ addresses: [{ ip: '10.0.0.9' }] }],
    });
  });
});

describe('a rehearsal of the daemon', () => {
  const golden: { cases: { name: string; virtual: { service: object | null; endpoints: object } }[] } = JSON.parse(
    readFileSync(new URL('../../../fixtures/sync/golden.json', import.meta.url), 'utf8'),
  );

  it('gives the same objects and the same messages as plain rendering', async () => {
    for (const { name, virtual } of golden.cases) {
      const items = [virtual.endpoints, ...(virtual.service ? [virtual.service] : [])];
      const both = [[], ['--explain']].map(async (more) => {
        const { context, out, err } = scene({ stdin: JSON.stringify({ kind: 'List', apiVersion: 'v1', items }) });
        await runCommandLine(context, ['render', '-f', '-', ...names, '--owner-uid', 'u', '-o', 'json', ...more]);
        return { out: out() === '' ? null : JSON.parse(out()), err: err() };
      });
      const [plain, rehearsed] = await Promise.all(both);
      expect({ name, out: rehearsed?.out.result, err: rehearsed?.err }).toEqual({ name, ...plain });
    }
  });
});

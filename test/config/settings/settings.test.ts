import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { countOf } from '../../../src/config/fault.ts';
import { loadConfiguration } from '../../../src/config/load/load.ts';
import type { PatchEntry } from '../../../src/config/settings/settings.ts';
import { settingsTable } from '../../../src/config/settings/table/table.ts';
import { vclusterDefaults } from '../../../src/config/settings/vcluster-defaults.ts';
import { fixtures, load, named, report, settings } from '../loading.ts';

describe('Settings', () => {
  it('have all defaults without a file', () => {
    const loaded = loadConfiguration({ files: [], environment: named });
    expect(loaded.kind === 'ok' && loaded.settings).toEqual({
      virtualClusterName: 'my-vc',
      hostNamespace: 'hns',
      virtualKubeconfig: '/data/pki/admin.conf',
      hostKubeconfig: undefined,
      virtualServer: undefined,
      endpointsEnabled: true,
      patches: [],
      endpointSlices: { enabled: false, mirrored: false, nodeName: 'keep' },
      slicePatches: [],
      namespaces: { enabled: false, byName: {}, mappingsOnly: false },
      setOwner: true,
      replicas: 1,
      backSync: 'all',
      exclude: { labels: [], annotations: [] },
      addressPolicy: { allow: [], deny: [], fqdn: 'refuse' },
      leaderElection: 'auto',
      leaseDurationSeconds: 15,
      maxWritesPerSecond: undefined,
      proofIntervalMs: 60_000,
      references: { naming: 'generated' },
      listen: '127.0.0.1:9440',
      listenNames: [],
      playground: false,
      logLevel: 'info',
      logFormat: 'auto',
      vcluster: vclusterDefaults,
    });
  });

  it('all come from rows of the table', () => {
    const fields = new Set(settingsTable.map((row) => row.field));
    expect(Object.keys(settings('{}')).filter((field) => field !== 'vcluster' && !fields.has(field as never))).toEqual(
      [],
    );
  });

  it('are deeply frozen, and do not freeze the defaults', () => {
    const value = settings('sync: {toHost: {endpoints: {patches: [{path: a, expression: b}]}}}');
    expect(Object.isFrozen(value) && Object.isFrozen(value.patches[0]) && Object.isFrozen(value.exclude.labels)).toBe(
      true,
    );
    expect(Object.isFrozen((value.vcluster['sync'] as { toHost: unknown }).toHost)).toBe(true);
    expect(Object.isFrozen(vclusterDefaults.sync.toHost)).toBe(false);
  });

  it('follow the switch of vCluster unless ours is set', () => {
    const both = (theirs: string, ours: string) =>
      settings(`{sync: {toHost: {endpoints: {enabled: ${theirs}}}}, hostward: {endpoints: {enabled: ${ours}}}}`);
    expect(both('true', '~').endpointsEnabled).toBe(true);
    expect(both('false', '~').endpointsEnabled).toBe(false);
    expect(both('false', 'true').endpointsEnabled).toBe(true);
    expect(both('true', 'off').endpointsEnabled).toBe(false);
  });

  it('are read from global.hostward as from top-level hostward', () => {
    const text = 'backSync: none\nexclude: {labels: [a/*]}\nmaxWritesPerSecond: 2.5';
    const indented = (by: string) => text.replace(/^/gm, by);
    const top = settings(`hostward:\n${indented('  ')}`);
    const global = settings(`global:\n  hostward:\n${indented('    ')}`);
    expect(top.maxWritesPerSecond).toBe(2.5);
    expect({ ...global, vcluster: top.vcluster }).toEqual(top);
  });

  it('warn where YAML reads a name as other characters, because two names may become one', () => {
    const text = `hostward:
  management:
    listen: 127.0.0.1:0
    users: [{name: 012345}, {name: yes}, {name: 1.50}, {name: "0x10"}, {name: 17}, {name: plain}]
    administrators: {users: [on]}
sync: {toHost: {namespaces: {enabled: true, mappings: {byName: {0x10: h-16}}}}}
`;
    const loaded = load(text);
    const warned = loaded.warnings.filter(({ code }) => code === 'CONFIG_READ_OTHERWISE');
    expect(loaded.kind).toBe('ok');
    expect(warned.map(({ line, column, path, sentence }) => `${line}:${column} ${path}: ${sentence}`)).toEqual([
      '4:20 hostward.management.users[0].name: 012345 is read as "5349", as YAML 1.1 has it',
      '4:36 hostward.management.users[1].name: yes is read as "true", as YAML 1.1 has it',
      '4:49 hostward.management.users[2].name: 1.50 is read as "1.5", as YAML 1.1 has it',
      '5:30 hostward.management.administrators.users[0]: on is read as "true", as YAML 1.1 has it',
      '6:65 sync.toHost.namespaces.mappings.byName.16: 0x10 is read as "16", as YAML 1.1 has it',
    ]);
    expect(warned[0]?.fix).toBe('if you mean these characters, write them in quotes: "012345"');
  });

  it('keep patches in order, with their defaults and without absent keys', () => {
    const list = [
      { path: 5, expression: true },
      {
        path: 'b',
        reference: { apiVersion: 'v1', kind: 'Secret', namePath: 'name', kindPath: '' },
        onError: 'keepLast',
      },
      { path: 'c', labels: {}, onMissing: 'create' },
    ];
    const expected: PatchEntry[] = [
      { path: '5', expression: 'true', onMissing: 'skip', onError: 'fail' },
      {
        path: 'b',
        reference: { apiVersion: 'v1', kind: 'Secret', namePath: 'name' },
        onMissing: 'skip',
        onError: 'keepLast',
      },
      { path: 'c', labels: {}, onMissing: 'create', onError: 'fail' },
    ];
    const { patches } = settings(JSON.stringify({ sync: { toHost: { endpoints: { patches: list } } } }));
    expect(patches).toEqual(expected);
    expect(Object.keys(patches[0] as PatchEntry)).not.toContain('reference');
  });

  const vectors = JSON.parse(readFileSync(join(fixtures, 'patches/patch-vectors.json'), 'utf8')) as {
    says: string;
    patches: unknown[];
    faults: string[];
  }[];
  it.each(vectors)('judge patches: $says', ({ patches, faults }) => {
    const loaded = load(JSON.stringify({ sync: { toHost: { endpoints: { patches } } } }));
    const found = loaded.kind === 'ok' ? [] : loaded.faults;
    expect(found.map((of) => `${of.code} ${/patches\[(\d+)\]/.exec(of.path)?.[1]}`)).toEqual(faults);
  });

  it('return the valid patches for compilation despite other faults', () => {
    const list = [{ path: 'a' }, { path: 'b', expression: 'value +' }];
    const text = JSON.stringify({ sync: { toHost: { endpoints: { patches: list } } }, hostward: { backSync: 1 } });
    const loaded = load(text);
    expect(loaded.kind).toBe('faults');
    expect(loaded.patches.map(({ index, entry }) => [index, entry.path])).toEqual([[1, 'b']]);
    const column = text.indexOf('value +') + 1;
    const path = ['sync', 'toHost', 'endpoints', 'patches', 1, 'expression'];
    expect(loaded.positions.positionInScalar(path, 1, 1)).toEqual({ file: 'f.yaml', line: 1, column });
  });

  it('report at most a hundred faults at a time', () => {
    const patches = Array.from({ length: 150 }, (_, index) => ({ path: `${index}` }));
    const loaded = load(JSON.stringify({ sync: { toHost: { endpoints: { patches } } } }));
    const faults = loaded.kind === 'faults' ? loaded.faults : [];
    expect([faults.length, faults.at(-1)?.sentence, countOf(faults)]).toEqual([101, 'and 50 more faults', 150]);
  });

  it('check only the patches of Endpoints and EndpointSlices', () => {
    const pods = { patches: [{ path: 'a' }, { path: 'a', exp: 1 }] };
    expect(load(JSON.stringify({ sync: { toHost: { pods, configMaps: pods } } })).kind).toBe('ok');
    expect(load(JSON.stringify({ sync: { toHost: { endpointSlices: pods } } })).kind).toBe('faults');
  });
});

describe('files', () => {
  const texts = (...all: string[]) =>
    loadConfiguration({ environment: named, files: all.map((text, index) => ({ name: `${index}.yaml`, text })) });

  it('merge as in Helm: maps deeply, lists are replaced, null removes', () => {
    const loaded = texts(
      'sync: {toHost: {endpoints: {enabled: false, patches: [{path: a, expression: a}, {path: b, expression: b}]}}}\nextra: {a: {b: 1, c: [1, 2]}, d: 1}',
      'sync: {toHost: {endpoints: {patches: [{path: c, expression: c}]}}}\nextra: {a: {c: [3]}, d: ~}\nnetworking: {podCIDR: ~}',
    );
    if (loaded.kind !== 'ok') throw new Error(report(loaded));
    expect(loaded.settings.endpointsEnabled).toBe(false);
    expect(loaded.settings.patches.map((patch) => patch.path)).toEqual(['c']);
    expect(loaded.settings.vcluster['extra']).toEqual({ a: { b: 1, c: [3] } });
    expect(Object.keys(loaded.settings.vcluster['networking'] as object)).not.toContain('podCIDR');
    expect(loaded.positions.positionOf(['sync', 'toHost', 'endpoints', 'patches', 0, 'path'])?.file).toBe('1.yaml');
    expect(loaded.positions.positionOf(['sync', 'toHost', 'endpoints', 'enabled'])?.file).toBe('0.yaml');
  });

  it('merge our settings of both places, and a null restores the default', () => {
    const loaded = texts(
      'hostward: {backSync: none, logLevel: debug}',
      'hostward: {backSync: ~}',
      'global: {hostward: {listen: "h:1"}}',
    );
    if (loaded.kind !== 'ok') throw new Error(report(loaded));
    const { backSync, logLevel, listen } = loaded.settings;
    expect({ backSync, logLevel, listen }).toEqual({ backSync: 'all', logLevel: 'debug', listen: 'h:1' });
  });

  it('give expressions the configuration of vCluster with its defaults, but not our top level', () => {
    const { vcluster } = settings('{hostward: {backSync: none}, sync: {toHost: {pods: {enabled: off}}}, mine: {x: 1}}');
    const { sync, mine, hostward } = vcluster as Record<string, { toHost: { pods: object; endpoints: object } }>;
    expect(sync?.toHost.pods).toEqual({ ...vclusterDefaults.sync.toHost.pods, enabled: false });
    expect(sync?.toHost.endpoints).toEqual({ enabled: true });
    expect([mine, hostward]).toEqual([{ x: 1 }, undefined]);
  });

  it('may contain __proto__ and constructor without an effect on prototypes', () => {
    const { vcluster } = settings('{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}}');
    expect(Object.keys(vcluster)).toContain('__proto__');
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
    expect(load('hostward: {__proto__: {}}').kind).toBe('faults');
  });
});

describe('names', () => {
  const names = (text: string, options: object) => {
    const { virtualClusterName, hostNamespace } = settings(text, options);
    return `${hostNamespace}/${virtualClusterName}`;
  };
  const file = 'hostward: {virtualClusterName: f, hostNamespace: fn}';

  it('come from the flag, then the environment, then the file, then the pod', () => {
    const flags = { virtualClusterName: 'x', hostNamespace: 'xn' };
    expect(names(file, { flags, environment: named })).toBe('xn/x');
    expect(names(file, { environment: named })).toBe('hns/my-vc');
    expect(names(file, { environment: {}, serviceAccountNamespace: 'pod\n' })).toBe('fn/f');
    expect(names('{}', { environment: { VCLUSTER_NAME: 'e', NAMESPACE: '' }, serviceAccountNamespace: 'pod\n' })).toBe(
      'pod/e',
    );
  });

  it('select the kubeconfig: flag, file, the one configured for vCluster, the one in its pod', () => {
    const theirs = 'experimental: {virtualClusterKubeConfig: {kubeConfig: /theirs}}';
    const ours = 'hostward: {virtualKubeconfig: /ours, hostKubeconfig: /host}';
    const of = (text: string, flags = {}) => settings(text, { flags }).virtualKubeconfig;
    expect(of(`${theirs}\n${ours}`, { virtualKubeconfig: '/flag' })).toBe('/flag');
    expect(of(`${theirs}\n${ours}`)).toBe('/ours');
    expect(of(theirs)).toBe('/theirs');
    expect(settings(ours, { flags: { hostKubeconfig: '/flag' } }).hostKubeconfig).toBe('/flag');
    expect(settings(ours).hostKubeconfig).toBe('/host');
  });
});

import { describe, expect, it } from 'vitest';
import { settingChanges } from '../../../../src/config/load/difference.ts';
import { loadConfiguration } from '../../../../src/config/load/load.ts';
import type { Settings } from '../../../../src/config/settings/settings.ts';
import { load, loadFolder, report, settings } from '../../../config/loading.ts';

const example = new URL('../../../../fixtures/config/management/management-example', import.meta.url).pathname;

function alone(text: string): Settings {
  const loaded = loadConfiguration({ environment: {}, files: [{ name: 'f.yaml', text }] });
  if (loaded.kind === 'faults') throw new Error(report(loaded));
  expect(loaded.warnings).toEqual([]);
  return loaded.settings;
}

describe('hostward.management', () => {
  it('is absent unless it is configured', () => {
    expect(settings('{}').management).toBeUndefined();
    expect(settings('{}').managementServer).toBeUndefined();
  });

  it('has every default when it is empty', () => {
    const { management, managementServer } = alone('hostward: {management: {}}');
    expect(managementServer).toEqual({
      listen: '127.0.0.1:8443',
      baseURL: 'https://localhost:8443',
      dataDir: '.hostward/management',
      ingressListen: undefined,
    });
    expect(management).toEqual({
      generation: 0,
      administrators: { users: [], groups: [] },
      users: [],
      teams: [],
      clusters: [],
      projects: [],
      keys: { maxTTL: 0, requireExpiry: false, allowSupplied: false, perOwner: 1000 },
      audit: { reads: false, keepFiles: 10 },
      kubeconfigs: { allowedServers: [] },
    });
  });

  it('reads the example of the design', () => {
    const loaded = loadFolder(example);
    const value = loaded.kind === 'ok' ? loaded.settings : undefined;
    expect(value?.virtualClusterName).toBe('');
    expect(value?.management?.users).toEqual([
      { name: 'alice', groups: ['devs'], disabled: false },
      { name: 'carol', groups: [], disabled: true },
    ]);
    expect(value?.management?.projects[0]).toEqual({
      name: 'shop',
      members: [
        { user: 'alice', role: 'admin' },
        { team: 'red', role: 'user' },
      ],
      virtualClusters: [
        {
          name: 'v1',
          kubeconfig: 'FILE',
          ingress: { server: 'https://v1.example.com', servedBy: 'virtualCluster', certificateAuthority: 'FILE' },
          signing: { certificate: 'FILE', key: 'FILE' },
          clientCert: { clusterRole: 'cluster-admin', maxTTL: 86_400 },
        },
      ],
      spaces: [{ name: 's1', cluster: 'c1', namespace: 'shop-s1' }],
    });
  });

  it('derives the base address from the port', () => {
    expect(alone('hostward: {management: {listen: "0.0.0.0:7443"}}').managementServer?.baseURL).toBe(
      'https://localhost:7443',
    );
    const given = alone('hostward: {management: {baseURL: "https://a.example.com/x/"}}');
    expect(given.managementServer?.baseURL).toBe('https://a.example.com/x');
  });

  it('needs the names of a virtual cluster as soon as anything is synced', () => {
    const code = (text: string) => {
      const loaded = loadConfiguration({ environment: {}, files: [{ name: 'f.yaml', text }] });
      return loaded.kind === 'faults' ? loaded.faults.map((of) => of.code) : [];
    };
    const twice = ['CONFIG_NAME_MISSING', 'CONFIG_NAME_MISSING'];
    expect(code('hostward: {management: {}, logLevel: debug}')).toEqual([]);
    expect(code('global: {hostward: {management: {}}}')).toEqual([]);
    expect(code('hostward: {management: {}, backSync: none}')).toEqual(twice);
    expect(code('{hostward: {management: {}}, sync: {toHost: {endpoints: {enabled: true}}}}')).toEqual(twice);
    expect(code('hostward: {management: ~}')).toEqual(twice);
  });

  it('is taken over while running, apart from what the server is bound to', () => {
    const before = alone('hostward: {management: {}}');
    const people = settingChanges(before, alone('hostward: {management: {users: [{name: bob}]}}'));
    expect(people.map(({ field, needsRestart }) => [field, needsRestart])).toEqual([['management', false]]);
    const moved = settingChanges(before, alone('hostward: {management: {dataDir: elsewhere}}'));
    expect(moved.map(({ field, needsRestart }) => [field, needsRestart])).toEqual([['managementServer', true]]);
  });

  it('says where every fault is', () => {
    const loaded = load('hostward:\n  management:\n    teams: [{name: red, users: [bob]}]\n');
    const [fault] = loaded.kind === 'faults' ? loaded.faults : [];
    expect(fault).toMatchObject({
      code: 'CONFIG_UNKNOWN_NAME',
      file: 'f.yaml',
      line: 3,
      column: 33,
      path: 'hostward.management.teams[0].users[0]',
    });
  });
});

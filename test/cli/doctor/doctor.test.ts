import { readFileSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { type Clock, systemClock } from '../../../src/clock.ts';
import { openBench } from '../../management/server/bench.ts';
import { account, hostNamespace, ownerService, resourceOf, Stage, soundConfiguration, soundRules } from './stage.ts';

const stage = new Stage();
beforeAll(() => stage.start());
afterAll(() => stage.stop());

describe('hostward doctor', () => {
  it('finds nothing wrong with a sound set-up', async () => {
    const { code, err } = await stage.doctor([]);
    expect([code, err]).toEqual([0, '']);
  });

  it('prints a command for each cluster behind, in a line of its own that can be copied', async () => {
    const behind = (name: string) => ({ name, kubeconfig: stage.path('host'), members: [{ user: 'alice' }] });
    const management = { users: [{ name: 'alice' }], clusters: [behind('c1'), behind('c2')] };
    const configuration = { hostward: { ...soundConfiguration.hostward, management }, sync: soundConfiguration.sync };
    const { out } = await stage.doctor([], { configuration });
    const commands = ['c1', 'c2'].map(
      (name) =>
        `hostward upstream-rbac --cluster ${name} --config /home/vcluster.yaml >rights.yaml && kubectl --kubeconfig ADMIN-THERE apply -f rights.yaml`,
    );
    const lines = out.split('\n');
    const at = lines.findIndex((line) => line.endsWith(`mend: ${commands[0]}`));
    expect(at, out).toBeGreaterThan(0);
    expect(lines[at + 1]).toBe(`${' '.repeat(lines[at]?.indexOf('hostward upstream') ?? 0)}${commands[1]}`);
  });

  it('takes a management server for one, and another API server for another program, although both are ready', async () => {
    const bench = await openBench();
    const api = parse(readFileSync(stage.path('host'), 'utf8')).clusters[0].cluster.server as string;
    try {
      for (const [baseURL, verdict, says] of [
        [bench.api.url, 'ok', 'is ready'],
        [api, 'fault', `another program answers at ${api}: wanted 401 from /kubernetes/management/apis`],
      ] as const) {
        const management = { baseURL, users: [{ name: 'alice' }] };
        const { of } = await stage.findings([], { text: JSON.stringify({ hostward: { management } }) });
        expect(of('HW-801')).toMatchObject({ verdict });
        expect(of('HW-801')?.says).toContain(says);
      }
    } finally {
      await bench.stop();
    }
  });

  it.each([
    ['640', 'ok'],
    ['604', 'warning'],
    ['602', 'warning'],
    ['601', 'warning'],
  ])('a kubeconfig of the mode %s is %s', async (mode, verdict) => {
    const path = stage.path('host');
    await chmod(path, Number.parseInt(mode, 8));
    const { of } = await stage.findings([]).finally(() => chmod(path, 0o600));
    const details = verdict === 'ok' ? undefined : [`"${path}" has the mode ${mode}`];
    expect(of('HW-104')).toMatchObject({ verdict, ...(details && { details, mend: `chmod o-rwx ${path}` }) });
  });

  it('says of a configuration without sync that the names are not used, with a command that shows it', async () => {
    const text = JSON.stringify({ hostward: { management: { users: [{ name: 'alice' }] } } });
    const { of } = await stage.findings([], { text });
    const mend = 'hostward check --config /home/vcluster.yaml --vcluster-name vc --host-namespace vcluster-vc';
    expect(of('HW-102')).toMatchObject({ verdict: 'warning', mend });
    expect(of('HW-102')?.details?.join()).toContain('--vcluster-name: "vc" is not used');
    expect(of('HW-105')?.says).toBe('the management API');
  });

  const withSecrets = {
    ...soundConfiguration,
    sync: {
      toHost: {
        secrets: { enabled: true },
        endpoints: {
          enabled: false,
          patches: [{ path: 'metadata.annotations.tls', reference: { apiVersion: 'v1', kind: 'Secret' } }],
        },
      },
    },
  };

  it('says of a data folder that is a file what is wanted, instead of a chown', async () => {
    const dataDir = stage.path('host');
    const management = { dataDir, users: [{ name: 'alice' }] };
    const { of } = await stage.findings([], { text: JSON.stringify({ hostward: { management } }) });
    expect(of('HW-703')).toMatchObject({
      verdict: 'fault',
      says: `hostward.management.dataDir is ${dataDir}, a file, and a folder is wanted`,
      mend: 'name another folder as hostward.management.dataDir',
    });
    const below = { ...management, dataDir: dirname(dataDir) };
    const sound = await stage.findings([], { text: JSON.stringify({ hostward: { management: below } }) });
    expect(sound.of('HW-703')?.says).not.toContain('written');
  });

  it('--rights prints what is missing as a Role with its binding, and the finding gives the command', async () => {
    const { of } = await stage.findings([], { configuration: withSecrets });
    expect(of('HW-502')?.mend).toMatch(
      /^hostward doctor --config \/home\/vcluster\.yaml --vcluster-name vc .*--rights host \| kubectl auth reconcile -f -/,
    );
    const { code, out, err } = await stage.doctor(['--rights', 'host'], { configuration: withSecrets });
    expect([code, err]).toEqual([0, '']);
    const [role, binding] = parseAllDocuments(out).map((document) => document.toJS());
    expect(role).toMatchObject({ kind: 'Role', metadata: { name: 'hostward-vc-rights', namespace: hostNamespace } });
    const verbs = ['get', 'list', 'watch', 'create', 'patch', 'delete'];
    expect(role.rules).toEqual([{ apiGroups: [''], resources: ['secrets'], verbs: expect.arrayContaining(verbs) }]);
    expect(binding).toMatchObject({
      kind: 'RoleBinding',
      roleRef: { kind: 'Role', name: 'hostward-vc-rights' },
      subjects: [{ kind: 'ServiceAccount', name: 'hostward', namespace: hostNamespace }],
    });
  });

  it('--pre counts without a configuration what the chart makes and grants by default', async () => {
    const { of } = await stage.findings(['--pre'], { drop: ['--config'] });
    expect(of('HW-508')).toMatchObject({ verdict: 'fault', says: `${account} lacks 34 rights of 53` });
    expect(of('HW-508')?.details).toEqual(
      expect.arrayContaining([`get, list, create, update, delete on secrets in namespace ${hostNamespace}`]),
    );
  });

  const manifestsFile = stage.path('manifests');
  const written = async (...objects: object[]) => {
    await writeFile(manifestsFile, objects.map((one) => JSON.stringify(one)).join('\n---\n'));
    return ['--manifests', manifestsFile];
  };
  const made = (apiVersion: string, kind: string, more: object = {}) => ({
    apiVersion,
    kind,
    metadata: { name: 'one', namespace: 'elsewhere' },
    ...more,
  });

  it('--manifests counts what these objects make and grant, each in its place, and no more', async () => {
    const words = await written(
      made('v1', 'Service'),
      made('v1', 'Namespace', { metadata: { name: 'records' } }),
      made('v1', 'ConfigMap', { metadata: { name: 'without-a-namespace' } }),
    );
    const { of, checks } = await stage.findings(words, { drop: ['--config'] });
    expect(checks.find(({ code }) => code === 'HW-502')).toBeUndefined();
    expect(of('HW-508')).toMatchObject({
      verdict: 'fault',
      details: [
        `get, list, create, update, delete on secrets in namespace ${hostNamespace}`,
        'create, patch, delete on services in namespace elsewhere',
        'create, patch, delete on namespaces in all namespaces',
        `get, create, patch, delete on configmaps in namespace ${hostNamespace}`,
      ],
    });
    const [command, ...others] = of('HW-508')?.mend?.split('\n') ?? [];
    expect(command).toMatch(/^hostward doctor .*--manifests \S+ --rights host \| kubectl auth reconcile -f - {3}#/);
    expect(others.join()).toContain('or install with cluster=false');
    expect(others[0]).toBe(
      'make the namespace records first, and leave it out with management.store.createNamespace=false',
    );
    const { code, out } = await stage.doctor([...words, '--rights', 'host'], { drop: ['--config'] });
    expect([code, out]).toEqual([0, expect.stringContaining('kind: ClusterRoleBinding')]);
  });

  it('--manifests names the kinds that the host does not know', async () => {
    const words = await written(made('example.com/v1', 'Wall'), made('v1', 'Service'));
    const { of } = await stage.findings(words, { kubeconfigs: { host: stage.path('admin') } });
    expect(of('HW-508')).toMatchObject({ verdict: 'fault', details: ['Wall of example.com/v1 is not served'] });
  });

  it('--manifests is for the management API alone too, whose configuration names no virtual cluster', async () => {
    const words = await written(made('v1', 'Service'));
    const text = JSON.stringify({ hostward: { management: { users: [{ name: 'alice' }] } } });
    const { of } = await stage.findings(words, { text, drop: ['names'] });
    expect(of('HW-201')).toBeUndefined();
    expect(of('HW-508')?.details).toEqual([
      'get, list, create, update, delete on secrets in namespace elsewhere',
      'create, patch, delete on services in namespace elsewhere',
    ]);
  });

  it('says which cluster shows no namespace to compare, and --rights grants what is missing there', async () => {
    const kubeconfigs = { virtual: stage.path('tenant') };
    const { of } = await stage.findings([], { kubeconfigs });
    expect(of('HW-305')).toMatchObject({ verdict: 'couldNotCheck' });
    expect(of('HW-305')?.says).toMatch(/ refused by the virtual cluster$/);
    expect(of('HW-305')?.mend).toMatch(/^hostward doctor .*--rights virtual \| kubectl auth reconcile -f -/);
    const { code, out } = await stage.doctor(['--rights', 'virtual'], { kubeconfigs });
    expect(code).toBe(0);
    const [role, binding] = parseAllDocuments(out).map((document) => document.toJS());
    const names = [hostNamespace, 'kube-system'];
    expect(role).toMatchObject({
      kind: 'ClusterRole',
      rules: [{ apiGroups: [''], resources: ['namespaces'], resourceNames: names, verbs: ['get'] }],
    });
    expect(binding).toMatchObject({ kind: 'ClusterRoleBinding', subjects: [{ kind: 'User', name: 'tenant' }] });
  });

  const readsNoNamespace = soundRules.filter(({ resources }) => !resources?.includes('namespaces'));

  it('--rights lets doctor read the namespaces of mappings, which may not exist', async () => {
    const mappings = { byName: { shop: 'team-zz' } };
    const sync = { toHost: { ...soundConfiguration.sync.toHost, namespaces: { enabled: true, mappings } } };
    const configuration = { ...soundConfiguration, sync };
    // With the right to make Endpoints there, the host tells without being read.
    const inOwn = readsNoNamespace.map((rule) => ({ ...rule, namespaces: [hostNamespace] }));
    stage.host.access.setRules(account, inOwn);
    try {
      const { of } = await stage.findings([], { configuration });
      expect(of('HW-307')?.mend).toMatch(/--rights host \| kubectl auth reconcile -f - {3}# lets doctor read them/);
      const { out } = await stage.doctor(['--rights', 'host'], { configuration });
      const roles = parseAllDocuments(out).map((document) => document.toJS());
      const names = expect.objectContaining({ resources: ['namespaces'], resourceNames: ['team-zz'], verbs: ['get'] });
      expect(roles.find(({ kind }) => kind === 'ClusterRole')?.rules).toContainEqual(names);
    } finally {
      stage.host.access.setRules(account, soundRules);
    }
  });

  it('--wait looks again while nobody has taken the lease of a rollout', async () => {
    const configuration = {
      ...soundConfiguration,
      hostward: { ...soundConfiguration.hostward, leaderElection: 'always' },
    };
    const lease = { namespace: hostNamespace, name: 'hostward-vc' };
    const { apiVersion, kind } = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' };
    await stage.create('host', { apiVersion, kind, metadata: lease });
    const renewTime = new Date().toISOString().replace('Z', '000Z');
    const spec = { holderIdentity: 'hostward-0_1', leaseDurationSeconds: 3600, renewTime };
    let pauses = 0;
    const clock: Clock = {
      ...systemClock,
      after(delayMs, run) {
        if (delayMs !== 2_000) return systemClock.after(delayMs, run);
        pauses++;
        void stage.hostClient.change(resourceOf(kind), lease, { spec }).then(run);
        return { cancel: () => undefined };
      },
    };
    const { code, of } = await stage.findings(['--wait', '5m'], { configuration, clock });
    await stage.hostClient.remove(resourceOf(kind), lease);
    expect([code, of('HW-602')?.says, pauses]).toEqual([0, 'held by hostward-0_1', 1]);
  });

  it('--wait ends soon after the last fault, although no daemon has ever taken the lease', async () => {
    const configuration = {
      ...soundConfiguration,
      hostward: { ...soundConfiguration.hostward, leaderElection: 'always' },
    };
    const service = { namespace: hostNamespace, name: 'vc' };
    await stage.hostClient.remove(resourceOf('Service'), service);
    let waitedMs = 0;
    const clock: Clock = {
      ...systemClock,
      now: () => systemClock.now() + waitedMs,
      after(delayMs, run) {
        if (delayMs !== 2_000) return systemClock.after(delayMs, run);
        waitedMs += delayMs;
        void (waitedMs === 6_000 ? stage.create('host', ownerService()) : Promise.resolve()).then(run);
        return { cancel: () => undefined };
      },
    };
    const { code, of } = await stage.findings(['--wait', '5m'], { configuration, clock });
    expect([code, of('HW-308')?.verdict, of('HW-602')?.verdict]).toEqual([0, 'ok', 'couldNotCheck']);
    expect(waitedMs).toBeLessThanOrEqual(16_000);
  });

  it('--rights grants nothing in a namespace that is probably not the meant one', async () => {
    stage.host.access.setRules(account, []);
    try {
      const { code, out, err } = await stage.doctor(['--rights', 'host', '--host-namespace', 'nowhere']);
      expect([code, out]).toEqual([3, '']);
      expect(err).toContain('has no right in nowhere: is that the namespace? Its pods are in vcluster-vc');
    } finally {
      stage.host.access.setRules(account, soundRules);
    }
  });

  it('--rights prints nothing where nothing is missing', async () => {
    const { code, out, err } = await stage.doctor(['--rights', 'host']);
    expect([code, out]).toEqual([0, '']);
    expect(err).toBe('no right is known to be missing in the host cluster\n');
  });
});

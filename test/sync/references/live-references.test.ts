// References between two embedded API servers: a whole daemon with exactly the rights that its configuration needs.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { loadConfiguration } from '../../../src/config/load/load.ts';
import { daemonModule } from '../../../src/daemon/daemon.ts';
import type { Daemon } from '../../../src/daemon/options/daemon-options.ts';
import { withPatches } from '../../../src/daemon/options/load-patches.ts';
import { createLog } from '../../../src/log.ts';
import { createMetrics, type Metrics } from '../../../src/metrics.ts';
import { generatedName } from '../../../src/object/meta/names.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { markerLabel } from '../../../src/sync/plan/keys/reserved-keys.ts';
import { hostNamespace, type Right, until, virtualCluster } from '../../contract/sync-stage/backend.ts';
import { roleRights, virtualRights } from '../../contract/sync-stage/rights.ts';
import { SyncStage } from '../../contract/sync-stage/stage.ts';
import { JumpClock } from '../../jump-clock.ts';
import { type EmbeddedBackend, startEmbeddedBackend } from '../live/embedded-backend.ts';

const configuration = {
  hostward: { leaderElection: 'never' },
  sync: {
    toHost: {
      endpoints: {
        patches: [
          { path: 'metadata.annotations["k"]', reference: { apiVersion: 'v1', kind: 'Secret' } },
          { path: 'metadata.annotations["c"]', reference: { apiVersion: 'v1', kind: 'ConfigMap' } },
        ],
      },
    },
  },
};

const all = ['get', 'list', 'watch', 'create', 'patch', 'delete'];
const content = ['secrets', 'configmaps'];
const contentRights: Right = { group: '', resources: content, verbs: all };
interface Noted {
  references?: Record<string, { note?: string }>;
}
const inHost = (name: string) => ({ namespace: hostNamespace, name });

describe('references between two embedded API servers', () => {
  let backend: EmbeddedBackend;
  let stage: SyncStage;
  let daemon: Daemon | undefined;
  let logged: string[];
  let metrics: Metrics;
  beforeAll(async () => {
    backend = await startEmbeddedBackend();
  });
  afterAll(() => backend.stop());
  beforeEach(async () => {
    stage = new SyncStage(backend);
    await stage.set();
    await backend.virtual.grant([...virtualRights, contentRights]);
    await backend.host.grant([...roleRights(), { ...contentRights, namespace: hostNamespace }]);
  });
  afterEach(async () => {
    await daemon?.stop();
    daemon = undefined;
    backend.virtual.fault = undefined;
    backend.host.fault = undefined;
    for (const [side, namespace] of [
      ['virtual', stage.tenant],
      ['host', hostNamespace],
    ] as const) {
      for (const resource of content) {
        for (const { metadata } of await stage.list(side, resource)) {
          if (metadata.namespace === namespace && metadata.name !== 'kube-root-ca.crt')
            await stage.remove(side, resource, { namespace, name: metadata.name ?? '' });
        }
      }
    }
    await stage.clear();
    stage.close();
  });

  function load(config: object = configuration) {
    const kubeconfig = (side: 'virtual' | 'host') => stage.file(backend[side].kubeconfig(), 'kubeconfig');
    const loaded = withPatches(
      loadConfiguration({
        files: [{ name: 'test', text: JSON.stringify(config) }],
        flags: {
          virtualClusterName: virtualCluster,
          hostNamespace,
          virtualKubeconfig: kubeconfig('virtual'),
          hostKubeconfig: kubeconfig('host'),
        },
      }),
    );
    if (loaded.kind === 'faults') throw new Error(JSON.stringify(loaded.faults));
    return { settings: loaded.settings, patches: loaded.compiled };
  }

  function assemble(config: object = configuration): Daemon {
    logged = [];
    metrics = createMetrics();
    return daemonModule.assembleDaemon({
      ...load(config),
      isDryRun: false,
      log: createLog({ level: 'debug', destination: { write: (line) => void logged.push(line) } }),
      clock: new JumpClock(),
      random: Math.random,
      metrics,
      environment: {},
      version: '0.0.0',
    });
  }

  async function begin(config: object = configuration): Promise<void> {
    daemon = assemble(config);
    const started = await daemon.start();
    if (started.kind === 'faults') throw new Error(JSON.stringify(started.faults));
    await until('a daemon that is ready', () => (daemon?.readiness().isReady ? true : undefined));
  }

  const inVirtual = (name: string) => ({ namespace: stage.tenant, name });
  const nameOf = (name: string) => generatedName(inVirtual(name), virtualCluster);
  const secret = (namespace: string, name: string, value: string, labels?: Record<string, string>) =>
    ({
      metadata: { namespace, name, ...(labels && { labels }) },
      type: 'Opaque',
      data: { value },
    }) as Partial<KubeObject>;
  const valueIn = async (side: 'virtual' | 'host', at: { namespace: string; name: string }) =>
    ((await stage.get(side, 'secrets', at))?.['data'] as Record<string, string> | undefined)?.['value'];
  const shows = (what: string, look: () => Promise<boolean>) =>
    until(what, async () => ((await look()) ? true : undefined)).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${JSON.stringify(daemon?.status())}\n${logged.slice(-20).join('')}`);
    });

  it('a Secret is exported, updated and removed; a Secret of the host is imported and removed', async () => {
    await stage.create('virtual', 'secrets', secret(stage.tenant, 'db', 'djE='));
    await stage.create('virtual', 'configmaps', {
      metadata: inVirtual('conf'),
      data: { a: '1' },
    } as Partial<KubeObject>);
    await stage.create(
      'host',
      'secrets',
      secret(hostNamespace, 'shared', 'aG9zdA==', { 'hostward.dev/importable': 'true' }),
    );
    await stage.pair({ name: 'web', metadata: { annotations: { k: 'db', c: 'conf' } } });
    await stage.pair({ name: 'api', metadata: { annotations: { k: 'shared' } } });
    await begin();
    await shows('a copy', async () => (await valueIn('host', inHost(nameOf('db')))) === 'djE=');
    await shows('an import', async () => (await valueIn('virtual', inVirtual('shared'))) === 'aG9zdA==');
    await shows(
      'a ConfigMap',
      async () => (await stage.get('host', 'configmaps', inHost(nameOf('conf')))) !== undefined,
    );
    const names = await Promise.all([stage.copy('web'), stage.copy('api')]);
    expect(names.map((copy) => copy?.metadata.annotations?.['k'])).toEqual([nameOf('db'), 'shared']);

    await stage.patch('virtual', 'secrets', { ...inVirtual('db'), mergePatch: { data: { value: 'djI=' } } });
    await shows('a change', async () => (await valueIn('host', inHost(nameOf('db')))) === 'djI=');
    await stage.patch('host', 'secrets', {
      ...inHost('shared'),
      mergePatch: { metadata: { labels: { 'hostward.dev/importable': null } } },
    });
    await shows('an import that is gone', async () => (await valueIn('virtual', inVirtual('shared'))) === undefined);
    await shows('an event', async () =>
      (await stage.events('api')).some(({ reason }) => reason === 'ReferenceUnresolved'),
    );

    await daemon?.stop();
    await stage.removeTenants('web');
    await begin();
    await shows('a copy that is gone', async () => (await valueIn('host', inHost(nameOf('db')))) === undefined);
    expect(await valueIn('virtual', inVirtual('db'))).toBe('djI=');
    expect(await stage.forbidden()).toEqual([]);
  });

  it('a patch that is added during a run opens its windows once the rights are granted, and not before', async () => {
    const { hostward } = configuration;
    await backend.virtual.grant(virtualRights);
    await stage.create('virtual', 'secrets', secret(stage.tenant, 'db', 'djE='));
    await stage.pair({ name: 'web', metadata: { annotations: { k: 'db' } } });
    await begin({ hostward });
    const next = load();
    daemon?.apply(next.settings, next.patches);
    await shows('a refusal', async () => logged.some((line) => line.includes('not allowed to list secrets')));
    await shows('a copy', async () => (await stage.copy('web')) !== undefined);
    expect((await stage.copy('web'))?.metadata.annotations?.['k']).toBe('db');
    expect(await stage.forbidden()).toEqual([]);
    await backend.virtual.grant([...virtualRights, contentRights]);
    daemon?.apply(next.settings, next.patches);
    await shows('a copy of the Secret', async () => (await valueIn('host', inHost(nameOf('db')))) === 'djE=');
    expect((await stage.copy('web'))?.metadata.annotations?.['k']).toBe(nameOf('db'));
    const without = load({ hostward });
    daemon?.apply(without.settings, without.patches);
    await shows('no copy of it', async () => (await valueIn('host', inHost(nameOf('db')))) === undefined);
    expect((await stage.copy('web'))?.metadata.annotations?.['k']).toBe('db');
  });

  it('copies of a patch that was removed while the daemon was down go if the Role allows the list; if not, status says so', async () => {
    const { hostward } = configuration;
    await stage.create('virtual', 'secrets', secret(stage.tenant, 'db', 'djE='));
    await stage.pair({ name: 'web', metadata: { annotations: { k: 'db' } } });
    await begin();
    await shows('a copy of the Secret', async () => (await valueIn('host', inHost(nameOf('db')))) === 'djE=');
    await daemon?.stop();
    await stage.create('host', 'secrets', secret(hostNamespace, 'own', 'b3du', { [markerLabel]: virtualCluster }));

    await backend.host.grant(roleRights());
    await begin({ hostward });
    const notes = () => (daemon?.status() as Noted | undefined)?.references;
    await shows('a note', async () => notes()?.['Secret']?.note?.includes('not allowed to list secrets') === true);
    expect(await valueIn('host', inHost(nameOf('db')))).toBe('djE=');
    expect(await stage.forbidden()).toEqual([]);
    await daemon?.stop();

    const search = { ...contentRights, namespace: hostNamespace, verbs: ['list', 'delete'] };
    await backend.host.grant([...roleRights(), search]);
    await begin({ hostward });
    await shows('no copy of it', async () => (await valueIn('host', inHost(nameOf('db')))) === undefined);
    expect(await valueIn('host', inHost('own'))).toBe('b3du');
    expect(notes()).toBeUndefined();
    expect(await stage.forbidden()).toEqual([]);
  });

  it('a daemon whose Secrets cannot be listed writes no name, and stops when it is told to', async () => {
    backend.virtual.fault = (target, isDaemon) =>
      isDaemon && target.resource === 'secrets'
        ? { kind: 'answer', status: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code: 500 } }
        : { kind: 'pass' };
    await stage.pair({ name: 'web', metadata: { annotations: { k: 'db' } } });
    daemon = assemble();
    await daemon.start();
    await shows('a try', async () => logged.some((line) => line.includes('virtual secrets')));
    expect(daemon.readiness().isReady).toBe(false);
    await daemon.stop();
    expect(await stage.copy('web')).toBeUndefined();
  });

  it('a start names missing rights before it does anything', async () => {
    await backend.virtual.grant(virtualRights);
    await backend.host.grant([
      ...roleRights(),
      { ...contentRights, namespace: hostNamespace, resources: ['secrets'], verbs: all.slice(0, 4) },
    ]);
    daemon = assemble();
    const started = await daemon.start();
    const messages = started.kind === 'faults' ? started.faults.map(({ message }) => message) : [];
    expect(messages).toHaveLength(2 * all.length + 2 + all.length);
    expect(messages).toContain(
      `checking rights on the host cluster: not allowed to delete secrets in namespace "${hostNamespace}"`,
    );
  });

  it('no content of a Secret appears in a log, an event, the status or a metric', async () => {
    const planted = ['cGxhbnRlZC1vbmU=', 'cGxhbnRlZC10d28=', 'planted-three'];
    const [one = '', two = '', three = ''] = planted;
    let refusals = 0;
    backend.host.fault = (target, isDaemon) => {
      if (!isDaemon || target.verb !== 'create' || target.resource !== 'secrets') return { kind: 'pass' };
      if (refusals++ > 0) return { kind: 'pass' };
      const message = `Secret is invalid: data[value]: Invalid value: "${one}"`;
      return {
        kind: 'answer',
        status: {
          kind: 'Status',
          apiVersion: 'v1',
          metadata: {},
          status: 'Failure',
          reason: 'Invalid',
          code: 422,
          message,
        },
      };
    };
    await stage.create('virtual', 'secrets', secret(stage.tenant, 'db', one));
    await stage.create('host', 'secrets', secret(hostNamespace, 'shared', two, { 'hostward.dev/importable': 'true' }));
    await stage.create('host', 'secrets', secret(hostNamespace, nameOf('taken'), two));
    await stage.create('virtual', 'secrets', secret(stage.tenant, 'taken', one));
    const stringData = { ...secret(stage.tenant, 'text', one), stringData: { more: three } };
    await stage.create('virtual', 'secrets', stringData);
    for (const name of ['db', 'shared', 'taken', 'text'])
      await stage.pair({ name, metadata: { annotations: { k: name } } });
    await begin();
    await shows('an import', async () => (await valueIn('virtual', inVirtual('shared'))) === two);
    await shows('a copy', async () => (await valueIn('host', inHost(nameOf('text')))) === one);
    await shows('a refusal', async () => logged.some((line) => line.includes('content refused')));
    await stage.patch('virtual', 'secrets', { ...inVirtual('db'), mergePatch: { data: { value: two } } });
    await shows('a change', async () => (await valueIn('host', inHost(nameOf('db')))) === two);
    backend.host.fault = undefined;
    await shows('an event', async () => (await stage.events('taken')).some(({ reason }) => reason === 'NotOwned'));

    const events = await stage.list('virtual', 'events');
    const said = [...logged, JSON.stringify(daemon?.status()), JSON.stringify(events), await metrics.metrics()].join(
      '\n',
    );
    for (const text of [...planted, Buffer.from(three).toString('base64'), 'planted-one', 'planted-two'])
      expect(said.includes(text), text).toBe(false);
    expect(said).toContain('hostward_reference_requests_total');
  });
});

// Compares a live sync with the recording of a running vCluster: every recorded object and sequence is repeated on the servers
// of the backend.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { markerLabel, namespaceLabel, objectKeys, theSix } from '../../../src/sync/plan/keys/reserved-keys.ts';
import { expectedHost, type Golden, type GoldenSide } from '../../sync/golden.ts';
import { hostNamespace, type SyncBackend, until, virtualCluster } from '../sync-stage/backend.ts';
import type { LiveDaemon } from '../sync-stage/daemon.ts';
import { copyPlace, ipsOf, type Place, SyncStage, subsetsOf } from '../sync-stage/stage.ts';

const main = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));
const fixtures = new URL('../../../fixtures/sync/', import.meta.url);
const golden: Golden = JSON.parse(readFileSync(new URL('golden.json', fixtures), 'utf8'));
const sequences: Record<string, PlayedStep[]> = parse(readFileSync(new URL('sequences.yaml', fixtures), 'utf8'));

type Act = string | Record<string, object>;

interface Look {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ips?: string[];
  /** The key of the virtual object, when another key holds the copy. */
  of?: string;
  onlyWithControllers?: null;
}

interface PlayedStep {
  do: Act[];
  rule?: string;
  virtual?: Look | null;
  host?: Look | null;
  event?: string;
  writes?: number;
}

export function goldenSuite(backend: () => SyncBackend): void {
  describe('golden', () => {
    let stage: SyncStage;
    const set = async (): Promise<SyncStage> => {
      stage = new SyncStage(backend());
      await stage.set();
      return stage;
    };
    afterEach(async () => {
      await stage.clear();
      stage.close();
    });

    it('a live sync turns every recorded object into its recorded host object', async () => {
      await set();
      const daemon = await stage.daemon();
      for (const { before, virtual } of golden.cases) await createSide(stage, { ...virtual, ...before?.virtual });
      await daemon.settled();
      for (const one of golden.cases) {
        if (one.before === undefined) await expectCopy(stage, one.virtual.endpoints, expectedHost(one));
        else await expectCopy(stage, one.before.virtual.endpoints as KubeObject, { host: one.before.host, rule: '1' });
      }
      const edited = golden.cases.filter(({ before }) => before !== undefined);
      for (const { virtual } of edited) await replace(stage, virtual.endpoints);
      await daemon.settled();
      for (const one of edited) await expectCopy(stage, one.virtual.endpoints, expectedHost(one));
      expect(await stage.forbidden()).toEqual([]);

      await daemon.stop();
      await stage.forgetWrites();
      await stage.daemon();
      expect(await stage.writes()).toEqual([]);
    });

    it('release hands every copy back as vCluster wrote it, and the next start adopts them without a write', {
      // It starts a process besides.
      timeout: 120_000,
    }, async () => {
      await set();
      const daemon = await stage.daemon();
      const cases = golden.cases.filter(({ before }) => before === undefined);
      for (const { virtual } of cases) await createSide(stage, virtual);
      await daemon.settled();
      await daemon.stop();
      expect(await ownAnnotations()).not.toEqual([]);
      await release();
      expect(await ownAnnotations()).toEqual([]);
      for (const one of cases) await expectCopy(stage, one.virtual.endpoints, expectedHost(one));
      await stage.forgetWrites();
      await stage.daemon();
      expect(await stage.writes()).toEqual([]);
    });

    const ownAnnotations = async () =>
      (await stage.list('host', 'endpoints')).flatMap(({ metadata }) =>
        Object.keys(metadata.annotations ?? {}).filter((key) => key.startsWith('hostward.dev/')),
      );
    const release = () => {
      // Another daemon of this machine must not decide the test.
      const configuration = stage.file('hostward: { listen: "127.0.0.1:0", leaderElection: never }\n');
      const names = ['--vcluster-name', virtualCluster, '--host-namespace', hostNamespace];
      const kubeconfig = stage.file(backend().host.kubeconfig(), 'kubeconfig');
      const words = ['release', '-c', configuration, ...names, '--host-kubeconfig', kubeconfig];
      return promisify(execFile)(process.execPath, [main, ...words]);
    };

    it('every recorded sequence has a script', () => {
      const recorded = golden.sequences.map(({ name, steps }) => [name, steps.length]);
      expect(Object.entries(sequences).map(([name, steps]) => [name, steps.length])).toEqual(recorded);
    });

    it.each(golden.sequences)(
      'the sequence $name ends as recorded, or as a named rule decides',
      async ({ name, steps }) => {
        await set();
        const play = new Play(stage, steps.map(keyOf).find((key) => key !== undefined) as Place);
        await play.act('start', undefined);
        for (const [at, script] of (sequences[name] as PlayedStep[]).entries()) {
          const recorded = steps[at] as (typeof steps)[number];
          await stage.forgetWrites();
          for (const act of script.do) await play.act(act, recorded);
          await play.daemon?.settled();
          const claim = `${recorded.step}${script.rule === undefined ? '' : `, by rule ${script.rule}`}`;
          if (script.rule === undefined) await play.expectRecorded(recorded, claim);
          else await play.expectOtherwise(script, claim);
          if (script.event !== undefined) await play.expectEvent(script.event);
          if (script.writes !== undefined) expect(await stage.writes(), claim).toHaveLength(script.writes);
        }
      },
    );
  });
}

/** One sequence in progress: its objects and the current daemon. */
class Play {
  readonly #stage: SyncStage;
  daemon: LiveDaemon | undefined;
  readonly #key: Place;
  /** The last uid seen, because a copy may outlive its object. */
  #uid = '';

  constructor(stage: SyncStage, key: Place) {
    this.#stage = stage;
    this.#key = key;
  }

  async act(act: Act, recorded: { virtual: GoldenSide | null; host: KubeObject | null } | undefined): Promise<void> {
    const stage = this.#stage;
    const { namespace, name } = this.#key;
    if (typeof act !== 'string') {
      for (const [verb, body] of Object.entries(act)) {
        if (verb === 'tenants') await stage.editTenants(name, body, namespace);
        else if (verb === 'copy') await stage.editCopy(name, body, namespace);
        else throw new Error(`sequences.yaml: unknown act "${verb}"`);
      }
      return;
    }
    switch (act) {
      case 'start':
        this.daemon = await stage.daemon();
        return;
      case 'stop':
        await this.daemon?.stop();
        this.daemon = undefined;
        return;
      case 'create':
        return createSide(stage, recorded?.virtual as GoldenSide);
      case 'recreate':
        await stage.create('virtual', 'endpoints', bare(recorded?.virtual?.endpoints));
        return;
      case 'service':
        return createSide(stage, { service: recorded?.virtual?.service ?? null, endpoints: null });
      case 'host':
        await stage.create('host', 'endpoints', bare(recorded?.host));
        return;
      case 'rival':
        await stage.pair({ namespace: 'default', name: 'col-x-default', ips: ['10.1.1.1'] });
        return this.daemon?.settled();
      case 'removeRival':
        await stage.removeTenants('col-x-default', 'default');
        return stage.removeService('col-x-default', 'default');
      case 'removeTenants':
        return stage.removeTenants(name, namespace);
      case 'removeCopy':
        return stage.removeCopy(name, namespace);
      case 'removeService':
        return stage.removeService(name, namespace);
      default:
        throw new Error(`sequences.yaml: unknown act "${act}"`);
    }
  }

  async expectRecorded(
    recorded: { virtual: GoldenSide | null; host: KubeObject | null },
    claim: string,
  ): Promise<void> {
    const { name, namespace } = this.#key;
    const virtual = await this.#stage.tenants(name, namespace);
    const wanted = recorded.virtual?.endpoints ?? null;
    expect(tidy(virtual), claim).toEqual(tidy(wanted));
    const copy = await this.#stage.copy(name, namespace);
    this.#uid = virtual?.metadata.uid ?? this.#uid;
    expect(tidy(copy), claim).toEqual(await localized(this.#stage, recorded.host, this.#uid));
  }

  async expectOtherwise(script: PlayedStep, claim: string): Promise<void> {
    const { name, namespace } = this.#key;
    const virtual = await this.#stage.tenants(name, namespace);
    if (script.virtual === null) expect(virtual, claim).toBeUndefined();
    else if (script.virtual?.onlyWithControllers !== undefined) {
      const { hasControllers } = this.#stage.backend;
      await until(
        claim,
        async () => ((await this.#stage.tenants(name, namespace)) === undefined) === hasControllers || undefined,
      );
    } else expect(tidy(virtual)?.metadata, claim).toEqual({ name, namespace, ...filled(script.virtual) });
    const copy = await this.#stage.copy(name, namespace);
    if (script.host === null) {
      expect(copy, claim).toBeUndefined();
      return;
    }
    const key = script.host?.of ?? `${namespace}/${name}`;
    const source =
      key === `${namespace}/${name}`
        ? virtual
        : await this.#stage.tenants(key.slice(key.indexOf('/') + 1), key.slice(0, key.indexOf('/')));
    expect(tidy(copy), claim).toEqual(await wantedCopy(this.#stage, source as KubeObject, script.host as Look));
  }

  async expectEvent(reason: string): Promise<void> {
    const { name, namespace } = this.#key;
    await until(`an event ${reason}`, async () => {
      const events = await this.#stage.events(name, namespace);
      return events.some((event) => event.reason === reason && event.type === 'Warning') || undefined;
    });
  }
}

async function createSide(stage: SyncStage, side: GoldenSide): Promise<void> {
  const { service, endpoints } = side;
  if (endpoints !== null) await stage.create('virtual', 'endpoints', bare(endpoints));
  if (service === null || service === undefined) return;
  const { namespace = 'default', name = '', ...metadata } = bare(service).metadata;
  await stage.service({ namespace, name, metadata, spec: service['spec'] as object });
}

async function replace(stage: SyncStage, wanted: KubeObject): Promise<void> {
  const { namespace = 'default', name = '' } = wanted.metadata;
  const before = (await stage.tenants(name, namespace)) as KubeObject;
  const labels = withRemovals(before.metadata.labels, wanted.metadata.labels);
  const annotations = withRemovals(before.metadata.annotations, wanted.metadata.annotations);
  await stage.editTenants(name, { metadata: { labels, annotations }, subsets: wanted['subsets'] ?? null }, namespace);
}

function withRemovals(
  before: Record<string, string> = {},
  after: Record<string, string> = {},
): Record<string, string | null> {
  return { ...Object.fromEntries(Object.keys(before).map((key) => [key, null])), ...after };
}

async function expectCopy(
  stage: SyncStage,
  recorded: KubeObject,
  wanted: { host: KubeObject | null; rule: string },
): Promise<void> {
  const { namespace = 'default', name = '' } = recorded.metadata;
  const virtual = await stage.tenants(name, namespace);
  const copy = await stage.copy(name, namespace);
  if (wanted.host === null && stage.backend.hasControllers) {
    // On real servers, a host Service with a selector has its own Endpoints, as in the recording.
    expect(Object.keys(copy?.metadata.annotations ?? {}).filter((key) => theSix.includes(key))).toEqual([]);
    return;
  }
  expect(tidy(copy), `${name}: ${wanted.rule}`).toEqual(
    await localized(stage, wanted.host, virtual?.metadata.uid ?? ''),
  );
}

/** The recorded host object, with the uids replaced by those of this backend. */
async function localized(stage: SyncStage, host: KubeObject | null, uid: string): Promise<KubeObject | null> {
  if (host === null) return null;
  const copy = structuredClone(tidy(host) as KubeObject);
  const { annotations, ownerReferences } = copy.metadata;
  if (annotations?.[objectKeys.uid] !== undefined) annotations[objectKeys.uid] = uid;
  for (const owner of ownerReferences ?? []) owner.uid = await ownerUid(stage);
  return copy;
}

async function ownerUid(stage: SyncStage): Promise<string> {
  const owner = await stage.get('host', 'services', { namespace: hostNamespace, name: virtualCluster });
  return owner?.metadata.uid ?? '';
}

async function wantedCopy(stage: SyncStage, virtual: KubeObject, look: Look): Promise<KubeObject> {
  const { namespace = '', name = '', uid = '' } = virtual.metadata;
  const at = copyPlace(namespace, name);
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: {
      ...at,
      labels: { ...look.labels, [markerLabel]: virtualCluster, [namespaceLabel]: namespace },
      annotations: {
        ...look.annotations,
        [objectKeys.name]: name,
        [objectKeys.namespace]: namespace,
        [objectKeys.uid]: uid,
        [objectKeys.kind]: '/v1, Kind=Endpoints',
        [objectKeys.hostName]: at.name,
        [objectKeys.hostNamespace]: at.namespace,
      },
      ownerReferences: [
        { apiVersion: 'v1', kind: 'Service', name: virtualCluster, uid: await ownerUid(stage), controller: false },
      ],
    },
    subsets: subsetsOf(...(look.ips ?? ipsOf(virtual))),
  };
}

function filled(look: Look = {}): Look {
  const { labels, annotations } = look;
  return { ...(labels && { labels }), ...(annotations && { annotations }) };
}

/** An object for a create, without its uid, which the server assigns. */
function bare(object: KubeObject | null | undefined): KubeObject {
  const { uid: _uid, ownerReferences: _owners, ...metadata } = (object as KubeObject).metadata;
  return { ...(object as KubeObject), metadata };
}

function keyOf(recorded: { virtual: GoldenSide | null; host: KubeObject | null }): Place | undefined {
  const { namespace, name } = (recorded.virtual?.endpoints ?? recorded.virtual?.service)?.metadata ?? {};
  return name === undefined ? undefined : { namespace: namespace ?? 'default', name };
}

/** An object without the fields that the server sets, and without our own annotations. */
function tidy(object: KubeObject | undefined | null): KubeObject | null {
  if (object === undefined || object === null) return null;
  const { uid, resourceVersion, creationTimestamp, managedFields, generation, annotations, labels, ...metadata } =
    object.metadata;
  const kept = Object.fromEntries(
    Object.entries(annotations ?? {}).filter(([key]) => !key.startsWith('hostward.dev/')),
  );
  return {
    ...object,
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: {
      ...metadata,
      ...(Object.keys(labels ?? {}).length > 0 && { labels }),
      ...(Object.keys(kept).length > 0 && { annotations: kept }),
    },
  } as KubeObject;
}

// Compares a live sync of EndpointSlices with the recording of a running vCluster: every recorded object is made at once, and
// every sequence without kube-controller-manager is played, on the servers of the backend.
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { hostName } from '../../../src/object/meta/names.ts';
import type { KubeObject } from '../../../src/object/meta/object.ts';
import { objectKeys } from '../../../src/sync/plan/keys/reserved-keys.ts';
import {
  copyOf,
  expectedSlice,
  managed,
  managerLabel,
  type SliceCase,
  type SliceGolden,
  type SliceSequence,
  type SliceStep,
  serviceLabel,
  tidySlice,
} from '../../sync/kinds/endpointslices/golden-slices.ts';
import { hostNamespace, type SyncBackend, until, virtualCluster } from '../sync-stage/backend.ts';
import type { LiveDaemon } from '../sync-stage/daemon.ts';
import { copyPlace, type Place, SyncStage } from '../sync-stage/stage.ts';

const fixtures = new URL('../../../fixtures/sync/', import.meta.url);
const golden: SliceGolden = JSON.parse(readFileSync(new URL('golden-slices.json', fixtures), 'utf8'));
const scripts: Record<string, PlayedStep[]> = parse(readFileSync(new URL('slice-sequences.yaml', fixtures), 'utf8'));
const played = golden.sequences.filter(({ kubeControllerManager }) => kubeControllerManager === 'none');

const slices = 'endpointslices';
const config = { hostward: { endpointSlices: { enabled: true } } };

interface Look {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  of?: string;
}

interface PlayedStep {
  do: (string | Record<string, Partial<KubeObject>>)[];
  rule?: string;
  virtual?: Look | null;
  host?: Look | null;
  event?: string;
  foreign?: boolean;
}

export function goldenSlicesSuite(backend: () => SyncBackend): void {
  describe('golden slices', () => {
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

    it('every recorded slice becomes its recorded host slice, and a restart writes nothing', async () => {
      await set();
      const endpointsOff = { hostward: { endpoints: { enabled: false }, endpointSlices: { enabled: true } } };
      const cases = golden.cases.filter((one) => !isOfKubernetes(one));
      const daemon = await stage.daemon({ config: endpointsOff });
      for (const { virtual } of cases) await createSide(stage, virtual);
      await daemon.settled();
      for (const one of cases) await expectCopy(stage, one);
      await daemon.stop();
      await stage.forgetWrites();
      await stage.daemon({ config: endpointsOff });
      expect(await stage.writes(slices)).toEqual([]);
      expect(await stage.forbidden()).toEqual([]);
    });

    it('every recorded sequence without kube-controller-manager has a script', () => {
      const recorded = played.map(({ name, steps }) => [name, steps.length]);
      expect(Object.entries(scripts).map(([name, steps]) => [name, steps.length])).toEqual(recorded);
    });

    it.each(played)('the sequence $name ends as recorded, or as a named rule decides', async (sequence) => {
      await set();
      const play = new Play(stage, sequence);
      await play.act('start', undefined);
      for (const [at, script] of (scripts[sequence.name] as PlayedStep[]).entries()) {
        const recorded = play.recordedAt(at);
        for (const act of script.do) await play.act(act, recorded);
        await play.daemon?.settled();
        const claim = `${sequence.steps[at]?.step}${script.rule === undefined ? '' : `, by rule ${script.rule}`}`;
        if (script.rule === undefined)
          await play.expectRecorded(recorded, { claim, isForeign: script.foreign === true });
        else await play.expectOtherwise(script, claim);
        if (script.event !== undefined) await play.expectEvent(script.event);
      }
    });
  });
}

/** The embedded and the real servers have a Service default/kubernetes of their own. */
function isOfKubernetes({ virtual }: SliceCase): boolean {
  return virtual.service?.metadata.name === 'kubernetes';
}

/** One sequence in progress. */
class Play {
  daemon: LiveDaemon | undefined;
  readonly #stage: SyncStage;
  readonly #sequence: SliceSequence;
  readonly #key: Place;

  constructor(stage: SyncStage, sequence: SliceSequence) {
    this.#stage = stage;
    this.#sequence = sequence;
    const first = sequence.steps
      .map(({ virtual }) => virtual?.endpointSlice?.metadata)
      .find((one) => one !== undefined);
    const name = sequence.hostName.replace(/-x-default-x-vc$/, '');
    this.#key = { namespace: first?.namespace ?? 'default', name: first?.name ?? name };
  }

  /** A step that changed nothing has the state of the step before. */
  recordedAt(at: number): SliceStep {
    const step = this.#sequence.steps[at] as SliceStep;
    return step.unchanged === true ? this.recordedAt(at - 1) : step;
  }

  async act(act: PlayedStep['do'][number], recorded: SliceStep | undefined): Promise<void> {
    const stage = this.#stage;
    if (typeof act !== 'string') {
      for (const [verb, body] of Object.entries(act)) {
        if (verb === 'tenants') await stage.patch('virtual', slices, { ...this.#key, mergePatch: body });
        else if (verb === 'copy') await stage.patch('host', slices, { ...this.#at, mergePatch: body });
        else if (verb === 'slice') await stage.create('virtual', slices, { ...bare(this.#first('virtual')), ...body });
        else throw new Error(`slice-sequences.yaml: unknown act "${verb}"`);
      }
      return;
    }
    switch (act) {
      case 'start':
        this.daemon = await stage.daemon({ config });
        return;
      case 'stop':
        await this.daemon?.stop();
        this.daemon = undefined;
        return;
      case 'create':
        return createSide(stage, recorded?.virtual as NonNullable<SliceStep['virtual']>);
      case 'service':
        return createSide(stage, { service: recorded?.virtual?.service ?? null, endpointSlice: null });
      case 'select': {
        const { namespace = 'default', name = '' } = recorded?.virtual?.service?.metadata ?? {};
        const mergePatch = { spec: { selector: { app: 'none' } } };
        await stage.patch('virtual', 'services', { namespace, name, mergePatch });
        return;
      }
      case 'host':
        await stage.create('host', slices, bare(this.#first('host')));
        return;
      case 'marked':
        await stage.create('host', slices, this.#marked());
        return;
      case 'rival': {
        await stage.service({ namespace: 'default', name: 'col-x-default' });
        const labels = { [serviceLabel]: 'col-x-default' };
        await stage.create('virtual', slices, {
          metadata: { namespace: 'default', name: 'col-x-default', labels },
          addressType: 'IPv4',
          endpoints: [{ addresses: ['10.1.1.1'] }],
        } as never);
        return this.daemon?.settled();
      }
      case 'removeSlice':
        return stage.remove('virtual', slices, this.#key);
      case 'removeCopy':
        return stage.remove('host', slices, this.#at);
      case 'removeService':
        return stage.removeService(this.#service, this.#key.namespace);
      case 'removeEndpoints':
        return stage.remove('virtual', 'endpoints', { namespace: this.#key.namespace, name: this.#service });
      default:
        throw new Error(`slice-sequences.yaml: unknown act "${act}"`);
    }
  }

  async expectRecorded(
    recorded: SliceStep,
    { claim, isForeign }: { claim: string; isForeign: boolean },
  ): Promise<void> {
    const virtual = await this.#tenants();
    expect(tidySlice(virtual), claim).toEqual(tidySlice(recorded.virtual?.endpointSlice));
    const host = recorded.host as KubeObject | null;
    const wanted = host && (isForeign ? host : managed(withUid(host, virtual?.metadata.uid ?? this.#uid)));
    this.#uid = virtual?.metadata.uid ?? this.#uid;
    expect(tidySlice(await this.#copy()), claim).toEqual(tidySlice(wanted));
  }

  #uid = '';

  async expectOtherwise({ virtual: wanted, host }: PlayedStep, claim: string): Promise<void> {
    const virtual = await this.#tenants();
    this.#uid = virtual?.metadata.uid ?? this.#uid;
    if (wanted === null) expect(virtual, claim).toBeUndefined();
    else {
      const { [serviceLabel]: _, ...labels } = virtual?.metadata.labels ?? {};
      expect({ labels, annotations: virtual?.metadata.annotations ?? {} }, claim).toEqual({
        labels: wanted?.labels ?? {},
        annotations: wanted?.annotations ?? {},
      });
    }
    const copy = await this.#copy();
    if (host === null || host === undefined) return expect(copy, claim).toBeUndefined();
    const source = host.of === undefined ? virtual : await this.#tenants(host.of);
    const made = copyOf(source as KubeObject);
    const { labels, annotations } = made.metadata;
    const metadata = {
      ...made.metadata,
      labels: { ...host.labels, ...labels, [managerLabel]: 'hostward.dev' },
      annotations: { ...host.annotations, ...annotations },
    };
    expect(tidySlice(copy), claim).toEqual(tidySlice({ ...made, metadata }));
  }

  async expectEvent(reason: string): Promise<void> {
    await until(`an event ${reason}`, async () => {
      const events = await this.#stage.events(this.#key.name, this.#key.namespace);
      return events.some((event) => event.reason === reason && event.type === 'Warning') || undefined;
    });
  }

  get #at(): Place {
    return copyPlace(this.#key.namespace, this.#key.name);
  }

  get #service(): string {
    return this.#first('virtual').metadata.labels?.[serviceLabel] ?? '';
  }

  #first(side: 'virtual' | 'host'): KubeObject {
    const objects = this.#sequence.steps.map((step) =>
      side === 'host' ? (step.host as KubeObject | null) : step.virtual?.endpointSlice,
    );
    return objects.find((object) => object !== null && object !== undefined) as KubeObject;
  }

  #tenants(key = `${this.#key.namespace}/${this.#key.name}`): Promise<KubeObject | undefined> {
    const [namespace = '', name = ''] = key.split('/');
    return this.#stage.get('virtual', slices, { namespace, name });
  }

  #copy(): Promise<KubeObject | undefined> {
    return this.#stage.get('host', slices, this.#at);
  }

  /** A copy of a slice that is not there. */
  #marked(): KubeObject {
    const virtual = { metadata: { ...this.#key, uid: 'gone', labels: { [serviceLabel]: 'gone' } } } as KubeObject;
    return { ...copyOf(virtual), addressType: 'IPv4', endpoints: [{ addresses: ['10.0.0.1'] }] } as KubeObject;
  }
}

type Side = Pick<NonNullable<SliceStep['virtual']>, 'service' | 'otherServices' | 'endpoints'> & {
  endpointSlice: KubeObject | null;
};

async function createSide(stage: SyncStage, side: Side): Promise<void> {
  for (const service of [side.service, ...(side.otherServices ?? [])]) {
    if (service === null || service === undefined) continue;
    const { namespace = 'default', name = '', ...metadata } = bare(service).metadata;
    await stage.service({ namespace, name, metadata, spec: service['spec'] as object });
  }
  if (side.endpoints) await stage.create('virtual', 'endpoints', bare(side.endpoints));
  if (side.endpointSlice !== null) await stage.create('virtual', slices, bare(side.endpointSlice));
}

async function expectCopy(stage: SyncStage, one: SliceCase): Promise<void> {
  const { namespace = 'default', name = '' } = one.virtual.endpointSlice.metadata;
  const virtual = await stage.get('virtual', slices, { namespace, name });
  const at = { namespace: hostNamespace, name: hostName({ namespace, name }, virtualCluster) };
  const copy = await stage.get('host', slices, at);
  const { host, rule } = expectedSlice(one);
  const wanted = host && withUid(host, virtual?.metadata.uid ?? '');
  expect(tidySlice(copy), `${one.name}: ${rule}`).toEqual(tidySlice(wanted));
}

function withUid(host: KubeObject, uid: string): KubeObject {
  const annotations = { ...host.metadata.annotations };
  if (annotations[objectKeys.uid] !== undefined) annotations[objectKeys.uid] = uid;
  return { ...host, metadata: { ...host.metadata, annotations } };
}

/** An object for a create, without what a server or a cluster gives it. */
function bare(object: KubeObject): KubeObject {
  const {
    uid: _uid,
    ownerReferences: _owners,
    finalizers: _held,
    deletionTimestamp: _at,
    ...metadata
  } = object.metadata;
  return { ...object, metadata };
}

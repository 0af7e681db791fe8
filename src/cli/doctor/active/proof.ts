// The active proof: makes the test objects, waits for their copies, changes them, deletes them, and waits until the copies are gone. In:
// two clients. Out: what came about, step by step. Whatever happens, also after Ctrl-C, it deletes what it has made.
import { type Clock, pause } from '../../../clock.ts';
import type { Answer } from '../../../cluster/answer.ts';
import type { Connection } from '../../../cluster/wire/connection.ts';
import { endpointsResource, type ResourceRef, servicesResource } from '../../../cluster/wire/scope.ts';
import type { KubeObject } from '../../../object/meta/object.ts';
import { endpointSlicesResource } from '../../../sync/kinds/endpointslices/endpointslice-kind.ts';
import { objectKeys } from '../../../sync/plan/keys/reserved-keys.ts';
import { ClusterClient, type ObjectName } from '../../line/cluster-client.ts';
import { endpointsChange, sliceChange, type TestPlace, testLabel, testObjects } from './test-objects.ts';

/** Together below ten seconds, with the requests between. */
const limitsMs = { arrival: 4_000, change: 2_000, removal: 2_000, request: 1_500 } as const;
export const lookAgainMs = 50;

/** One kind whose copy is awaited. */
interface Traced {
  resource: ResourceRef;
  /** Where its copy will be. */
  place: ObjectName;
  uid: string;
  /** The last copy that was seen, without what every write changes. */
  seen: string | undefined;
}

export interface SyncProofOptions {
  virtual: Connection;
  host: Connection;
  clock: Clock;
  signal: AbortSignal;
  place: TestPlace;
  addresses: readonly [string, string];
  /** The kinds that Hostward syncs here, each with the place of its copy. */
  awaited: readonly { kind: 'Endpoints' | 'EndpointSlice'; place: ObjectName }[];
  /** Asked when a copy does not come, while its object is there: what the daemon says of it, by kind. */
  whyNot: () => Promise<ReadonlyMap<string, string>>;
}

export interface SyncProof {
  /** Undefined when all was made. */
  notMade: Exclude<Answer, { kind: 'ok' }> | undefined;
  /** By kind: how long the copy took; undefined = it did not come. */
  arrived: ReadonlyMap<string, number | undefined>;
  /** By kind: what the daemon said of the object whose copy did not come. */
  because: ReadonlyMap<string, string>;
  changed: ReadonlyMap<string, number | undefined>;
  /** Copies that were still there after their originals were deleted. */
  stayed: readonly string[];
  /** What could not be deleted. */
  left: readonly string[];
  isInterrupted: boolean;
}

const resources = { Service: servicesResource, Endpoints: endpointsResource, EndpointSlice: endpointSlicesResource };

export async function prove(options: SyncProofOptions): Promise<SyncProof> {
  return new Prover(options).run();
}

class Prover {
  readonly #options: SyncProofOptions;
  readonly #virtual: ClusterClient;
  readonly #host: ClusterClient;
  readonly #made: KubeObject[] = [];
  readonly #traced = new Map<string, Traced>();
  #notMade: Exclude<Answer, { kind: 'ok' }> | undefined;

  constructor(options: SyncProofOptions) {
    this.#options = options;
    this.#virtual = new ClusterClient(impatient(options.virtual));
    this.#host = new ClusterClient(impatient(options.host));
  }

  async run(): Promise<SyncProof> {
    const { signal } = this.#options;
    let arrived: SyncProof['arrived'] = new Map();
    let changed: SyncProof['changed'] = new Map();
    let because: SyncProof['because'] = new Map();
    try {
      await this.#sweep();
      await this.#make();
      if (this.#notMade === undefined) {
        arrived = await this.#until(limitsMs.arrival, (one) => this.#hasCome(one));
        if ([...arrived.values()].every((took) => took !== undefined) && !signal.aborted) {
          await this.#change();
          changed = await this.#until(limitsMs.change, (one) => this.#hasChanged(one));
        } else if (!signal.aborted) because = await this.#options.whyNot();
      }
    } finally {
      // Outside the reach of the signal: what was made must go.
      await this.#deleteMade();
    }
    const { stayed, left } = await this.#clear();
    return { notMade: this.#notMade, arrived, because, changed, stayed, left, isInterrupted: signal.aborted };
  }

  /** Deletes what a doctor left behind that was killed. */
  async #sweep(): Promise<void> {
    const { namespace } = this.#options.place;
    for (const resource of Object.values(resources)) {
      const labelSelector = `${testLabel.key}=${testLabel.value}`;
      const listed = await this.#virtual.tryList(resource, namespace, { labelSelector });
      if (listed.kind === 'failed') continue;
      for (const { metadata } of listed.objects) {
        const { name = '', uid = '' } = metadata;
        await this.#virtual.remove(resource, { namespace, name }, { uid });
      }
    }
  }

  /** The Service comes first, because the others belong to it. */
  async #make(): Promise<void> {
    const { place, addresses, awaited, signal } = this.#options;
    const { service, endpoints, slice } = testObjects(place, addresses[0]);
    const wanted = [service, endpoints, slice].filter(
      ({ kind }) => kind === 'Service' || awaited.some((one) => one.kind === kind),
    );
    for (const object of wanted) {
      if (signal.aborted) return;
      const kind = object.kind as keyof typeof resources;
      const answer = await this.#virtual.create(resources[kind], object);
      if (answer.kind !== 'ok') {
        // The answer may be lost while the object is there.
        if (answer.kind === 'failed') this.#made.push(object);
        this.#notMade = answer;
        return;
      }
      this.#made.push(answer.object);
      const copy = awaited.find((one) => one.kind === kind);
      const uid = answer.object.metadata.uid ?? '';
      if (copy !== undefined)
        this.#traced.set(kind, { resource: resources[kind], place: copy.place, uid, seen: undefined });
    }
  }

  async #change(): Promise<void> {
    const { place, addresses } = this.#options;
    const changes = { Endpoints: endpointsChange(addresses[1]), EndpointSlice: sliceChange(addresses[1]) };
    for (const [kind, { resource }] of this.#traced)
      await this.#virtual.change(resource, place, changes[kind as keyof typeof changes]);
  }

  /** Looks again and again until each copy is as wanted; how long each took. */
  async #until(
    withinMs: number,
    isDone: (one: Traced) => Promise<boolean>,
  ): Promise<ReadonlyMap<string, number | undefined>> {
    const { clock, signal } = this.#options;
    const beganMs = clock.now();
    const took = new Map<string, number | undefined>([...this.#traced.keys()].map((kind) => [kind, undefined]));
    for (;;) {
      for (const [kind, one] of this.#traced)
        if (took.get(kind) === undefined && (await isDone(one))) took.set(kind, clock.now() - beganMs);
      const isOver = clock.now() - beganMs >= withinMs || signal.aborted;
      if (isOver || [...took.values()].every((ms) => ms !== undefined)) return took;
      await pause(clock, lookAgainMs, signal);
    }
  }

  async #hasCome(one: Traced): Promise<boolean> {
    const copy = await this.#copyOf(one);
    if (copy === undefined) return false;
    one.seen = contentOf(copy);
    return true;
  }

  async #hasChanged(one: Traced): Promise<boolean> {
    const copy = await this.#copyOf(one);
    return copy !== undefined && contentOf(copy) !== one.seen;
  }

  /** Only a copy of our own object counts. */
  async #copyOf({ resource, place, uid }: Traced): Promise<KubeObject | undefined> {
    const answer = await this.#host.get(resource, place);
    if (answer.kind !== 'ok') return undefined;
    return answer.object.metadata.annotations?.[objectKeys.uid] === uid ? answer.object : undefined;
  }

  /** The Service last, because controllers look after the others while it is there. */
  async #deleteMade(): Promise<void> {
    for (const object of [...this.#made].reverse()) {
      const { namespace = '', name = '', uid } = object.metadata;
      const resource = resources[object.kind as keyof typeof resources];
      const preconditions = uid === undefined ? undefined : { uid };
      // A second try for an answer that was lost.
      const answer = await this.#virtual.remove(resource, { namespace, name }, preconditions);
      if (answer.kind === 'failed') await this.#virtual.remove(resource, { namespace, name }, preconditions);
    }
  }

  /** Waits until the copies are gone; a copy that stays is deleted here, where we may. */
  async #clear(): Promise<{ stayed: string[]; left: string[] }> {
    const { clock } = this.#options;
    const endMs = clock.now() + limitsMs.removal;
    let staying = [...this.#traced.values()];
    for (;;) {
      const copies = await Promise.all(staying.map((one) => this.#copyOf(one)));
      staying = staying.filter((_, index) => copies[index] !== undefined);
      if (staying.length === 0 || clock.now() >= endMs) break;
      await pause(clock, lookAgainMs);
    }
    const stayed = staying.map(
      ({ resource, place }) => `${resource.kind} ${place.namespace}/${place.name} on the host`,
    );
    for (const one of staying) await this.#deleteCopy(one);
    return { stayed, left: [...(await this.#leftOnHost(staying)), ...(await this.#leftInVirtual())] };
  }

  async #deleteCopy(one: Traced): Promise<void> {
    const copy = await this.#copyOf(one);
    const { uid } = copy?.metadata ?? {};
    if (uid !== undefined) await this.#host.remove(one.resource, one.place, { uid });
  }

  async #leftOnHost(staying: readonly Traced[]): Promise<string[]> {
    const copies = await Promise.all(staying.map((one) => this.#copyOf(one)));
    return staying.flatMap(({ resource, place }, index) =>
      copies[index] === undefined ? [] : [`${resource.kind} ${place.namespace}/${place.name} on the host`],
    );
  }

  async #leftInVirtual(): Promise<string[]> {
    const { place } = this.#options;
    const answers = await Promise.all(
      this.#made.map(({ kind }) => this.#virtual.get(resources[kind as keyof typeof resources], place)),
    );
    return this.#made.flatMap(({ kind, metadata }, index) => {
      const answer = answers[index];
      const isThere =
        answer?.kind === 'ok' && (metadata.uid === undefined || answer.object.metadata.uid === metadata.uid);
      return isThere || answer?.kind === 'failed'
        ? [`${kind} ${place.namespace}/${place.name} in the virtual cluster`]
        : [];
    });
  }
}

/** What a tenant's change must change on the host, whatever patches do with it. */
function contentOf({ metadata, ...rest }: KubeObject): string {
  const { labels, annotations } = metadata;
  return JSON.stringify({ ...rest, labels, annotations });
}

/** The whole proof must end in time, also with a server that does not answer. */
function impatient(connection: Connection): Connection {
  return {
    name: connection.name,
    server: connection.server,
    request: (request) => connection.request({ timeoutMs: limitsMs.request, ...request }),
    stream: (request, sink) => connection.stream(request, sink),
    subscribe: (listener) => connection.subscribe(listener),
    close: async () => undefined,
  };
}

// The records of the Kubernetes store as Secrets of a type and a label of our own, in one namespace of one API server. In: a
// connection. Out: the port HostRecords. Everything that means something is in the data, because other programs restore, copy and collect
// objects by their metadata.
import type { Clock } from '../../../../clock.ts';
import type { Answer } from '../../../../cluster/answer.ts';
import type { ApiRequest, Connection } from '../../../../cluster/wire/connection.ts';
import { collectionPath, objectPath, type ResourceRef, type WindowScope } from '../../../../cluster/wire/scope.ts';
import type { Log } from '../../../../log.ts';
import type { KubeObject } from '../../../../object/meta/object.ts';
import { isRecord } from '../../../../object/text/json.ts';
import { StoreFault } from '../../../../store/errors.ts';
import type {
  HostListener,
  HostRecord,
  HostRecords,
  RecordRemoval,
  RecordWrite,
} from '../../../../store/kubernetes/records/host-records.ts';
import { hostFault, requestTimeoutMs } from './host-fault.ts';
import { HostFollower } from './host-follower.ts';
import { HostSideValues } from './host-side-values.ts';
import { noteMarked } from './marked-records.ts';

export interface HostSecretsOptions {
  connection: Connection;
  namespace: string;
  /** Whose side values are written. */
  replica: string;
  clock: Clock;
  random: () => number;
  log: Log;
}

export const secretsResource: ResourceRef = { path: 'api/v1', resource: 'secrets', kind: 'Secret' };
export const recordType = 'hostward.dev/record';
export const recordLabel = 'hostward.dev/record';
const labels = { [recordLabel]: 'true' };

export class HostSecrets implements HostRecords {
  readonly place: string;
  readonly #options: HostSecretsOptions;
  readonly #side: HostSideValues;
  #follower: HostFollower | undefined;
  /** Records that somebody has marked immutable, with their keys in the store. */
  readonly marked = new Map<string, string>();

  constructor(options: HostSecretsOptions) {
    this.#options = options;
    this.place = `namespace "${options.namespace}" of ${options.connection.server}`;
    this.#side = new HostSideValues(options);
  }

  async get(name: string, { letsGo = false }: { letsGo?: boolean } = {}): Promise<HostRecord | undefined> {
    const answer = await this.#ask({ method: 'GET', path: this.#path(name) });
    if (answer.kind === 'notFound') return undefined;
    if (answer.kind !== 'ok') throw hostFault('read', name, answer);
    if (isEnding(answer.object)) {
      if (letsGo) await this.#letGo(answer.object);
      return undefined;
    }
    const record =
      recordOf(answer.object) ??
      aside(name, this.place, 'a Secret of another program has its name; the namespace must be for Hostward alone');
    if (isLabelled(answer.object)) return record;
    return aside(name, this.place, noLabel);
  }

  async create(name: string, data: Readonly<Record<string, string>>): Promise<RecordWrite> {
    const path = collectionPath(secretsResource, this.#options.namespace);
    const answer = await this.#ask({ method: 'POST', path, ...this.#body(name, data) });
    if (answer.kind === 'ok') return { kind: 'written', version: versionOf(answer.object) };
    if (answer.kind === 'alreadyExists') return { kind: 'exists' };
    throw hostFault('write', name, answer);
  }

  /** Records have no finalizers: one that somebody else has put on a record must not keep it from its end. */
  async #letGo(object: KubeObject): Promise<void> {
    if (!isEnding(object)) return;
    const record = recordOf(object);
    if (record === undefined) return;
    const { name, data, version } = record;
    // Without finalizers, the host removes it with this write.
    const mark = object['immutable'] === true && { immutable: true };
    const body = this.#body(name, data, { version, ...mark });
    const answer = await this.#ask({ method: 'PUT', path: this.#path(name), ...body });
    if (answer.kind !== 'ok' && answer.kind !== 'notFound' && answer.kind !== 'conflict')
      throw hostFault('delete', name, answer);
  }

  async replace(
    name: string,
    data: Readonly<Record<string, string>>,
    version: number | undefined,
  ): Promise<RecordWrite> {
    const body = this.#body(name, data, { version });
    const answer = await this.#ask({ method: 'PUT', path: this.#path(name), ...body });
    if (answer.kind === 'ok') return { kind: 'written', version: versionOf(answer.object) };
    if (answer.kind === 'notFound') return { kind: 'absent' };
    if (answer.kind === 'conflict') return { kind: 'conflict' };
    throw hostFault('write', name, answer);
  }

  async remove(name: string, version: number): Promise<RecordRemoval> {
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { resourceVersion: String(version) } };
    const sent = { body: JSON.stringify(body), contentType: 'application/json' } as const;
    const answer = await this.#ask({ method: 'DELETE', path: this.#path(name), ...sent });
    if (answer.kind === 'ok') {
      // The record has ended for every replica, whatever holds the Secret: to say that nothing was changed would be wrong.
      await this.#letGo(answer.object).catch((error: unknown) => this.#stillHeld(name, error));
      return { kind: 'removed' };
    }
    if (answer.kind === 'notFound') return { kind: 'absent' };
    if (answer.kind === 'conflict') return { kind: 'conflict' };
    throw hostFault('delete', name, answer);
  }

  follow(listener: HostListener): void {
    const { namespace } = this.#options;
    const labelSelector = `${recordLabel}=true`;
    const scope: WindowScope = { ref: secretsResource, namespace, labelSelector, fieldSelector: undefined };
    const { marked } = this;
    const { log } = this.#options;
    const noting = noteMarked(marked, { listener, recordOf }, log);
    this.#follower = new HostFollower({ ...this.#options, scope, ...noting, isEnding });
    this.#follower.start();
  }

  followAgain(): void {
    this.#follower?.interrupt('watch');
  }

  listAgain(): void {
    this.#follower?.interrupt('list');
  }

  sideValues(): Promise<Map<string, string>> {
    return this.#side.read();
  }

  writeSideValues(changes: ReadonlyMap<string, string | undefined>): Promise<void> {
    return this.#side.write(changes);
  }

  async stop(): Promise<void> {
    await this.#follower?.stop();
    await this.#options.connection.close();
  }

  #ask(request: ApiRequest): Promise<Answer> {
    return this.#options.connection.request({ timeoutMs: requestTimeoutMs, ...request });
  }

  #stillHeld(record: string, error: unknown): void {
    const about = { component: 'management', record, error: String(error) };
    this.#options.log.warn(about, 'a finalizer holds a record of the store that has ended: take it off');
  }

  #path(name: string): string {
    return objectPath(secretsResource, { namespace: this.#options.namespace, name });
  }

  #body(
    name: string,
    data: Readonly<Record<string, string>>,
    { version, ...mark }: { version?: number | undefined; immutable?: boolean } = {},
  ): Pick<ApiRequest, 'body' | 'contentType'> {
    const { namespace } = this.#options;
    const resourceVersion = version === undefined ? {} : { resourceVersion: String(version) };
    const encoded = Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString('base64')]);
    const body = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace, labels, ...resourceVersion },
      type: recordType,
      ...mark,
      data: Object.fromEntries(encoded),
    };
    return { body: JSON.stringify(body), contentType: 'application/json' };
  }
}

/** Of a Secret that is deleted and still held by a finalizer: its record has ended, whatever holds it. */
export function isEnding({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** Why the replicas do not see the record although the Secret is there. */
export function hiddenBecause(object: KubeObject): string | undefined {
  if (isEnding(object)) return 'it is deleted and held by a finalizer; take the finalizer off';
  return isLabelled(object) ? undefined : noLabel;
}

const noLabel = `somebody has taken the label ${recordLabel} off, without which no replica sees it, so that it counts as deleted; delete the Secret`;

function isLabelled({ metadata }: KubeObject): boolean {
  return metadata.labels?.[recordLabel] === labels[recordLabel];
}

/** Undefined for somebody else's Secret. */
export function recordOf(object: KubeObject): HostRecord | undefined {
  const { data = {}, type } = object;
  if (type !== recordType || !isRecord(data)) return undefined;
  const decoded = Object.entries(data).map(([key, text]) => [key, Buffer.from(String(text), 'base64').toString()]);
  const { name = '' } = object.metadata;
  return { name, version: versionOf(object), data: Object.fromEntries(decoded) };
}

function versionOf({ metadata }: KubeObject): number {
  const version = Number(metadata.resourceVersion);
  if (Number.isSafeInteger(version) && version > 0) return version;
  throw new StoreFault(
    'STORE_HOST_FAILED',
    `Cannot read the answer of the host: wanted a resourceVersion that is a number, found "${metadata.resourceVersion}"`,
  );
}

function aside(name: string, place: string, why: string): never {
  throw new StoreFault('STORE_RECORD_ASIDE', `Cannot read record "${name}" in ${place}: ${why}`);
}

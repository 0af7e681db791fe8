// Releases or deletes the host objects for `hostward release`. In: a configuration and a client for the host. Out: the objects
// done, left alone and failed. It judges each object by its marks, touches only objects that have ours, and judges an object
// again when another client has changed it in between.
import { type Clock, pause } from '../../clock.ts';
import { copyNamespaces, mappingsOf } from '../../config/settings/host-namespaces.ts';
import type { Settings } from '../../config/settings/settings.ts';
import { type KubeObject, keyOf } from '../../object/meta/object.ts';
import { markerLabel, pauseKey } from '../../sync/plan/keys/reserved-keys.ts';
import { type ClusterClient, faultOf, type ObjectName } from '../line/cluster-client.ts';
import type { Context } from '../line/context.ts';
import { type OwnedLook, type ReleasedKind, releasedKinds } from './released-kinds.ts';

/** Keeps an API server busy and leaves capacity for the cluster's own work. */
const inFlight = 8;
const triesPerObject = 5;
const defaultRetryMs = 1_000;

export interface Released {
  done: string[];
  left: { object: string; why: string }[];
  failed: { object: string; why: string }[];
  /** How many objects have our marks, those among them that need nothing. */
  seen: number;
  /** Somebody ended it before all objects were looked at. */
  isCut: boolean;
}

interface ReleaseOptions {
  settings: Settings;
  isDelete: boolean;
  isDryRun: boolean;
  /** What is being written is finished, and nothing else begun. */
  signal: AbortSignal;
}

interface Work {
  clock: Clock;
  host: ClusterClient;
  target: ReleasedKind;
  how: ReleaseOptions;
}

export async function releaseAll(context: Context, host: ClusterClient, how: ReleaseOptions): Promise<Released> {
  const released: Released = { done: [], left: [], failed: [], seen: 0, isCut: false };
  // Endpoints go first, because they name the Secrets and ConfigMaps.
  for (const target of releasedKinds(how.settings, how))
    await releaseKind({ clock: context.clock, host, target, how }, released);
  for (const list of [released.done, released.left, released.failed])
    list.sort((a: unknown, b: unknown) => (nameOf(a) < nameOf(b) ? -1 : 1));
  return released;
}

async function releaseKind(work: Work, released: Released): Promise<void> {
  const { host, target, how } = work;
  const { resource, isOptional } = target;
  const isOver = (): boolean => {
    released.isCut ||= how.signal.aborted;
    return released.isCut;
  };
  const { virtualClusterName } = how.settings;
  const isMeant = ({ metadata }: KubeObject): boolean =>
    metadata.labels?.[markerLabel] === virtualClusterName || target.isMeantUnlabelled?.(lookOf(metadata)) === true;
  for (const namespace of copyNamespaces(mappingsOf(how.settings), how.settings.hostNamespace)) {
    if (isOver()) return;
    // As the daemon sees them: a whole host cluster is only searched for the label.
    const isWhole = namespace !== undefined && target.isMeantUnlabelled !== undefined;
    const query: Record<string, string> = isWhole ? {} : { labelSelector: `${markerLabel}=${virtualClusterName}` };
    const listed = await host.tryList(resource, namespace ?? '', query);
    if (listed.kind === 'listed') {
      const meant = listed.objects.filter(isMeant);
      released.seen += meant.length;
      const waiting = meant[Symbol.iterator]();
      const next = async (): Promise<void> => {
        for (const object of waiting) {
          if (isOver()) return;
          await releaseOne(work, object, released);
        }
      };
      await Promise.all(Array.from({ length: inFlight }, next));
      continue;
    }
    const object = namespace === undefined ? resource.resource : `${resource.resource} in ${namespace}`;
    const { message, hint } = faultOf(listed.answer, `list ${resource.resource}`);
    const isFine = isOptional && listed.answer.kind === 'forbidden';
    if (isFine) released.left.push({ object, why: `not searched, ${message}` });
    else released.failed.push({ object, why: hint === undefined ? message : `${message}; ${hint}` });
  }
}

function nameOf(entry: unknown): string {
  return typeof entry === 'string' ? entry : (entry as { object: string }).object;
}

async function releaseOne(work: Work, listed: KubeObject, released: Released): Promise<void> {
  const objectName = objectNameOf(listed);
  const name = `${work.target.prefix}${keyOf(objectName.namespace, objectName.name)}`;
  const outcome = await releaseWithRetries(work, listed);
  switch (outcome.kind) {
    case 'done':
      released.done.push(name);
      return;
    case 'left':
      released.left.push({ object: name, why: outcome.why });
      return;
    case 'failed':
      released.failed.push({ object: name, why: outcome.why });
      return;
    case 'nothing':
      return;
    default:
      return outcome satisfies never;
  }
}

type HowReleased = { kind: 'done' | 'nothing' } | { kind: 'left' | 'failed'; why: string };

/** Tries until the object is written or must be left alone. After a conflict it reads and judges the object again. */
async function releaseWithRetries({ clock, host, target, how }: Work, listed: KubeObject): Promise<HowReleased> {
  const { resource } = target;
  const objectName = objectNameOf(listed);
  for (let attempt = 1, object = listed; ; attempt++) {
    const look = lookOf(object.metadata);
    const { annotations = {} } = look;
    if (target.isSkipped?.(look)) return { kind: 'nothing' };
    const why = target.reasonToLeave(look);
    if (why !== undefined) return { kind: 'left', why };
    if (!how.isDelete && Object.keys(removed(object)).length === 0) return { kind: 'nothing' };
    if (how.isDryRun) return { kind: 'done' };
    const { uid = '', resourceVersion = '' } = object.metadata;
    const answer = how.isDelete
      ? await host.remove(resource, objectName, { uid, resourceVersion })
      : await host.change(resource, objectName, {
          metadata: { uid, resourceVersion, annotations: removed(object), ...handedBack(target, annotations) },
        });
    if (answer.kind === 'ok') return { kind: 'done' };
    if (answer.kind === 'notFound') return { kind: 'nothing' };
    if (attempt >= triesPerObject || (answer.kind !== 'conflict' && answer.kind !== 'throttled')) {
      return { kind: 'failed', why: 'message' in answer ? answer.message : answer.reason };
    }
    if (answer.kind === 'throttled') await pause(clock, answer.retryAfterMs ?? defaultRetryMs);
    const fresh = await host.get(resource, objectName);
    if (fresh.kind === 'notFound') return { kind: 'nothing' };
    if (fresh.kind === 'ok') object = fresh.object;
  }
}

/** Our annotations as nulls of a merge patch. The pause annotation stays, because an operator of the host set it. */
function removed(object: KubeObject): Record<string, null> {
  const ours = Object.keys(object.metadata.annotations ?? {}).filter(
    (key) => key.startsWith('hostward.dev/') && key !== pauseKey,
  );
  return Object.fromEntries(ours.map((key) => [key, null]));
}

function handedBack({ labelsAfter }: ReleasedKind, annotations: Record<string, string>): object {
  return labelsAfter === undefined ? {} : { labels: labelsAfter({ annotations }) };
}

function objectNameOf(object: KubeObject): ObjectName {
  return { namespace: object.metadata.namespace ?? '', name: object.metadata.name ?? '' };
}

function lookOf(metadata: KubeObject['metadata']): OwnedLook {
  const { namespace = '', name = '', labels = {}, annotations = {}, ownerReferences = [] } = metadata;
  return { namespace, name, labels, annotations, owners: ownerReferences };
}

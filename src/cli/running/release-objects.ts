// Releases or deletes the host objects for `hostward release`. In: a configuration and a client for the host. Out: the objects
// done, left alone and failed. It judges each object by its marks, touches only objects that have ours, and judges an object
// again when another client has changed it in between.
import { type Clock, pause } from '../../clock.ts';
import { endpointsResource, type ResourceRef } from '../../cluster/wire/scope.ts';
import { copyNamespaces, mappingsOf } from '../../config/settings/host-namespaces.ts';
import type { Settings } from '../../config/settings/settings.ts';
import { rulesOf } from '../../daemon/options/rules-of.ts';
import { type KubeObject, keyOf } from '../../object/meta/object.ts';
import { type ContentKind, contentKinds } from '../../sync/kinds/content/content-kind.ts';
import { holdOf, isOwnCopy } from '../../sync/kinds/content/own-copy.ts';
import { endpointsKind } from '../../sync/kinds/endpoints/endpoints-kind.ts';
import { managedByLabel } from '../../sync/kinds/endpointslices/eligibility.ts';
import { endpointSlicesResource, tenantsManagerKey } from '../../sync/kinds/endpointslices/endpointslice-kind.ts';
import { controlledByKey, markerLabel, objectKeys, pauseKey } from '../../sync/plan/keys/reserved-keys.ts';
import { annotatedKeyOf, type HostLook, isOursFor, isSamePlace } from '../../sync/plan/ownership.ts';
import type { Placement } from '../../sync/plan/placement.ts';
import { type ClusterClient, faultOf, type ObjectName } from '../line/cluster-client.ts';
import type { Context } from '../line/context.ts';

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

/** One kind of object that may carry our marks. */
interface ReleasedKind {
  resource: ResourceRef;
  /** Written before the name in messages, because one run may release several kinds. */
  prefix: string;
  /** Whether an object without our label is ours by its annotations: somebody may have taken the label away. Absent: only the label counts. */
  isOursUnlabelled?(look: HostLook): boolean;
  /** Why an object must not be touched; undefined when it is ours. */
  reasonToLeave(look: HostLook): string | undefined;
  /** Leaves an object out without a message, because it is clearly not ours. */
  isSkipped?(look: Partial<HostLook>): boolean;
  /** Labels that an object gets when it is handed back. */
  labelsAfter?(look: Partial<HostLook>): Record<string, string | null>;
  /** A missing permission to list the kind is not a failure, because the configuration does not need the permission. */
  isOptional: boolean;
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
  for (const target of targetsOf(how)) await releaseKind({ clock: context.clock, host, target, how }, released);
  for (const list of [released.done, released.left, released.failed])
    list.sort((a: unknown, b: unknown) => (nameOf(a) < nameOf(b) ? -1 : 1));
  return released;
}

function targetsOf({ settings, isDelete }: ReleaseOptions): ReleasedKind[] {
  const { placement } = rulesOf(settings).translation;
  const endpoints: ReleasedKind = {
    resource: endpointsResource,
    prefix: '',
    isOursUnlabelled: (look) => {
      const key = annotatedKeyOf(look);
      // Its name says of which virtual cluster it is; all six annotations do not.
      return key !== undefined && isSamePlace(look, placement.placeOf(key)) && isOursFor(look, key, placement);
    },
    reasonToLeave: (look) => reasonToLeaveEndpoints(look, { placement, isDelete }),
    isOptional: false,
  };
  const slices: ReleasedKind = {
    ...endpoints,
    resource: endpointSlicesResource,
    prefix: 'EndpointSlice ',
    // The host's own slices of our Endpoints copies have the same annotations, for another kind.
    isSkipped: ({ annotations }) => annotations?.[objectKeys.kind] === endpointsKind.kindAnnotation,
    isOptional: !settings.endpointSlices.enabled,
    labelsAfter: ({ annotations }) => ({ [managedByLabel]: annotations?.[tenantsManagerKey] ?? null }),
  };
  // Without --delete the copied Secrets and ConfigMaps stay, because the Endpoints that vCluster takes over name them.
  return [endpoints, slices, ...(isDelete ? contentKinds.map((kind) => contentTarget(kind, settings, placement)) : [])];
}

function contentTarget(kind: ContentKind, settings: Settings, placement: Placement): ReleasedKind {
  return {
    resource: kind.resource,
    prefix: `${kind.kind} `,
    reasonToLeave: (look) => (isOwnCopy(look, kind, placement) ? holdOf(look) : 'no reference patch made it'),
    isOptional: ![...settings.patches, ...settings.slicePatches].some(({ reference }) => reference?.kind === kind.kind),
  };
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
    metadata.labels?.[markerLabel] === virtualClusterName || target.isOursUnlabelled?.(lookOf(metadata)) === true;
  for (const namespace of copyNamespaces(mappingsOf(how.settings), how.settings.hostNamespace)) {
    if (isOver()) return;
    // As the daemon sees them: a whole host cluster is only searched for the label.
    const isWhole = namespace !== undefined && target.isOursUnlabelled !== undefined;
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

function reasonToLeaveEndpoints(
  look: HostLook,
  { placement, isDelete }: { placement: Placement; isDelete: boolean },
): string | undefined {
  const { annotations = {} } = look;
  const key = annotatedKeyOf(look);
  if (key === undefined || !isOursFor(look, key, placement)) return "it does not bear Hostward's marks";
  if (annotations[controlledByKey]) return `it is marked ${controlledByKey}="${annotations[controlledByKey]}"`;
  return isDelete && annotations[pauseKey] === 'true' ? `it is marked ${pauseKey}` : undefined;
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

function lookOf(metadata: KubeObject['metadata']): HostLook {
  const { namespace = '', name = '', labels = {}, annotations = {} } = metadata;
  return { namespace, name, labels, annotations };
}
